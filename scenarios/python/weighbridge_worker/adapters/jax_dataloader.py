"""jax-dataloader: its own backend, `jax`, over a dataset that is asked for many rows at once.

Idiomatic: `jdl.DataLoader(dataset, backend="jax", batch_size=B)`, where `dataset[indices]` gives a whole batch. The
dataset fetches and transforms with numpy: there is no other place for steps. Batches stay on the host, or go to the
device that is asked for by `jax.device_put`, and are handed out when `block_until_ready` returns.

In a way that is asked for (eager, vectorised, compiled, fused) the dataset gives rows as they are, and JAX's operations
run on the batch that the loader hands out (`modes/on_jax.py`).

Tried: `ArrayDataset` alone, which gathers rows by an array of indices; the steps then know no index. (The dataset
here takes a slice where the indices follow each other, as they do without shuffling.)

First example: `jdl.DataLoader(jdl.ArrayDataset(rows), "jax", batch_size=B)`, as the README has it under "Using
ArrayDataset". The steps run on the batch that comes out.

Cannot: workers (`num_workers` is taken and ignored by this backend), cache, regroup, or save its place.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import jax
import jax_dataloader as jdl
import numpy as np

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data, Reader
from ..device import HOST
from ..first_example import FirstExample
from ..modes import MODES, Square, drawn, on_jax
from ..on_jax import Compilations, Gpu, allow_wide, device_of
from ..pipeline import Batch, Pipeline, Program


class Transformed(jdl.Dataset):
    """Rows by an array of their places, transformed."""

    def __init__(self, program: Program, reader: Reader) -> None:
        self.program, self.reader, self.epoch = program, reader, 0

    def __len__(self) -> int:
        return self.reader.pipeline.elements

    def __getitem__(self, places: Any) -> Batch:
        first = self.reader.pipeline.first + int(places[0])
        rows = self.reader.rows(first, first + len(places), self.epoch)
        return self.program.batch(rows.fields, rows.indices, self.epoch, first)


class JaxDataLoader(Loader):
    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        self.pipeline = pipeline
        self.device = device_of(pipeline)
        if isinstance(self.device, Gpu):
            allow_wide(kind.dtype for kind in pipeline.output)
        self.reader = Reader(pipeline, data)
        self.dataset = Transformed(Program(pipeline, data.sources), self.reader)
        self.loader = jdl.DataLoader(
            self.dataset, backend="jax", batch_size=pipeline.batch_size, shuffle=False, drop_last=False
        )

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.reader.begin()
        self.dataset.epoch = epoch
        batches = iter(self.loader)
        if isinstance(self.device, Gpu):
            where = self.device.where
            return (jax.block_until_ready(jax.device_put(batch, where)) for batch in batches)
        return batches

    def executed(self) -> Executed:
        how = "block_until_ready" if isinstance(self.device, Gpu) else "on return"
        return Executed(self.pipeline.work, synchronised=how)


ROWS, CORNERS, TURNS = "rows", "corners", "turns"


class Drawn(jdl.Dataset):
    """Rows by an array of their places as they are, with the draws of their steps."""

    def __init__(self, pipeline: Pipeline, reader: Reader, side: int) -> None:
        self.pipeline, self.reader, self.side, self.epoch = pipeline, reader, side, 0

    def __len__(self) -> int:
        return self.pipeline.elements

    def __getitem__(self, places: Any) -> Batch:
        first = self.pipeline.first + int(places[0])
        rows = self.reader.rows(first, first + len(places), self.epoch)
        (fields,) = rows.fields.values()
        return dict(
            zip((ROWS, CORNERS, TURNS), (fields, *drawn(self.pipeline, rows, self.epoch, self.side)), strict=True)
        )


class InMode(Loader):
    """The list of steps in a way that was asked for."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        square = Square.of(pipeline, data)
        self.pipeline, self.run = pipeline, on_jax.run(str(pipeline.mode), square)
        self.dataset = Drawn(pipeline, Reader(pipeline, data), square.side)
        self.loader = jdl.DataLoader(
            self.dataset, backend="jax", batch_size=pipeline.batch_size, shuffle=False, drop_last=False
        )
        Compilations.so_far()  # from here on they are counted
        start = time.perf_counter_ns()
        last = np.arange((pipeline.batches - 1) * pipeline.batch_size, pipeline.elements)
        for places in (np.arange(min(pipeline.batch_size, pipeline.elements)), last):
            self.made(self.dataset[places])
        place.compile = time.perf_counter_ns() - start

    def made(self, batch: Batch) -> Batch:
        (kind,) = self.pipeline.output
        return {kind.name: np.asarray(self.run(batch[ROWS], batch[CORNERS], batch[TURNS]))}

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.dataset.epoch = epoch
        return (self.made(batch) for batch in iter(self.loader))

    def compilations(self) -> int:
        return Compilations.so_far()

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, "native", on_jax.LIBRARY, synchronised="block_until_ready")


class OfArrays(JaxDataLoader):
    """The first example of the README: an `ArrayDataset`, and steps on what is loaded."""

    def __init__(self, pipeline: Pipeline, example: FirstExample) -> None:
        self.pipeline, self.device, self.example = pipeline, HOST, example
        self.loader = jdl.DataLoader(jdl.ArrayDataset(example.rows), "jax", batch_size=example.batch_size)

    def begin(self, epoch: int) -> Iterator[Batch]:
        name, steps = self.example.name, self.example.steps
        if not self.pipeline.transforms:
            return ({name: rows} for (rows,) in self.loader)  # a gather's own memory
        return ({name: steps(rows)} for (rows,) in self.loader)


def first_example(pipeline: Pipeline, data: Data, place: Place) -> Loader:
    example = FirstExample.of(pipeline, data)
    if pipeline.workers:
        raise Declined("workers: `num_workers` is ignored by its own backend")
    return OfArrays(pipeline, example)


def open(pipeline: Pipeline, data: Data, place: Place) -> Loader:
    if pipeline.workers:
        raise Declined(f"{pipeline.workers} workers: `num_workers` is ignored by its own backend")
    for asked, what in ((pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(f"{what}: a DataLoader hands on what its dataset gives, once")
    if pipeline.mode:
        if device_of(pipeline) is not HOST:
            raise Declined(f"mode {pipeline.mode}: on the host alone")
        return InMode(pipeline, data, place)
    return JaxDataLoader(pipeline, data)


ADAPTER = Adapter(
    framework="jax-dataloader",
    distribution="jax-dataloader",
    entry_point="jax_dataloader.DataLoader",
    open=open,
    first_example=first_example,
    platforms=("cpu", "gpu"),
    modes=MODES,
)
