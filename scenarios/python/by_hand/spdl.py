"""SPDL: a source of numbers of batches, one stage that loads a batch, and a sink, with a pool of threads."""

from __future__ import annotations

from collections.abc import Iterator

import spdl.pipeline

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()


def load(number: int) -> Array:
    return case.steps(case.batch(number))


def epoch() -> Iterator[Array]:
    threads = max(case.workers, 1)
    builder = spdl.pipeline.PipelineBuilder().add_source(range(case.batches))
    builder = builder.pipe(load, concurrency=threads, output_order="input").add_sink(2 * threads)
    pipeline = builder.build(num_threads=threads)
    with pipeline.auto_stop():
        yield from pipeline


if __name__ == "__main__":
    measure(case, epoch)
