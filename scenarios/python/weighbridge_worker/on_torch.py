"""What loaders that are PyTorch's, or built on them, are given. Imports torch, so adapters alone import this."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.utils.data

from .adapter import Declined
from .data import Data
from .device import backend_of
from .pipeline import Array, Program, bf16, is_bf16
from .trainer import Phases

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


def device_for(asked: str) -> torch.device:
    """The device of a platform. There products of `f32` are of `f32`, and of `tf32` for nobody who did not ask."""
    if asked != "gpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise Declined(f"torch {torch.__version__} sees no GPU here")
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    return torch.device("cuda", torch.cuda.current_device())


def backend_of_tensors(tensors: Iterable[torch.Tensor]) -> str:
    return backend_of(tensor.device.type for tensor in tensors)


def multiplies_tf32(tensors: Iterable[torch.Tensor]) -> bool:
    """Whether products of these, which are of `f32`, are of `tf32`."""
    is_allowed = torch.get_float32_matmul_precision() != "highest" or torch.backends.cudnn.allow_tf32
    return is_allowed and backend_of_tensors(tensors) == "gpu"


def memory_of(device: torch.device) -> dict[str, int]:
    """As `Loader.device_memory`."""
    if device.type == "cpu":
        return {}
    free, total = torch.cuda.mem_get_info(device)
    return {"framework": torch.cuda.max_memory_allocated(device), "driver": total - free}


def turned_there(tensor: torch.Tensor, bits: int) -> None:
    """As `checkpointer.turned`, of a tensor on a device."""
    lowest = tensor.reshape(-1).view(torch.uint8)[:: tensor.element_size()]
    lowest.bitwise_xor_(bits)


def settle(device: torch.device) -> None:
    """Returns when the device has done all that was enqueued, on whichever stream."""
    if device.type != "cpu":
        torch.cuda.synchronize(device)


class EventPhases(Phases):
    """The clock of one step on a device: each phase by a pair of events on the stream that it is on."""

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        yield
        end.record()
        end.synchronize()
        self.took[name] = round(begin.elapsed_time(end) * 1e6)

    def rest(self, step: int) -> None:
        """What the host takes around events: the device is idle then."""
        self.took["host"] = max(step - sum(self.took.values()), 0)


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
