"""Datarax in scan mode: many batches of a compiled pipeline in one call, whose step gives the rows as they are."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

import datarax
import jax
import numpy as np
from datarax.sources import MemorySource, MemorySourceConfig
from flax import nnx

from .case import Array, Case
from .datarax import Steps
from .timed import measure

case = Case.from_arguments()
LENGTH = (16 << 20) // case.steps(case.batch(0)).nbytes
ROWS = itemgetter("rows")  # one function: each new one would be compiled anew


def epoch() -> Iterator[Array]:
    iterator = iter(pipeline)
    iterator.set_state({**iterator.get_state(), "position": np.int64(0)})
    return in_turn(len(case.rows))


def in_turn(left: int) -> Iterator[Array]:
    while left > 0:
        stacked = pipeline.scan(ROWS, length=min(LENGTH, -(-left // case.batch_size)))
        for rows in np.asarray(jax.block_until_ready(stacked)):
            yield rows[:left]  # the last batch is filled up
            left -= case.batch_size


if __name__ == "__main__":
    source = MemorySource(MemorySourceConfig(), {"rows": case.rows})
    pipeline = datarax.Pipeline(source=source, stages=[Steps()], batch_size=case.batch_size, rngs=nnx.Rngs(0))
    measure(case, epoch, whole=True)
