"""NVIDIA DALI: a pipeline of operators on the host, fed by an external source.

Idiomatic: `@pipeline_def` with `fn.external_source(source=..., batch=True)` and operators on what it gives. A batch
is handed over as one array, which DALI splits into samples. Steps that DALI's operators do bit for bit as the page
has them (casts, arithmetic with a constant) are operators; a list with any other is a numpy function in the source,
since `fn.python_function` needs the synchronous executor and calls sample by sample.

Tried: two threads with two batches ahead, which workers ask for (0.6 to 0.9 of the speed of one on two cores). DALI
reuses what it hands out, so a batch is copied before the next run: `as_array` is a view of a buffer that is DALI's.

`device_id=None`: no driver is needed. One thread without workers, the least that DALI has. Cannot: cache, regroup,
save its place with an external source.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import nvidia.dali
from nvidia.dali import fn, types

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data, Reader
from ..pipeline import Batch, Pipeline, Program, Touch

EXACT = ("Normalize", "CastToFloat32", "Scale", "Add", "CheapTransform", "Multiply")
"""What DALI's operators do bit for bit as the page has it."""


def operator(touch: Touch, x: Any) -> Any:
    """One step on one field, in DALI's operators."""
    match touch.name:
        case "Normalize" if touch.source.mean is None:
            return fn.cast(x, dtype=types.FLOAT) / np.float32(255)
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


class Dali(Loader):
    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        self.pipeline = pipeline
        self.program, self.reader = Program(pipeline, data.sources), Reader(pipeline, data)
        plain = not (pipeline.gates or pipeline.branches or pipeline.mixing)
        self.native = plain and all(name in EXACT for name in pipeline.transforms)
        self.names = (
            [source.kind.name for source in data.sources] if self.native else [kind.name for kind in pipeline.output]
        )
        self.threads = max(pipeline.workers, 1)
        self.epoch = self.number = 0
        self.dali: Any = nvidia.dali.Pipeline(
            batch_size=min(pipeline.batch_size, pipeline.elements),
            num_threads=self.threads,
            device_id=None,
            prefetch_queue_depth=max(pipeline.workers, 1),
            exec_async=pipeline.workers > 0,
            exec_pipelined=pipeline.workers > 0,
        )
        with self.dali:
            fields = fn.external_source(source=self.source, num_outputs=len(self.names), batch=True)
            if self.native:
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
            yield {kind.name: np.array(output.as_array()) for kind, output in zip(kinds, outputs, strict=True)}

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=self.threads, synchronised="run returns when the batch is there")

    def close(self) -> None:
        self.dali = None


def open(pipeline: Pipeline, data: Data, place: Place) -> Dali:
    for asked, what in ((pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(f"{what}: a pipeline gives one batch for each that it is given")
    return Dali(pipeline, data)


ADAPTER = Adapter(
    framework="NVIDIA DALI", distribution="nvidia-dali-cuda120", entry_point="nvidia.dali.Pipeline", open=open
)
