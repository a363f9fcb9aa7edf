"""What one checkpointer's file implements: it saves a state and loads it, as its users would."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .adapter import Declined, Executed, Place, System
from .data import Data
from .exchange import Exchange
from .pipeline import Array
from .protocol import Broken, Message
from .steps import beside
from .usage import Tree

State = dict[str, Array]
"""The tensors of a state by name, in memory of this process."""


@dataclass(frozen=True)
class SaveOptions:
    """How a state lies in memory and how it is saved."""

    saving: str
    """`blocking` or `background`."""

    mesh: tuple[tuple[str, int], ...] = ()
    """The axes of a mesh of devices with their sizes; none where the state is whole."""

    shardings: tuple[tuple[str | None, ...], ...] = ()
    """For each tensor the axis that each dimension is cut along; dimensions at the end may be missing."""

    orbax: dict[str, Any] = field(default_factory=dict)
    """What Orbax is told by its own names. What is not there is its own."""


class Checkpoints(ABC):
    """A state that is saved again and again, and loaded."""

    @abstractmethod
    def save(self, directory: Path, durable: bool) -> None:
        """Saves the state in a directory that is not there. Returns when the caller may change the state.

        `durable` says that the file system is flushed after `wait`: who has a way to write for that may take it.
        """

    def wait(self) -> None:  # noqa: B027 (who saves before `save` returns has nothing to wait for)
        """Returns when what was saved is complete: a reader finds it."""

    @abstractmethod
    def load(self, directory: Path) -> None:
        """Loads what lies in a directory into memory of one's own, and keeps it."""

    @abstractmethod
    def loaded(self, name: str) -> Array:
        """A tensor of what was loaded last, as a numpy array."""

    @abstractmethod
    def release(self) -> None:
        """Lets go what was loaded."""

    def close(self) -> None:  # noqa: B027 (there may be nothing to let go)
        """Lets everything go."""


@dataclass(frozen=True)
class Saver(System):
    """A checkpointer. Its file ends with `ADAPTER = Saver(...)`."""

    open: Callable[[State, SaveOptions, Place], Checkpoints]
    """Takes the state, and how it is to be saved."""

    contract = "checkpointer"


class Case:
    """An open checkpointer with its state."""

    def __init__(self, saver: Saver, said: Message) -> None:
        data = Data(said["data"])
        if data.elements != 1:
            raise Broken(f"a state is one element, and there are {data.elements}")
        start = time.perf_counter_ns()
        state = {name: array[0] for name, array in data.load().items()}
        self.names = list(state)
        self.exchange = Exchange(said["exchange"])
        place = Place(Path(said["scratch"]), Path(said["converted"]))
        try:
            self.checkpoints = saver.open(state, save_options(said["state"]), place)
        except BaseException:
            self.exchange.close()
            raise
        set_up = time.perf_counter_ns() - start
        executed = Executed(())
        tree = Tree()
        tree.look()
        self.opened = {
            "executed": {
                "transforms": [],
                "ran_on": executed.ran_on,
                "synchronised": executed.synchronised,
                "delivery": executed.delivery,
                "workers": executed.workers,
            },
            "backend": "cpu",
            "entry_point": saver.entry_point,
            "order": executed.order,
            "costs": {"convert": None, "set_up": set_up, "compile": None},
            "processes": tree.processes,
            "threads": tree.threads,
        }
        tree.close()

    def call(self, name: str, message: Message) -> tuple[str, Message]:
        match name:
            case "save":
                self.checkpoints.save(Path(message["directory"]), message["durable"])
            case "wait":
                self.checkpoints.wait()
            case "load":
                self.checkpoints.load(Path(message["directory"]))
            case "loaded":
                return "batch", self.loaded(self.names[message["field"]])
            case "release":
                self.checkpoints.release()
            case "steps":
                directory = Path(message["directory"])
                save, wait = self.checkpoints.save, self.checkpoints.wait
                said = beside(message["kind"], message["steps"], lambda: save(directory, False), wait)
                return "answer", said
            case _:
                raise Broken(f"`{name}` is no call of the contract `checkpointer`")
        return "answer", {}

    def loaded(self, name: str) -> Message:
        """Hands over a tensor that was loaded."""
        array = np.asarray(self.checkpoints.loaded(name))
        said, _ = self.exchange.put({name: array[np.newaxis]})
        return said

    def close(self) -> None:
        try:
            self.checkpoints.close()
        finally:
            self.exchange.close()


def save_options(said: Message) -> SaveOptions:
    """The options of a message."""
    return SaveOptions(
        said["saving"],
        tuple((name, size) for name, size in said.get("mesh", ())),
        tuple(tuple(axes) for axes in said.get("shardings", ())),
        {name: value for name, value in said.get("orbax", {}).items() if value is not None},
    )


def blocking_only(options: SaveOptions, why: str) -> None:
    """Declines to save in the background."""
    if options.saving != "blocking":
        raise Declined(f"saving {options.saving}: {why}")
