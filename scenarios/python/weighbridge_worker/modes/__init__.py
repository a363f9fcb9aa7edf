"""One list of transforms run in one of four ways, by the operations of a framework: one file for each.

The draws are those that all systems share, so that what comes out is the same bit by bit in every way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..adapter import Declined
from ..data import Data, Rows
from ..draws import Draw
from ..pipeline import Array, Pipeline
from ..transforms import crop_corners, crop_window

MODES = ("eager", "vectorised", "compiled", "fused")
WRITTEN = ("Normalize", "RandomCrop", "AffineRotation")
"""The list that the ways are written for: there is one."""


@dataclass(frozen=True)
class Square:
    """What the list works with: constants of `Normalize`, the side of an image and that of its window."""

    mean: Array
    scale: Array
    side: int
    window: int

    @classmethod
    def of(cls, pipeline: Pipeline, data: Data) -> Square:
        mode, source = pipeline.mode, data.sources[0]
        is_written = pipeline.transforms == WRITTEN and not pipeline.asks and len(data.sources) == 1
        if not is_written or source.mean is None or source.scale is None or len(source.kind.shape) != 3:
            raise Declined(f"mode {mode}: it is written for {' > '.join(WRITTEN)} on f32 images, and for nothing else")
        if pipeline.workers or pipeline.access != "memory":
            raise Declined(f"mode {mode}: rows are in memory, and no workers make batches")
        side = source.kind.shape[0]
        return cls(source.mean, source.scale, side, crop_window(side))


def drawn(pipeline: Pipeline, rows: Rows, epoch: int, side: int) -> tuple[Array, Array]:
    """The corner of each element's window (elements x 2), and its quarter turns: `i32`."""
    corners = crop_corners(Draw(pipeline.seed, epoch, rows.indices, 1), side, side)
    turns = Draw(pipeline.seed, epoch, rows.indices, 2).below(0, 4)
    return np.stack(corners, 1).astype(np.int32), turns.astype(np.int32)
