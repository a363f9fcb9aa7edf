"""Deep Lake: a column of arrays, written once, and sliced."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import deeplake

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()


def write(path: str) -> None:
    dataset = deeplake.create(path)
    dataset.add_column("rows", deeplake.types.Array(str(case.rows.dtype), list(case.rows.shape[1:])))
    dataset.append({"rows": case.rows})
    dataset.commit()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=case.files) as folder:
        write(f"{folder}/dataset")
        dataset = deeplake.open_read_only(f"{folder}/dataset")
        column = dataset["rows"]

        def epoch() -> Iterator[Array]:
            for first in range(0, len(case.rows), case.batch_size):
                yield case.steps(column[first : first + case.batch_size])

        measure(case, epoch)
