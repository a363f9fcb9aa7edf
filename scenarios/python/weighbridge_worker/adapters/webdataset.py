"""WebDataset: tar shards, read from the first byte to the last, one file per field of a sample.

Idiomatic: `wds.WebDataset(shards).batched(B).map(...)`. Samples hold raw bytes: putting a batch together is then one
join and one `frombuffer`. The index of an element is the sample's `__key__`, which random steps draw by. The shards
are written once by `ShardWriter`, and kept.

Tried: `.npy` files per field, as `.decode()` reads them (three quarters of the speed, 1.25 times the bytes).

Cannot: workers, which are those of `torch.utils.data.DataLoader` (`wds.WebLoader`) and need torch, which is no
dependency of WebDataset; go to an element by its index, so no mixture by weights; say where in a shard it stands, so
no save.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import webdataset as wds

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data, Rows
from ..own import stored
from ..pipeline import Batch, Pipeline, Program

SHARD = 64 << 20
"""Bytes of a shard."""


def write(pipeline: Pipeline, data: Data, folder: Path) -> None:
    """The elements of the pipeline's part of the data as tar files."""
    fields = data.arrays()
    with wds.ShardWriter(str(folder / "%05d.tar"), maxcount=1 << 40, maxsize=SHARD, verbose=0) as shards:
        for index in range(pipeline.first, pipeline.end):
            sample = {name: array[index].tobytes() for name, array in fields.items()}
            shards.write({"__key__": f"{index:09}", **sample})


class WebDataset(Loader):
    def __init__(self, pipeline: Pipeline, data: Data, shards: Path) -> None:
        self.pipeline, self.data = pipeline, data
        self.program = Program(pipeline, data.sources)
        self.shards = sorted(str(path) for path in shards.glob("*.tar"))
        self.iterator: Any = None

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.close()

        def steps(rows: Rows) -> Batch:
            return self.program.batch(rows.fields, rows.indices, epoch, rows.first)

        dataset = wds.WebDataset(self.shards, shardshuffle=False)
        batches = dataset.batched(self.pipeline.batch_size, collation_fn=self.collate).map(steps)
        self.iterator = iter(batches)
        return self.iterator  # type: ignore[no-any-return]

    def collate(self, samples: Sequence[dict[str, Any]]) -> Rows:
        """Raw bytes of the fields as arrays."""
        indices = np.array([int(sample["__key__"]) for sample in samples])
        return Rows(self.data.joined(samples), indices, int(indices[0]))

    def executed(self) -> Executed:
        return Executed(self.pipeline.work)

    def close(self) -> None:
        if self.iterator is not None and hasattr(self.iterator, "close"):
            self.iterator.close()
        self.iterator = None


class Photographs(WebDataset):
    """Shards of encoded images, decoded by Pillow."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        from ..own import on_pillow  # which is imported where it is used

        if pipeline.access != "tar":
            raise Declined(f"{pipeline.access}: its samples come from tar files")
        self.own, self.library = on_pillow.Own(pipeline, data.sources), on_pillow.LIBRARY
        self.pipeline, (self.name,) = pipeline, data.names
        self.shards = [str(path) for path in stored.shards(pipeline, data, place)]
        self.iterator: Any = None

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.close()
        random = np.random.default_rng((self.pipeline.seed, epoch))

        def steps(sample: dict[str, Any]) -> Batch:
            return self.own.sample({self.name: sample["jpg"]}, random)

        dataset = wds.WebDataset(self.shards, shardshuffle=False).map(steps)
        self.iterator = iter(dataset.batched(self.pipeline.batch_size, collation_fn=self.own.batch))
        return self.iterator  # type: ignore[no-any-return]

    def executed(self) -> Executed:
        return Executed(self.pipeline.work, "native", self.library)


def open(pipeline: Pipeline, data: Data, place: Place) -> WebDataset:
    if pipeline.operators == "own" and not pipeline.decodes:
        raise Declined("operators own: WebDataset has none, its users map functions of theirs")
    if pipeline.workers:
        raise Declined(
            f"{pipeline.workers} workers: they are those of torch's DataLoader, which WebDataset does without"
        )
    if pipeline.access == "file-eager":
        raise Declined("file-eager: tar shards are read as they are needed")
    for asked, what in ((pipeline.mixture, "mixture"), (pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(
                f"{what}: samples come in the order of the shards, and batches as they are first put together"
            )
    if pipeline.decodes:
        return Photographs(pipeline, data, place)
    name = f"{pipeline.first}-{pipeline.end}"
    return WebDataset(pipeline, data, place.converting(name, lambda folder: write(pipeline, data, folder)))


ADAPTER = Adapter(
    framework="WebDataset",
    distribution="webdataset",
    entry_point="webdataset.WebDataset",
    open=open,
    own="on_pillow",
)
