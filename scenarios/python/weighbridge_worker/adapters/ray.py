"""Ray Data: blocks in an object store, mapped in batches by tasks, and handed out by `iter_batches`.

Idiomatic: `ray.data.from_arrow(...).map_batches(f, batch_format="numpy").iter_batches(batch_size=B,
batch_format="numpy")`. Blocks are Arrow tables of tensors with a whole number of batches each, so that a batch is
never put together from two of them; the element's index is a column. Blocks come in their order (`preserve_order`),
which Ray does not keep otherwise.

Tried: two CPUs instead of one (half of the speed on two cores, with a consumer that wants one of them); blocks of 1 MiB
(two thirds of the speed on small images), and steps on batches instead of whole blocks (a third). Steps that look at a
whole batch get batches all the same.

First example: `ray.data.from_numpy(rows).map_batches(f).iter_batches(batch_size=B)`, which the pages "Loading Data",
"Transforming Data" and "Iterating over Data" of the documentation begin with. An array is one block, so one task makes
an epoch at once. Nothing but the cluster is set up, and Ray promises no order then.

A cluster of some 12 processes of its own, started with the worker as part of what importing costs, and kept for all
its pipelines: never the cluster of somebody else (`address="local"`). A data set has gone through it before: the first
one starts actors that keep both processors busy for seconds, and touches memory of the object store for the first time.
Without, an epoch of small images took 3.2 s at first, and 0.13 s later. One task at a time without workers, the least
that Ray has. What is read ahead is bounded to a few blocks (`resource_limits`): Ray fills the object store otherwise,
and an epoch is there before its second batch is asked for. A block may hold many batches, so it is measured over
several blocks (`chunk`). Cannot: cache, regroup, or save its place.
"""

from __future__ import annotations

import importlib
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import ray
import ray.data
from ray.data import ExecutionOptions, ExecutionResources
from ray.data.extensions import ArrowTensorArray

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..first_example import FirstExample
from ..pipeline import Batch, Pipeline, Program
from ..usage import Tree

INDEX = "element index"
BLOCK = 32 << 20
"""Bytes of a block, or those of a batch where that is more. A block is a task."""
CPUS = 2
"""What the cluster has: a pipeline's tasks are bounded by its own number of workers."""
STORE = 2 << 30
"""Bytes of the object store, at most."""
QUIET, QUIET_FOR, LONG = 0.1, 0.5, 30.0
"""It is quiet when it uses such a share of a processor for so many seconds; that is waited for so long at most."""
LONGEST = 40
"""Bytes of a folder's name that leave room for Ray's sockets in it: a socket's path has at most 107."""


@ray.remote(num_cpus=1)
def there_is() -> int:
    """The worker that a task runs in, which has imported by then what the steps need."""
    importlib.import_module("weighbridge_worker.pipeline")
    importlib.import_module("pyarrow")
    time.sleep(0.3)  # so that no worker takes two of these tasks
    return os.getpid()


def a_block(batch: dict[str, Any]) -> dict[str, Any]:
    """Of a data set that nobody looks at."""
    return {"bytes": np.zeros((1, BLOCK), np.uint8)}


def wait_until_quiet(end: float) -> None:
    """Waits until this process and all below it hardly use a processor, or for as long as that takes at most."""
    tree = Tree()
    busy = True
    while busy and time.monotonic() < end:
        before = tree.look().cpu
        time.sleep(QUIET_FOR)
        busy = tree.look().cpu - before > QUIET_FOR * 1e9 * QUIET
    tree.close()


class Cluster:
    """Ray's own processes."""

    folder: Path | None = None

    def start(self) -> None:
        there = tempfile.gettempdir()
        self.folder = Path(tempfile.mkdtemp(prefix="ray", dir=there if len(there) <= LONGEST else "/tmp"))
        store = min(STORE, shutil.disk_usage("/dev/shm").free // 2)
        ray.init(
            address="local",
            num_cpus=CPUS,
            num_gpus=0,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            object_store_memory=store,
            _temp_dir=str(self.folder),
        )
        # Its workers are started when tasks wait for them, which takes seconds and would fall into any run.
        while len(set(ray.get([there_is.remote() for _ in range(CPUS)]))) < CPUS:
            pass
        # So are the actors of Ray Data, by the first data set: they import on all processors while it is gone through.
        # This one is half as large as the object store, whose memory is then there for those that follow.
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        blocks = max(1, store // 2 // BLOCK)
        for _ in ray.data.range(blocks, override_num_blocks=blocks).map_batches(a_block).iter_batches(batch_size=1):
            pass
        wait_until_quiet(time.monotonic() + LONG)

    def stop(self) -> None:
        if self.folder:
            ray.shutdown()
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
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        # What looks at a whole batch gets batches, and everything else whole blocks.
        self.whole = pipeline.pads or pipeline.mixing is not None
        # Batches of different lengths do not fit into one block.
        most = 1 if "DynamicPad" in pipeline.transforms else BLOCK // (row * size)
        self.chunk = max(1, most)
        per_block = self.chunk * size
        # Read-ahead is bounded: it would otherwise fill the object store while nobody asks.
        ahead = 2 * (1 + self.cpus) * per_block * self.program.row
        context.execution_options.resource_limits = ExecutionResources(object_store_memory=ahead)
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
            steps,
            batch_size=size if self.whole else None,
            batch_format="numpy",
            zero_copy_batch=True,
            compute=ray.data.TaskPoolStrategy(size=self.cpus),
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


class FromNumpy(Ray):
    """The first example of the documentation: an array, a function over it, and a loop over batches."""

    def __init__(self, pipeline: Pipeline, example: FirstExample) -> None:
        self.pipeline, self.example, self.iterator = pipeline, example, None
        self.chunk = pipeline.batches
        context = ray.data.DataContext.get_current()
        context.execution_options = ExecutionOptions()  # a pipeline before may have set others
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        steps = example.steps
        self.blocks = ray.data.from_numpy(example.rows).map_batches(lambda batch: {"data": steps(batch["data"])})

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        self.iterator = iter(self.blocks.iter_batches(batch_size=self.example.batch_size))
        return ({self.example.name: batch["data"]} for batch in self.iterator)

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=1, order="lost")


def in_one_cluster(place: Place) -> None:
    if place.ranks > 1:
        raise Declined(
            f"{place.ranks} ranks in step: they would be {place.ranks} clusters of 7 to 10 processes each, and Ray "
            "has one for all of its consumers (`streaming_split`)"
        )


def first_example(pipeline: Pipeline, data: Data, place: Place) -> Ray:
    example = FirstExample.of(pipeline, data)
    in_one_cluster(place)
    if example.workers:
        raise Declined(f"{example.workers} workers: the first example says nothing of them, and Ray decides")
    return FromNumpy(pipeline, example)


def open(pipeline: Pipeline, data: Data, place: Place) -> Ray:
    in_one_cluster(place)
    if pipeline.access != "memory":
        raise Declined(f"{pipeline.access}: its readers know files of columns, and not rows of bytes")
    asks = ((pipeline.mixture, "mixture"), (pipeline.cache, "cache"), (pipeline.rebatch, "rebatch"))
    for asked, what in asks:
        if asked:
            raise Declined(f"{what}: a data set is gone through once, block after block")
    return Ray(pipeline, data)


ADAPTER = Adapter(
    framework="Ray Data",
    distribution="ray",
    entry_point="ray.data.from_arrow_refs",
    open=open,
    first_example=first_example,
    start=CLUSTER.start,
    end=CLUSTER.stop,
)
