"""PyTorch's distributed checkpoint, of one process: `dcp.save` and `dcp.async_save` with the file system's writer and
reader.

Blocking, `dcp.save` returns when the files are written. In the background, `dcp.async_save` copies the state to a
buffer of its own and writes from a thread; its future is what `wait` waits for. The writer syncs its files by default
(`sync_files`), and users leave that so: it stays, whether the harness flushes the file system afterwards or not.

`dcp.load` fills tensors that are there: they are made empty before, as a model is made before its weights come.
"""

from __future__ import annotations

import os
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

from ..adapter import Place
from ..checkpointer import Checkpoints, SaveOptions, Saver, State
from ..pipeline import Array


class Dcp(Checkpoints):
    """A directory with a file of metadata and files of tensors."""

    def __init__(self, state: State, saving: str, place: Place) -> None:
        self.state = {name: torch.from_numpy(array) for name, array in state.items()}
        self.saving = saving
        self.held: dict[str, torch.Tensor] = {}
        self.under_way: Future[Any] | None = None
        if saving == "background":
            # `async_save` asks for a group of processes that has one for the CPU; a group of one needs no network.
            rendezvous = dist.FileStore(os.fspath(place.scratch / "rendezvous"), 1)
            dist.init_process_group("gloo", store=rendezvous, rank=0, world_size=1)

    def save(self, directory: Path, durable: bool) -> None:
        writer = dcp.FileSystemWriter(directory, thread_count=os.cpu_count() or 1)
        if self.saving == "background":
            self.under_way = dcp.async_save(self.state, storage_writer=writer)
        else:
            dcp.save(self.state, storage_writer=writer, no_dist=True)

    def wait(self) -> None:
        if self.under_way is not None:
            self.under_way.result()
            self.under_way = None

    def load(self, directory: Path) -> None:
        held = {name: torch.empty_like(tensor) for name, tensor in self.state.items()}
        dcp.load(held, storage_reader=dcp.FileSystemReader(directory), no_dist=self.saving == "blocking")
        self.held = held

    def loaded(self, name: str) -> Array:
        return self.held[name].numpy()

    def release(self) -> None:
        self.held = {}

    def close(self) -> None:
        if dist.is_initialized():
            dist.destroy_process_group()


def open(state: State, options: SaveOptions, place: Place) -> Dcp:
    return Dcp(state, options.saving, place)


ADAPTER = Saver(
    framework="PyTorch DCP",
    distribution="torch",
    entry_point="torch.distributed.checkpoint.save",
    open=open,
)
