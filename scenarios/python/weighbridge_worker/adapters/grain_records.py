"""Google Grain over ArrayRecord, the format of files that its documentation names for data on disk.

As the adapter of Grain, from another source: `grain.sources.ArrayRecordDataSource` looks up the records of a batch at
once (`__getitems__`), which ArrayRecord's own threads read. A record is the raw bytes of an element's fields, one after
the other. Records are written once, each a group of its own, which Grain asks for, and not compressed.

Tried, on small images without workers: records one by one, put together by `MapDataset.batch` (the same CPU time, three
times as long on the clock, as each waits for a thread); groups of 64 records (a quarter of the CPU time, but Grain
reports an error for every such file, since looking up single records in them is slow).

First example: rows that are pickled one by one into a file of `group_size:1`, and `source(records)`, `map`, `batch`, as
in the tutorial "Reading ArrayRecord Files". They are read as in the first example of Grain's adapter.

Cannot: cache; its records of encoded images are those of Grain's adapter.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import grain
import numpy as np
from array_record.python.array_record_module import ArrayRecordWriter

from ..adapter import Adapter, Declined, Place
from ..data import Data, Rows
from ..first_example import FirstExample
from ..pipeline import Batch, Indices, Pipeline
from .grain import Grain, RowByRow


def write(data: Data, folder: Path) -> None:
    """All elements as records."""
    fields = data.arrays().values()
    records = ArrayRecordWriter(str(folder / "all.array_record"), "group_size:1,uncompressed")
    for index in range(data.elements):
        records.write(b"".join([array[index].tobytes() for array in fields]))
    records.close()


class Batches:
    """A random-access source: the records of batch after batch."""

    def __init__(self, records: Any, pipeline: Pipeline, data: Data, order: Indices | None) -> None:
        self.records, self.pipeline, self.data, self.order = records, pipeline, data, order

    def __len__(self) -> int:
        return self.pipeline.batches

    def __getitem__(self, number: Any) -> Rows:
        first = self.pipeline.first + int(number) * self.pipeline.batch_size
        last = min(first + self.pipeline.batch_size, self.pipeline.end)
        indices = np.arange(first, last) if self.order is None else self.order[first:last]
        return Rows(self.fields(self.records.__getitems__(indices.tolist())), indices, first)

    def fields(self, records: list[bytes]) -> Batch:
        """The fields of elements from their records."""
        rows = np.frombuffer(b"".join(records), np.uint8).reshape(len(records), -1)
        made, start = {}, 0
        for source in self.data.sources:
            kind, end = source.kind, start + source.kind.size
            column = np.ascontiguousarray(rows[:, start:end])  # a copy only where there are other fields
            made[kind.name] = column.reshape(-1).view(kind.dtype).reshape(len(records), *kind.shape)
            start = end
        return made


class GrainRecords(Grain):
    """Batches of records."""

    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        super().__init__(pipeline, data)
        self.records = grain.sources.ArrayRecordDataSource([str(folder / "all.array_record")])

    def source(self, epoch: int) -> Any:
        return Batches(self.records, self.pipeline, self.data, self.pipeline.order(epoch, self.data.elements))


def first_example(pipeline: Pipeline, data: Data, place: Place) -> Grain:
    example = FirstExample.of(pipeline, data)

    def write(folder: Path) -> None:
        records = ArrayRecordWriter(str(folder / "all.array_record"), "group_size:1")
        for row in example.rows:
            records.write(pickle.dumps(row))
        records.close()

    folder = place.converting(f"pickled-{pipeline.first}-{pipeline.end}", write)
    records = grain.sources.ArrayRecordDataSource(str(folder / "all.array_record"))
    return RowByRow(pipeline, data, records, lambda record: example.steps(pickle.loads(record)))


def open(pipeline: Pipeline, data: Data, place: Place) -> GrainRecords:
    if pipeline.access == "file-eager":
        raise Declined("file-eager: records are read as they are looked up")
    if pipeline.cache:
        raise Declined("cache: what grain's experimental `CacheIterDataset` keeps is one epoch's")
    return GrainRecords(pipeline, data, place.converting("all", lambda folder: write(data, folder)))


ADAPTER = Adapter(
    framework="Google Grain (ArrayRecord)",
    distribution="grain",
    entry_point="grain.sources.ArrayRecordDataSource",
    open=open,
    first_example=first_example,
)
