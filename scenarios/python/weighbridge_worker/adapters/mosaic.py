"""MosaicML Streaming: MDS shards in a local folder, and a `StreamingDataset` in a `DataLoader`.

Idiomatic: `MDSWriter` writes a sample per row, `StreamingDataset(local=..., shuffle=False)` reads them, and
`StreamingDataLoader` batches, with the steps in its `collate_fn`. The element's index is one more column. Shards hold
arrays (`ndarray:uint8:32,32,3`), written once and kept.

Tried: workers, which gain here where nearly everything loses by them on two cores (1.1 to 2.8 times), since reading
rows costs more than handing batches over.

What it keeps in shared memory is let go with the data set, and stale pieces before one is opened. Cannot: cache,
regroup; save a place batch by batch (its `state_dict` counts samples of all workers and is made for whole training
jobs).
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streaming
import streaming.base.util
import torch

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..pipeline import Batch, Kind, Pipeline, Program

INDEX = "element index"


def column(kind: Kind) -> str:
    """The encoding of a field."""
    name = str(kind.dtype)
    return f"ndarray:{name}:{','.join(map(str, kind.shape))}" if kind.shape else name


def write(pipeline: Pipeline, data: Data, folder: Path) -> None:
    columns = {INDEX: "int64", **{source.kind.name: column(source.kind) for source in data.sources}}
    fields = data.arrays()
    with streaming.MDSWriter(out=str(folder), columns=columns) as writer:
        for index in range(pipeline.first, pipeline.end):
            writer.write({INDEX: np.int64(index), **{name: array[index] for name, array in fields.items()}})


class Collate:
    """Puts rows together and does the steps, in the process that read them."""

    def __init__(self, program: Program) -> None:
        self.program, self.epoch = program, 0

    def __call__(self, samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
        indices = np.array([sample[INDEX] for sample in samples])
        fields = {}
        for source in self.program.sources:
            name = source.kind.name
            fields[name] = np.stack([sample[name] for sample in samples]).astype(source.kind.dtype, copy=False)
        batch = self.program.batch(fields, indices, self.epoch, int(indices[0]))
        return {name: torch.from_numpy(array) for name, array in batch.items()}


class Mosaic(Loader):
    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        torch.set_num_threads(1)
        warnings.filterwarnings("ignore")
        streaming.base.util.clean_stale_shared_memory()
        self.pipeline = pipeline
        self.collate = Collate(Program(pipeline, data.sources))
        self.dataset: Any = streaming.StreamingDataset(
            local=str(folder), shuffle=False, batch_size=pipeline.batch_size, num_canonical_nodes=1
        )
        workers = pipeline.workers
        self.loader: Any = streaming.StreamingDataLoader(
            self.dataset,
            batch_size=pipeline.batch_size,
            collate_fn=self.collate,
            num_workers=workers,
            drop_last=False,
            prefetch_factor=2 if workers else None,
            multiprocessing_context="fork" if workers else None,
        )
        self.iterator: Any = None

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        self.collate.epoch = epoch
        self.iterator = iter(self.loader)
        return ({name: tensor.numpy() for name, tensor in batch.items()} for batch in self.iterator)

    def let_go(self) -> None:
        if self.iterator is not None:
            self.iterator.close()
            self.iterator = None
            gc.collect()

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=self.pipeline.workers)

    def close(self) -> None:
        self.let_go()
        self.loader = self.dataset = None
        gc.collect()
        streaming.base.util.clean_stale_shared_memory()


def open(pipeline: Pipeline, data: Data, place: Place) -> Mosaic:
    if pipeline.access == "file-eager":
        raise Declined("file-eager: shards are read as they are needed")
    asks = ((pipeline.mixture, "mixture"), (pipeline.cache, "cache"), (pipeline.rebatch, "rebatch"))
    for asked, what in asks:
        if asked:
            raise Declined(f"{what}: a StreamingDataset goes through its samples once")
    name = f"{pipeline.first}-{pipeline.end}"
    return Mosaic(pipeline, data, place.converting(name, lambda folder: write(pipeline, data, folder)))


ADAPTER = Adapter(
    framework="MosaicML Streaming",
    distribution="mosaicml-streaming",
    entry_point="streaming.StreamingDataset",
    open=open,
)
