"""PyTorch `DataLoader`: a map-style dataset, and batches by a sampler.

Idiomatic: a `Dataset` whose `__getitem__` fetches, transforms with numpy and gives tensors, and `DataLoader(dataset,
sampler=..., batch_size=None)`, which is what PyTorch documents for data that are quicker to read in batches than row
by row. The epoch travels with the sampler's keys, so that workers that persist draw by it. `persistent_workers`,
since an epoch would begin with new processes otherwise. One intra-op thread: teams of OpenMP spin while they wait.

Tried: rows with the default `collate_fn` (half of the speed on small images, an eighth on table rows); the default
number of intra-op threads (2 % of the speed where another process wants the processor).

On a device: batches are pinned by the `DataLoader` (`pin_memory`), copied with `non_blocking=True`, and handed out when
the stream that copies has ended. The steps stay on the host.

In a way that is asked for (eager, vectorised) the dataset runs PyTorch's operations on the batch
(`modes/on_torch.py`).

By operators of its own: `torchvision.transforms.v2` on samples, a batch stacked by `collate_fn` (`own/on_torch.py`).

Cannot: cache or regroup batches; save its place (`StatefulDataLoader` is another package: `torchdata.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.utils.data

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data, Reader
from ..device import HOST, OnDevice
from ..first_example import FirstExample
from ..modes import Square, drawn
from ..on_torch import InOrder, Key, as_it_is, end_workers, processes
from ..own.stored import Elements
from ..pipeline import Array, Batch, Pipeline, Program


class Batches(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Batches by their keys, transformed."""

    def __init__(self, program: Program, reader: Reader) -> None:
        self.program, self.reader = program, reader

    def __getitem__(self, key: Key) -> dict[str, torch.Tensor]:
        epoch, number = key
        rows = self.reader.batch(number, epoch)
        batch = self.program.batch(rows.fields, rows.indices, epoch, rows.first)
        return {name: torch.from_numpy(array) for name, array in batch.items()}


class BatchesInMode(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Batches by their keys, through PyTorch's operations in one way."""

    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        from ..modes import on_torch

        self.pipeline, self.reader, self.square = pipeline, Reader(pipeline, data), Square.of(pipeline, data)
        self.name, self.entering = pipeline.output[0].name, on_torch.entering
        self.run = on_torch.run(str(pipeline.mode), self.square)

    def __getitem__(self, key: Key) -> dict[str, torch.Tensor]:
        epoch, number = key
        rows = self.reader.batch(number, epoch)
        draws = drawn(self.pipeline, rows, epoch, self.square.side)
        return {self.name: self.run(*self.entering((*rows.fields.values(), *draws)))}


class Cuda(OnDevice):
    """The CUDA device that torch takes unasked."""

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise Declined(f"torch {torch.__version__} sees no CUDA device")
        self.where = torch.device("cuda", torch.cuda.current_device())
        super().__init__(f"{self.where} {torch.cuda.get_device_name(self.where)}")

    def has(self, array: Any) -> bool:
        return type(array) is torch.Tensor and array.device == self.where

    def wait(self, batch: Mapping[str, Any]) -> None:
        torch.cuda.synchronize(self.where)  # of the whole device: a stream that nobody waits for counts

    def copied(self, array: Any) -> Array:
        return array.cpu().numpy()


class Torch(Loader):
    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        torch.set_num_threads(1)
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        self.pipeline = pipeline
        self.device = Cuda() if pipeline.device == "gpu" else HOST
        self.reader = Reader(pipeline, data)
        self.sampler = InOrder(len(self.reader))
        self.loader: Any = self.kind()(
            self.dataset(pipeline, data),
            sampler=self.sampler,
            batch_size=None,
            collate_fn=as_it_is,
            pin_memory=self.device is not HOST,
            **processes(pipeline.workers),
        )

    def dataset(self, pipeline: Pipeline, data: Data) -> torch.utils.data.Dataset[dict[str, torch.Tensor]]:
        """What makes the batches."""
        return Batches(Program(pipeline, data.sources), self.reader)

    def kind(self) -> Any:
        """The class of what hands batches out."""
        return torch.utils.data.DataLoader

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.reader.begin()
        self.sampler.epoch = epoch
        batches = iter(self.loader)
        if isinstance(self.device, Cuda):
            return self.moved(batches, self.device.where)
        return ({name: tensor.numpy() for name, tensor in batch.items()} for batch in batches)

    @staticmethod
    def moved(batches: Iterator[dict[str, torch.Tensor]], where: torch.device) -> Iterator[Any]:
        """On the device, complete."""
        for batch in batches:
            there = {name: tensor.to(where, non_blocking=True) for name, tensor in batch.items()}
            torch.cuda.current_stream(where).synchronize()
            yield there

    def executed(self) -> Executed:
        how = "on return" if self.device is HOST else "torch.cuda.Stream.synchronize"
        return Executed(self.pipeline.work, synchronised=how, workers=self.pipeline.workers)

    def close(self) -> None:
        end_workers(self.loader)
        self.loader = None


class InMode(Torch):
    """The list of steps in a way that was asked for."""

    def dataset(self, pipeline: Pipeline, data: Data) -> torch.utils.data.Dataset[dict[str, torch.Tensor]]:
        return BatchesInMode(pipeline, data)

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, "native")


class Samples(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Elements one by one, through `torchvision`'s transforms."""

    def __init__(self, own: Any, elements: Elements) -> None:
        self.own, self.elements = own, elements

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        return self.own.sample(self.elements[number])  # type: ignore[no-any-return]

    def __getitems__(self, numbers: list[int]) -> list[dict[str, torch.Tensor]]:
        """The samples of a batch, which a loader asks for at once."""
        return [self.own.sample(sample) for sample in self.elements.many(numbers)]


class OwnTorch(Torch):
    """A `DataLoader` that fetches samples and stacks them."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        from ..own import on_torch  # torchvision is imported where it is used

        torch.set_num_threads(1)
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        self.pipeline, self.device, self.library = pipeline, HOST, on_torch.LIBRARY
        own = on_torch.Own(pipeline, data.sources)
        self.loader = torch.utils.data.DataLoader(
            Samples(own, Elements(pipeline, data, place)),
            sampler=range(pipeline.elements),
            batch_size=pipeline.batch_size,
            collate_fn=own.batch,
            **processes(pipeline.workers),
        )

    def begin(self, epoch: int) -> Iterator[Batch]:
        torch.manual_seed(self.pipeline.seed * 1_000_003 + epoch)  # workers are seeded from it
        return ({name: tensor.numpy() for name, tensor in batch.items()} for batch in iter(self.loader))

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, "native", self.library, workers=self.pipeline.workers)


class Rows(torch.utils.data.Dataset[torch.Tensor]):
    """Elements one by one, as a tutorial writes a data set."""

    def __init__(self, example: FirstExample) -> None:
        self.rows, self.steps = example.rows, example.steps

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.from_numpy(self.steps(self.rows[index]))


class RowByRow(Torch):
    """The first example of the documentation: `DataLoader(dataset, batch_size=B, num_workers=n)`."""

    def __init__(self, pipeline: Pipeline, example: FirstExample) -> None:
        torch.set_num_threads(1)
        self.pipeline, self.device, self.name = pipeline, HOST, example.name
        self.loader = self.kind()(Rows(example), batch_size=example.batch_size, num_workers=example.workers)

    def begin(self, epoch: int) -> Iterator[Batch]:
        return ({self.name: batch.numpy()} for batch in self.loader)


def first_example(pipeline: Pipeline, data: Data, place: Place) -> Torch:
    return RowByRow(pipeline, FirstExample.of(pipeline, data))


def decline(pipeline: Pipeline) -> None:
    """Declines what a `DataLoader` over arrays cannot do."""
    for asked, what in ((pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(f"{what}: a DataLoader hands on what its dataset gives, once")
    if pipeline.access == "file-eager" and pipeline.workers:
        raise Declined("file-eager with workers: processes that persist keep what they have read")


def open(pipeline: Pipeline, data: Data, place: Place) -> Torch:
    if pipeline.operators == "own":
        return OwnTorch(pipeline, data, place)
    if pipeline.mode:
        return InMode(pipeline, data)
    decline(pipeline)
    return Torch(pipeline, data)


ADAPTER = Adapter(
    framework="PyTorch DataLoader",
    distribution="torch",
    entry_point="torch.utils.data.DataLoader",
    open=open,
    first_example=first_example,
    platforms=("cpu", "gpu"),
    own="on_torch",
    stored=("stored-files",),
    no_store="its datasets are indexed, and a tar file has no index",
    modes=("eager", "vectorised"),
)
