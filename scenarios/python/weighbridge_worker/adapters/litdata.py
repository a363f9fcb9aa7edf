"""LitData: chunks that `optimize` wrote, a `StreamingDataset`, and a `StreamingDataLoader`.

Idiomatic: exactly these three. A sample is a dict of the fields' bytes and the element's index; the loader's
`collate_fn` joins them and does the steps.

Tried: workers, which cost three quarters of the speed here on two cores and lose the order of batches and where they
are cut: each worker has a part of the data and its own short last batch. What depends on which elements are together
in a batch is declined with workers.

Cannot: cache, regroup; save a place batch by batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import litdata
import numpy as np
import torch

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..pipeline import Batch, Pipeline, Program

INDEX = "element index"


def write(pipeline: Pipeline, data: Data, folder: Path) -> None:
    fields = data.arrays()

    def sample(index: int) -> dict[str, Any]:
        return {INDEX: index, **{name: array[index].tobytes() for name, array in fields.items()}}

    litdata.optimize(
        fn=sample,
        inputs=list(range(pipeline.first, pipeline.end)),
        output_dir=str(folder / "chunks"),
        chunk_bytes="64MB",
        num_workers=1,
        start_method="fork",
        reorder_files=False,
        keep_data_ordered=True,
        verbose=False,
    )


class Collate:
    """Puts samples together and does the steps, in the process that read them."""

    def __init__(self, program: Program) -> None:
        self.program, self.epoch = program, 0

    def __call__(self, samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
        indices = np.array([sample[INDEX] for sample in samples])
        fields = {}
        for source in self.program.sources:
            kind = source.kind
            joined = b"".join([sample[kind.name] for sample in samples])
            fields[kind.name] = np.frombuffer(joined, kind.dtype).reshape(len(samples), *kind.shape)
        batch = self.program.batch(fields, indices, self.epoch, int(indices[0]))
        return {name: torch.from_numpy(array) for name, array in batch.items()}


class LitData(Loader):
    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        torch.set_num_threads(1)
        self.pipeline = pipeline
        self.collate = Collate(Program(pipeline, data.sources))
        dataset = litdata.StreamingDataset(str(folder / "chunks"), shuffle=False, drop_last=False)
        workers = pipeline.workers
        self.loader: Any = litdata.StreamingDataLoader(
            dataset,
            batch_size=pipeline.batch_size,
            num_workers=workers,
            collate_fn=self.collate,
            drop_last=False,
            prefetch_factor=2 if workers else None,
        )
        self.iterator: Any = None

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        self.collate.epoch = epoch
        self.iterator = iter(self.loader)
        return ({name: tensor.numpy() for name, tensor in batch.items()} for batch in self.iterator)

    def let_go(self) -> None:
        if self.iterator is not None and hasattr(self.iterator, "close"):
            self.iterator.close()
        self.iterator = None

    def executed(self) -> Executed:
        workers = self.pipeline.workers
        return Executed(self.pipeline.work, workers=workers, order="lost" if workers else "kept")

    def close(self) -> None:
        self.let_go()
        self.loader = None


def open(pipeline: Pipeline, data: Data, place: Place) -> LitData:
    os.environ["DISABLE_TQDM"] = "1"
    if pipeline.access == "file-eager":
        raise Declined("file-eager: chunks are read as they are needed")
    asks = ((pipeline.mixture, "mixture"), (pipeline.cache, "cache"), (pipeline.rebatch, "rebatch"))
    for asked, what in asks:
        if asked:
            raise Declined(f"{what}: a StreamingDataset goes through its samples once")
    if pipeline.workers and (pipeline.mixing or pipeline.pads):
        raise Declined("mixing or padding with workers: they put other elements together in a batch")
    name = f"{pipeline.first}-{pipeline.end}"
    return LitData(pipeline, data, place.converting(name, lambda folder: write(pipeline, data, folder)))


ADAPTER = Adapter(framework="LitData", distribution="litdata", entry_point="litdata.StreamingDataset", open=open)
