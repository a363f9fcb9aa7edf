"""SPDL: a pipeline of stages in an event loop, with a pool of threads for what is not asynchronous.

Idiomatic: `PipelineBuilder().add_source(...).pipe(...).add_sink(...).build(num_threads=...)`: a source of what to
load, stages that load it. One batch is one job, with numpy inside, which lets go of the interpreter's lock in its
calls.

Tried: one job per row (a tenth of the speed and less: the hand-over between loop, pool and queue is dearer than a
row); the order of completion, which SPDL has by default and which loses that of the elements; its output queue of
threads, which is a little quicker and needs seconds to let an unfinished epoch go.

First example: `add_source(...).pipe(...).aggregate(B).pipe(...).add_sink(3).build(num_threads=n)`, one job per row, as
the page "Building and Running Pipeline" begins. Workers are `concurrency` and `num_threads` of the page "Concurrency":
from two on rows come in the order of their completion, which is the default.

By operators of its own: images are decoded by `spdl.io`, which is FFmpeg, and go through OpenCV (`own/on_spdl.py`).

Without workers there is one thread, the least that SPDL has. Cannot: cache, regroup, or save its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import spdl.pipeline

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data, Reader
from ..first_example import FirstExample
from ..own.stored import Elements
from ..pipeline import Array, Batch, Pipeline, Program


class Spdl(Loader):
    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        self.pipeline = pipeline
        self.program, self.reader = Program(pipeline, data.sources), Reader(pipeline, data)
        self.threads = max(pipeline.workers, 1)
        self.iterator: Iterator[Batch] | None = None

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.close()
        self.reader.begin()
        self.iterator = self.batches(epoch)
        return self.iterator

    def job(self, epoch: int) -> Callable[[int], Batch]:
        """What makes a batch of its number."""

        def load(number: int) -> Batch:
            rows = self.reader.batch(number, epoch)
            return self.program.batch(rows.fields, rows.indices, epoch, rows.first)

        return load

    def batches(self, epoch: int) -> Iterator[Batch]:
        # A failing batch ends the epoch: the default drops it in silence.
        pipeline = (
            spdl.pipeline.PipelineBuilder()
            .add_source(range(len(self.reader)))
            .pipe(self.job(epoch), concurrency=self.threads, output_order="input")
            .add_sink(2 * self.threads)
            .build(num_threads=self.threads, max_failures=0)
        )
        with pipeline.auto_stop():
            yield from pipeline.get_iterator()

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=self.threads)

    def close(self) -> None:
        if self.iterator is not None:
            self.iterator.close()  # type: ignore[attr-defined]
        self.iterator = None


class OwnSpdl(Spdl):
    """Batches whose elements go through OpenCV."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        from ..own import on_spdl  # with what is imported where it is used

        self.own, self.library = on_spdl.Own(pipeline, data.sources), on_spdl.LIBRARY
        self.elements = Elements(pipeline, data, place)
        super().__init__(pipeline, data)

    def job(self, epoch: int) -> Callable[[int], Batch]:
        size, elements = self.pipeline.batch_size, self.elements

        def load(number: int) -> Batch:
            random = np.random.default_rng((self.pipeline.seed, epoch, number))
            places = range(number * size, min((number + 1) * size, len(elements)))
            samples = [self.own.sample(sample, random) for sample in elements.many(places)]
            return self.own.batch(samples, random)

        return load

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, "native", self.library, workers=self.threads)

    def close(self) -> None:
        super().close()
        self.elements.close()


class RowByRow(Spdl):
    """The first example of the documentation: a job loads a row, and `aggregate` puts rows together."""

    def __init__(self, pipeline: Pipeline, data: Data, example: FirstExample) -> None:
        super().__init__(pipeline, data)
        self.example = example

    def batches(self, epoch: int) -> Iterator[Batch]:
        rows, steps = self.example.rows, self.example.steps

        def load(index: int) -> Array:
            return steps(rows[index])

        pipeline = (
            spdl.pipeline.PipelineBuilder()
            .add_source(range(len(rows)))
            .pipe(load, concurrency=self.threads)
            .aggregate(self.example.batch_size)
            .pipe(np.stack)
            .add_sink(3)
            .build(num_threads=self.threads)
        )
        with pipeline.auto_stop():
            for batch in pipeline.get_iterator():
                yield {self.example.name: batch}

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=self.threads, order="kept" if self.threads == 1 else "lost")


def first_example(pipeline: Pipeline, data: Data, place: Place) -> Spdl:
    return RowByRow(pipeline, data, FirstExample.of(pipeline, data))


def open(pipeline: Pipeline, data: Data, place: Place) -> Spdl:
    if pipeline.operators == "own":
        return OwnSpdl(pipeline, data, place)
    for asked, what in ((pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(f"{what}: a stage gets one item and gives some, and what it kept would be the author's own")
    return Spdl(pipeline, data)


ADAPTER = Adapter(
    framework="SPDL",
    distribution="spdl",
    entry_point="spdl.pipeline.PipelineBuilder",
    open=open,
    first_example=first_example,
    own="on_spdl",
    stored=("stored-files",),
    no_store="a job loads an object by its name, and a tar file is one",
)
