"""Lance: an Arrow table in Lance's own columnar files, scanned in batches.

Idiomatic: `lance.dataset(path).scanner(batch_size=B).to_batches()`, in order. Elements are flat lists of a length,
whose numbers numpy sees in place, and the first step makes the batch. A mixture takes rows by their indices (`take`).
The table is written once by `write_dataset`, and kept. `strict_batch_size`, or batches end where pages do.

Tried, on small images in one process: slices by `limit` and `offset` (a sixth of the speed by CPU time), `take` of
batch after batch (a quarter); `batch_readahead` of 1, 2 and 4 (the same as the default).

Cannot: workers, since its own threads read, and its data set for PyTorch, which takes workers, needs torch beside it;
cache, regroup, or save a place, since a scan has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import numpy as np

from .. import on_arrow
from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..pipeline import Batch, Indices, Pipeline, Program


def write(data: Data, folder: Path) -> None:
    lance.write_dataset(on_arrow.table(data, 0, data.elements), str(folder / "table.lance"))


class Lance(Loader):
    iterator: Any = None

    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        self.pipeline, self.data = pipeline, data
        self.program = Program(pipeline, data.sources)
        self.dataset: Any = lance.dataset(str(folder / "table.lance"))

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        order = self.pipeline.order(epoch, self.data.elements)
        self.iterator = self.scanned(epoch) if order is None else self.taken(epoch, order)
        return self.iterator  # type: ignore[no-any-return]

    def scanned(self, epoch: int) -> Iterator[Batch]:
        """Batches of the rows in their order."""
        scanner = self.dataset.scanner(
            batch_size=self.pipeline.batch_size,
            strict_batch_size=True,
            scan_in_order=True,
            offset=self.pipeline.first,
            limit=self.pipeline.elements,
        )
        first = self.pipeline.first
        for batch in scanner.to_batches():
            indices = np.arange(first, first + batch.num_rows)
            yield self.program.batch(on_arrow.fields(batch, self.data.sources), indices, epoch, first)
            first += batch.num_rows

    def taken(self, epoch: int, order: Indices) -> Iterator[Batch]:
        """Batches of rows by their indices."""
        size, end = self.pipeline.batch_size, self.pipeline.end
        for first in range(self.pipeline.first, end, size):
            indices = order[first : min(first + size, end)]
            batch = self.dataset.take(indices.tolist())
            yield self.program.batch(on_arrow.fields(batch, self.data.sources), indices, epoch, first)

    def executed(self) -> Executed:
        return Executed(self.pipeline.work)

    def let_go(self) -> None:
        """Ends the scan that is under way."""
        if self.iterator is not None:
            self.iterator.close()
        self.iterator = None

    def close(self) -> None:
        self.let_go()
        self.dataset = None


def open(pipeline: Pipeline, data: Data, place: Place) -> Lance:
    if pipeline.workers:
        raise Declined(
            f"{pipeline.workers} workers: its own threads read, and `lance.torch.data` needs torch beside it"
        )
    if pipeline.access == "file-eager":
        raise Declined("file-eager: columns are read as they are scanned")
    for asked, what in ((pipeline.cache, "cache"), (pipeline.rebatch, "rebatch")):
        if asked:
            raise Declined(f"{what}: a scan hands on what it reads, once")
    return Lance(pipeline, data, place.converting("all", lambda folder: write(data, folder)))


ADAPTER = Adapter(framework="Lance", distribution="pylance", entry_point="lance.dataset", open=open)
