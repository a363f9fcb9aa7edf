"""NumPy: what a person writes without a framework, and what the frameworks are held against in Python.

Idiomatic: a loop over slices of arrays in memory, and one vectorised call per step on the whole batch.

Tried: fetching row by row and stacking (0.03 to 0.7 of the speed), a table of the 256 values of `u8` (a quarter of
the speed of a division), one output buffer for all batches (10 % quicker, but then a batch dies with the next
request). Batches beyond a megabyte go through the steps in blocks that fit the cache.

Where operators are to be its own, it runs the functions that it always runs: they are numpy's. Encoded images it
decodes by Pillow (`own/on_pillow.py`).

By an interpreter without a global lock, workers are threads of `concurrent.futures.ThreadPoolExecutor`, a job for each
batch, with two batches ahead for each thread.

Cannot: workers otherwise. There a thread pool around numpy is a framework of one's own.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data, Reader
from ..own.stored import Elements
from ..pipeline import Array, Batch, Pipeline, Program

Batches = Generator[Batch, None, None]


def in_turn(job: Callable[[int], Batch], numbers: range, pool: ThreadPoolExecutor, ahead: int) -> Batches:
    """What a job makes of each number, by threads that are so many numbers ahead."""
    waiting: deque[Future[Batch]] = deque()
    try:
        for number in numbers:
            waiting.append(pool.submit(job, number))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for left in waiting:
            left.cancel()


class NumPy(Loader):
    """Slices of arrays."""

    iterator: Batches | None = None

    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        self.pipeline, self.data = pipeline, data
        self.pool = ThreadPoolExecutor(pipeline.workers) if pipeline.workers else None
        self.program = Program(pipeline, data.sources)
        self.reader = Reader(pipeline, data)
        self.cached: list[Batch] = []
        self.kept_of = 0
        self.made_of, self.number = self.plain_fields(), 0
        self.epoch = 0

    def plain_fields(self) -> list[tuple[str, Array, Callable[[Array], Array]]] | None:
        """Each delivered field with the array and the call that it is made by, where nothing else is to be known."""
        held, makers = self.reader.held, self.program.makers()
        if held is None or makers is None or self.pool or self.pipeline.cache or self.pipeline.rebatch:
            return None
        return [(name, held[source], make) for name, source, make in makers]

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        self.reader.begin()
        if epoch == 0:
            self.cached = []
        self.iterator = self.batches(epoch, 0)
        return self.iterator

    def batches(self, epoch: int, skip: int) -> Batches:
        """The batches of an epoch after the first `skip`, as they are delivered."""
        self.epoch, self.number = epoch, skip
        if self.made_of is not None:
            return self.plain(self.made_of, skip)
        return self.counted(self.regrouped(epoch, skip) if self.pipeline.rebatch else self.made(epoch, skip))

    def counted(self, made: Iterator[Batch]) -> Batches:
        for batch in made:
            self.number += 1
            yield batch

    def plain(self, fields: list[tuple[str, Array, Callable[[Array], Array]]], skip: int) -> Batches:
        """The same as a person writes it: a slice of an array and a call on it. Small batches feel each call more."""
        size = self.pipeline.batch_size
        starts = range(self.pipeline.first + skip * size, self.pipeline.end, size)
        if len(fields) == 1:
            ((name, array, make),) = fields
            for start in starts:
                self.number += 1
                yield {name: make(array[start : start + size])}
            return
        for start in starts:
            self.number += 1
            yield {name: make(array[start : start + size]) for name, array, make in fields}

    def made(self, epoch: int, skip: int = 0) -> Iterator[Batch]:
        if not self.pipeline.cache:
            yield from self.fresh(epoch, skip)
            return
        if not self.cached:
            self.kept_of = epoch
        for batch in self.cached:
            yield {name: array.copy() for name, array in batch.items()}
        for batch in self.fresh(self.kept_of, len(self.cached)):
            self.cached.append({name: array.copy() for name, array in batch.items()})
            yield batch

    def fresh(self, epoch: int, skip: int) -> Iterator[Batch]:
        rows_of, made_of = self.reader.batch, self.program.batch

        if self.pool is not None:

            def job(number: int) -> Batch:
                rows = rows_of(number, epoch)
                return made_of(rows.fields, rows.indices, epoch, rows.first)

            yield from in_turn(job, range(skip, len(self.reader)), self.pool, 2 * self.pipeline.workers)
            return
        for number in range(skip, len(self.reader)):
            rows = rows_of(number, epoch)
            yield made_of(rows.fields, rows.indices, epoch, rows.first)

    def regrouped(self, epoch: int, skip: int) -> Iterator[Batch]:
        """Batches of another size: no element is lost, and the last may be short."""
        size, waiting = self.pipeline.rebatch or 1, []
        before, spare = divmod(skip * size, self.pipeline.batch_size)
        for batch in self.made(epoch, before):
            waiting.append({name: array[spare:] for name, array in batch.items()})
            spare = 0
            there = sum(len(next(iter(one.values()))) for one in waiting)
            while there >= size:
                joined = {name: np.concatenate([one[name] for one in waiting]) for name in waiting[0]}
                yield {name: array[:size].copy() for name, array in joined.items()}
                waiting = [{name: array[size:] for name, array in joined.items()}]
                there -= size
        left = {name: np.concatenate([one[name] for one in waiting]) for name in waiting[0]} if waiting else {}
        if left and len(next(iter(left.values()))):
            yield left

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=self.pipeline.workers)

    def save(self) -> bytes:
        if self.pipeline.cache:
            raise Declined("a place in an epoch of a cache: the batches of its first epoch are not part of it")
        return json.dumps({"data": self.data.digest, "epoch": self.epoch, "batches": self.number}).encode()

    def restore(self, state: bytes) -> Iterator[Batch]:
        said = json.loads(state)
        if said["data"] != self.data.digest:
            raise ValueError("the place was saved over other data")
        self.let_go()
        self.iterator = self.batches(said["epoch"], said["batches"])
        return self.iterator

    def let_go(self) -> None:
        """Ends the epoch that is under way."""
        if self.iterator is not None:
            self.iterator.close()
        self.iterator = None

    def close(self) -> None:
        self.let_go()
        self.cached = []
        if self.pool is not None:
            self.pool.shutdown()


class Photographs(NumPy):
    """Encoded images, decoded by Pillow."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        from ..own import on_pillow  # which is imported where it is used

        self.own, self.library = on_pillow.Own(pipeline, data.sources), on_pillow.LIBRARY
        self.elements = Elements(pipeline, data, place)
        self.pipeline = pipeline
        self.pool = ThreadPoolExecutor(pipeline.workers) if pipeline.workers else None

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        size, elements = self.pipeline.batch_size, self.elements

        def job(number: int) -> Batch:
            random = np.random.default_rng((self.pipeline.seed, epoch, number))
            places = range(number * size, min((number + 1) * size, len(elements)))
            return self.own.batch([self.own.sample(sample, random) for sample in elements.many(places)])

        numbers = range(self.pipeline.batches)
        if self.pool is None:
            self.iterator = (job(number) for number in numbers)
        else:
            self.iterator = in_turn(job, numbers, self.pool, 2 * self.pipeline.workers)
        return self.iterator

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, "native", self.library, workers=self.pipeline.workers)

    def close(self) -> None:
        self.let_go()
        self.elements.close()
        if self.pool is not None:
            self.pool.shutdown()

    def save(self) -> bytes:
        raise Declined("a place in an epoch: its draws are those of one generator")

    @property
    def can_save(self) -> bool:
        return False


def open(pipeline: Pipeline, data: Data, place: Place) -> NumPy:
    if pipeline.workers and pipeline.python != "free_threaded":
        raise Declined(f"{pipeline.workers} workers: numpy has none")
    if pipeline.decodes:
        return Photographs(pipeline, data, place)
    return NumPy(pipeline, data)


ADAPTER = Adapter(
    framework="NumPy",
    distribution="numpy",
    entry_point="numpy.frombuffer",
    open=open,
    own="on_pillow",
    stored=("stored-files",),
    no_store="it has no reader of tar files",
)
