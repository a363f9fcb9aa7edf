"""Datarax in scan mode: many batches of a compiled pipeline in one call, whose step gives the batch as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import datarax
import jax
import numpy as np
from datarax.sources import MemorySource, MemorySourceConfig
from flax import nnx

from .case import Array, Case
from .datarax import Steps
from .timed import measure

case = Case.from_arguments()
LENGTH = 16


def as_it_is(batch: Any) -> Any:
    return batch  # one function: each new one would be compiled anew


def epoch() -> Iterator[Array]:
    iterator, left = iter(pipeline), len(case.rows)
    iterator.set_state({**iterator.get_state(), "position": np.int64(0)})
    while left > 0:
        batches = min(LENGTH, -(-left // case.batch_size))
        stacked = jax.block_until_ready(pipeline.scan(as_it_is, length=batches))
        for rows in np.asarray(stacked["rows"]):
            yield rows[:left]  # the last batch is filled up
            left -= case.batch_size


if __name__ == "__main__":
    source = MemorySource(MemorySourceConfig(), {"rows": case.rows})
    pipeline = datarax.Pipeline(source=source, stages=[Steps()], batch_size=case.batch_size, rngs=nnx.Rngs(0))
    measure(case, epoch, whole=True)
