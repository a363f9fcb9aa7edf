"""Datarax: a source in memory and one stage in a compiled pipeline, iterated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import datarax
import jax
import jax.numpy as jnp
import numpy as np
from datarax.sources import MemorySource, MemorySourceConfig
from flax import nnx

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()


class Steps(nnx.Module):
    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        rows = batch["rows"]
        if case.name == "CV-1":
            return {"rows": rows.astype(jnp.float32) / 255}
        return {"rows": (rows - case.mean) * case.scale} if case.name == "TAB-1" else batch


def epoch() -> Iterator[Array]:
    iterator, left = iter(pipeline), len(case.rows)
    iterator.set_state({**iterator.get_state(), "position": np.int64(0)})
    for batch in iterator:
        yield np.asarray(jax.block_until_ready(batch["rows"]))[:left]  # the last batch is filled up
        left -= case.batch_size


if __name__ == "__main__":
    source = MemorySource(MemorySourceConfig(), {"rows": case.rows})
    pipeline = datarax.Pipeline(source=source, stages=[Steps()], batch_size=case.batch_size, rngs=nnx.Rngs(0))
    measure(case, epoch)
