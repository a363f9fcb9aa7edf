"""Checkpoints that lie somewhere, as a checkpointer's file reads them: what is in one, its files say."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .adapter import Declined, Executed, Place
from .exchange import Exchange
from .opened import opened
from .pipeline import Array
from .protocol import Broken, Message

if TYPE_CHECKING:
    from .checkpointer import Placement, Saver


@dataclass(frozen=True)
class StoredFiles:
    """A checkpoint that is to be read. Nothing in it may be changed."""

    directory: Path

    format: str
    """`safetensors`, `orbax` or `sharded`."""

    store: str | None = None
    """Where it lies instead, in an object store: `s3://BUCKET/PREFIX`."""

    system: dict[str, Any] = field(default_factory=dict)
    """How the system is to read it, by its own names. What is not there is its own."""

    def only(self, *formats: str) -> None:
        """Declines what is of another format, or in an object store."""
        if self.store is not None:
            raise Declined("a checkpoint in an object store: it is not asked for those here")
        if self.format not in formats:
            raise Declined(f"the checkpoint is of {self.format}, and it reads {' and '.join(formats)} alone")


@dataclass(frozen=True)
class Header:
    """What a checkpoint says of a tensor."""

    key: str
    """Where it is in the tree of the checkpoint, as `jax.tree_util.keystr` writes that: `['weight']` in a flat one."""

    dtype: str
    """Its type, as numpy writes it: `<f4`."""

    shape: tuple[int, ...]

    def said(self) -> Message:
        return {"key": self.key, "dtype": self.dtype, "shape": list(self.shape)}


@dataclass(frozen=True)
class Tensor:
    """A tensor that was loaded, or a part of it with the part's own shape."""

    header: Header
    data: Array
    """Its bytes, row by row."""


def tensor(key: str, array: Array) -> Tensor:
    """A numpy array as it is told."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return Tensor(Header(key, array.dtype.str, array.shape), flat)


def flat_key(name: str) -> str:
    """The key of a tensor in a flat checkpoint."""
    return f"['{name}']"


class Stored(ABC):
    """A checkpoint that lies somewhere and is loaded again and again."""

    headers: list[Header]
    """Its tensors, in the order of their keys, as the files say."""

    def place(self, onto: Placement) -> None:
        """Has the loads that follow go onto these devices."""
        raise Declined("loading onto devices: it has none, and holds a state whole")

    def share(self, once: bool) -> None:
        """Has the loads that follow read the files for one replica alone, and copy to the others from memory.

        Replicas lie along the first axis of the devices. Without `once` a system does as it does without being asked.
        """
        raise Declined("loading for one replica and copying to others: it has no devices, and holds a state whole")

    @abstractmethod
    def load(self) -> None:
        """Loads it into memory of one's own, and keeps it."""

    @abstractmethod
    def loaded(self, at: int) -> Tensor:
        """A tensor of what was loaded last, by its position."""

    def part(self, at: int, device: int) -> Tensor:
        """The part of a tensor that lies on a device after a load onto devices."""
        raise LookupError(f"there is no device {device}: nothing was loaded onto devices")

    def fill(self, at: int, device: int, byte: int) -> None:
        """Writes this byte all over the part of a tensor that lies on a device, where it lies."""
        raise LookupError(f"there is no device {device}: nothing was loaded onto devices")

    @abstractmethod
    def release(self) -> None:
        """Lets go what was loaded."""

    def close(self) -> None:  # noqa: B027 (there may be nothing to let go)
        """Lets everything go."""


class StoredCase:
    """An open checkpoint."""

    def __init__(self, saver: Saver, said: Message) -> None:
        if saver.open_stored is None:
            raise Declined("a checkpoint that lies somewhere: it is not asked for those here")
        asked = said["stored"]
        system = {name: value for name, value in asked.get("system", {}).items() if value is not None}
        files = StoredFiles(Path(asked["directory"]), asked["format"], asked.get("store"), system)
        start = time.perf_counter_ns()
        self.exchange = Exchange(said["exchange"])
        place = Place(Path(said["scratch"]), Path(said["converted"]))
        try:
            self.stored = saver.open_stored(files, place)
        except BaseException:
            self.exchange.close()
            raise
        costs = {"convert": None, "set_up": time.perf_counter_ns() - start, "compile": None}
        self.opened = opened(saver.stored_entry_point or saver.entry_point, Executed(()), costs)

    def call(self, name: str, message: Message) -> tuple[str, Message]:
        from .checkpointer import placement

        match name:
            case "headers":
                return "batch", self.handed({"headers": text([header.said() for header in self.stored.headers])})
            case "place":
                self.stored.place(placement(message["onto"]))
            case "share":
                self.stored.share(message["once"])
            case "fill":
                self.stored.fill(message["tensor"], message["device"], message["byte"])
            case "load":
                self.stored.load()
            case "loaded":
                return "batch", self.told(self.stored.loaded(message["tensor"]))
            case "look":
                return "batch", self.handed({"seen": looked(self.shown, message["parts"])})
            case "part":
                return "batch", self.told(self.stored.part(message["tensor"], message["device"]))
            case "release":
                self.stored.release()
            case _:
                raise Broken(f"`{name}` is no call of a checkpoint that lies somewhere")
        return "answer", {}

    def shown(self, at: int, device: int | None) -> Array:
        """The bytes of a tensor that was loaded, or of its part on a device."""
        return (self.stored.loaded(at) if device is None else self.stored.part(at, device)).data

    def told(self, tensor: Tensor) -> Message:
        """Hands over a tensor that was loaded, or a part of it."""
        return self.handed({"header": text(tensor.header.said()), "bytes": tensor.data})

    def handed(self, fields: dict[str, Array]) -> Message:
        said, _ = self.exchange.put({name: array[np.newaxis] for name, array in fields.items()})
        return said

    def close(self) -> None:
        try:
            self.stored.close()
        finally:
            self.exchange.close()


PAGE = 4096
"""Bytes of a page: a byte of each is read."""


def looked(shown: Callable[[int, int | None], Array], parts: Sequence[Message]) -> Array:
    """The numbers of loaded tensors at the places that were drawn, each tensor's followed by the sum of a byte a page.

    The harness asks for it while its clock runs, so what a lazy load has left is read here.
    """
    seen = bytearray()
    for part in parts:
        flat = np.ascontiguousarray(shown(part["field"], part["device"])).reshape(-1).view(np.uint8)
        for place in part["places"]:
            seen += flat[place : place + part["width"]].tobytes()
        seen += int(flat[part["first"] :: PAGE].sum(dtype=np.uint64)).to_bytes(8, "little")
    return np.frombuffer(bytes(seen), np.uint8)


def text(value: object) -> Array:
    """A value as JSON, in bytes."""
    return np.frombuffer(json.dumps(value).encode(), np.uint8)
