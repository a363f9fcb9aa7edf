"""HuggingFace Datasets: an Arrow table on disk, mapped, and read in batches that numpy sees in place.

Idiomatic: `load_from_disk(...).with_format("arrow")` and `iter(batch_size=B)` over it. Elements are flat lists of a
length, whose numbers lie one after the other: numpy sees those of a batch without a copy, and the first step makes the
batch. Steps run on each batch as it is handed out: `Dataset.map` would run them beforehand and write what they made.

Workers are those of the PyTorch `DataLoader` that its documentation gives a data set to. Each fetches slices by the
number of the batch (`batch_size=None`, a sampler of numbers), so order and edges of batches are kept. They persist,
since an epoch would begin with new processes otherwise.

Tried: typed features (`Array3D`) with the format `numpy`, which copies every element: a sixth of the speed on small
images and on rows of features, a quarter on rows of tokens. Slices instead of `iter`, which take 5 us a batch more and
are used where the elements are in another order. With two workers on small images, in one process after the other: the
documented `BatchSampler`, whose lists of indices copy (seven eighths of the speed of slices); samples one by one with
the format `numpy` (four sevenths); `to_iterable_dataset(num_shards=4)`, whose shards are split among workers (a fifth,
and the order is lost).

First example: a column typed by the shape of its elements, `with_format("numpy")` and `iter(batch_size=B)`, as on the
page "Use with NumPy"; with workers `DataLoader(dataset.with_format("torch"), batch_size=B, num_workers=n)`, as on the
page "Use with PyTorch". `dtype=None` keeps the types of numbers: integers would be delivered as 64 bits otherwise. The
steps are done on the batches that come out, since neither page has a place for them before that.

Cannot: cache, regroup, or save its place (`IterableDataset` can, which reads examples one by one).
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from .. import on_arrow
from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..first_example import FirstExample
from ..own import stored
from ..pipeline import Batch, Indices, Kind, Pipeline, Program

ROWS = 1024
"""Elements that are written at once."""


def feature(kind: Kind) -> Any:
    """The type of a field's column."""
    value = datasets.Value(str(kind.dtype))
    return datasets.List(value, length=math.prod(kind.shape)) if kind.shape else value


def write(data: Data, folder: Path) -> None:
    """All fields as an Arrow table."""
    features = datasets.Features({source.kind.name: feature(source.kind) for source in data.sources})

    def rows() -> Iterator[dict[str, Any]]:
        fields = data.arrays()
        for index in range(data.elements):
            yield {name: array[index].reshape(-1) if array.ndim > 1 else array[index] for name, array in fields.items()}

    generate(rows, features, data, folder)


def generate(rows: Callable[[], Iterator[dict[str, Any]]], features: Any, data: Data, folder: Path) -> None:
    """A table of what a generator gives."""
    dataset = datasets.Dataset.from_generator(
        rows,
        features=features,
        cache_dir=str(folder / "cache"),
        writer_batch_size=ROWS,
        fingerprint=data.digest,  # what is hashed otherwise is all that the generator knows, the data with it
    )
    dataset.save_to_disk(str(folder / "table"))
    del dataset
    shutil.rmtree(folder / "cache")  # as large as the table, and read by nobody again


class HfDatasets(Loader):
    """Slices of the table, in this process or by workers of a `DataLoader`."""

    loader: Any = None
    """What has the workers."""
    ordered: tuple[int, Indices | None] = (-1, None)
    """The order of an epoch that was asked for last."""

    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        self.pipeline, self.data = pipeline, data
        self.program = Program(pipeline, data.sources)
        self.dataset: Any = datasets.load_from_disk(str(folder / "table")).with_format("arrow")
        self.take_workers()

    def take_workers(self) -> None:
        """Has the batches made by workers, where they are asked for."""
        if self.pipeline.workers:
            from torch.utils.data import DataLoader  # torch is needed where there are workers alone

            from ..on_torch import InOrder, processes

            self.sampler = InOrder(self.pipeline.batches)
            arguments = processes(self.pipeline.workers)
            self.loader = DataLoader(Batches(self), sampler=self.sampler, batch_size=None, **arguments)

    def batch(self, number: int, epoch: int) -> Batch:
        """Batch `number` of an epoch."""
        first = self.pipeline.first + number * self.pipeline.batch_size
        last = min(first + self.pipeline.batch_size, self.pipeline.end)
        order = self.order(epoch)
        indices = np.arange(first, last) if order is None else order[first:last]
        batch = self.dataset[first:last] if order is None else self.dataset[indices]
        return self.program.batch(on_arrow.fields(batch, self.data.sources), indices, epoch, first)

    def order(self, epoch: int) -> Indices | None:
        """Which element stands where in an epoch, if it is mixed from parts of the table."""
        if self.ordered[0] != epoch:
            self.ordered = (epoch, self.pipeline.order(epoch, self.data.elements))
        return self.ordered[1]

    def batches(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch, one after the other: by `iter`, which is quicker than slices, where they lie so."""
        if self.order(epoch) is not None:
            yield from (self.batch(number, epoch) for number in range(self.pipeline.batches))
            return
        first, end = self.pipeline.first, self.pipeline.end
        part = self.dataset.select(range(first, end)) if end - first < len(self.dataset) else self.dataset
        for batch in part.iter(batch_size=self.pipeline.batch_size):
            fields, last = on_arrow.fields(batch, self.data.sources), first + batch.num_rows
            yield self.program.batch(fields, np.arange(first, last), epoch, first)
            first = last

    def begin(self, epoch: int) -> Iterator[Batch]:
        if self.loader is None:
            return self.batches(epoch)
        self.sampler.epoch = epoch
        return ({name: tensor.numpy() for name, tensor in batch.items()} for batch in self.loader)

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=self.pipeline.workers)

    def close(self) -> None:
        if self.loader is not None:
            from ..on_torch import end_workers

            end_workers(self.loader)
        self.dataset = self.loader = None


class Formatted(HfDatasets):
    """The first example of the documentation: `with_format`, and `iter` or a `DataLoader`."""

    under_way: Any = None

    def __init__(self, pipeline: Pipeline, example: FirstExample, folder: Path) -> None:
        self.pipeline, self.example = pipeline, example
        table = datasets.load_from_disk(str(folder / "table"))
        self.dataset = table.with_format("numpy", dtype=None)
        if example.workers:
            from torch.utils.data import DataLoader

            dataset = table.with_format("torch", dtype=None)
            self.loader = DataLoader(dataset, batch_size=example.batch_size, num_workers=example.workers)

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        name, steps = self.example.name, self.example.steps
        batches = self.dataset.iter(batch_size=self.example.batch_size) if self.loader is None else self.loader
        self.under_way = ({name: steps(np.asarray(batch[name]))} for batch in batches)
        return self.under_way  # type: ignore[no-any-return]

    def let_go(self) -> None:
        """Ends the epoch that is under way, and its workers with it."""
        if self.under_way is not None:
            self.under_way.close()

    def close(self) -> None:
        self.let_go()
        super().close()


class Batches:
    """A map-style data set of PyTorch: batches by their epoch and number."""

    def __init__(self, table: HfDatasets) -> None:
        self.table = table

    def __len__(self) -> int:
        return self.table.pipeline.batches

    def __getitem__(self, key: tuple[int, int]) -> Batch:
        epoch, number = key
        return self.table.batch(number, epoch)


class Photographs(HfDatasets):
    """Encoded images as its feature `Image`, which Pillow decodes: paths of files, or bytes in the table."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        from ..own import on_pillow  # which is imported where it is used

        self.own, self.library = on_pillow.Own(pipeline, data.sources), on_pillow.LIBRARY
        self.pipeline, (self.name,) = pipeline, data.names
        match pipeline.access:
            case "files":
                paths = [str(path) for path in stored.files(pipeline, data, place)]
                table = datasets.Dataset.from_dict({self.name: paths})
            case "records":
                name = f"records-{pipeline.first}-{pipeline.end}"
                table = datasets.load_from_disk(str(place.converting(name, lambda folder: self.write(data, folder))))
            case other:
                raise Declined(f"{other}: its tables have bytes or paths, on disk")
        self.dataset: Any = table.cast_column(self.name, datasets.Image())
        self.take_workers()

    def write(self, data: Data, folder: Path) -> None:
        """The images as a table of bytes."""
        rows = [stored.image(data, index) for index in stored.indices(self.pipeline)]
        features = datasets.Features({self.name: datasets.Value("binary")})
        datasets.Dataset.from_dict({self.name: rows}, features=features).save_to_disk(str(folder))

    def batch(self, number: int, epoch: int) -> Batch:
        start, size = number * self.pipeline.batch_size, self.pipeline.batch_size
        random = np.random.default_rng((self.pipeline.seed, epoch, number))
        pictures = self.dataset[start : start + size][self.name]
        return self.own.batch([self.own.sample({self.name: picture}, random) for picture in pictures])

    def batches(self, epoch: int) -> Iterator[Batch]:
        return (self.batch(number, epoch) for number in range(self.pipeline.batches))

    def executed(self) -> Executed:
        return replace(super().executed(), operators="native", library=self.library)


def first_example(pipeline: Pipeline, data: Data, place: Place) -> HfDatasets:
    example = FirstExample.of(pipeline, data)
    decline_workers(pipeline)
    (source,) = data.sources
    shape, kind = source.kind.shape, feature(source.kind)
    if len(shape) > 1:
        kind = getattr(datasets, f"Array{len(shape)}D")(shape=shape, dtype=str(source.kind.dtype))

    def write(folder: Path) -> None:
        def rows() -> Iterator[dict[str, Any]]:
            return ({example.name: row} for row in example.rows)

        generate(rows, datasets.Features({example.name: kind}), data, folder)

    datasets.disable_progress_bars()
    return Formatted(pipeline, example, place.converting(f"typed-{pipeline.first}-{pipeline.end}", write))


def decline_workers(pipeline: Pipeline) -> None:
    """Declines workers where they cannot be."""
    if pipeline.workers and find_spec("torch") is None:
        raise Declined(
            f"{pipeline.workers} workers: they are those of torch's DataLoader, and there is no torch beside it"
        )


def open(pipeline: Pipeline, data: Data, place: Place) -> HfDatasets:
    if pipeline.operators == "own" and not pipeline.decodes:
        raise Declined("operators own: HF Datasets has none, its users map functions of theirs")
    decline_workers(pipeline)
    if pipeline.access == "file-eager":
        raise Declined("file-eager: the table is mapped")
    for asked, what in ((pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(f"{what}: a slice is what it is asked for")
    datasets.disable_progress_bars()
    if pipeline.decodes:
        return Photographs(pipeline, data, place)
    return HfDatasets(pipeline, data, place.converting("all", lambda folder: write(data, folder)))


ADAPTER = Adapter(
    framework="HuggingFace Datasets",
    distribution="datasets",
    entry_point="datasets.load_from_disk",
    open=open,
    first_example=first_example,
    own="on_pillow",
)
