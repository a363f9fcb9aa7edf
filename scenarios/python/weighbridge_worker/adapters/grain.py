"""Google Grain: `MapDataset` over a random-access source, steps by `map`, batches from an `IterDataset`.

Idiomatic: `grain.MapDataset.source(...).map(...).to_iter_dataset(...)`, numpy inside. The source gives whole batches,
since grain's unit is what a source's `__getitem__` gives and a slice of an array is no dearer than a row. State is
the iterator's own (`get_state`, `set_state`), regrouping is grain's `RebatchIterDataset`.

Tried: a source of rows with `.batch()` (a sixth of the speed on small images, a hundredth on table rows);
`mp_prefetch`, which starts its processes anew for every iterator (2 to 7 s) and then copies batches between processes
(an eighth of the speed of threads on two cores): workers are therefore the threads of `ReadOptions`. Without workers
`num_threads=0`, which grain's documentation advises for data in memory: the default of 16 threads reads 500 batches
ahead.

First example: rows of an array, `map`, `batch` and a loop over them, as the README begins; that loop reads by the
default `ReadOptions`, which has 16 threads. Workers are its `num_threads`, which the tutorial "Dataset basics" sets.

By operators of its own: it has none, and its users take libraries beside it. Here `random_map` over elements with
Albumentations and OpenCV (`own/on_albumentations.py`), then `batch`. Its records of encoded images are those of
ArrayRecord, by `ArrayRecordDataSource`.

Cannot: cache, since what its experimental `CacheIterDataset` keeps belongs to one iterator, which is one epoch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grain
import numpy as np
from array_record.python.array_record_module import ArrayRecordWriter

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data, Reader, Rows
from ..first_example import FirstExample
from ..own import stored
from ..pipeline import Array, Batch, Pipeline, Program


class Batches:
    """A random-access source: batch after batch."""

    def __init__(self, reader: Reader, epoch: int) -> None:
        self.reader, self.epoch = reader, epoch

    def __len__(self) -> int:
        return len(self.reader)

    def __getitem__(self, number: Any) -> Rows:
        return self.reader.batch(int(number), self.epoch)


class Steps(grain.transforms.Map):
    """All steps on a batch."""

    def __init__(self, program: Program, epoch: int) -> None:
        self.program, self.epoch = program, epoch

    def map(self, element: Rows) -> Batch:
        return self.program.batch(element.fields, element.indices, self.epoch, element.first)


class Grain(Loader):
    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        self.pipeline, self.data = pipeline, data
        self.program, self.reader = Program(pipeline, data.sources), Reader(pipeline, data)
        ahead = 2 * pipeline.workers
        self.options = grain.ReadOptions(num_threads=pipeline.workers, prefetch_buffer_size=ahead)
        self.epoch = 0
        self.iterator: Any = None

    def source(self, epoch: int) -> Any:
        """Where an epoch's batches come from."""
        return Batches(self.reader, epoch)

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.close()
        self.reader.begin()
        self.epoch = epoch
        steps = grain.MapDataset.source(self.source(epoch)).map(Steps(self.program, epoch))
        dataset = steps.to_iter_dataset(self.options)
        if self.pipeline.rebatch:
            dataset = grain.experimental.RebatchIterDataset(dataset, self.pipeline.rebatch, drop_remainder=False)
        self.iterator = iter(dataset)
        return self.iterator  # type: ignore[no-any-return]

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=self.pipeline.workers)

    def save(self) -> bytes:
        state = {"data": self.data.digest, "epoch": self.epoch, "grain": self.iterator.get_state()}
        return json.dumps(state).encode()

    def restore(self, state: bytes) -> Iterator[Batch]:
        said = json.loads(state)
        if said["data"] != self.data.digest:
            raise ValueError("the place was saved over other data")
        iterator = self.begin(said["epoch"])
        self.iterator.set_state(said["grain"])
        return iterator

    def close(self) -> None:
        if self.iterator is not None and hasattr(self.iterator, "close"):
            self.iterator.close()
        self.iterator = None


class Records:
    """A random-access source: encoded images in a file of ArrayRecord."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        def write(folder: Path) -> None:
            # A record for itself, which grain's documentation asks for where records are looked up one by one.
            records = ArrayRecordWriter(str(folder / "all.array_record"), "group_size:1")
            for index in stored.indices(pipeline):
                records.write(stored.image(data, index))
            records.close()

        (self.name,) = data.names
        folder = place.converting(f"records-{pipeline.first}-{pipeline.end}", write)
        self.records = grain.sources.ArrayRecordDataSource([str(folder / "all.array_record")])

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, number: Any) -> Batch:
        return {self.name: np.frombuffer(self.records[number], np.uint8)}


class OwnGrain(Grain):
    """Elements through Albumentations and OpenCV, with the generator that Grain hands to a random map."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        from ..own import on_albumentations  # which is imported where it is used

        self.own, self.library = on_albumentations.Own(pipeline, data.sources), on_albumentations.LIBRARY
        source = Records if pipeline.access == "records" else stored.Elements
        self.samples: Any = source(pipeline, data, place)
        super().__init__(pipeline, data)
        if pipeline.store is not None:
            self.options = grain.ReadOptions(
                num_threads=pipeline.store.in_flight, prefetch_buffer_size=2 * pipeline.store.in_flight
            )

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.close()
        self.epoch = epoch
        samples = grain.MapDataset.source(self.samples).seed((self.pipeline.seed + epoch) % (1 << 32))
        dataset = samples.random_map(self.own.sample)
        batches = dataset.batch(self.pipeline.batch_size, drop_remainder=False)
        if self.pipeline.mixing:
            batches = batches.random_map(self.own.mixed)
        self.iterator = iter(batches.to_iter_dataset(self.options))
        return self.iterator  # type: ignore[no-any-return]

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, "native", self.library, workers=self.pipeline.workers)


class RowByRow(Grain):
    """The first example of the README: `source(rows).map(steps).batch(batch_size=B)`."""

    def __init__(self, pipeline: Pipeline, data: Data, source: Any, steps: Callable[[Any], Array]) -> None:
        self.pipeline, self.data = pipeline, data
        self.options = grain.ReadOptions(num_threads=pipeline.workers) if pipeline.workers else grain.ReadOptions()
        batches = grain.MapDataset.source(source).map(steps).batch(batch_size=pipeline.batch_size)
        self.dataset = batches.to_iter_dataset(self.options)
        self.epoch = 0
        self.iterator: Any = None

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.close()
        self.epoch = epoch
        self.iterator = iter(self.dataset)
        (name,) = self.data.names
        return ({name: batch} for batch in self.iterator)

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=self.options.num_threads)


def first_example(pipeline: Pipeline, data: Data, place: Place) -> Grain:
    example = FirstExample.of(pipeline, data)
    return RowByRow(pipeline, data, example.rows, example.steps)


def open(pipeline: Pipeline, data: Data, place: Place) -> Grain:
    if pipeline.operators == "own":
        return OwnGrain(pipeline, data, place)
    if pipeline.cache:
        raise Declined(
            "cache: grain's experimental `CacheIterDataset` keeps what one iterator gave, and that is one epoch"
        )
    return Grain(pipeline, data)


ADAPTER = Adapter(
    framework="Google Grain",
    distribution="grain",
    entry_point="grain.MapDataset.source",
    open=open,
    first_example=first_example,
    own="on_albumentations",
    stored=("stored-files",),
    no_store="its sources are indexed, and a tar file has no index",
)
