"""Lance: an Arrow table of flat lists of a length, written once, and scanned in batches."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import Any

import lance
import pyarrow as pa

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()


def done(batch: Any) -> Array:
    return case.steps(batch["rows"].flatten().to_numpy().reshape(-1, *case.rows.shape[1:]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=case.files) as folder:
        lists = pa.FixedSizeListArray.from_arrays(pa.array(case.rows.reshape(-1)), case.rows[0].size)
        dataset = lance.write_dataset(pa.table({"rows": lists}), f"{folder}/table.lance")

        def epoch() -> Iterable[Array]:
            return map(done, dataset.to_batches(batch_size=case.batch_size))

        measure(case, epoch)
