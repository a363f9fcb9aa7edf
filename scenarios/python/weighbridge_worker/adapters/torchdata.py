"""TorchData: PyTorch's `DataLoader` with a place, by `StatefulDataLoader`.

Idiomatic: the data set and the sampler of PyTorch's adapter, and `StatefulDataLoader` in the place of `DataLoader`,
which is all that its documentation asks for. `state_dict` is the place, with workers too: it counts what was handed
out, and not what workers have ready. `load_state_dict` goes on from it, in a loader of another process as well: keys of
batches that were handed out are passed over, and their batches are not made again.

Cannot: cache or regroup batches; deliver on a device, which nobody has tried here. By operators of its own it would be
what PyTorch's adapter is, which is measured.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

from torchdata import stateful_dataloader

from ..adapter import Adapter, Place
from ..data import Data
from ..first_example import FirstExample
from ..on_torch import end_workers
from ..pipeline import Batch, Pipeline
from .torch import RowByRow, Torch, decline


class TorchData(Torch):
    """Batches by a loader that knows its place."""

    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        super().__init__(pipeline, data)
        self.data, self.done = data, 0

    def kind(self) -> Any:
        return stateful_dataloader.StatefulDataLoader

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.done = 0
        return self.counted(super().begin(epoch))

    def counted(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """What was handed out, counted."""
        for batch in batches:
            self.done += 1
            yield batch

    def save(self) -> bytes:
        state = {"data": self.data.digest, "epoch": self.sampler.epoch, "done": self.done}
        return pickle.dumps({**state, "torchdata": self.loader.state_dict()})

    def restore(self, state: bytes) -> Iterator[Batch]:
        said = pickle.loads(state)
        if said["data"] != self.data.digest:
            raise ValueError("the place was saved over other data")
        if said["done"] == self.pipeline.batches:
            return iter(())  # a loader with the place of an epoch's end begins the next one
        end_workers(self.loader)
        self.loader.load_state_dict(said["torchdata"])
        batches = self.begin(said["epoch"])
        self.done = said["done"]
        return batches


class Stateful(RowByRow):
    """The first example of its documentation: PyTorch's, with another class."""

    def kind(self) -> Any:
        return stateful_dataloader.StatefulDataLoader


def first_example(pipeline: Pipeline, data: Data, place: Place) -> Torch:
    return Stateful(pipeline, FirstExample.of(pipeline, data))


def open(pipeline: Pipeline, data: Data, place: Place) -> TorchData:
    decline(pipeline)
    return TorchData(pipeline, data)


ADAPTER = Adapter(
    framework="TorchData",
    distribution="torchdata",
    entry_point="torchdata.stateful_dataloader.StatefulDataLoader",
    open=open,
    first_example=first_example,
)
