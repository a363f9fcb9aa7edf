"""datago: files of images, found, read and decoded by threads of Rust.

Idiomatic: `DatagoClient(json.dumps({"source_type": "file", "source_config": {"root_path": ...}, ...}))`, `start`, and
`get_sample` until there is none. Encoded images are its files as they are, decoded by it; a window is cut from each by
Pillow, whose images it hands out (`own/on_pillow.py`). Arrays become PNG files once, which lose nothing, and go through
numpy when a batch is together. `DATAGO_MAX_TASKS` is the number of workers; with 0 of them images are decoded one after
the other, in a thread of its own still.

Images come in any order, also with one thread: each has its file's name, and is drawn for by it.

Its own `image_config` is not asked for: it crops to the nearest of some ratios and resizes, and draws nothing. Its tar
shards are not either: they come over HTTP alone (`builder error for url (file:///...)`), and of two shards with 64
images and a `limit` of 64 it handed out 65.

Cannot: other fields than one of colours in `u8`, a mixture, a cache, batches that are mixed or regrouped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import datago
import numpy as np

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..own import on_pillow, stored
from ..pipeline import Array, Batch, Pipeline, Program

BUFFER = 32
"""Samples that are ready at most, as in its documentation."""


def write(pipeline: Pipeline, data: Data, folder: Path) -> None:
    """A file for each image, which has its very numbers."""
    (array,) = data.arrays().values()
    for index in stored.indices(pipeline):
        on_pillow.Image.fromarray(array[index]).save(folder / f"{index:09}.png", compress_level=1)


class Datago(Loader):
    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        self.pipeline, (self.name,) = pipeline, data.names
        self.program = Program(pipeline, data.sources)
        # It looks here when it starts.
        os.environ["DATAGO_MAX_TASKS"] = str(pipeline.workers)
        config = {
            "source_type": "file",
            "source_config": {"root_path": str(folder), "random_sampling": False, "rank": 0, "world_size": 1},
            "limit": pipeline.elements,
            "samples_buffer_size": BUFFER,
        }
        self.client: Any = datago.DatagoClient(json.dumps(config))

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.client.stop()
        self.client.start()
        return self.batches(epoch)

    def batches(self, epoch: int) -> Iterator[Batch]:
        samples = self.samples()
        while some := list(islice(samples, self.pipeline.batch_size)):
            yield self.batch(some, epoch)

    def samples(self) -> Iterator[tuple[int, Any]]:
        """Each image with its index, until there is none."""
        while (sample := self.client.get_sample()) is not None:
            yield int(Path(json.loads(sample.id)).stem), sample.image

    def batch(self, samples: list[tuple[int, Any]], epoch: int) -> Batch:
        images: list[Array] = [image.to_numpy_array() for _, image in samples]
        indices = np.array([index for index, _ in samples])
        return self.program.batch({self.name: np.stack(images)}, indices, epoch, int(indices[0]))

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, workers=max(self.pipeline.workers, 1), order="lost")

    def close(self) -> None:
        self.client.stop()


class Photographs(Datago):
    """Encoded images: what it decodes goes through Pillow."""

    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        self.own = on_pillow.Own(pipeline, data.sources)
        super().__init__(pipeline, data, folder)

    def batch(self, samples: list[tuple[int, Any]], epoch: int) -> Batch:
        made = []
        for index, image in samples:
            random = np.random.default_rng((self.pipeline.seed, epoch, index))
            made.append(self.own.sample({self.name: image.to_pil_image()}, random))
        return self.own.batch(made)

    def executed(self) -> Executed:
        library = f"zune-jpeg by datago, {on_pillow.LIBRARY}"
        return Executed(self.pipeline.work, "native", library, workers=max(self.pipeline.workers, 1), order="lost")


def open(pipeline: Pipeline, data: Data, place: Place) -> Datago:
    if pipeline.decodes:
        if pipeline.access != "files":
            raise Declined(f"{pipeline.access}: it reads files of images, and tar shards over HTTP alone")
        return Photographs(pipeline, data, stored.files(pipeline, data, place)[0].parent)
    if pipeline.operators == "own":
        raise Declined("operators own: datago has none but for encoded images")
    kinds = [source.kind for source in data.sources]
    if len(kinds) > 1 or not kinds[0].is_picture or kinds[0].dtype != np.uint8 or kinds[0].shape[2] != 3:
        raise Declined(f"{', '.join(kind.name for kind in kinds)}: it reads images of three colours in `u8`")
    if pipeline.access == "file-eager":
        raise Declined("file-eager: files are read as they are needed")
    for asked, what in (
        (pipeline.mixture, "mixture"),
        (pipeline.mixing, "mixing"),
        (pipeline.cache, "cache"),
        (pipeline.rebatch, "rebatch"),
    ):
        if asked:
            raise Declined(f"{what}: images come in any order, and once")
    name = f"png-{pipeline.first}-{pipeline.end}"
    return Datago(pipeline, data, place.converting(name, lambda folder: write(pipeline, data, folder)))


ADAPTER = Adapter(
    framework="datago",
    distribution="datago",
    entry_point="datago.DatagoClient",
    open=open,
    own="on_pillow",
)
