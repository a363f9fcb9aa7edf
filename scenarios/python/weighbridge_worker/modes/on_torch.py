"""PyTorch: the list element by element and call by call (`eager`), and transform by transform over the batch under
`torch.vmap` (`vectorised`). Nothing is compiled: there is nothing to count.

Not here: `torch.compile` of either. It had not compiled one in 30 seconds of processor time.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from ..pipeline import Array
from . import Square

Run = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Rows, corners and turns of a batch to what is delivered."""


def normalise(x: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    return (x - mean) * scale


def run(mode: str, square: Square) -> Run:
    """The list in this way."""
    mean, scale = torch.from_numpy(square.mean), torch.from_numpy(square.scale)
    side, window = square.side, square.window
    around, kept = (0, 0, 0, side - window, 0, side - window), torch.arange(window)
    i, j = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    last = side - 1
    # Where a quarter turn takes each pixel from, for each number of turns.
    row_of, column_of = torch.stack([i, j, last - i, last - j]), torch.stack([j, last - i, last - j, i])

    def eager(rows: Tensor, corners: Tensor, turns: Tensor) -> Tensor:
        made = []
        for row, (top, left), k in zip(rows.unbind(), corners.tolist(), turns.tolist(), strict=True):
            x = normalise(row, mean, scale)
            x = F.pad(x[top : top + window, left : left + window], around)
            made.append(torch.rot90(x, k))
        return torch.stack(made)

    def crop(x: Tensor, corner: Tensor) -> Tensor:
        return F.pad(x[(corner[0] + kept)[:, None], (corner[1] + kept)[None]], around)

    def turn(x: Tensor, turns: Tensor) -> Tensor:
        return x[row_of[turns], column_of[turns]]

    def vectorised(rows: Tensor, corners: Tensor, turns: Tensor) -> Tensor:
        x = torch.vmap(lambda x: normalise(x, mean, scale))(rows)
        return torch.vmap(turn)(torch.vmap(crop)(x, corners), turns)

    return {"eager": eager, "vectorised": vectorised}[mode]


def entering(arrays: tuple[Array, ...]) -> tuple[Tensor, ...]:
    return tuple(map(torch.from_numpy, arrays))
