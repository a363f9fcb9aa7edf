"""Which batches are copied while a run is measured, and which copies are handed over.

The harness compares the copies with what the reference delivers. The places are drawn here, by the loop and from the
operating system's randomness: an adapter that knew them could be honest there alone.
"""

from __future__ import annotations

import mmap
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from .device import Device
from .exchange import Unready
from .pipeline import Batch

SECRET = random.SystemRandom()
"""The operating system's randomness: no seed leads to it."""

BATCHES = 4
"""So many batches of the first pass are copied whole, and of an epoch without a stop in part."""

ELEMENTS = 8
"""So many successive elements are copied of a batch of a later pass: few, so that caches stay as they are."""

ROOM = 64 << 20
"""Bytes of copies of later passes that are kept at once."""

PAGE = 4096
"""A copy counts as so many bytes at least: what is said of it needs room as well."""


@dataclass
class CheckedBatch:
    """What was copied of a batch."""

    number: int | None
    """The number of its pass; none in an epoch without a stop."""
    of: int
    """Elements of the whole batch."""
    batch: Batch
    first: int = 0
    """The first element that was copied."""
    place: int | None = None
    """The batch's place in its epoch, from 0: told afterwards, when nobody can be honest there alone."""


def drawn(count: int, of: int) -> list[int]:
    """So many different places among `of`, in order; all of them where there are fewer."""
    return sorted(SECRET.sample(range(of), min(count, of)))


def apart(array: Any) -> np.ndarray[Any, Any]:
    """A copy in pages of its own.

    A copy that is kept in a hole of the heap that a batch has left drives the batches that follow to memory that is
    touched for the first time: 16 page faults a batch were seen, where a plain loop has none.
    """
    memory = mmap.mmap(-1, max(array.nbytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    copy = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    np.copyto(copy, array)
    return copy


def copied(device: Device, batch: Any, number: int | None, *, whole: bool, place: int | None = None) -> CheckedBatch:
    """Copies a batch, or a run of its elements, out of the arrays that were weighed, as they are now."""
    if type(batch) is not dict:
        # The methods of another kind of mapping are the adapter's, and could show other arrays than before.
        raise Unready(f"a batch is a {type(batch).__module__}.{type(batch).__qualname__} and no dict")
    elements, _ = device.weigh(batch)
    count = elements if whole else min(ELEMENTS, elements)
    first = SECRET.randrange(elements - count + 1)
    part = {}
    for name, array in device.on_host(batch).items():
        if len(array) != elements:
            raise Unready(f"the field `{name}` has {len(array)} elements in a batch of {elements}")
        part[name] = apart(array[first : first + count])
    return CheckedBatch(number, elements, part, first, place)


class Copies:
    """What is kept of a run's copies.

    All of the first pass are. Those of later passes are kept until they fill `ROOM`, and then a new one takes the place
    of a drawn one or is dropped, so that each pass is as likely as any other to be among them (reservoir sampling).
    """

    def __init__(self) -> None:
        self._first: list[CheckedBatch] = []
        self._later: list[CheckedBatch] = []
        self._size = self._seen = 0

    def add(self, held: CheckedBatch) -> None:
        if held.number == 0:
            self._first.append(held)
            return
        self._seen += 1
        if self._size < ROOM:
            self._later.append(held)
            self._size += max(PAGE, sum(array.nbytes for array in held.batch.values()))
            return
        place = SECRET.randrange(self._seen)
        if place < len(self._later):
            self._later[place] = held

    def all(self) -> list[CheckedBatch]:
        """Those that are kept, pass by pass."""
        return self._first + sorted(self._later, key=lambda held: held.number or 0)
