"""What streaming loaders built on PyTorch's are given as `collate_fn`. Imports torch, so adapters alone import this."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .data import Data
from .pipeline import Program

Sample = dict[str, Any]
"""An element: its index, and the raw bytes of each field."""


class Steps:
    """Samples put together, and all steps on the batch. Workers that persist find the epoch in shared memory."""

    def __init__(self, program: Program, data: Data) -> None:
        self.program, self.data = program, data
        self.epoch = multiprocessing.get_context("fork").Value("q", 0, lock=False)

    def __call__(self, samples: Sequence[Sample]) -> dict[str, torch.Tensor]:
        indices = np.array([sample["index"] for sample in samples])
        batch = self.program.batch(self.data.joined(samples), indices, self.epoch.value, int(indices[0]))
        return {name: torch.from_numpy(array) for name, array in batch.items()}
