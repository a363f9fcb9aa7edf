"""LitData: samples in chunks that `optimize` writes, streamed into PyTorch's loader.

Idiomatic: `optimize(fn, inputs, output_dir, chunk_bytes="64MB")` once, then `StreamingDataLoader(StreamingDataset(...),
batch_size=B, collate_fn=...)`. A sample holds the raw bytes of its fields and its index, which random steps draw by;
`collate_fn` joins them and does the steps on the batch, in the worker where there are workers. They persist, since an
epoch would begin with new processes otherwise, and find the epoch in shared memory. The place is the loader's own
(`state_dict`, `load_state_dict`).

Tried: arrays as leaves, which are copied one by one and then stacked (half of the speed); windows of
other sizes to decode at once, or none (the same speed, or four fifths).

First example: `optimize` with a function that returns a dict with an array, then `StreamingDataLoader(
StreamingDataset(...), batch_size=B, num_workers=n)` with the collate function that it has by default, as in the
README. The steps are the data set's `transform`, on samples.

By operators of its own: encoded images in chunks go through `torchvision` by the dataset's `transform`
(`own/on_torch.py`).

With two workers and more each has its own part of the elements, so order and edges of batches are others: what looks at
a whole batch (`DynamicPad`, mixing) is declined then. Cannot: mix parts by the defined draws
(`CombinedStreamingDataset` draws by its own), cache, or regroup.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import litdata
import numpy as np
import torch

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..first_example import FirstExample
from ..on_torch import Sample, Steps, end_workers
from ..own import stored
from ..pipeline import Batch, Pipeline, Program


class Elements:
    """What `optimize` writes for an index; with the index where steps draw by it."""

    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        self.arrays, self.indexed = data.arrays(), pipeline.is_random

    def __call__(self, index: int) -> Sample:
        sample: Sample = {"index": index} if self.indexed else {}
        sample.update((name, array[index].tobytes()) for name, array in self.arrays.items())
        return sample


class Encoded:
    """What `optimize` writes for an index, where elements are encoded images."""

    def __init__(self, data: Data) -> None:
        self.data = data

    def __call__(self, index: int) -> bytes:
        return stored.image(self.data, index)


def write(pipeline: Pipeline, sample: Callable[[int], Any], folder: Path) -> None:
    """The elements of the pipeline's part of the data as chunks."""
    os.environ["DATA_OPTIMIZER_CACHE_FOLDER"] = str(folder / "unfinished")
    litdata.optimize(
        sample,
        list(range(pipeline.first, pipeline.end)),
        str(folder / "chunks"),
        chunk_bytes="64MB",
        num_workers=1,
        keep_data_ordered=True,
        start_method="fork",
        verbose=False,
    )


class LitData(Loader):
    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        torch.set_num_threads(1)
        self.pipeline, self.data = pipeline, data
        self.steps = Steps(Program(pipeline, data.sources), data)
        self.done = 0
        workers = pipeline.workers
        self.loader: Any = litdata.StreamingDataLoader(
            litdata.StreamingDataset(str(folder / "chunks"), shuffle=False, drop_last=False),
            batch_size=pipeline.batch_size,
            num_workers=workers,
            collate_fn=self.steps,
            persistent_workers=workers > 0,
            multiprocessing_context="fork" if workers else None,
        )

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.loader.restore = False
        return self.batches(epoch, 0)

    def batches(self, epoch: int, done: int) -> Iterator[Batch]:
        self.steps.epoch.value, self.done = epoch, done
        return map(self.handed_out, iter(self.loader))

    def handed_out(self, batch: dict[str, torch.Tensor]) -> Batch:
        self.done += 1
        return {name: tensor.numpy() for name, tensor in batch.items()}

    def executed(self) -> Executed:
        workers = self.pipeline.workers
        return Executed(self.pipeline.work, workers=workers, order="kept" if workers < 2 else "lost")

    def save(self) -> bytes:
        if self.pipeline.workers:
            raise Declined("a place in an epoch of workers: they persist, and take a place when they are started alone")
        state = {"data": self.data.digest, "epoch": self.steps.epoch.value, "done": self.done}
        return json.dumps({**state, "litdata": self.loader.state_dict()}).encode()

    def restore(self, state: bytes) -> Iterator[Batch]:
        said = json.loads(state)
        if said["data"] != self.data.digest:
            raise ValueError("the place was saved over other data")
        # The loader takes no place before the first batch, and none after the last: it would begin anew.
        if said["done"] == 0:
            return self.begin(said["epoch"])
        if said["done"] == self.pipeline.batches:
            return iter(())
        self.loader.load_state_dict(said["litdata"])
        return self.batches(said["epoch"], said["done"])

    def close(self) -> None:
        end_workers(self.loader)
        self.loader = None


class SampleBySample(LitData):
    """The first example of the documentation: a sample is a dict with an array, and the loader stacks them."""

    under_way: Any = None

    def __init__(self, pipeline: Pipeline, example: FirstExample, folder: Path) -> None:
        torch.set_num_threads(1)
        self.pipeline, self.done = pipeline, 0

        def steps(sample: dict[str, Any]) -> dict[str, Any]:
            return {example.name: example.steps(sample[example.name])}

        dataset = litdata.StreamingDataset(str(folder / "chunks"), transform=steps)
        self.loader = litdata.StreamingDataLoader(dataset, batch_size=example.batch_size, num_workers=example.workers)

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        self.under_way = iter(self.loader)
        return map(self.handed_out, self.under_way)

    def let_go(self) -> None:
        """Ends the epoch that is under way, and its workers with it."""
        if self.under_way is not None:
            self.under_way.close()

    def save(self) -> bytes:
        raise Declined("a place in an epoch: the first example takes none")

    @property
    def can_save(self) -> bool:
        return False

    def close(self) -> None:
        self.let_go()
        self.under_way = self.loader = None


class Photographs(LitData):
    """Encoded images, through `torchvision`'s transforms."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        from ..own import on_torch  # torchvision is imported where it is used

        if pipeline.access == "files":
            raise Declined("files: `StreamingRawDataset`, which reads them, needs zstd, which LitData does not install")
        if pipeline.access != "records":
            raise Declined(f"{pipeline.access}: its samples come from chunks")
        torch.set_num_threads(1)
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        self.pipeline, self.library, self.done = pipeline, on_torch.LIBRARY, 0
        own, (field,), workers = on_torch.Own(pipeline, data.sources), data.names, pipeline.workers

        def sample(content: bytes) -> dict[str, torch.Tensor]:
            return own.sample({field: np.frombuffer(content, np.uint8)})

        name = f"records-{pipeline.first}-{pipeline.end}"
        folder = place.converting(name, lambda folder: write(pipeline, Encoded(data), folder))
        self.loader = litdata.StreamingDataLoader(
            litdata.StreamingDataset(str(folder / "chunks"), shuffle=False, drop_last=False, transform=sample),
            batch_size=pipeline.batch_size,
            num_workers=workers,
            collate_fn=own.batch,
            persistent_workers=workers > 0,
            multiprocessing_context="fork" if workers else None,
        )

    def begin(self, epoch: int) -> Iterator[Batch]:
        torch.manual_seed(self.pipeline.seed * 1_000_003 + epoch)  # workers are seeded from it
        self.loader.restore = False
        self.done = 0
        return map(self.handed_out, iter(self.loader))

    def executed(self) -> Executed:
        return replace(super().executed(), operators="native", library=self.library)

    def save(self) -> bytes:
        raise Declined("a place in an epoch: the state of its draws is no part of it")

    @property
    def can_save(self) -> bool:
        return False


def first_example(pipeline: Pipeline, data: Data, place: Place) -> LitData:
    example = FirstExample.of(pipeline, data)
    rows = data.arrays()[example.name]

    def sample(index: int) -> dict[str, Any]:
        return {example.name: rows[index]}

    name = f"arrays-{pipeline.first}-{pipeline.end}"
    return SampleBySample(pipeline, example, place.converting(name, lambda folder: write(pipeline, sample, folder)))


def open(pipeline: Pipeline, data: Data, place: Place) -> LitData:
    if pipeline.operators == "own":
        if not pipeline.decodes:
            raise Declined("operators own: LitData has none, its users map functions of theirs")
        return Photographs(pipeline, data, place)
    if pipeline.access == "file-eager":
        raise Declined("file-eager: chunks are read as they are needed")
    if pipeline.mixture:
        raise Declined("mixture: `CombinedStreamingDataset` draws by a generator of its own, and gives other elements")
    for asked, what in ((pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(f"{what}: a loader hands on batches as they are first put together, once")
    for asked, what in ((pipeline.pads, "DynamicPad"), (pipeline.mixing is not None, "mixing")):
        if asked and pipeline.workers > 1:
            raise Declined(f"{what} with workers: each has its own part of the elements, so batches are others")
    name = f"{pipeline.first}-{pipeline.end}" + ("-indexed" if pipeline.is_random else "")
    elements = Elements(pipeline, data)
    return LitData(pipeline, data, place.converting(name, lambda folder: write(pipeline, elements, folder)))


ADAPTER = Adapter(
    framework="LitData",
    distribution="litdata",
    entry_point="litdata.StreamingDataLoader",
    open=open,
    first_example=first_example,
    own="on_torch",
    no_store="its inputs are stores by protocols of their own (S3, GCS, Azure), and plain HTTP is none of them",
)
