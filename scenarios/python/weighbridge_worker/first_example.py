"""What somebody writes who starts with a framework: one field in memory, and a line of numpy for the steps.

A pipeline that asks for a framework's first example (`setting` is `default`) is opened by this and by what the
framework's documentation begins with. Nothing here is clever, and nothing of the worker's own stands between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .adapter import Declined
from .data import Data
from .pipeline import Array, Pipeline

STEPS = [(), ("Normalize",), ("Normalize", "CastToFloat32")]
"""The lists of steps that a line of numpy does: those of NLP-1, TAB-1 and CV-1."""


@dataclass(frozen=True)
class FirstExample:
    """A pipeline that is as simple as that."""

    name: str
    """The field."""

    rows: Array
    """Its elements, as a view of the data."""

    steps: Callable[[Array], Array]
    """The steps on an element or a batch, into memory of its own."""

    batch_size: int
    workers: int

    @classmethod
    def of(cls, pipeline: Pipeline, data: Data) -> FirstExample:
        """Declines what asks for more."""
        beyond = pipeline.asks or pipeline.device != "cpu" or pipeline.operators != "shared" or pipeline.mode
        if len(data.sources) != 1 or pipeline.transforms not in STEPS or pipeline.access != "memory" or beyond:
            raise Declined("setting default: first examples here are of one field in memory, as CV-1, NLP-1 and TAB-1")
        (source,) = data.sources
        rows = data.arrays()[source.kind.name][pipeline.first : pipeline.end]
        steps = cls.steps_of(pipeline, source.mean, source.scale)
        return cls(source.kind.name, rows, steps, pipeline.batch_size, pipeline.workers)

    @staticmethod
    def steps_of(pipeline: Pipeline, mean: Array | None, scale: Array | None) -> Callable[[Array], Array]:
        if not pipeline.transforms:
            return np.array
        if mean is None:
            return lambda rows: np.divide(rows, np.float32(255), dtype=np.float32)
        return lambda rows: (rows - mean) * scale
