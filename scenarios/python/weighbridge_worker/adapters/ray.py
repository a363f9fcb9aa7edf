"""Ray Data: blocks in an object store, mapped in batches by tasks, and handed out by `iter_batches`.

Idiomatic: `ray.data.from_arrow(...).map_batches(f, batch_format="numpy").iter_batches(batch_size=B,
batch_format="numpy")`. Blocks are Arrow tables of tensors with a whole number of batches each, so that a batch is
never put together from two of them; the element's index is a column. Blocks come in their order (`preserve_order`),
which Ray does not keep otherwise.

Tried: blocks of 80 batches instead of 8. Over an epoch they are up to twice as quick, but a block is made whole before
its first batch is handed out: most of what is measured would then be made before the clock runs, and come at thirty
times the speed of the epoch. Blocks of one batch (a quarter of the speed). Two CPUs instead of one (half of the speed
on two cores, with a consumer that wants one of them).

A cluster of 7 to 10 processes of its own, started for the first pipeline and kept for the next one of as many CPUs:
never the cluster of somebody else (`address="local"`). One CPU without workers, the least that Ray has. Cannot:
cache, regroup, or save its place.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import ray
import ray.data
from ray.data.extensions import ArrowTensorArray

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..pipeline import Batch, Pipeline, Program

INDEX = "element index"
BLOCK = 16 << 20
"""Bytes of a block, at most."""
TOGETHER = 8
"""Batches of a block, at most."""
LONGEST = 40
"""Bytes of a folder's name that leave room for Ray's sockets in it: a socket's path has at most 107."""


class Cluster:
    """Ray's own processes."""

    cpus = 0
    folder: Path | None = None

    def start(self, cpus: int, store: int) -> None:
        if self.cpus == cpus:
            return
        self.stop()
        there = tempfile.gettempdir()
        self.folder = Path(tempfile.mkdtemp(prefix="ray", dir=there if len(there) <= LONGEST else "/tmp"))
        ray.init(
            address="local",
            num_cpus=cpus,
            num_gpus=0,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            object_store_memory=store,
            _temp_dir=str(self.folder),
        )
        self.cpus = cpus

    def stop(self) -> None:
        if self.cpus:
            ray.shutdown()
            self.cpus = 0
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None


CLUSTER = Cluster()


class Ray(Loader):
    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        self.pipeline, self.data = pipeline, data
        self.program = Program(pipeline, data.sources)
        self.cpus = max(pipeline.workers, 1)
        row = sum(source.kind.size for source in data.sources)
        size = pipeline.batch_size
        store = max(256 << 20, 3 * pipeline.elements * (row + self.program.row) // 2)
        CLUSTER.start(self.cpus, store)
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        per_block = max(1, min(BLOCK // (row * size), TOGETHER, -(-pipeline.batches // (2 * self.cpus)))) * size
        places = range(pipeline.first, pipeline.end, per_block)
        self.blocks: Any = [ray.put(self.table(first, min(first + per_block, pipeline.end))) for first in places]
        self.iterator: Any = None

    def table(self, start: int, end: int) -> Any:
        """Some elements as a block."""
        columns = {INDEX: pa.array(np.arange(start, end))}
        for name, array in self.data.arrays().items():
            columns[name] = ArrowTensorArray.from_numpy(np.ascontiguousarray(array[start:end]))
        return pa.table(columns)

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        program, size = self.program, self.pipeline.batch_size

        def steps(batch: dict[str, Any]) -> dict[str, Any]:
            indices = batch.pop(INDEX)
            fields = {}
            for source in program.sources:
                kind = source.kind
                fields[kind.name] = np.ascontiguousarray(batch[kind.name], kind.dtype).reshape(-1, *kind.shape)
            return program.batch(fields, indices, epoch, int(indices[0]))

        dataset = ray.data.from_arrow_refs(self.blocks).map_batches(
            steps, batch_size=size, batch_format="numpy", zero_copy_batch=True
        )
        self.iterator = iter(
            dataset.iter_batches(batch_size=size, batch_format="numpy", prefetch_batches=1, drop_last=False)
        )
        return self.batches(self.iterator)

    def batches(self, iterator: Iterator[Any]) -> Iterator[Batch]:
        for batch in iterator:
            made = {}
            for kind in self.pipeline.output:
                array = np.asarray(batch[kind.name])
                made[kind.name] = array.reshape(len(array), *kind.shape) if not kind.shape else array
            yield made

    def let_go(self) -> None:
        if self.iterator is not None and hasattr(self.iterator, "close"):
            self.iterator.close()
        self.iterator = None

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=self.cpus)

    def close(self) -> None:
        self.let_go()
        self.blocks = None


def open(pipeline: Pipeline, data: Data, place: Place) -> Ray:
    if pipeline.access != "memory":
        raise Declined(f"{pipeline.access}: its readers know files of columns, and not rows of bytes")
    asks = ((pipeline.mixture, "mixture"), (pipeline.cache, "cache"), (pipeline.rebatch, "rebatch"))
    for asked, what in asks:
        if asked:
            raise Declined(f"{what}: a data set is gone through once, block after block")
    return Ray(pipeline, data)


ADAPTER = Adapter(
    framework="Ray Data", distribution="ray", entry_point="ray.data.from_arrow_refs", open=open, end=CLUSTER.stop
)
