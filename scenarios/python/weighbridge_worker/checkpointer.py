"""What one checkpointer's file implements: it saves a state and loads it, as its users would."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from .adapter import Declined, Executed, Place, System
from .data import Data
from .exchange import Exchange
from .meeting import Meeting
from .opened import opened
from .pipeline import Array
from .protocol import Broken, Message
from .steps import beside
from .stored import Header, Stored, StoredFiles, looked, text

State = dict[str, Array]
"""The tensors of a state by name, in memory of this process."""

Leaf = int | str
"""A leaf of a state that is no array."""


@dataclass(frozen=True)
class Placement:
    """Where a state lies on devices, which are numbered along the last axis of the mesh first."""

    mesh: tuple[tuple[str, int], ...] = ()
    """The axes of a mesh of devices with their sizes; none where the state is whole."""

    shardings: tuple[tuple[tuple[str, ...], ...], ...] = ()
    """For each tensor the axes that each dimension is cut along, the coarsest first: none where it is not cut.
    Dimensions at the end may be missing."""

    @property
    def devices(self) -> int:
        """How many devices there are: one where there is no mesh."""
        return math.prod(size for _, size in self.mesh)

    def part(self, tensor: int, shape: tuple[int, ...], device: int) -> tuple[slice, ...]:
        """What of a tensor lies on a device."""
        place = [slice(0, size) for size in shape]
        if not self.mesh:
            return tuple(place)
        sizes = dict(self.mesh)
        at = dict(zip(sizes, np.unravel_index(device, tuple(sizes.values())), strict=True))
        for dimension, axes in enumerate(self.shardings[tensor]):
            part = 0
            for axis in axes:
                part = part * sizes[axis] + int(at[axis])
            length = shape[dimension] // math.prod(sizes[axis] for axis in axes)
            place[dimension] = slice(length * part, length * (part + 1))
        return tuple(place)


@dataclass(frozen=True)
class SaveOptions:
    """How a state lies in memory and how it is saved."""

    saving: str
    """`blocking` or `background`."""

    placement: Placement = Placement()
    """The devices that the state lies on."""

    onto: Placement | None = None
    """The devices that it is loaded onto, where that is to be another placement."""

    system: dict[str, Any] = field(default_factory=dict)
    """What the system is told by its own names. What is not there is its own."""

    layer: str = "checkpointer"
    """What of the system does it: `checkpointer` (what its users call), `tree` (what saves a tree of arrays in a
    directory), `arrays` (what saves arrays), or `arrays with metadata`."""

    rank: Meeting | None = None
    """Which of several processes this is, where each has the part of the device that has its number."""

    replicas: bool = False
    """Whether replicas have all of it, along the first axis of the devices: who holds a state once declines."""

    compression: str | None = None
    """`none` or `zstd`; `None` is what the system does without being asked."""

    device: str = "cpu"
    """Where the state is, and where it is loaded to, in the words of `--platform`."""

    leaves: Mapping[str, Leaf] = field(default_factory=dict)
    """What the tree of the state has beside its tensors, by name."""


TRAINED = np.float32(1 + 2**-10)
"""What every number of a state is multiplied by in a training step."""


@dataclass(frozen=True)
class Policy:
    """A reason to save a step or to keep a checkpoint."""

    name: str
    value: Any = None


@dataclass(frozen=True)
class Retention:
    """Which steps of a training are saved, and how many checkpoints are kept. The names are Orbax's."""

    save_interval_steps: int
    """A step is saved if this divides its number. Steps are counted from 0."""

    max_to_keep: int
    """So many checkpoints are kept, the newest ones."""

    num_deletion_threads: int
    """How many threads delete a checkpoint."""

    save_policies: Sequence[Policy] = ()
    """Reasons to save a step, of which one suffices: `interval` (steps), `steps`, `continuous` (seconds), `initial`,
    `preemption`. Without any `save_interval_steps` counts."""

    keep_policies: Sequence[Policy] = ()
    """Reasons to keep a checkpoint, of which one suffices: `latest` (how many; `None` is all), `interval` (steps),
    `seconds`, `steps`. Without any `max_to_keep` counts."""


class Manager(ABC):
    """Checkpoints of trainings, each in a directory of its own.

    The checkpoint of a step is called as the number of the step is, and has the state and the number.
    """

    @abstractmethod
    def begin(self, directory: Path) -> None:
        """Begins a training in an empty directory: the state is as it was opened. The one before has ended."""

    @abstractmethod
    def train(self) -> None:
        """Multiplies the state by `TRAINED` where it lies."""

    @abstractmethod
    def offer(self, step: int) -> None:
        """Offers the state after a step, which is saved if it is due. Returns when the caller may change the state."""

    @abstractmethod
    def settle(self) -> None:
        """Returns when what was offered is complete, and what is kept no longer is gone."""

    @abstractmethod
    def delete(self, step: int) -> None:
        """Deletes the checkpoint of a step."""

    @abstractmethod
    def kept(self) -> list[int]:
        """The steps that the manager says it has, oldest first."""

    @abstractmethod
    def restore(self, step: int | None) -> None:
        """Loads the checkpoint of a step, or the newest one, into memory of one's own, and keeps it."""

    @abstractmethod
    def position(self) -> int:
        """The number of the step, as the checkpoint has it that was loaded last."""

    @abstractmethod
    def loaded(self, name: str) -> Array:
        """A tensor of what was loaded last, as a numpy array."""

    @abstractmethod
    def release(self) -> None:
        """Lets go what was loaded."""

    def close(self) -> None:  # noqa: B027 (there may be nothing to let go)
        """Lets everything go."""


def turned(array: Array, bits: int) -> None:
    """Turns low bits of every number of an array over where they lie: once more takes it back."""
    numbers = array.reshape(-1)
    if not np.shares_memory(numbers, array):
        raise ValueError("an array that lies in pieces cannot be changed where it lies")
    lowest = numbers.view(np.uint8)[:: array.dtype.itemsize]
    np.bitwise_xor(lowest, np.uint8(bits), out=lowest)


class Checkpoints(ABC):
    """A state that is saved again and again, and loaded."""

    @abstractmethod
    def change(self, bits: Mapping[str, int]) -> None:
        """Changes tensors of the state as `turned` does, each by its bits: between saves, and after `save` returned."""

    @abstractmethod
    def save(self, directory: Path, durable: bool) -> None:
        """Saves the state in a directory that is not there. Returns when the caller may change the state.

        `durable` says that the file system is flushed after `wait`: who has a way to write for that may take it.
        """

    def wait(self) -> None:  # noqa: B027 (who saves before `save` returns has nothing to wait for)
        """Returns when what was saved is complete: a reader finds it."""

    def cancel(self) -> None:
        """Cancels what `save` began. `wait` returns when the system says that nothing of it goes on."""
        raise Declined("cancelling a save: it has no call for that")

    @abstractmethod
    def load(self, directory: Path) -> None:
        """Loads what lies in a directory into memory of one's own, and keeps it."""

    @abstractmethod
    def loaded(self, name: str) -> Array:
        """A tensor of what was loaded last, as a numpy array."""

    def part(self, name: str, device: int) -> Array:
        """The part of a tensor that lies on a device after a load onto `SaveOptions.onto`."""
        raise Declined(f"device {device}: it has no devices, and holds a state whole")

    def read_metadata(self, directory: Path) -> None:
        """Reads what a checkpoint says of its tensors, and nothing of these; keeps it."""
        raise Declined("reading what a checkpoint says of its tensors: it is not asked for that here")

    def described(self) -> list[Header]:
        """What was read last of what a checkpoint says, in the order of the state."""
        raise LookupError("nothing was read of what a checkpoint says")

    def loaded_leaf(self, name: str) -> Leaf:
        """A leaf of what was loaded last that is no array, as it came."""
        raise LookupError(f"`{name}`: there are no leaves but arrays")

    @abstractmethod
    def release(self) -> None:
        """Lets go what was loaded."""

    def mark(self) -> None:
        """Overwrites the state: on each device, every byte is the number of the device and one."""
        raise Declined("marking replicas: it has none, and holds a state once")

    def manager(self, retention: Retention) -> Manager:
        """A manager of the checkpoints of trainings that begin with the state."""
        raise Declined("a manager of checkpoints: it has none, and its users delete old checkpoints themselves")

    def where(self) -> str:
        """The backend that holds the state, read from what the system saves."""
        return "cpu"

    def close(self) -> None:  # noqa: B027 (there may be nothing to let go)
        """Lets everything go."""


@dataclass(frozen=True)
class Saver(System):
    """A checkpointer. Its file ends with `ADAPTER = Saver(...)`."""

    open: Callable[[State, SaveOptions, Place], Checkpoints] | None
    """Takes the state, and how it is to be saved; `None` where it loads alone what others have saved."""

    reshards: bool = False
    """Whether it loads onto other devices than it saves from, and so has `Checkpoints.part`."""

    ranks: bool = False
    """Whether several processes save one checkpoint, each its part, and so it has `Checkpoints.part`."""

    replicates: bool = False
    """Whether replicas can have its state, and so it has `Checkpoints.mark`."""

    leaves: bool = False
    """Whether a state may have leaves that are no arrays, and so it has `Checkpoints.loaded_leaf`."""

    compressions: Sequence[str] = ("none",)
    """The ways to compress that it can be asked for."""

    layers: Sequence[str] = ()
    """The layers below `checkpointer` that it can be called by."""

    open_stored: Callable[[StoredFiles, Place], Stored] | None = None
    """Looks into a checkpoint that lies somewhere; `None` where it is not asked for those."""

    stored_entry_point: str | None = None
    """What reads those, where that is not what saves."""

    contract = "checkpointer"


class Case:
    """An open checkpointer with its state."""

    def __init__(self, saver: Saver, said: Message) -> None:
        if saver.open is None:
            raise Declined("saving: it loads what others have saved, as CKPT-7 has it do")
        data = Data(said["data"])
        if data.elements != 1:
            raise Broken(f"a state is one element, and there are {data.elements}")
        rank = Meeting(**said["rank"]) if "rank" in said else None
        if rank and not saver.ranks:
            raise Declined(f"{rank.of} processes: {saver.framework} saves from one here")
        options = replace(save_options(said["state"]), rank=rank, device=said.get("device", "cpu"))
        kinds: dict[str, str] = said["state"].get("leaves", {})
        is_more = rank or options.onto is not None or options.replicas or options.layer != "checkpointer"
        if kinds and (not saver.leaves or is_more):
            where = "a state on several places or by a layer" if saver.leaves else saver.framework
            name, kind = next(iter(kinds.items()))
            raise Declined(f"a state in which `{name}` is {kind}: {where} has arrays alone here")
        if options.onto is not None and not saver.reshards:
            raise Declined("loading onto other devices: it has none, and holds a state whole")
        if options.replicas and not saver.replicates:
            raise Declined("saving from replicas: it has none, and holds a state once")
        if options.compression not in (None, *saver.compressions):
            raise Declined(f"compression {options.compression}: it is not asked for that here")
        if options.layer != "checkpointer" and options.layer not in saver.layers:
            raise Declined(f"saving by its {options.layer}: it has no such layer that is called alone")
        start = time.perf_counter_ns()
        state = {name: array[0, ...] for name, array in data.load().items()}  # a number alone is an array too
        self.names = list(state)
        if kinds:
            arrays = tuple(cuts for name, cuts in zip_longest(state, options.placement.shardings) if name not in kinds)
            placement = replace(options.placement, shardings=arrays if options.placement.mesh else ())
            leaves = {name: leaf_of(state.pop(name), kind) for name, kind in kinds.items()}
            options = replace(options, placement=placement, leaves=leaves)
        self.leaves = options.leaves
        self.manager: Manager | None = None
        self.exchange = Exchange(said["exchange"])
        place = Place(Path(said["scratch"]), Path(said["converted"]))
        try:
            self.checkpoints = saver.open(state, options, place)
        except BaseException:
            self.exchange.close()
            raise
        set_up = time.perf_counter_ns() - start
        costs = {"convert": None, "set_up": set_up, "compile": None}
        backend = self.checkpoints.where()
        self.opened = opened(saver.entry_point, Executed((), ran_on=backend), costs) | {"backend": backend}

    def call(self, name: str, message: Message) -> tuple[str, Message]:
        match name:
            case "change":
                self.checkpoints.change(self.bits(message))
            case "save":
                self.checkpoints.save(Path(message["directory"]), message["durable"])
            case "wait":
                self.checkpoints.wait()
            case "cancel":
                self.checkpoints.cancel()
            case "load":
                self.checkpoints.load(Path(message["directory"]))
            case "loaded":
                name = self.names[message["field"]]
                if name in self.leaves:
                    return "batch", self.handed(name, bytes_of(self.checkpoints.loaded_leaf(name), self.leaves[name]))
                return "batch", self.handed(name, self.checkpoints.loaded(name))
            case "look":
                return "batch", self.handed("seen", looked(self.shown, message["parts"]))
            case "part":
                name = self.names[message["field"]]
                return "batch", self.handed(name, self.checkpoints.part(name, message["device"]))
            case "read_metadata":
                self.checkpoints.read_metadata(Path(message["directory"]))
            case "described":
                return "batch", self.handed("headers", text([header.said() for header in self.checkpoints.described()]))
            case "release":
                self.checkpoints.release()
            case "mark":
                self.checkpoints.mark()
            case "steps":
                directory = Path(message["directory"])
                save, wait, bits = self.checkpoints.save, self.checkpoints.wait, self.bits(message)
                change = partial(self.checkpoints.change, bits)
                said = beside(message["kind"], message["steps"], lambda: save(directory, False), wait, change)
                return "answer", said
            case "manage":
                if self.leaves:
                    raise Declined("a manager of a state with leaves that are no arrays: it is not asked for that here")
                self.manager = self.checkpoints.manager(retention(message["retention"]))
            case _ if self.manager is not None:
                return self.managed(self.manager, name, message)
            case _:
                raise Broken(f"`{name}` is no call of the contract `checkpointer`")
        return "answer", {}

    def bits(self, message: Message) -> dict[str, int]:
        """The bits of each tensor that a message changes."""
        return {name: bits for name, bits in zip(self.names, message["bits"], strict=True) if bits}

    def shown(self, field: int, device: int | None) -> Array:
        """A tensor that was loaded, or its part on a device, as it lies in memory."""
        name = self.names[field]
        if device is not None:
            return self.checkpoints.part(name, device)
        if name in self.leaves:
            return bytes_of(self.checkpoints.loaded_leaf(name), self.leaves[name])
        return self.checkpoints.loaded(name)

    def managed(self, manager: Manager, name: str, message: Message) -> tuple[str, Message]:
        """A call of a manager."""
        match name:
            case "begin":
                manager.begin(Path(message["directory"]))
            case "train":
                manager.train()
            case "offer":
                manager.offer(message["step"])
            case "settle":
                manager.settle()
            case "delete":
                manager.delete(message["step"])
            case "kept":
                return "batch", self.handed("steps", np.array(manager.kept(), np.int64))
            case "restore":
                manager.restore(message["step"])
            case "position":
                return "batch", self.handed("step", np.array([manager.position()], np.int64))
            case "restored":
                name = self.names[message["field"]]
                return "batch", self.handed(name, manager.loaded(name))
            case "look_restored":
                seen = looked(lambda field, _: manager.loaded(self.names[field]), message["parts"])
                return "batch", self.handed("seen", seen)
            case "let_go":
                manager.release()
            case _:
                raise Broken(f"`{name}` is no call of a manager of checkpoints")
        return "answer", {}

    def handed(self, name: str, array: Array) -> Message:
        """Hands over a tensor that was loaded, or a part of it."""
        said, _ = self.exchange.put({name: np.asarray(array)[np.newaxis, ...]})
        return said

    def close(self) -> None:
        try:
            if self.manager is not None:
                self.manager.close()
            self.checkpoints.close()
        finally:
            self.exchange.close()


def leaf_of(array: Array, kind: str) -> Leaf:
    """A leaf that is no array, of the bytes that stand for it in a data set."""
    return int(array) if kind == "int" else array.tobytes().decode()


def bytes_of(found: Leaf, due: Leaf) -> Array:
    """The bytes that stand for a leaf in a data set. What came as another type is not it."""
    if type(found) is not type(due):
        raise TypeError(f"{due!r} came back as {found!r}, of {type(found).__name__}")
    return np.int64(found).reshape(()) if isinstance(found, int) else np.frombuffer(found.encode(), np.uint8)


def save_options(said: Message) -> SaveOptions:
    """The options of a message."""
    onto = said.get("onto")
    return SaveOptions(
        said["saving"],
        placement(said),
        None if onto is None else placement(onto),
        {name: value for name, value in said.get("system", {}).items() if value is not None},
        said.get("layer", "checkpointer"),
        replicas=said.get("replicas", False),
        compression=said.get("compression"),
    )


def retention(said: Message) -> Retention:
    """The rules of a message, whose policies are names, or names with values."""
    told = dict(said)
    for kind in ("save_policies", "keep_policies"):
        each = [(one, None) if isinstance(one, str) else next(iter(one.items())) for one in told.get(kind, ())]
        told[kind] = tuple(Policy(name, value) for name, value in each)
    return Retention(**told)


def placement(said: Message) -> Placement:
    """The placement of a message."""
    return Placement(
        tuple((name, size) for name, size in said.get("mesh", ())),
        tuple(tuple(tuple(axes) for axes in cuts) for cuts in said.get("shardings", ())),
    )


def blocking_only(options: SaveOptions, why: str) -> None:
    """Declines to save in the background."""
    if options.saving != "blocking":
        raise Declined(f"saving {options.saving}: {why}")
