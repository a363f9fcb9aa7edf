"""The data set: files that are mapped, elements one after the other."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .pipeline import Array, Batch, Indices, Pipeline, Source


class Data:
    """The fields of a data set, by name and in order."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.elements: int = said["elements"]
        self.digest: str = said["digest"]
        self.sources = tuple(Source.from_dict(one) for one in said["fields"])
        self._mapped: Batch = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(source.kind.name for source in self.sources)

    def arrays(self) -> Batch:
        """All of it in memory, as read-only arrays over the files' own pages. They are mapped once."""
        if not self._mapped:
            self._mapped = {source.kind.name: self._map(source) for source in self.sources}
        return self._mapped

    def load(self) -> Batch:
        """All of it, read into memory of this process."""
        return {source.kind.name: self._read(source, 0, self.elements) for source in self.sources}

    def read(self, start: int, end: int) -> Batch:
        """The elements from `start` to `end`, read from the files."""
        return {source.kind.name: self._read(source, start, end - start) for source in self.sources}

    def joined(self, samples: Sequence[Mapping[str, Any]]) -> Batch:
        """Samples put together that hold the raw bytes of each field under its name: one join per field."""
        fields = {}
        for source in self.sources:
            kind = source.kind
            row = b"".join([sample[kind.name] for sample in samples])
            fields[kind.name] = np.frombuffer(row, kind.dtype).reshape(len(samples), *kind.shape)
        return fields

    def close(self) -> None:
        self._mapped = {}

    def _map(self, source: Source) -> Array:
        shape = (self.elements, *source.kind.shape)
        with Path(source.path).open("rb") as file:
            pages = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, prot=mmap.PROT_READ)
        count = self.elements * source.kind.size // source.kind.dtype.itemsize
        return np.frombuffer(pages, source.kind.dtype, count).reshape(shape)

    def _read(self, source: Source, start: int, count: int) -> Array:
        row = source.kind.size
        flat = np.fromfile(
            source.path, source.kind.dtype, count * row // source.kind.dtype.itemsize, offset=start * row
        )
        return flat.reshape(count, *source.kind.shape)


@dataclass(slots=True)
class Rows:
    """Some elements before any step: their fields, their indices in the data set, and the place of the first one."""

    fields: Batch
    indices: Indices
    first: int


class Reader:
    """The batches of an epoch by number, from where they are to be taken: what an index-based loader reads from."""

    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        self.pipeline, self.data = pipeline, data
        self._held = data.arrays() if pipeline.access == "memory" else None
        # Plain names, since a batch of the smallest case takes two microseconds and each look-up is felt.
        self._first, self._end, self._size = pipeline.first, pipeline.end, pipeline.batch_size
        self._streams, self._mixes = pipeline.access == "file-streaming", bool(pipeline.mixture)
        self._order: tuple[int, Indices | None] = (-1, None)
        # Of which each batch has a part: to count anew is dearer than a small batch.
        self._places = np.arange(pipeline.end)
        self._places.flags.writeable = False

    def __len__(self) -> int:
        return self.pipeline.batches

    @property
    def held(self) -> Batch | None:
        """All elements up to the end of an epoch, where they are in memory and in the order in which they are taken."""
        if self._held is None or self._mixes or self.pipeline.access != "memory":
            return None
        return {name: array[: self._end] for name, array in self._held.items()}

    def begin(self) -> None:
        """Forgets what an epoch before has read from files."""
        if self.pipeline.access == "file-eager":
            self._held = None

    def batch(self, number: int, epoch: int) -> Rows:
        """Batch `number` of an epoch."""
        start = self._first + number * self._size
        end = min(start + self._size, self._end)
        if self._held is None or self._mixes:
            return self.rows(start, end, epoch)
        at = slice(start, end)
        return Rows({name: array[at] for name, array in self._held.items()}, self._places[at], start)

    def rows(self, start: int, end: int, epoch: int) -> Rows:
        """The elements at the places from `start` to `end` of an epoch."""
        order = self._of(epoch) if self._mixes else None
        if order is None:
            return Rows(self._slice(start, end), self._places[start:end], start)
        indices = order[start:end]
        return Rows(self._chosen(indices), indices, start)

    def _of(self, epoch: int) -> Indices | None:
        if self._order[0] != epoch:
            self._order = (epoch, self.pipeline.order(epoch, self.data.elements))
        return self._order[1]

    def _slice(self, start: int, end: int) -> Batch:
        if self._streams:
            return self.data.read(start, end)
        return {name: array[start:end] for name, array in self._memory().items()}

    def _chosen(self, indices: Indices) -> Batch:
        if self.pipeline.access == "file-streaming":
            rows = [self.data.read(index, index + 1) for index in indices.tolist()]
            return {name: np.concatenate([row[name] for row in rows]) for name in self.data.names}
        return {name: array[indices] for name, array in self._memory().items()}

    def _memory(self) -> Batch:
        if self._held is None:
            self._held = self.data.load()
        return self._held
