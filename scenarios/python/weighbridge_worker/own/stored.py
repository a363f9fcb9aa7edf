"""Encoded images in the forms in which people keep them: in memory, a file each, tar shards.

The data set has rows of bytes, filled up with zeros behind the end of each image. An image ends with `FF D9`: no byte
of it is lost with the zeros. Files and shards are written once, and kept.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..adapter import Declined, Place
from ..data import Data
from ..pipeline import Array, Batch, Pipeline
from .remote import Objects

SHARD = 64 << 20
"""Bytes of a shard, about."""


def image(data: Data, index: int) -> bytes:
    """The bytes of one image."""
    (array,) = data.arrays().values()
    return array[index].tobytes().rstrip(b"\0")


def indices(pipeline: Pipeline) -> range:
    return range(pipeline.first, pipeline.end)


def files(pipeline: Pipeline, data: Data, place: Place) -> list[Path]:
    """A file for each image, in their order."""

    def write(folder: Path) -> None:
        for index in indices(pipeline):
            (folder / f"{index:09}.jpg").write_bytes(image(data, index))

    folder = place.converting(f"files-{pipeline.first}-{pipeline.end}", write)
    return [folder / f"{index:09}.jpg" for index in indices(pipeline)]


def shards(pipeline: Pipeline, data: Data, place: Place, parts: int = 1) -> list[Path]:
    """Tar files of images, in their order, as WebDataset has them: `000000000.jpg`, `000000001.jpg`; so many at least,
    where there are as many images.
    """
    most = max(pipeline.elements // parts, 1)

    def write(folder: Path) -> None:
        shard, room, held, number = None, 0, 0, 0
        for index in indices(pipeline):
            content = image(data, index)
            if shard is None or room < len(content) or held == most:
                if shard is not None:
                    shard.close()
                shard = tarfile.open(folder / f"{number:05}.tar", "w", format=tarfile.USTAR_FORMAT)  # noqa: SIM115
                room, held, number = SHARD, 0, number + 1
            entry = tarfile.TarInfo(f"{index:09}.jpg")
            entry.size = len(content)
            shard.addfile(entry, io.BytesIO(content))
            room, held = room - len(content), held + 1
        if shard is not None:
            shard.close()

    return sorted(place.converting(f"tar-{pipeline.first}-{pipeline.end}-{parts}", write).glob("*.tar"))


class Elements:
    """The elements of a pipeline by their places in the epoch, from 0: each a dict of arrays, without a batch axis."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        self.first, self.elements = pipeline.first, pipeline.elements
        self.arrays: Batch = {}
        self.files: list[Path] | None = None
        self.encoded: list[Array] | None = None
        self.objects: Objects | None = None
        if not pipeline.decodes:
            self.arrays = data.arrays()
            return
        (self.name,) = data.names
        if pipeline.access == "files":
            self.files = files(pipeline, data, place)
        elif pipeline.access == "stored-files":
            self.objects = Objects(pipeline)
        elif pipeline.access == "memory":
            self.encoded = [np.frombuffer(image(data, index), np.uint8) for index in indices(pipeline)]
        else:
            raise Declined(f"{pipeline.access}: elements are looked up here in memory or in files, one by one")

    def __len__(self) -> int:
        return self.elements

    def __getitem__(self, number: int) -> Batch:
        if self.objects is not None:
            return {self.name: self.objects[number]}
        if self.files is not None:
            return {self.name: np.fromfile(self.files[number], np.uint8)}
        if self.encoded is not None:
            return {self.name: self.encoded[number]}
        return {name: array[self.first + number] for name, array in self.arrays.items()}

    def many(self, numbers: Sequence[int]) -> list[Batch]:
        """Some elements; those of an object store as many at once as may be under way."""
        if self.objects is None:
            return [self[number] for number in numbers]
        return [{self.name: array} for array in self.objects.many(numbers)]

    def close(self) -> None:
        """Lets connections go."""
        if self.objects is not None:
            self.objects.close()
