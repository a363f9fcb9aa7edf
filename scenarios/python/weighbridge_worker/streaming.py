"""An open case that hands out batches: what the timed loop runs over, and what is handed to the harness."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .adapter import Executed, Loader
from .exchange import Exchange
from .opened import opened
from .pipeline import Array, Batch
from .protocol import Broken, Message
from .spots import CheckedBatch
from .usage import Tree


class Streaming:
    """A loader that is open, with what is kept of it between messages."""

    def __init__(self, loader: Loader, exchange: Exchange) -> None:
        self.loader, self.exchange = loader, exchange
        self.iterator: Iterator[Batch] | None = None
        self.stepped: Batch | None = None
        self.band: list[Array] = []
        self.tree: Tree | None = None

    def told(self, entry_point: str, executed: Executed, costs: dict[str, int | None]) -> Message:
        """What `opened` says of it."""
        return {
            **opened(entry_point, executed, costs, self.loader.device),
            "backend": self.loader.where(),
            "can_save": self.loader.can_save,
            "whole_pass": self.loader.whole_pass,
            "chunk": self.loader.chunk,
        }

    def step(self, index: int, of: int) -> tuple[int, int] | None:
        """The next batch, and its band where that is not the whole: elements and bytes of the band."""
        if self.iterator is None:
            raise Broken("no epoch is begun")
        batch = next(self.iterator, None)
        if batch is None:
            return None
        elements, size = self.loader.device.weigh(batch)
        self.stepped = batch
        if of > 1:
            self.cut(batch, index, of)
        return elements, size // of

    def cut(self, batch: Batch, index: int, of: int) -> None:
        """Copies an equal run of each element's bytes, where the one before lay."""
        parts = []
        for array in batch.values():
            whole = np.ascontiguousarray(array).reshape(len(array), -1).view(np.uint8)
            length = whole.shape[1] // of
            parts.append(whole[:, index * length : (index + 1) * length])
        if [band.shape for band in self.band] != [part.shape for part in parts]:
            self.band = [np.empty(part.shape, np.uint8) for part in parts]
        for band, part in zip(self.band, parts, strict=True):
            np.copyto(band, part)

    def hand_over(self, held: list[CheckedBatch]) -> list[Message]:
        """Writes copies to the exchange, one after the other: what is said of each."""
        said, offset = [], 0
        for one in held:
            batch, offset = self.exchange.put(one.batch, offset)
            said.append({"pass": one.number, "at": one.place, "first": one.first, "of": one.of, **batch})
        return said

    def call(self, name: str, message: Message) -> tuple[str, Message]:
        if name == "compilations":
            count = self.loader.compilations()
            return "answer", {"times": {} if count is None else {"compilations": [count]}}
        if name == "device_memory":
            return "answer", {"times": {who: [size] for who, size in self.loader.device_memory().items()}}
        raise Broken(f"`{name}` is no call of this contract")

    def close(self) -> None:
        self.iterator = self.stepped = None
        if self.tree is not None:
            self.tree.close()
        try:
            self.loader.close()
        finally:
            self.exchange.close()
