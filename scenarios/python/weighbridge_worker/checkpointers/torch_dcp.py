"""PyTorch's distributed checkpoint: `dcp.save` and `dcp.async_save` with the file system's writer and reader.

Blocking, `dcp.save` returns when the files are written. In the background, `dcp.async_save` copies the state to a
buffer of its own and writes from a thread; its future is what `wait` waits for. The writer syncs its files by default
(`sync_files`), and users leave that so: it stays, whether the harness flushes the file system afterwards or not.

`dcp.load` fills tensors that are there: they are made empty before, as a model is made before its weights come.

On several ranks the state is `DTensor`s on a mesh of all of them, as `fully_shard` leaves it, and they plan by gloo. A
rank reads and writes its own part.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard

from ..adapter import Place
from ..checkpointer import Checkpoints, Leaf, SaveOptions, Saver, State, turned
from ..meeting import Meeting
from ..on_torch import array_of, tensor_of
from ..pipeline import Array


class Dcp(Checkpoints):
    """A directory with a file of metadata and files of tensors."""

    def __init__(self, state: State, options: SaveOptions, place: Place) -> None:
        self.state: dict[str, Any] = {**self.lying(state), **options.leaves}
        self.leaves = options.leaves
        self.saving = options.saving
        self.is_alone = self.saving == "blocking"
        self.held: dict[str, Any] = {}
        self.under_way: Future[Any] | None = None
        self.join(place)

    def lying(self, state: State) -> dict[str, torch.Tensor]:
        """The tensors as they lie in memory."""
        return {name: tensor_of(array) for name, array in state.items()}

    def join(self, place: Place) -> None:
        """Meets the other processes, where there are some or some are asked for."""
        if not self.is_alone:
            # `async_save` asks for a group of processes that has one for the CPU; a group of one needs no network.
            rendezvous = dist.FileStore(os.fspath(place.scratch / "rendezvous"), 1)
            dist.init_process_group("gloo", store=rendezvous, rank=0, world_size=1)

    def change(self, bits: Mapping[str, int]) -> None:
        for name, turning in bits.items():
            tensor = self.state[name]
            turned(array_of(tensor.to_local() if isinstance(tensor, DTensor) else tensor), turning)

    def save(self, directory: Path, durable: bool) -> None:
        writer = dcp.FileSystemWriter(directory, thread_count=os.cpu_count() or 1)
        if self.saving == "background":
            self.under_way = dcp.async_save(self.state, storage_writer=writer)
        else:
            dcp.save(self.state, storage_writer=writer, no_dist=self.is_alone)

    def wait(self) -> None:
        if self.under_way is not None:
            self.under_way.result()
            self.under_way = None

    def load(self, directory: Path) -> None:
        held: dict[str, Any] = {
            name: type(value)() if name in self.leaves else torch.empty_like(value)
            for name, value in self.state.items()
        }
        dcp.load(held, storage_reader=dcp.FileSystemReader(directory), no_dist=self.is_alone)
        self.held = held

    def loaded(self, name: str) -> Array:
        return array_of(self.held[name])

    def loaded_leaf(self, name: str) -> Leaf:
        return self.held[name]

    def release(self) -> None:
        self.held = {}

    def close(self) -> None:
        if dist.is_initialized():
            dist.destroy_process_group()


class DcpOfRanks(Dcp):
    """The same of several processes, each with its part of every tensor."""

    def __init__(self, state: State, options: SaveOptions, rank: Meeting, place: Place) -> None:
        self.placement, self.rank = options.placement, rank
        rank.by_torch()
        super().__init__(state, options, place)
        self.is_alone = False

    def join(self, place: Place) -> None:
        pass

    def lying(self, state: State) -> dict[str, torch.Tensor]:
        mesh = init_device_mesh("cpu", (self.rank.of,))
        return {name: self.part_of(at, array, mesh) for at, (name, array) in enumerate(state.items())}

    def part_of(self, at: int, array: Array, mesh: DeviceMesh) -> DTensor:
        cut = [dimension for dimension, axes in enumerate(self.placement.shardings[at]) if axes]
        whole = torch.empty(array.shape, device="meta")
        own = tensor_of(np.array(array[self.placement.part(at, array.shape, self.rank.index)]))
        how = Shard(cut[0]) if cut else Replicate()
        return DTensor.from_local(own, mesh, [how], shape=whole.shape, stride=whole.stride())

    def part(self, name: str, device: int) -> Array:
        if device != self.rank.index:
            raise LookupError(f"device {device} is that of another rank than {self.rank.index}")
        held = self.held[name]
        assert isinstance(held, DTensor)
        return array_of(held.to_local())


def open(state: State, options: SaveOptions, place: Place) -> Dcp:
    if options.rank:
        return DcpOfRanks(state, options, options.rank, place)
    return Dcp(state, options, place)


ADAPTER = Saver(
    framework="PyTorch DCP",
    distribution="torch",
    entry_point="torch.distributed.checkpoint.save",
    open=open,
    ranks=True,
    leaves=True,
)
