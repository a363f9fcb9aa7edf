"""NVIDIA DALI: a pipeline of operators on the host, fed by an external source.

Idiomatic: `@pipeline_def` with `fn.external_source(source=..., batch=True)` and operators on what it gives. A batch
is handed over as one array, which DALI splits into samples. Steps that DALI's operators do bit for bit as the page
has them (casts, arithmetic with a constant) are operators; a list with any other is a numpy function in the source,
since `fn.python_function` needs the synchronous executor and calls sample by sample.

Tried: a cast of images and then a division, which are two operators and give the same bits as one division of `u8` by
a float (0.6 of the speed); two threads with two batches ahead, which workers ask for (0.6 to 0.9 of the speed of one
on two cores). DALI reuses what it hands out, so a batch is copied before the next run: `as_array` is a view of a buffer
that is DALI's.

First example: an external source that gives lists of samples, an operator for each step, a cast before the division,
and the executor as it is set up unasked (asynchronous, two batches ahead). It is what the page "ExternalSource
operator" of the documentation has, on the host.

By operators of its own: all steps are operators of one graph, with DALI's draws (`own/on_dali.py`).

On a device: what the source gives is copied there (`.gpu()`), the operators run there, and `run` without a stream of
the caller's returns when they are done. One batch at a time: with more under way nobody could tell the pending work of
this batch from that of the next. What is handed out is DALI's own buffer, a view until the next run.

On the host `device_id=None`: no driver is needed. One thread without workers, the least that DALI has. Cannot: cache,
regroup, save its place with an external source.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import nvidia.dali
from nvidia.dali import backend, fn, types

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data, Reader
from ..device import HOST, OnDevice
from ..first_example import FirstExample
from ..own.on_dali import Own
from ..own.stored import Elements
from ..pipeline import Array, Batch, Pipeline, Program, Touch

EXACT = ("Normalize", "CastToFloat32", "Scale", "Add", "CheapTransform", "Multiply")
"""What DALI's operators do bit for bit as the page has it."""


def operator(touch: Touch, x: Any) -> Any:
    """One step on one field, in DALI's operators."""
    match touch.name:
        case "Normalize" if touch.source.mean is None:
            return x / np.float32(255)  # which gives floats: a cast before it would be an operator of its own
        case "Normalize":
            return (x - types.Constant(touch.source.mean)) * types.Constant(touch.source.scale)
        case "CastToFloat32":
            return x if touch.before.dtype == np.float32 else fn.cast(x, dtype=types.FLOAT)
        case "Scale":
            return x * np.float32(2)
        case "Add" | "CheapTransform":
            return x + np.float32(0.1)
        case "Multiply":
            return x * np.float32(0.9)
    raise AssertionError(f"{touch.name} is none of the exact ones")


@cache
def item_size(dtype: Any) -> int:
    """Bytes of a number. Looked up once for each type: batches are weighed while the clock runs."""
    return np.dtype(types.to_numpy_type(dtype)).itemsize


class Cuda(OnDevice):
    """The first CUDA device that DALI sees."""

    def __init__(self) -> None:
        if backend.GetCUDADeviceCount() < 1:
            raise Declined(f"DALI {nvidia.dali.__version__} sees no CUDA device")
        backend.SetCUDACurrentDevice(0)
        self.driver = ctypes.CDLL("libcuda.so.1")
        super().__init__("cuda:0")

    def has(self, array: Any) -> bool:
        return isinstance(array, nvidia.dali.tensors.TensorGPU)

    def size(self, array: Any) -> tuple[int, int]:
        shape = array.shape()
        return shape[0], math.prod(shape) * item_size(array.dtype)

    def wait(self, batch: Mapping[str, Any]) -> None:
        # DALI has no call for it; the context is the one that it works in.
        code = self.driver.cuCtxSynchronize()
        if code:
            raise RuntimeError(f"cuCtxSynchronize says {code}")

    def copied(self, array: Any) -> Array:
        return np.array(array.as_cpu())


class Dali(Loader):
    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        self.pipeline = pipeline
        self.encoded = Elements(pipeline, data, place) if pipeline.decodes else None
        self.device = Cuda() if pipeline.device == "gpu" else HOST
        self.program, self.reader = Program(pipeline, data.sources), Reader(pipeline, data)
        plain = not (pipeline.gates or pipeline.branches or pipeline.mixing)
        self.own = Own(pipeline, data.sources) if pipeline.operators == "own" else None
        self.native = self.own is not None or (plain and all(name in EXACT for name in pipeline.transforms))
        self.names = (
            [source.kind.name for source in data.sources] if self.native else [kind.name for kind in pipeline.output]
        )
        self.threads = max(pipeline.workers, 1)
        self.epoch = self.number = 0
        on_device = self.device is not HOST
        ahead = pipeline.workers > 0 and not on_device
        self.dali: Any = nvidia.dali.Pipeline(
            batch_size=min(pipeline.batch_size, pipeline.elements),
            num_threads=self.threads,
            device_id=0 if on_device else None,
            prefetch_queue_depth=max(pipeline.workers, 1) if ahead else 1,
            seed=pipeline.seed,
            exec_async=ahead,
            exec_pipelined=ahead,
        )
        with self.dali:
            fields = fn.external_source(source=self.source, num_outputs=len(self.names), batch=True)
            if on_device:
                fields = [x.gpu() for x in fields]
            if self.own is not None:
                fields = self.own.outputs(dict(zip(self.names, fields, strict=True)))
            elif self.native:
                fields = [self.through(way.touches, x) for way, x in zip(self.program.ways, fields, strict=True)]
            self.dali.set_outputs(*fields)
        self.dali.build()

    @staticmethod
    def through(touches: list[Touch], x: Any) -> Any:
        for touch in touches:
            x = operator(touch, x)
        return x

    def source(self) -> list[Any]:
        """The next batch of the epoch."""
        if self.number == len(self.reader):
            raise StopIteration
        if self.encoded is not None:
            size = self.pipeline.batch_size
            places = range(self.number * size, min((self.number + 1) * size, len(self.encoded)))
            self.number += 1
            return [[self.encoded[place][self.names[0]] for place in places]]
        rows = self.reader.batch(self.number, self.epoch)
        self.number += 1
        if not self.native:
            return list(self.program.batch(rows.fields, rows.indices, self.epoch, rows.first).values())
        return [rows.fields[name] for name in self.names]

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.reader.begin()
        # What is under way for the epoch before comes out first.
        self.number = len(self.reader)
        for _ in self.batches():
            pass
        self.epoch, self.number = epoch, 0
        self.dali.reset()
        return self.batches()

    def batches(self) -> Iterator[Batch]:
        kinds = self.pipeline.output
        while True:
            try:
                outputs = self.dali.run()
            except StopIteration:
                return
            if self.device is not HOST:
                yield {kind.name: output.as_tensor() for kind, output in zip(kinds, outputs, strict=True)}
                continue
            yield {kind.name: np.array(output.as_array()) for kind, output in zip(kinds, outputs, strict=True)}

    def executed(self) -> Executed:
        on_host = self.device is HOST
        return Executed(
            self.pipeline.work,
            "native" if self.native else "shared numpy",
            ran_on=self.device.name if self.native else "cpu",
            synchronised="run returns when the batch is there",
            delivery="owned" if on_host else "view",
            workers=self.threads,
        )

    def close(self) -> None:
        self.dali = None


class Listed(Dali):
    """The first example of the documentation: lists of samples through a pipeline with its own defaults."""

    def __init__(self, pipeline: Pipeline, data: Data, example: FirstExample) -> None:
        self.pipeline, self.example, self.native = pipeline, example, True
        self.program, self.reader = Program(pipeline, data.sources), Reader(pipeline, data)
        self.threads = max(example.workers, 1)
        self.epoch = self.number = 0
        self.dali = nvidia.dali.Pipeline(batch_size=example.batch_size, num_threads=self.threads, device_id=None)
        with self.dali:
            (way,) = self.program.ways
            self.dali.set_outputs(self.through(way.touches, fn.external_source(source=self.source)))
        self.dali.build()

    @staticmethod
    def through(touches: list[Touch], x: Any) -> Any:
        if touches and touches[0].source.mean is None:
            return fn.cast(x, dtype=types.FLOAT) / 255
        return Dali.through(touches, x)

    def source(self) -> list[Any]:
        if self.number == len(self.reader):
            raise StopIteration
        start = self.number * self.example.batch_size
        self.number += 1
        return list(self.example.rows[start : start + self.example.batch_size])


def first_example(pipeline: Pipeline, data: Data, place: Place) -> Dali:
    return Listed(pipeline, data, FirstExample.of(pipeline, data))


def open(pipeline: Pipeline, data: Data, place: Place) -> Dali:
    for asked, what in ((pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(f"{what}: a pipeline gives one batch for each that it is given")
    return Dali(pipeline, data, place)


ADAPTER = Adapter(
    framework="NVIDIA DALI",
    distribution="nvidia-dali-cuda120",
    entry_point="nvidia.dali.Pipeline",
    open=open,
    first_example=first_example,
    platforms=("cpu", "gpu"),
    own="on_dali",
    no_store="its readers know files and S3, and plain HTTP is neither",
)
