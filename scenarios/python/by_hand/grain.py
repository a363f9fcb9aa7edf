"""Google Grain: a random-access source of batches, `MapDataset.map`, and an iterator that reads without threads of its
own, as the documentation advises for data in memory; with workers by so many threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grain

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()


class Batches:
    def __len__(self) -> int:
        return case.batches

    def __getitem__(self, number: Any) -> Array:
        return case.batch(int(number))


def epoch() -> Iterable[Array]:
    options = grain.ReadOptions(num_threads=case.workers, prefetch_buffer_size=2 * case.workers)
    return grain.MapDataset.source(Batches()).map(case.steps).to_iter_dataset(options)


if __name__ == "__main__":
    measure(case, epoch)
