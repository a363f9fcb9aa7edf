"""FFCV: a `.beton` file, mapped, and a loader whose decoders are compiled by numba.

Idiomatic: `DatasetWriter(path, fields).from_indexed_dataset(...)`, and `Loader(path, order=OrderOption.SEQUENTIAL,
os_cache=True, pipelines={name: [decoder]})`. Every field is an `NDArrayField`, whose decoder gives whole batches as
numpy arrays; the element's index is one more of them. Steps run on the batch that the loader hands out, which is one
of its own buffers. The decoders are compiled while a pipeline is opened, and their time is said apart.

Tried: two threads instead of one (as quick or a sixth quicker on two cores). One thread without workers, the least
that FFCV has.

Cannot: steps in the loader's own pipeline, whose operations are numba functions of an image, and not of its index;
cache, regroup, or save its place.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ffcv
import ffcv.fields
import ffcv.fields.decoders
import ffcv.loader
import ffcv.writer
import numpy as np

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..pipeline import Batch, Pipeline, Program

INDEX = "element index"


class Elements:
    """The data set as FFCV's writer reads it: a tuple per element."""

    def __init__(self, data: Data) -> None:
        self.arrays, self.elements = list(data.arrays().values()), data.elements

    def __len__(self) -> int:
        return self.elements

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        fields = [np.atleast_1d(array[index]) for array in self.arrays]
        return (np.array([index]), *fields)


def write(data: Data, folder: Path) -> None:
    fields: dict[str, Any] = {INDEX: ffcv.fields.NDArrayField(np.dtype(np.int64), (1,))}
    page = 8 << 20
    for source in data.sources:
        kind = source.kind
        fields[kind.name] = ffcv.fields.NDArrayField(kind.dtype, kind.shape or (1,))
        while page < 2 * kind.size:
            page *= 2
    writer = ffcv.writer.DatasetWriter(str(folder / "data.beton"), fields, page_size=page, num_workers=1)
    writer.from_indexed_dataset(Elements(data), shuffle_indices=False)


class Ffcv(Loader):
    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        self.pipeline, self.data = pipeline, data
        self.program = Program(pipeline, data.sources)
        self.threads = max(pipeline.workers, 1)
        names = (INDEX, *data.names)
        self.loader: Any = ffcv.loader.Loader(
            str(folder / "data.beton"),
            batch_size=pipeline.batch_size,
            num_workers=self.threads,
            order=ffcv.loader.OrderOption.SEQUENTIAL,
            indices=np.arange(pipeline.first, pipeline.end),
            os_cache=pipeline.access == "memory",
            drop_last=False,
            batches_ahead=2,
            pipelines={name: [ffcv.fields.decoders.NDArrayDecoder()] for name in names},
        )
        self.iterator: Iterator[Batch] | None = None

    def compile(self) -> int:
        """Compiles the decoders, which is done when the first batch is asked for."""
        start = time.perf_counter_ns()
        for _ in self.begin(0):
            break
        self.let_go()
        return time.perf_counter_ns() - start

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        self.iterator = self.batches(epoch)
        return self.iterator

    def batches(self, epoch: int) -> Iterator[Batch]:
        batches = iter(self.loader)
        try:
            for indices, *arrays in batches:
                index = np.array(indices[:, 0])
                fields = {}
                for source, array in zip(self.data.sources, arrays, strict=True):
                    fields[source.kind.name] = array.reshape(len(index), *source.kind.shape)
                yield self.program.batch(fields, index, epoch, int(index[0]))
        finally:
            batches.close()

    def let_go(self) -> None:
        if self.iterator is not None:
            self.iterator.close()  # type: ignore[attr-defined]
        self.iterator = None

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=self.threads)

    def close(self) -> None:
        self.let_go()
        self.loader = None


def open(pipeline: Pipeline, data: Data, place: Place) -> Ffcv:
    if pipeline.access == "file-eager":
        raise Declined("file-eager: pages of the file are read as they are needed")
    asks = ((pipeline.mixture, "mixture"), (pipeline.cache, "cache"), (pipeline.rebatch, "rebatch"))
    for asked, what in asks:
        if asked:
            raise Declined(f"{what}: a Loader goes through a list of indices once")
    loader = Ffcv(pipeline, data, place.converting("all", lambda folder: write(data, folder)))
    place.compile = loader.compile()
    return loader


ADAPTER = Adapter(framework="FFCV", distribution="ffcv", entry_point="ffcv.loader.Loader", open=open)
