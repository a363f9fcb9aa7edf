"""Where batches are delivered, and how the loop sees that they are there: the host's memory, or that of a device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from .exchange import Unready, weigh
from .pipeline import Array, Batch

NAMES = {"cuda": "gpu", "rocm": "gpu"}
"""What frameworks call their devices, in the words of `--platform`, where those are others."""


def backend_of(devices: Iterable[str]) -> str:
    """The backend of what lies on devices of these kinds. Of several it is a name that nobody can ask for."""
    return " and ".join(sorted({NAMES.get(device.lower(), device.lower()) for device in devices}))


class Device:
    """The host: a batch is there when its arrays are numpy's."""

    backend = "cpu"
    """What is really active, in the words of `--platform`."""
    name = "cpu"

    def weigh(self, batch: Mapping[str, Any]) -> tuple[int, int]:
        """Elements and bytes of a batch. Refuses what is no array in its place."""
        return weigh(batch)

    def on_host(self, batch: Mapping[str, Any]) -> Batch:
        """The numbers of a batch on the host; not a copy if they are there."""
        return dict(batch)

    def wait(self, batch: Mapping[str, Any]) -> None:
        """Returns when all that was enqueued for the batch is done."""


HOST = Device()


class OnDevice(Device, ABC):
    """A device of one framework. The framework's own arrays are delivered, complete, in the device's memory."""

    backend = "gpu"

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def has(self, array: Any) -> bool:
        """Whether it is an array of the framework in this device's memory."""

    @abstractmethod
    def wait(self, batch: Mapping[str, Any]) -> None: ...

    @abstractmethod
    def copied(self, array: Any) -> Array:
        """The numbers of an array, on the host."""

    def size(self, array: Any) -> tuple[int, int]:
        """Elements and bytes of an array."""
        return len(array), array.nbytes

    def weigh(self, batch: Mapping[str, Any]) -> tuple[int, int]:
        elements = size = 0
        for name, array in batch.items():
            if not self.has(array):
                what = f"{type(array).__module__}.{type(array).__qualname__}"
                raise Unready(f"the field `{name}` of a batch is a {what} and no array on {self.name}")
            elements, weight = self.size(array)
            size += weight
        return elements, size

    def on_host(self, batch: Mapping[str, Any]) -> Batch:
        return {name: self.copied(array) for name, array in batch.items()}
