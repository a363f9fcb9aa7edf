"""What loaders that are PyTorch's, or built on them, are given. Imports torch, so adapters alone import this."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.data

from .data import Data
from .pipeline import Array, Program, bf16, is_bf16

Sample = dict[str, Any]
"""An element: the raw bytes of each field, and its index where a step draws by it."""

Key = tuple[int, int]
"""An epoch, and the number of a batch in it."""


NONE = np.empty(0, np.int64)


class Steps:
    """Samples put together, and all steps on the batch. Workers that persist find the epoch in shared memory."""

    def __init__(self, program: Program, data: Data) -> None:
        self.program, self.data = program, data
        self.epoch = multiprocessing.get_context("fork").Value("q", 0, lock=False)

    def __call__(self, samples: Sequence[Sample]) -> dict[str, torch.Tensor]:
        # A sample without its index is one that no step draws for: then nothing looks at them.
        indices = np.array([sample["index"] for sample in samples]) if "index" in samples[0] else NONE
        first = int(indices[0]) if len(indices) else 0
        batch = self.program.batch(self.data.joined(samples), indices, self.epoch.value, first)
        return {name: torch.from_numpy(array) for name, array in batch.items()}


def tensor_of(array: Array) -> torch.Tensor:
    """A tensor over an array. `torch.from_numpy` has no word for `bf16`."""
    if is_bf16(array.dtype):
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def array_of(tensor: torch.Tensor) -> Array:
    """An array over a tensor, as above."""
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(bf16())
    return tensor.numpy()


class InOrder(torch.utils.data.Sampler[Key]):
    """The batches of an epoch, one after the other."""

    def __init__(self, batches: int) -> None:
        self.epoch, self.batches = 0, batches

    def __iter__(self) -> Iterator[Key]:
        return iter([(self.epoch, number) for number in range(self.batches)])

    def __len__(self) -> int:
        return self.batches


def as_it_is(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Nothing is left to convert: batches are tensors. (`default_convert` copies the dict and looks at each field.)"""
    return batch


def processes(workers: int) -> dict[str, Any]:
    """The arguments of a `DataLoader` for so many workers. They persist, since an epoch would begin with new processes
    otherwise, and are forked, since they find what is mapped where it was.
    """
    return {
        "num_workers": workers,
        "persistent_workers": workers > 0,
        "prefetch_factor": 2 if workers else None,
        "multiprocessing_context": "fork" if workers else None,
    }


def end_workers(loader: Any) -> None:
    """Ends the workers of a `DataLoader`."""
    # There is no public way to end workers that persist. An iterator without workers has nothing to end.
    end = getattr(getattr(loader, "_iterator", None), "_shutdown_workers", None)
    if end is not None:
        end()
