"""Daft: a data frame over an Arrow table in memory, handed out in batches of Arrow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import daft
import pyarrow as pa

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()


def done(batch: Any) -> Array:
    return case.steps(batch["rows"].flatten().to_numpy().reshape(-1, *case.rows.shape[1:]))


if __name__ == "__main__":
    lists = pa.FixedSizeListArray.from_arrays(pa.array(case.rows.reshape(-1)), case.rows[0].size)
    frame = daft.from_arrow(pa.table({"rows": lists})).into_batches(case.batch_size)

    def epoch() -> Iterable[Array]:
        return map(done, frame.to_arrow_iter())

    measure(case, epoch)
