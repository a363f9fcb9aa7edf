"""torch.save: a dictionary of tensors in one file, as its tutorials write it.

The file is one of pickle and storages in an uncompressed archive. Nothing is synced, and a process that is killed
leaves half a file under the name of a whole one. `torch.load` reads tensors into memory of the process, unless it is
told to map the file. A state in a device's memory is saved as it lies there, and loaded to it.

Cannot: save in the background. There is no such call.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ..adapter import Place
from ..checkpointer import Checkpoints, Leaf, SaveOptions, Saver, State, blocking_only, turned
from ..on_torch import array_of, backend_of_tensors, device_for, settle, tensor_of, turned_there
from ..pipeline import Array


class TorchSave(Checkpoints):
    """A file in the directory."""

    def __init__(self, state: State, leaves: Mapping[str, Leaf], asked: str) -> None:
        self.where_to = device_for(asked)
        self.tensors = {name: tensor_of(array).to(self.where_to) for name, array in state.items()}
        self.state: dict[str, Any] = self.tensors | dict(leaves)
        self.held: dict[str, Any] = {}

    def change(self, bits: Mapping[str, int]) -> None:
        for name, turning in bits.items():
            if self.where_to.type == "cpu":
                turned(array_of(self.state[name]), turning)
            else:
                turned_there(self.state[name], turning)
        settle(self.where_to)

    def where(self) -> str:
        return backend_of_tensors(self.tensors.values())

    def save(self, directory: Path, durable: bool) -> None:
        directory.mkdir()
        torch.save(self.state, directory / "state.pt")

    def load(self, directory: Path) -> None:
        self.held = torch.load(directory / "state.pt", map_location=self.where_to, weights_only=True)
        settle(self.where_to)

    def loaded(self, name: str) -> Array:
        return array_of(self.held[name].cpu())

    def loaded_leaf(self, name: str) -> Leaf:
        return self.held[name]

    def release(self) -> None:
        self.held = {}


def open(state: State, options: SaveOptions, place: Place) -> TorchSave:
    blocking_only(options, "`torch.save` returns when the file is written")
    return TorchSave(state, options.leaves, options.device)


ADAPTER = Saver(
    framework="torch.save",
    distribution="torch",
    entry_point="torch.save",
    open=open,
    leaves=True,
    platforms=("cpu", "gpu"),
)
