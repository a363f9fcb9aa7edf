"""Datarax in scan mode: the same pipeline, and many batches in one compiled call.

Idiomatic: `pipeline.scan(step, length=n)`, which fuses fetching, the stages and the user's step over `n` batches. The
step here gives the batch as it is, so that all batches are there when the call returns, as any other loader's are:
the sum of every leaf, which scan mode was once measured by, delivers nothing. A call is a sample, and no batch has a
latency of its own.

Every length is compiled once, with the clock stopped: what opening compiled is told with its costs, and what a run
compiled besides with the run. Iteration (to verify) goes by calls of one length, and what the last one takes from the
beginning of the data again is dropped.

A call carries the whole source through the compiled loop: it goes in, is carried, and comes out, so that three copies
of the data lie beside the file. That costs the same for every length, so a call is as long as its batches fit into 16
MiB: with 16, 32 and 64 batches of NLP-1 a batch takes 200, 130 and 60 us. Beyond that memory is new for every call
(CV-1 with 64 batches, 50 MB: no quicker than with 16, and 136 page faults a batch).

What went in stays in a cycle of references, and is let go between two calls, with the clock stopped: with Datarax 0.1.4
there is one more copy for each call otherwise (7.7 GB for 1 GB of data after a few; 3.5 GB so). Young objects are
looked at alone: to look at all of JAX's takes caches from the next call (1.5 ms).

Cannot: what the iterated mode cannot, and a cache, which is an iterator's.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from ..adapter import Adapter, Declined, Loader, Place
from ..data import Data
from ..device import HOST
from ..pipeline import Batch, Pipeline
from .datarax import Datarax, start, supported

AT_ONCE = 16 << 20
"""Bytes of the batches of one call, where the length is ours to choose."""


def as_it_is(batch: dict[str, Any]) -> dict[str, Any]:
    """The step: what is delivered is the batch."""
    return batch


def collect() -> None:
    """Lets go of the source that the call before has left in a cycle."""
    gc.collect(1)


class DataraxScan(Datarax):
    """Many batches in one call."""

    whole_pass = True

    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        super().__init__(pipeline, data)
        batch = self.size * self.program.row
        self.length = self.chunk = max(1, min(AT_ONCE // batch, pipeline.batches))
        self.compiled: set[int] = set()
        self.at = 0

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.rewind(epoch)
        self.at = 0
        return self.in_turn()

    def in_turn(self) -> Iterator[Batch]:
        while batches := self.call(self.length):
            yield from batches
            collect()

    def prepare(self, batches: int) -> int:
        collect()
        length = min(batches, self.pipeline.batches - self.at)
        if length < 1 or length in self.compiled:
            return 0
        began, at = time.perf_counter_ns(), self.at
        self.call(length)
        took = time.perf_counter_ns() - began
        self.go_to(at)
        return took

    def scan(self, batches: int) -> list[Batch]:
        return self.call(min(batches, self.pipeline.batches - self.at))

    def call(self, length: int) -> list[Batch]:
        """So many batches from where the epoch is, without those that are beyond its end."""
        left = self.pipeline.elements - self.at * self.size
        if left <= 0 or length < 1:
            return []
        stacked = jax.block_until_ready(self.datarax.scan(as_it_is, length=length))
        self.compiled.add(length)
        arrays = {kind.name: stacked[kind.name] for kind in self.pipeline.output}
        if self.device is HOST:
            arrays = {name: np.asarray(array) for name, array in arrays.items()}
        batches = []
        for number in range(min(length, -(-left // self.size))):
            first = (self.at + number) * self.size
            real = min(self.size, self.pipeline.elements - first)
            one = {name: array[number] for name, array in arrays.items()}
            batches.append(self.handed_out(one, self.pipeline.first + first, real))
        self.at += len(batches)
        return batches

    def go_to(self, at: int) -> None:
        """Back to before a batch of this epoch."""
        self.rewind(self.epoch, at * self.size)
        self.at = at

    def save(self) -> bytes:
        raise Declined("a call of many batches has no place within")

    @property
    def can_save(self) -> bool:
        return False


def open(pipeline: Pipeline, data: Data, place: Place) -> Loader:
    supported(pipeline, data)
    if pipeline.cache:
        raise Declined("cache: it belongs to an iterator, and a scan is none")
    loader = DataraxScan(pipeline, data)
    loader.begin(0)
    place.compile = loader.prepare(loader.length)
    return loader


ADAPTER = Adapter(
    framework="Datarax-scan",
    distribution="datarax",
    entry_point="datarax.Pipeline",
    open=open,
    start=start,
    own="on_jax",
    platforms=("cpu", "gpu"),
)
