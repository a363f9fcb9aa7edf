"""A checkpointer in plain numpy, for the conversation's sake."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from weighbridge_worker.adapter import Place
from weighbridge_worker.checkpointer import (
    TRAINED,
    Checkpoints,
    Manager,
    Retention,
    SaveOptions,
    Saver,
    State,
    blocking_only,
    turned,
)
from weighbridge_worker.stored import Header, Stored, StoredFiles, Tensor, flat_key, tensor


class Odd(BaseException):
    """What PyTorch's checkpoints raise is no `Exception` either."""


class Plain(Checkpoints):
    def __init__(self, state: State) -> None:
        self.state = state
        self.held: State = {}

    def change(self, bits: Mapping[str, int]) -> None:
        for name, turning in bits.items():
            turned(self.state[name], turning)

    def save(self, directory: Path, durable: bool) -> None:
        directory.mkdir()
        np.savez(directory / "state.npz", **self.state)

    def load(self, directory: Path) -> None:
        if directory.name == "odd":
            raise Odd("a shard is missing")
        with np.load(directory / "state.npz") as stored:
            self.held = {name: stored[name] for name in self.state}

    def loaded(self, name: str) -> np.ndarray:
        return self.held[name]

    def release(self) -> None:
        self.held = {}

    def manager(self, retention: Retention) -> "Training":
        return Training(self, retention)


class Training(Manager):
    def __init__(self, checkpoints: Plain, retention: Retention) -> None:
        self.checkpoints, self.retention, self.first = checkpoints, retention, checkpoints.state

    def begin(self, directory: Path) -> None:
        self.directory = directory
        self.checkpoints.state = {name: array.copy() for name, array in self.first.items()}

    def train(self) -> None:
        for array in self.checkpoints.state.values():
            np.multiply(array, TRAINED, out=array)

    def offer(self, step: int) -> None:
        assert not self.retention.save_policies and not self.retention.keep_policies
        if step % self.retention.save_interval_steps == 0:
            self.checkpoints.save(self.directory / str(step), False)
            for old in self.kept()[: -self.retention.max_to_keep]:
                self.delete(old)

    def settle(self) -> None:
        pass

    def delete(self, step: int) -> None:
        shutil.rmtree(self.directory / str(step))

    def kept(self) -> list[int]:
        return sorted(int(path.name) for path in self.directory.iterdir())

    def restore(self, step: int | None) -> None:
        self.step = self.kept()[-1] if step is None else step
        self.checkpoints.load(self.directory / str(self.step))

    def position(self) -> int:
        return self.step

    def loaded(self, name: str) -> np.ndarray:
        return self.checkpoints.loaded(name)

    def release(self) -> None:
        self.checkpoints.release()


class Lying(Stored):
    """What lies in a file of numpy's. How it is lied about, a file beside it says."""

    def __init__(self, directory: Path) -> None:
        self.file, lie = directory / "state.npz", directory / "lie"
        self.lie = lie.read_text() if lie.exists() else ""
        with np.load(self.file) as stored:
            self.names = sorted(stored, key=flat_key)
            self.headers = [Header(flat_key(name), stored[name].dtype.str, stored[name].shape) for name in self.names]
        self.held: State = {}

    def load(self) -> None:
        with np.load(self.file) as stored:
            self.held = {name: stored[name] for name in stored}

    def loaded(self, at: int) -> Tensor:
        if self.lie == "looks later":
            self.load()
        held = self.held[self.names[at]]
        return tensor(flat_key(self.names[at]), held.astype(np.float16) if self.lie == "halves" else held)

    def release(self) -> None:
        self.held = {}


def open_stored(files: StoredFiles, place: Place) -> Lying:
    files.only("sharded")
    return Lying(files.directory)


def open(state: State, options: SaveOptions, place: Place) -> Plain:
    blocking_only(options, "numpy has no such call")
    return Plain(state)


ADAPTER = Saver(framework="Plain", distribution="numpy", entry_point="numpy.savez", open=open, open_stored=open_stored)
