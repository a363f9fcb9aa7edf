"""HuggingFace Datasets: an Arrow table on disk, mapped, and read in batches that numpy sees in place.

Idiomatic: `load_from_disk(...).with_format("arrow")`, and slices of it. Elements are flat lists of a length, whose
numbers lie one after the other: numpy sees those of a batch without a copy, and the first step makes the batch. Steps
run on each batch as it is handed out: `Dataset.map` would run them beforehand and write what they made.

Tried: typed features (`Array3D`) with the format `numpy`, which copies every element: a sixth of the speed on small
images and on rows of features, a quarter on rows of tokens. Slices rather than `iter(batch_size=B)`, which does not
tell where it is.

Cannot: workers, which are those of the DataLoader that a dataset is given to; cache, regroup, or save its place
(`IterableDataset` can, which reads examples one by one).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..own import stored
from ..pipeline import Array, Batch, Kind, Pipeline, Program

ROWS = 1024
"""Elements that are written at once."""


def feature(kind: Kind) -> Any:
    """The type of a field's column."""
    value = datasets.Value(str(kind.dtype))
    return datasets.List(value, length=math.prod(kind.shape)) if kind.shape else value


def numbers_of(column: Any) -> Array:
    """What an Arrow column of such lists holds, in place where it lies in one piece."""
    column = column.combine_chunks()
    return (column.flatten() if hasattr(column, "flatten") else column).to_numpy(zero_copy_only=True)


def write(data: Data, folder: Path) -> None:
    """All fields as an Arrow table."""
    features = datasets.Features({source.kind.name: feature(source.kind) for source in data.sources})

    def rows() -> Iterator[dict[str, Any]]:
        fields = data.arrays()
        for index in range(data.elements):
            yield {name: array[index].reshape(-1) if array.ndim > 1 else array[index] for name, array in fields.items()}

    dataset = datasets.Dataset.from_generator(
        rows,
        features=features,
        cache_dir=str(folder / "cache"),
        writer_batch_size=ROWS,
        fingerprint=data.digest,  # what is hashed otherwise is all that the generator knows, the data with it
    )
    dataset.save_to_disk(str(folder / "table"))
    dataset.cleanup_cache_files()


class HfDatasets(Loader):
    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        self.pipeline, self.data = pipeline, data
        self.program = Program(pipeline, data.sources)
        self.dataset: Any = datasets.load_from_disk(str(folder / "table")).with_format("arrow")

    def begin(self, epoch: int) -> Iterator[Batch]:
        order = self.pipeline.order(epoch, self.data.elements)
        size, end = self.pipeline.batch_size, self.pipeline.end
        for first in range(self.pipeline.first, end, size):
            last = min(first + size, end)
            indices = np.arange(first, last) if order is None else order[first:last]
            batch = self.dataset[first:last] if order is None else self.dataset[indices]
            fields = {}
            for source in self.data.sources:
                kind = source.kind
                fields[kind.name] = numbers_of(batch[kind.name]).reshape(len(indices), *kind.shape)
            yield self.program.batch(fields, indices, epoch, first)

    def executed(self) -> Executed:
        return Executed(self.pipeline.work)

    def close(self) -> None:
        self.dataset = None


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

    def write(self, data: Data, folder: Path) -> None:
        """The images as a table of bytes."""
        rows = [stored.image(data, index) for index in stored.indices(self.pipeline)]
        features = datasets.Features({self.name: datasets.Value("binary")})
        datasets.Dataset.from_dict({self.name: rows}, features=features).save_to_disk(str(folder))

    def begin(self, epoch: int) -> Iterator[Batch]:
        size, random = self.pipeline.batch_size, np.random.default_rng((self.pipeline.seed, epoch))
        for start in range(0, self.pipeline.elements, size):
            pictures = self.dataset[start : start + size][self.name]
            yield self.own.batch([self.own.sample({self.name: picture}, random) for picture in pictures])

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, "native", self.library)


def open(pipeline: Pipeline, data: Data, place: Place) -> HfDatasets:
    if pipeline.operators == "own" and not pipeline.decodes:
        raise Declined("operators own: HF Datasets has none, its users map functions of theirs")
    if pipeline.workers:
        raise Declined(f"{pipeline.workers} workers: they are those of the DataLoader that a dataset is given to")
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
    own="on_pillow",
)
