"""NVIDIA DALI: an iterable of batches as external source, and operators on what it gives, on the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from nvidia.dali import fn, pipeline_def, types

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()
batches = [case.batch(number) for number in range(case.batches)]


@pipeline_def(batch_size=case.batch_size, num_threads=max(case.workers, 1), device_id=None)
def graph() -> Any:
    rows = fn.external_source(source=batches, batch=True, cycle="raise")
    if case.name == "CV-1":
        return rows / np.float32(255)
    return (rows - types.Constant(case.mean)) * types.Constant(case.scale) if case.name == "TAB-1" else rows


def epoch() -> Iterator[Array]:
    while True:
        try:
            (rows,) = pipeline.run()
        except StopIteration:
            pipeline.reset()
            return
        yield np.array(rows.as_array())  # DALI writes the next batch over it


if __name__ == "__main__":
    ahead = {"prefetch_queue_depth": max(case.workers, 1), "exec_async": case.workers > 0}
    pipeline = graph(**ahead, exec_pipelined=case.workers > 0)
    measure(case, epoch)
