"""The data set: files that are mapped, elements one after the other."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .pipeline import Array, Batch, Indices, Source


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


def taken(fields: Mapping[str, Array], indices: Indices | range) -> Batch:
    """These elements: a view where they follow each other."""
    if isinstance(indices, range):
        return {name: array[indices.start : indices.stop] for name, array in fields.items()}
    return {name: array[indices] for name, array in fields.items()}
