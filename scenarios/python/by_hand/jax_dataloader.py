"""jax-dataloader: its own backend over a dataset that is asked for the rows of a batch at once."""

from __future__ import annotations

import jax_dataloader as jdl

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()


class Rows(jdl.Dataset):
    def __len__(self) -> int:
        return len(case.rows)

    def __getitem__(self, places: Array) -> Array:
        first = int(places[0])  # without shuffling they follow each other
        return case.steps(case.rows[first : first + len(places)])


if __name__ == "__main__":
    loader = jdl.DataLoader(Rows(), backend="jax", batch_size=case.batch_size, shuffle=False, drop_last=False)
    measure(case, lambda: loader)
