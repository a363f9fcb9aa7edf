"""WebDataset: tar shards, read from the first byte to the last, one file per field of a sample.

Idiomatic: `wds.WebDataset(shards).batched(B).map(...)`. Samples hold raw bytes: putting a batch together is then one
join and one `frombuffer`. The index of an element is the sample's `__key__`, which random steps draw by. The shards
are written once by `ShardWriter`, and kept.

Workers are those of `wds.WebLoader(dataset, batch_size=None, num_workers=N)`, which is PyTorch's `DataLoader`:
`split_by_worker`, its default, gives each worker every Nth shard, and each puts its own batches together. They persist,
since an epoch would begin with new processes otherwise, and find the epoch in shared memory. `WebLoader` makes tensors
of a batch's arrays, which go from process to process by shared memory.

Tried: `.npy` files per field, as `.decode()` reads them (three quarters of the speed, 1.25 times the bytes).

First example: `wds.WebDataset(shards).decode().to_tuple("npy").map_tuple(f).batched(B)`, and a loader over it with
`batch_size=None, num_workers=n`, as on the page "Getting Started". Each element is a `.npy` file, as `ShardWriter`
makes them of arrays.

With two workers and more, order and edges of batches are others: what looks at a whole batch (`DynamicPad`, mixing) is
declined then. Cannot: go to an element by its index, so no mixture by weights; say where in a shard it stands, so no
save.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import webdataset as wds

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data, Rows
from ..first_example import FirstExample
from ..own import stored
from ..own.remote import SHARD as SHARD_THERE
from ..pipeline import Batch, Pipeline, Program

SHARD = 64 << 20
"""Bytes of a shard at most."""
SHARDS = 4
"""How many shards there are at least: more than one for each worker that machines of a few processors have."""


def parts(pipeline: Pipeline) -> int:
    """How many shards there are to be at least: a worker without one would end the epoch with an error."""
    return max(SHARDS, pipeline.workers)


def write(pipeline: Pipeline, data: Data, folder: Path) -> None:
    """The elements of the pipeline's part of the data as tar files, with as many in each."""
    fields, most = data.arrays(), pipeline.elements // parts(pipeline)
    with wds.ShardWriter(str(folder / "%05d.tar"), maxcount=max(most, 1), maxsize=SHARD, verbose=0) as shards:
        for index in range(pipeline.first, pipeline.end):
            sample = {name: array[index].tobytes() for name, array in fields.items()}
            shards.write({"__key__": f"{index:09}", **sample})


class WebDataset(Loader):
    """Batches of the shards, in this process or by workers of `WebLoader`."""

    loader: Any = None
    """What has the workers."""
    iterator: Any = None

    def __init__(self, pipeline: Pipeline, data: Data, shards: Path) -> None:
        self.pipeline, self.data = pipeline, data
        self.program = Program(pipeline, data.sources)
        self.shards = sorted(str(path) for path in shards.glob("*.tar"))
        self.epoch = multiprocessing.get_context("fork").Value("q", 0, lock=False)
        self.take_workers()

    def take_workers(self) -> None:
        """Has the batches made by workers, where they are asked for."""
        if self.pipeline.workers:
            from ..on_torch import processes  # which WebDataset does without where there are no workers

            self.loader = wds.WebLoader(self.batches(), batch_size=None, **processes(self.pipeline.workers))

    def batches(self) -> Any:
        """What makes the batches: of all shards, or of those of the worker that it is in."""
        dataset = wds.WebDataset(self.shards, shardshuffle=False)
        return dataset.batched(self.pipeline.batch_size, collation_fn=self.collate).map(self.steps)

    def collate(self, samples: Sequence[dict[str, Any]]) -> Rows:
        """Raw bytes of the fields as arrays."""
        indices = np.array([int(sample["__key__"]) for sample in samples])
        return Rows(self.data.joined(samples), indices, int(indices[0]))

    def steps(self, rows: Rows) -> Batch:
        return self.program.batch(rows.fields, rows.indices, self.epoch.value, rows.first)

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        self.epoch.value = epoch
        self.iterator = iter(self.batches() if self.loader is None else self.loader)
        if self.loader is None:
            return self.iterator  # type: ignore[no-any-return]
        return ({name: tensor.numpy() for name, tensor in batch.items()} for batch in self.iterator)

    def executed(self) -> Executed:
        workers = self.pipeline.workers
        return Executed(self.pipeline.work, workers=workers, order="kept" if workers < 2 else "lost")

    def let_go(self) -> None:
        """Ends the epoch that is under way."""
        if self.iterator is not None and hasattr(self.iterator, "close"):
            self.iterator.close()
        self.iterator = None

    def close(self) -> None:
        self.let_go()
        if self.loader is not None:
            from ..on_torch import end_workers

            end_workers(self.loader.pipeline[0])
        self.loader = None


class Photographs(WebDataset):
    """Shards of encoded images, decoded by Pillow."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        from ..own import on_pillow  # which is imported where it is used

        if pipeline.access not in ("tar", "stored-tar"):
            raise Declined(f"{pipeline.access}: its samples come from tar files")
        self.own, self.library = on_pillow.Own(pipeline, data.sources), on_pillow.LIBRARY
        self.pipeline, (self.name,) = pipeline, data.names
        if pipeline.store is not None:
            # Its documentation's way: an address is a shard, and the program `curl` reads it.
            if pipeline.workers:
                raise Declined(f"{pipeline.workers} workers: each reads shards of its own, and the store has one")
            self.shards = [f"{pipeline.store.url}/{SHARD_THERE}"]
        else:
            self.shards = [str(path) for path in stored.shards(pipeline, data, place, parts(pipeline))]
        self.epoch = multiprocessing.get_context("fork").Value("q", 0, lock=False)
        self.take_workers()

    def batches(self) -> Any:
        dataset = wds.WebDataset(self.shards, shardshuffle=False).map(self.drawn)
        return dataset.batched(self.pipeline.batch_size, collation_fn=self.own.batch)

    def drawn(self, sample: dict[str, Any]) -> Batch:
        """An image through the steps. Its draws are its own, so that they do not depend on the worker."""
        random = np.random.default_rng((self.pipeline.seed, self.epoch.value, int(sample["__key__"])))
        return self.own.sample({self.name: sample["jpg"]}, random)

    def executed(self) -> Executed:
        return replace(super().executed(), operators="native", library=self.library)


class Decoded(WebDataset):
    """The first example of the documentation: samples decoded and mapped one by one, then batched."""

    def __init__(self, pipeline: Pipeline, example: FirstExample, shards: Path) -> None:
        self.pipeline, self.example = pipeline, example
        self.shards = sorted(str(path) for path in shards.glob("*.tar"))
        if example.workers:
            self.loader = wds.WebLoader(self.batches(), batch_size=None, num_workers=example.workers)

    def batches(self) -> Any:
        samples = wds.WebDataset(self.shards, shardshuffle=False).decode().to_tuple("npy")
        return samples.map_tuple(self.example.steps).batched(self.example.batch_size)

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        batches = self.batches() if self.loader is None else self.loader
        self.iterator = ({self.example.name: np.asarray(rows)} for (rows,) in batches)
        return self.iterator  # type: ignore[no-any-return]


def first_example(pipeline: Pipeline, data: Data, place: Place) -> WebDataset:
    example = FirstExample.of(pipeline, data)
    decline_workers(pipeline)

    def write(folder: Path) -> None:
        most = max(pipeline.elements // parts(pipeline), 1)
        with wds.ShardWriter(str(folder / "%05d.tar"), maxcount=most, maxsize=SHARD, verbose=0) as shards:
            for index, row in enumerate(example.rows):
                shards.write({"__key__": f"{index:09}", "npy": row})

    name = f"npy-{pipeline.first}-{pipeline.end}-{parts(pipeline)}"
    return Decoded(pipeline, example, place.converting(name, write))


def decline_workers(pipeline: Pipeline) -> None:
    """Declines workers where they cannot be, or would have nothing to do."""
    workers = pipeline.workers
    if workers and find_spec("torch") is None:
        raise Declined(f"{workers} workers: `wds.WebLoader` is torch's DataLoader, and there is no torch beside it")
    if workers > pipeline.elements:
        raise Declined(f"{workers} workers: there are shards for {pipeline.elements}")


def open(pipeline: Pipeline, data: Data, place: Place) -> WebDataset:
    workers = pipeline.workers
    if pipeline.operators == "own" and not pipeline.decodes:
        raise Declined("operators own: WebDataset has none, its users map functions of theirs")
    decline_workers(pipeline)
    if pipeline.access == "file-eager":
        raise Declined("file-eager: tar shards are read as they are needed")
    for asked, what in ((pipeline.mixture, "mixture"), (pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(
                f"{what}: samples come in the order of the shards, and batches as they are first put together"
            )
    for asked, what in ((pipeline.pads, "DynamicPad"), (pipeline.mixing is not None, "mixing")):
        if asked and workers > 1:
            raise Declined(f"{what} with workers: each has its own shards, so batches are others")
    if pipeline.decodes:
        return Photographs(pipeline, data, place)
    name = f"{pipeline.first}-{pipeline.end}-{parts(pipeline)}"
    return WebDataset(pipeline, data, place.converting(name, lambda folder: write(pipeline, data, folder)))


ADAPTER = Adapter(
    framework="WebDataset",
    distribution="webdataset",
    entry_point="webdataset.WebDataset",
    open=open,
    first_example=first_example,
    own="on_pillow",
    stored=("stored-tar",),
    no_store="its samples come from tar files",
)
