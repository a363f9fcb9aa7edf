"""MosaicML Streaming: samples in MDS shards, streamed into PyTorch's loader.

Idiomatic: `MDSWriter` once, then `StreamingDataLoader(StreamingDataset(local=..., batch_size=B), batch_size=B,
collate_fn=...)`. A sample holds the raw bytes of its fields, and its index where a step draws by it; `collate_fn`
joins them and does the steps on the batch, in the worker where there are workers. They persist, since an epoch would
begin with new processes otherwise, and find the epoch in shared memory. The place is the loader's own (`state_dict`,
`load_state_dict`).

`predownload` is the whole epoch. By default two threads look sample by sample whether the next shards are there, also
where all are, and take the interpreter's lock from the loop. An epoch of TAB-1 without workers takes 990 ms then, and
250 so, with all that comes before its first batch (batches of 25 to 35 ms, and of 3.1).

Tried: its encoding `ndarray` (three quarters of the speed of raw bytes).

First example: `MDSWriter` with a column of the encoding `ndarray`, then PyTorch's `DataLoader(dataset, batch_size=B,
num_workers=n)`, as on the page "Quick Start". The data set is a `StreamingDataset` whose `__getitem__` does the steps
on a sample, as on the page of the CIFAR-10 example. `predownload` is what it is by default.

By operators of its own: MDS samples of encoded images, which a subclass of its dataset sends through `torchvision`, as
its vision datasets do (`own/on_torch.py`).

The library frees its shared memory and locks when the interpreter ends, and not before: they are let go here by name.
Cannot: mix parts by the defined draws (a `Stream`'s weight is drawn by a generator of its own), cache, or regroup.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import streaming
import torch
from torch.utils.data import DataLoader

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..first_example import FirstExample
from ..on_torch import Steps, end_workers
from ..own import stored
from ..pipeline import Batch, Pipeline, Program


def write(pipeline: Pipeline, data: Data, folder: Path) -> None:
    """The elements of the pipeline's part of the data as MDS shards."""
    fields = data.arrays()
    indexed = {"index": "int"} if pipeline.is_random else {}
    columns = {**indexed, **dict.fromkeys(fields, "bytes")}
    with streaming.MDSWriter(out=str(folder), columns=columns, size_limit="64mb") as writer:
        for index in range(pipeline.first, pipeline.end):
            sample = {"index": index} if indexed else {}
            writer.write({**sample, **{name: array[index].tobytes() for name, array in fields.items()}})


class Mosaic(Loader):
    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        torch.set_num_threads(1)
        self.pipeline, self.data = pipeline, data
        self.steps = Steps(Program(pipeline, data.sources), data)
        self.done = 0
        size, all_of_it = pipeline.batch_size, pipeline.end - pipeline.first
        dataset = streaming.StreamingDataset(local=str(folder), shuffle=False, batch_size=size, predownload=all_of_it)
        self.load(dataset, self.steps)

    def load(self, dataset: streaming.StreamingDataset, collate: Callable[..., Any]) -> None:
        """Has the samples of a dataset put together."""
        workers = self.pipeline.workers
        self.dataset = dataset
        self.loader: Any = streaming.StreamingDataLoader(
            dataset,
            batch_size=self.pipeline.batch_size,
            num_workers=workers,
            collate_fn=collate,
            persistent_workers=workers > 0,
            multiprocessing_context="fork" if workers else None,
        )

    def begin(self, epoch: int) -> Iterator[Batch]:
        return self.batches(epoch, 0)

    def batches(self, epoch: int, done: int) -> Iterator[Batch]:
        self.steps.epoch.value, self.done = epoch, done
        return map(self.handed_out, iter(self.loader))

    def handed_out(self, batch: dict[str, torch.Tensor]) -> Batch:
        self.done += 1
        return {name: tensor.numpy() for name, tensor in batch.items()}

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=self.pipeline.workers)

    def save(self) -> bytes:
        state = {"data": self.data.digest, "epoch": self.steps.epoch.value, "done": self.done}
        return json.dumps({**state, "mosaic": self.loader.state_dict()}).encode()

    def restore(self, state: bytes) -> Iterator[Batch]:
        said = json.loads(state)
        if said["data"] != self.data.digest:
            raise ValueError("the place was saved over other data")
        if said["done"]:
            # It counts epochs from the opening, and takes no place of one that is over.
            self.loader.load_state_dict({**said["mosaic"], "epoch": int(self.dataset.next_epoch)})
        return self.batches(said["epoch"], said["done"])

    def close(self) -> None:
        end_workers(self.loader)
        self.loader._iterator = None
        dataset = self.dataset
        if hasattr(dataset, "_iterator"):
            dataset._iterator.exit()
            dataset._executor.shutdown()
        barrier, shared = dataset._shared_barrier, [dataset._locals_shm, getattr(dataset, "_resume_shm", None)]
        shared += [barrier._arr.shm, dataset._next_epoch.arr.shm, dataset._cache_usage.arr.shm]
        shared += [dataset._shard_states.shm, dataset._shard_access_times.shm]
        for memory in shared:
            if memory is not None:
                memory.cleanup()
        for lock in (barrier.filelock_path, dataset._cache_filelock_path):
            Path(lock).unlink(missing_ok=True)


class Rows(streaming.StreamingDataset):  # type: ignore[misc]
    """Elements one by one, as a tutorial writes a data set."""

    def __init__(self, example: FirstExample, folder: Path) -> None:
        super().__init__(local=str(folder), batch_size=example.batch_size)
        self.name, self.steps = example.name, example.steps

    def __getitem__(self, at: Any) -> Any:
        return self.steps(super().__getitem__(at)[self.name])


class RowByRow(Mosaic):
    """The first example of the documentation: `DataLoader(dataset, batch_size=B, num_workers=n)`."""

    under_way: Any = None

    def __init__(self, pipeline: Pipeline, example: FirstExample, folder: Path) -> None:
        torch.set_num_threads(1)
        self.pipeline, self.name, self.dataset = pipeline, example.name, Rows(example, folder)
        self.loader = DataLoader(self.dataset, batch_size=example.batch_size, num_workers=example.workers)

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        self.under_way = self.begun()
        return self.under_way  # type: ignore[no-any-return]

    def begun(self) -> Iterator[Batch]:
        for batch in self.loader:
            yield {self.name: batch.numpy()}

    def let_go(self) -> None:
        """Ends the epoch that is under way, and its workers with it: those of two epochs would wait for each other."""
        if self.under_way is not None:
            self.under_way.close()

    def save(self) -> bytes:
        raise Declined("a place in an epoch: PyTorch's own loader takes none")

    @property
    def can_save(self) -> bool:
        return False

    def close(self) -> None:
        self.let_go()
        super().close()


class Pictures(streaming.StreamingDataset):  # type: ignore[misc]
    """Encoded images that go through `torchvision`'s transforms as they are looked up."""

    def __init__(self, own: Any, folder: Path, pipeline: Pipeline) -> None:
        size, all_of_it = pipeline.batch_size, pipeline.end - pipeline.first
        super().__init__(local=str(folder), shuffle=False, batch_size=size, predownload=all_of_it)
        self.own = own

    def __getitem__(self, at: Any) -> Any:
        return self.own.sample({name: np.frombuffer(x, np.uint8) for name, x in super().__getitem__(at).items()})


class Photographs(Mosaic):
    """MDS shards of encoded images."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        from ..own import on_torch  # torchvision is imported where it is used

        if pipeline.access != "records":
            raise Declined(f"{pipeline.access}: its samples come from MDS shards")
        torch.set_num_threads(1)
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        self.pipeline, self.library = pipeline, on_torch.LIBRARY
        own, (name,) = on_torch.Own(pipeline, data.sources), data.names

        def write(folder: Path) -> None:
            with streaming.MDSWriter(out=str(folder), columns={name: "bytes"}, size_limit="64mb") as writer:
                for index in stored.indices(pipeline):
                    writer.write({name: stored.image(data, index)})

        folder = place.converting(f"records-{pipeline.first}-{pipeline.end}", write)
        with place.locked("names"):  # as below
            self.load(Pictures(own, folder, pipeline), own.batch)

    def begin(self, epoch: int) -> Iterator[Batch]:
        torch.manual_seed(self.pipeline.seed * 1_000_003 + epoch)  # workers are seeded from it
        self.done = 0
        return map(self.handed_out, iter(self.loader))

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, "native", self.library, workers=self.pipeline.workers)

    def save(self) -> bytes:
        raise Declined("a place in an epoch: the state of its draws is no part of it")

    @property
    def can_save(self) -> bool:
        return False


def first_example(pipeline: Pipeline, data: Data, place: Place) -> Mosaic:
    example = FirstExample.of(pipeline, data)

    def write(folder: Path) -> None:
        with streaming.MDSWriter(out=str(folder), columns={example.name: "ndarray"}, size_limit="64mb") as writer:
            for row in example.rows:
                writer.write({example.name: row})

    folder = place.converting(f"arrays-{pipeline.first}-{pipeline.end}", write)
    with place.locked("names"):  # as below
        return RowByRow(pipeline, example, folder)


def open(pipeline: Pipeline, data: Data, place: Place) -> Mosaic:
    if pipeline.operators == "own":
        if not pipeline.decodes:
            raise Declined("operators own: MosaicML Streaming has none, its users map functions of theirs")
        return Photographs(pipeline, data, place)
    if pipeline.access == "file-eager":
        raise Declined("file-eager: shards are read as they are needed")
    if pipeline.mixture:
        raise Declined("mixture: the weight of a `Stream` is drawn by its own generator, and gives other elements")
    for asked, what in ((pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(f"{what}: a loader hands on batches as they are first put together, once")
    name = f"{pipeline.first}-{pipeline.end}" + ("-indexed" if pipeline.is_random else "")
    folder = place.converting(name, lambda folder: write(pipeline, data, folder))
    # It looks for a name of shared memory that nobody has, and then takes it: two ranks at once might take the same.
    with place.locked("names"):
        return Mosaic(pipeline, data, folder)


ADAPTER = Adapter(
    framework="MosaicML Streaming",
    distribution="mosaicml-streaming",
    entry_point="streaming.StreamingDataset",
    open=open,
    first_example=first_example,
    own="on_torch",
    no_store="its remotes are stores by protocols of their own (S3, GCS, OCI, Azure), and plain HTTP is none of them",
)
