"""safetensors from Python: one file with a header of names, types and places, and the bytes of the tensors behind it.

`save_file` writes the file and syncs nothing. `load_file` gives tensors over a mapping of the file, which are no memory
of the process and are read when they are looked at: each is cloned here, since a training step writes to its state.

Cannot: save in the background. There is no such call.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from ..adapter import Declined, Place
from ..checkpointer import Checkpoints, SaveOptions, Saver, State, blocking_only, turned
from ..on_torch import array_of, backend_of_tensors, device_for, settle, tensor_of, turned_there
from ..pipeline import Array
from ..stored import Header, Stored, StoredFiles, Tensor, flat_key


class Safetensors(Checkpoints):
    """A file in the directory."""

    def __init__(self, state: State, asked: str) -> None:
        self.where_to = device_for(asked)
        self.state = {name: tensor_of(array).to(self.where_to) for name, array in state.items()}
        self.held: dict[str, torch.Tensor] = {}

    def change(self, bits: Mapping[str, int]) -> None:
        for name, turning in bits.items():
            if self.where_to.type == "cpu":
                turned(array_of(self.state[name]), turning)
            else:
                turned_there(self.state[name], turning)
        settle(self.where_to)

    def where(self) -> str:
        return backend_of_tensors(self.state.values())

    def save(self, directory: Path, durable: bool) -> None:
        directory.mkdir()
        save_file(self.state, directory / "model.safetensors")

    def load(self, directory: Path) -> None:
        if self.where_to.type != "cpu":
            self.held = load_file(directory / "model.safetensors", device=str(self.where_to))
            settle(self.where_to)
            return
        mapped = load_file(directory / "model.safetensors")
        self.held = {name: tensor.clone() for name, tensor in mapped.items()}

    def loaded(self, name: str) -> Array:
        return array_of(self.held[name].cpu())

    def release(self) -> None:
        self.held = {}


NUMPYS = {
    torch.bool: "|b1",
    torch.uint8: "|u1",
    torch.int8: "|i1",
    torch.uint16: "<u2",
    torch.int16: "<i2",
    torch.float16: "<f2",
    torch.bfloat16: "<V2",
    torch.uint32: "<u4",
    torch.int32: "<i4",
    torch.float32: "<f4",
    torch.uint64: "<u8",
    torch.int64: "<i8",
    torch.float64: "<f8",
}
"""Types as numpy writes them; what numpy has no word for as `ml_dtypes` does."""


class StoredSafetensors(Stored):
    """Files that lie somewhere, one or several. As above, each tensor is cloned out of the mapping."""

    def __init__(self, directory: Path) -> None:
        self.files = sorted(directory.glob("*.safetensors"))
        self.names: list[str] = []
        self.headers = []
        self.held: dict[str, torch.Tensor] = {}
        headers = {}
        for file in self.files:
            with safe_open(file, "pt") as opened:
                for name in opened.keys():  # noqa: SIM118 (it is no mapping)
                    if name in headers:
                        raise ValueError(f"{file}: the tensor `{name}` is in another file as well")
                    headers[name] = header(name, opened.get_tensor(name))
        for name, _ in sorted(headers.items(), key=lambda entry: entry[1].key):
            self.names.append(name)
            self.headers.append(headers[name])

    def load(self) -> None:
        self.held = {name: tensor.clone() for file in self.files for name, tensor in load_file(file).items()}

    def loaded(self, at: int) -> Tensor:
        name = self.names[at]
        held = self.held[name]
        return Tensor(header(name, held), held.contiguous().reshape(-1).view(torch.uint8).numpy())

    def release(self) -> None:
        self.held = {}


def header(name: str, tensor: torch.Tensor) -> Header:
    if tensor.dtype not in NUMPYS:
        raise Declined(f"a tensor of the type {tensor.dtype}: nobody here holds one")
    return Header(flat_key(name), NUMPYS[tensor.dtype], tuple(tensor.shape))


def open_stored(files: StoredFiles, place: Place) -> StoredSafetensors:
    files.only("safetensors")
    return StoredSafetensors(files.directory)


def open(state: State, options: SaveOptions, place: Place) -> Safetensors:
    blocking_only(options, "`save_file` returns when the file is written")
    return Safetensors(state, options.device)


ADAPTER = Saver(
    framework="safetensors (Python)",
    distribution="safetensors",
    entry_point="safetensors.torch.save_file",
    open=open,
    platforms=("cpu", "gpu"),
    open_stored=open_stored,
    stored_entry_point="safetensors.torch.load_file",
)
