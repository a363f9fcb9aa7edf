"""safetensors from Python: one file with a header of names, types and places, and the bytes of the tensors behind it.

`save_file` writes the file and syncs nothing. `load_file` gives tensors over a mapping of the file, which are no memory
of the process and are read when they are looked at: each is cloned here, since a training step writes to its state.

Cannot: save in the background. There is no such call.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from ..adapter import Place
from ..checkpointer import Checkpoints, SaveOptions, Saver, State, blocking_only
from ..pipeline import Array


class Safetensors(Checkpoints):
    """A file in the directory."""

    def __init__(self, state: State) -> None:
        self.state = {name: torch.from_numpy(array) for name, array in state.items()}
        self.held: dict[str, torch.Tensor] = {}

    def save(self, directory: Path, durable: bool) -> None:
        directory.mkdir()
        save_file(self.state, directory / "model.safetensors")

    def load(self, directory: Path) -> None:
        mapped = load_file(directory / "model.safetensors")
        self.held = {name: tensor.clone() for name, tensor in mapped.items()}

    def loaded(self, name: str) -> Array:
        return self.held[name].numpy()

    def release(self) -> None:
        self.held = {}


def open(state: State, options: SaveOptions, place: Place) -> Safetensors:
    blocking_only(options, "`save_file` returns when the file is written")
    return Safetensors(state)


ADAPTER = Saver(
    framework="safetensors (Python)",
    distribution="safetensors",
    entry_point="safetensors.torch.save_file",
    open=open,
)
