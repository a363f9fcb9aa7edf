"""TensorStore alone: an array of zarr3 for each tensor, in one OCDBT database, as Orbax lays them out.

All arrays are opened and written at once, and the futures waited for. A write has two: `copy` (the array may be
changed) and `commit` (it is stored). In the background, `save` waits for the copies and `wait` for the commits.

Nothing is compressed, unless it is asked to.

It saves arrays and nothing above them, so its layer `arrays` is all of it.

A device is an array in memory for each tensor: onto devices, each reads its part of the stored array.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorstore as ts

from ..adapter import Place
from ..checkpointer import Checkpoints, Placement, SaveOptions, Saver, State, turned
from ..pipeline import Array
from ..stored import Header, flat_key


def spec(directory: Path, name: str) -> dict[str, Any]:
    """Where an array lies."""
    base = {"driver": "file", "path": f"{directory}/"}
    return {"driver": "zarr3", "kvstore": {"driver": "ocdbt", "base": base, "path": f"{name}/"}}


CODECS = [
    {"name": "bytes", "configuration": {"endian": "little"}},
    {"name": "zstd", "configuration": {"level": 1}},
]
"""How an array becomes bytes: the first alone is what zarr3 has itself, and the level is that of Orbax."""


class TensorStore(Checkpoints):
    """A database in the directory."""

    def __init__(self, state: State, options: SaveOptions) -> None:
        self.state, self.saving = state, options.saving
        self.metadata = {"codecs": CODECS if options.compression == "zstd" else CODECS[:1]}
        self.onto = Placement() if options.onto is None else options.onto
        self.context = ts.Context()
        self.held: dict[str, list[np.ndarray[Any, Any]]] = {}
        self.places = {
            name: [self.onto.part(at, array.shape, device) for device in range(self.onto.devices)]
            for at, (name, array) in enumerate(state.items())
        }
        self.commits: list[Any] = []
        self.said: dict[str, Any] = {}

    def change(self, bits: Mapping[str, int]) -> None:
        for name, turning in bits.items():
            turned(self.state[name], turning)

    def save(self, directory: Path, durable: bool) -> None:
        opening = {
            name: ts.open(
                {**spec(directory, name), "metadata": self.metadata},
                create=True,
                open=False,
                dtype=array.dtype,
                shape=array.shape,
                context=self.context,
            )
            for name, array in self.state.items()
        }
        writes = [opening[name].result().write(array) for name, array in self.state.items()]
        for write in writes:
            write.copy.result()
        self.commits = [write.commit for write in writes]
        if self.saving == "blocking":
            self.wait()

    def wait(self) -> None:
        for commit in self.commits:
            commit.result()
        self.commits = []

    def load(self, directory: Path) -> None:
        context = ts.Context()  # nothing is in its cache
        opening = {name: ts.open(spec(directory, name), context=context) for name in self.state}
        reading = {
            name: [opened.result()[place].read() for place in self.places[name]] for name, opened in opening.items()
        }
        self.held = {name: [read.result() for read in reads] for name, reads in reading.items()}

    def read_metadata(self, directory: Path) -> None:
        context = ts.Context()  # nothing is in its cache
        opening = {name: ts.open(spec(directory, name), context=context) for name in self.state}
        self.said = {name: opened.result() for name, opened in opening.items()}

    def described(self) -> list[Header]:
        return [Header(flat_key(name), said.dtype.numpy_dtype.str, said.shape) for name, said in self.said.items()]

    def loaded(self, name: str) -> Array:
        parts = self.held[name]
        if len(parts) == 1:
            return parts[0]
        whole = np.empty(self.state[name].shape, self.state[name].dtype)
        for place, part in zip(self.places[name], parts, strict=True):
            whole[place] = part
        return whole

    def part(self, name: str, device: int) -> Array:
        return self.held[name][device]

    def release(self) -> None:
        self.held = {}


def open(state: State, options: SaveOptions, place: Place) -> TensorStore:
    return TensorStore(state, options)


ADAPTER = Saver(
    framework="TensorStore",
    distribution="tensorstore",
    entry_point="tensorstore.open",
    open=open,
    reshards=True,
    compressions=("none", "zstd"),
    layers=("arrays",),
)
