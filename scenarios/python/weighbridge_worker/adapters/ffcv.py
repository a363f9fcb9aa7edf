"""FFCV: fields in one file that is mapped, decoded into batches by compiled code in a thread of its own.

Idiomatic: `Loader(file, batch_size=..., order=..., pipelines={field: [decoder, operation, ...]})` and a loop over it.
The file is written once by `DatasetWriter` with an `NDArrayField` per field, and kept. The steps are numpy in the loop,
beside the thread that decodes. Data in memory are the system's cache of the file (`os_cache`), streamed data are read
page by page by FFCV.

Tried: FFCV's `NormalizeImage`, whose table gives the defined bits (0.6 of the speed on the wall and 0.8 by CPU time, of
small and of large images, as the thread that decodes does it as well); compiled operations for all steps, but FFCV
compiles with `fastmath`, which turns a division into a multiplication and gives other bits; the steps in an operation
that is not compiled (no quicker, since it runs in the thread that decodes); the iterator's `close` alone, which leaves
that thread at work for up to half a second.

First example: `pipelines={field: [decoder, NormalizeImage(...)]}`, as the README has it for images with three channels.
A batch of it lies in FFCV's ring of buffers, as its users have it. Other fields are decoded alone there as well.

By operators of its own: its compiled operations (`own/on_ffcv.py`). Encoded images go into its file as they are, and
its decoder for images crops and resizes them.

Without workers there is one compiled thread, the least that FFCV has. `compile` is the first batch after the opening.
Cannot: cache, regroup, or save its place.
"""

from __future__ import annotations

import contextlib
import os
import queue
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ffcv.fields
import ffcv.fields.ndarray
import ffcv.loader
import ffcv.transforms
import ffcv.traversal_order.base
import ffcv.writer
import numpy as np

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..first_example import FirstExample
from ..own import stored
from ..pipeline import Array, Batch, Indices, Pipeline, Program

PAGE = 8 << 20
"""Bytes of a page of the file, which a whole element must fit."""


class Elements:
    """The data set as FFCV's writer takes it."""

    def __init__(self, data: Data) -> None:
        self.arrays = list(data.arrays().values())

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __getitem__(self, index: int) -> tuple[Array, ...]:
        return tuple(np.atleast_1d(array[index]) for array in self.arrays)


def write(data: Data, folder: Path) -> None:
    kinds = [source.kind for source in data.sources]
    fields = {kind.name: ffcv.fields.NDArrayField(kind.dtype, kind.shape or (1,)) for kind in kinds}
    page = max(PAGE, 1 << (sum(kind.size for kind in kinds) - 1).bit_length())
    writer = ffcv.writer.DatasetWriter(str(folder / "elements.beton"), fields, page_size=page, num_workers=1)
    writer.from_indexed_dataset(Elements(data))


class Photographs:
    """Encoded images as FFCV's writer takes them."""

    def __init__(self, data: Data) -> None:
        self.data = data

    def __len__(self) -> int:
        return self.data.elements

    def __getitem__(self, index: int) -> tuple[bytes]:
        return (stored.image(self.data, index),)


def write_encoded(data: Data, folder: Path) -> None:
    from ..own.on_ffcv import Encoded

    (name,) = data.names
    writer = ffcv.writer.DatasetWriter(str(folder / "elements.beton"), {name: Encoded()}, PAGE, num_workers=1)
    writer.from_indexed_dataset(Photographs(data))


class Order(ffcv.traversal_order.base.TraversalOrder):
    """The elements of an epoch."""

    def __init__(self, pipeline: Pipeline, elements: int) -> None:
        self.pipeline, self.elements, self.epoch = pipeline, elements, 0

    def __call__(self, loader: Any) -> Order:
        return self  # a loader calls the order that it is given

    def sample_order(self, epoch: int) -> Indices:
        pipeline = self.pipeline
        order = pipeline.order(self.epoch, self.elements)
        return np.arange(pipeline.first, pipeline.end) if order is None else order[pipeline.first : pipeline.end]


class Ffcv(Loader):
    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        self.pipeline, self.data = pipeline, data
        self.iterator: Any = None
        self.program = Program(pipeline, data.sources)
        self.load(folder, {name: [ffcv.fields.ndarray.NDArrayDecoder()] for name in data.names})

    def load(self, folder: Path, operations: dict[str, list[Any]], **fields: Any) -> None:
        pipeline = self.pipeline
        self.order = Order(pipeline, self.data.elements)
        self.threads = max(pipeline.workers, 1)
        self.loader: Any = ffcv.loader.Loader(
            str(folder / "elements.beton"),
            batch_size=pipeline.batch_size,
            num_workers=self.threads,
            order=self.order,
            os_cache=pipeline.access == "memory",
            drop_last=False,
            pipelines=operations,
            custom_fields=fields,
        )

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.close()
        self.order.epoch = epoch
        return self.batches(epoch)

    def batches(self, epoch: int) -> Iterator[Batch]:
        indices, start = self.order.sample_order(epoch), 0
        self.iterator = iter(self.loader)
        for arrays in self.iterator:
            end = start + len(arrays[0])
            fields = {
                source.kind.name: array.reshape(len(array), *source.kind.shape)
                for source, array in zip(self.data.sources, arrays, strict=True)
            }
            yield self.program.batch(fields, indices[start:end], epoch, self.pipeline.first + start)
            start = end

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=self.threads)

    def close(self) -> None:
        iterator, self.iterator = self.iterator, None
        if iterator is not None:
            iterator.iter_ixes = iter(())
            while iterator.is_alive():
                with contextlib.suppress(queue.Empty):
                    iterator.output_queue.get(timeout=0.001)
            iterator.close()


class OwnFfcv(Ffcv):
    """All steps in FFCV's operations."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        from ..own.on_ffcv import Own

        self.pipeline, self.data, self.iterator = pipeline, data, None
        own = Own(pipeline, data.sources)
        if not pipeline.decodes:
            self.load(place.converting("all", lambda folder: write(data, folder)), own.operations)
            return
        if pipeline.access not in ("memory", "records"):
            raise Declined(f"{pipeline.access}: FFCV reads files of its own format")
        folder = place.converting("encoded", lambda folder: write_encoded(data, folder))
        self.load(folder, own.operations, **dict.fromkeys(data.names, ffcv.fields.RGBImageField))

    def batches(self, epoch: int) -> Iterator[Batch]:
        self.iterator = iter(self.loader)
        for arrays in self.iterator:
            yield dict(zip(self.data.names, arrays, strict=True))

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, "native", delivery="view", workers=self.threads)


class ByTable(OwnFfcv):
    """The first example of the README: `NormalizeImage` behind the decoder."""

    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        self.pipeline, self.data, self.iterator = pipeline, data, None
        table = ffcv.transforms.NormalizeImage(np.zeros(3), np.full(3, 255.0), np.float32)
        self.load(folder, {name: [ffcv.fields.ndarray.NDArrayDecoder(), table] for name in data.names})


def first_example(pipeline: Pipeline, data: Data, place: Place) -> Ffcv:
    example = FirstExample.of(pipeline, data)
    if example.rows.dtype != np.uint8 or example.rows.shape[-1:] != (3,) or not pipeline.transforms:
        raise Declined("setting default: of other fields than images FFCV is measured as its users start with it")
    threads_for(pipeline)
    return compiled(ByTable(pipeline, data, place.converting("all", lambda folder: write(data, folder))), place)


def threads_for(pipeline: Pipeline) -> None:
    """Declines more threads than there can be."""
    if pipeline.workers > (os.cpu_count() or 1):
        raise Declined(f"{pipeline.workers} workers: compiled code has no more threads than there are processors")


def compiled(loader: Ffcv, place: Place) -> Ffcv:
    """The same, when its code is compiled."""
    start = time.perf_counter_ns()
    next(loader.begin(0), None)
    loader.close()
    place.compile = time.perf_counter_ns() - start
    return loader


def open(pipeline: Pipeline, data: Data, place: Place) -> Ffcv:
    threads_for(pipeline)
    if pipeline.access == "file-eager":
        raise Declined("file-eager: pages of the file are read as they are needed")
    for asked, what in ((pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(f"{what}: a Loader hands on batches as they are decoded, once")
    if pipeline.operators == "own":
        return compiled(OwnFfcv(pipeline, data, place), place)
    return compiled(Ffcv(pipeline, data, place.converting("all", lambda folder: write(data, folder))), place)


ADAPTER = Adapter(
    framework="FFCV",
    distribution="ffcv",
    entry_point="ffcv.loader.Loader",
    open=open,
    first_example=first_example,
    own="on_ffcv",
    no_store="it maps a file of this machine",
)
