"""Deep Lake: columns in a dataset on disk, sliced.

Idiomatic: `deeplake.open_read_only(path)` and `dataset[column][i:j]`, which gives a numpy array. The dataset is
written once by `create`, `add_column`, `append`, `commit`, and kept.

Tried: `dataset.batches(B)`, whose prefetching thread costs more than it saves on data in the page cache (0.4 to 0.9
of the speed of slices).

Data in memory are in the library's own cache of chunks: they are read once when the pipeline is opened. It fills the
cache in a first epoch else, which took 1,400 us a batch of PC-1 where later ones take 280.

The dataset object is kept alive beside its columns, which do not outlive it. Cannot: workers (its threads are the
library's own, 25 at import), cache, regroup, or save a place, since a slice has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deeplake
import numpy as np

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..pipeline import Batch, Kind, Pipeline, Program

CHUNK = 64 << 20
"""Bytes that are appended or read at once."""


def column(kind: Kind) -> Any:
    """The type of a field's column."""
    if not kind.shape:
        return str(kind.dtype)
    return deeplake.types.Array(str(kind.dtype), list(kind.shape))


def write(data: Data, folder: Path) -> None:
    dataset = deeplake.create(str(folder / "dataset"))
    for source in data.sources:
        dataset.add_column(source.kind.name, column(source.kind))
    for part in parts(data):
        dataset.append({name: array[part] for name, array in data.arrays().items()})
    dataset.commit()


def parts(data: Data) -> Iterator[slice]:
    """The elements, so many at once."""
    rows = max(1, CHUNK // sum(source.kind.size for source in data.sources))
    return (slice(start, start + rows) for start in range(0, data.elements, rows))


class DeepLake(Loader):
    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        self.pipeline, self.data = pipeline, data
        self.program = Program(pipeline, data.sources)
        self.path = str(folder / "dataset")
        self.dataset: Any = deeplake.open_read_only(self.path)
        self.columns = {name: self.dataset[name] for name in data.names}
        if pipeline.access == "memory":
            for part in parts(data):
                for values in self.columns.values():
                    _ = values[part]  # which stays in the cache

    def begin(self, epoch: int) -> Iterator[Batch]:
        order = self.pipeline.order(epoch, self.data.elements)
        size, end = self.pipeline.batch_size, self.pipeline.end
        for first in range(self.pipeline.first, end, size):
            last = min(first + size, end)
            if order is None:
                chosen, indices = slice(first, last), np.arange(first, last)
            else:
                indices = order[first:last]
                chosen = indices.tolist()
            fields = {}
            for source in self.data.sources:
                array = np.asarray(self.columns[source.kind.name][chosen])
                fields[source.kind.name] = array.reshape(len(indices), *source.kind.shape)
            yield self.program.batch(fields, indices, epoch, first)

    def executed(self) -> Executed:
        return Executed(self.pipeline.work)

    def close(self) -> None:
        self.columns = {}
        self.dataset = None


def open(pipeline: Pipeline, data: Data, place: Place) -> DeepLake:
    if pipeline.workers:
        raise Declined(f"{pipeline.workers} workers: a slice of a column is read by the library's own threads")
    if pipeline.access == "file-eager":
        raise Declined("file-eager: columns are read as they are sliced")
    for asked, what in ((pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(f"{what}: a slice is what it is asked for")
    return DeepLake(pipeline, data, place.converting("all", lambda folder: write(data, folder)))


ADAPTER = Adapter(framework="Deep Lake", distribution="deeplake", entry_point="deeplake.open_read_only", open=open)
