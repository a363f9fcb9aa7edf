"""NumPy: slices of an array in memory, and one call on each."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()


def epoch() -> Iterator[Array]:
    for number in range(case.batches):
        yield case.steps(case.batch(number))


if __name__ == "__main__":
    measure(case, epoch)
