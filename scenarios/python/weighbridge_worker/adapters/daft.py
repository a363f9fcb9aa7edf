"""Daft: a data frame over Arrow columns, handed out in batches.

Idiomatic: `daft.from_arrow(table)` of what is in memory, `daft.read_parquet(...)` of files, and
`frame.into_batches(B).to_arrow_iter()`. Elements are flat lists of a length, whose numbers numpy sees in place, and
the first step makes the batch. A frame is lazy: each epoch runs its plan anew, on the threads of Daft's own runner, and
rows keep their order. Steps run on each batch as it is handed out.

Tried: record batches as they come, and slices of them by the loop. A table in memory comes in one piece then, and
nothing of Daft is left in the figure. `into_batches` takes 0.15 to 0.35 ms a batch, so the first example is quicker
where batches are small.

First example: `daft.from_pydict({...})` and a loop over `frame.iter_rows()`, as the reference of `DataFrame.iter_rows`
has them. Rows are dicts with a numpy array each, and are stacked to batches. Daft makes all rows of such a frame at
once, before the first one is handed out.

Cannot: workers, since its runner has a thread for each processor; go to an element by its index, so no mixture by
weights; cache (`collect` keeps what a plan made, before steps that are drawn anew), regroup, or save a place, since a
running plan has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import daft
import numpy as np
import pyarrow.parquet

from .. import on_arrow
from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..first_example import FirstExample
from ..pipeline import Batch, Pipeline, Program


def write(pipeline: Pipeline, data: Data, folder: Path) -> None:
    """The elements of the pipeline's part of the data as a Parquet file, not compressed.

    Parquet has no type of one byte: a dictionary of the 256 keeps bytes as bytes, four times as small as plain numbers
    and read in two thirds of the time. Other numbers are as they are.
    """
    kinds = [source.kind for source in data.sources]
    narrow = [f"{kind.name}.list.element" if kind.shape else kind.name for kind in kinds if kind.dtype == np.uint8]
    table = on_arrow.table(data, pipeline.first, pipeline.end)
    pyarrow.parquet.write_table(table, folder / "rows.parquet", compression="none", use_dictionary=narrow or False)


class Daft(Loader):
    iterator: Any = None

    def __init__(self, pipeline: Pipeline, data: Data, frame: Any) -> None:
        self.pipeline, self.data = pipeline, data
        self.program = Program(pipeline, data.sources)
        self.frame = frame.into_batches(pipeline.batch_size)

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        self.iterator = self.batches(epoch)
        return self.iterator  # type: ignore[no-any-return]

    def batches(self, epoch: int) -> Iterator[Batch]:
        first = self.pipeline.first
        for batch in self.frame.to_arrow_iter():
            indices = np.arange(first, first + batch.num_rows)
            yield self.program.batch(on_arrow.fields(batch, self.data.sources), indices, epoch, first)
            first += batch.num_rows

    def executed(self) -> Executed:
        return Executed(self.pipeline.work)

    def let_go(self) -> None:
        """Ends the plan that is running."""
        if self.iterator is not None:
            self.iterator.close()
        self.iterator = None

    def close(self) -> None:
        self.let_go()
        self.frame = None


class RowByRow(Daft):
    """The first example of the documentation: a frame of a dict of arrays, and a loop over its rows."""

    def __init__(self, pipeline: Pipeline, example: FirstExample) -> None:
        self.pipeline, self.example = pipeline, example
        self.chunk = pipeline.batches
        self.frame = daft.from_pydict({example.name: example.rows})

    def batches(self, epoch: int) -> Iterator[Batch]:
        name, rows = self.example.name, []
        for row in self.frame.iter_rows():
            rows.append(row[name])
            if len(rows) == self.example.batch_size:
                yield {name: self.example.steps(np.stack(rows))}
                rows = []
        if rows:
            yield {name: self.example.steps(np.stack(rows))}


def without_workers(pipeline: Pipeline) -> None:
    if pipeline.workers:
        raise Declined(f"{pipeline.workers} workers: its runner has a thread for each processor")


def first_example(pipeline: Pipeline, data: Data, place: Place) -> Daft:
    example = FirstExample.of(pipeline, data)
    without_workers(pipeline)
    return RowByRow(pipeline, example)


def open(pipeline: Pipeline, data: Data, place: Place) -> Daft:
    without_workers(pipeline)
    if pipeline.access == "file-eager":
        raise Declined("file-eager: files are read as a plan runs")
    for asked, what in ((pipeline.mixture, "mixture"), (pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(f"{what}: rows come in their order, and batches as they are first put together")
    if pipeline.access == "memory":
        return Daft(pipeline, data, daft.from_arrow(on_arrow.table(data, pipeline.first, pipeline.end)))
    name = f"{pipeline.first}-{pipeline.end}"
    folder = place.converting(name, lambda folder: write(pipeline, data, folder))
    return Daft(pipeline, data, daft.read_parquet(str(folder / "rows.parquet")))


ADAPTER = Adapter(
    framework="Daft",
    distribution="daft",
    entry_point="daft.DataFrame.to_arrow_iter",
    open=open,
    first_example=first_example,
)
