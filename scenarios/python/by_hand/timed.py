"""Goes through epochs, and prints what a batch took."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from .case import Case

AHEAD = 6
"""So many batches at the beginning of an epoch are not timed, and as many at its end.

Two workers have up to five under way when the first one comes, and none when the last one does. Who times all but the
first gets some for nothing: of 40 batches on TAB-1 a tenth.
"""


def measure(case: Case, epoch: Callable[[], Iterable[Any]], *, whole: bool = False, warm_up: float = 0) -> None:
    """One epoch to warm up, whose numbers are held against the case's, and more of them for so many seconds; then whole
    epochs for the seconds of the case.

    Beginning an epoch, its first batches and its last ones are not timed: see `AHEAD`. `whole` times all of them, of a
    framework that has made many when it hands out one. Prints the elements and batches that were timed, and the wall
    seconds, CPU seconds and page faults of this process and all below it.
    """
    check(case, epoch())
    warm = time.perf_counter() + warm_up
    while time.perf_counter() < warm:
        for _ in epoch():
            pass
    elements, batches, wall, used = 0, 0, 0.0, Used()
    until = time.perf_counter() + case.seconds
    while not batches or time.perf_counter() < until:
        iterator = iter(epoch())
        ahead = 0 if whole else max(1, min(AHEAD, case.batches // 4))
        for _ in islice(iterator, ahead):
            pass
        others, own = Used.by_others(), Used.by_this()
        start = time.perf_counter()
        for batch in islice(iterator, case.batches - 2 * ahead):
            elements += len(batch)
            batches += 1
        wall += time.perf_counter() - start
        used = used + (Used.by_this() - own)  # before the others are looked for, which takes time of this process
        used = used + (Used.by_others() - others)
        for _ in iterator:
            pass  # a framework may have more and shorter batches
    figures = {"elements": elements, "batches": batches, "wall": wall, "cpu": used.cpu, "faults": used.faults}
    print(json.dumps(figures), flush=True)


def check(case: Case, batches: Iterable[Any]) -> None:
    """Ends the script where an epoch is not the work that the case asks for, whatever the order of its elements."""
    arrays = [np.array(batch) for batch in batches]
    expected = case.steps(case.rows)
    made, types = sum(len(array) for array in arrays), {array.dtype for array in arrays}
    if types != {expected.dtype} or made != len(expected):
        sys.exit(f"{case.name}: {made} elements of {types}, not {len(expected)} of {expected.dtype}")
    got, wanted = (sum(float(np.sum(np.abs(array), dtype=np.float64)) for array in of) for of in (arrays, [expected]))
    if not np.isclose(got, wanted, rtol=1e-6):
        sys.exit(f"{case.name}: the numbers of an epoch add up to {got}, not to {wanted}")


@dataclass(frozen=True)
class Used:
    """What this process and all below it have used."""

    cpu: float = 0.0
    """Seconds of processors."""
    faults: int = 0
    """Page faults that were served without the disk."""

    @classmethod
    def by_this(cls) -> Used:
        """By this process."""
        return cls(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt)

    @classmethod
    def by_others(cls) -> Used:
        """By all processes below this one, and by the children that have ended.

        Quick, since workers go on meanwhile: while all of `/proc` was searched, SPDL made a tenth of a short epoch.
        """
        used = cls()
        for process in below(os.getpid()):
            try:
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            seconds = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            used = used + cls(seconds, sum(map(int, fields[7:9])))
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used + cls(ended.ru_utime + ended.ru_stime, ended.ru_minflt)

    def __add__(self, other: Used) -> Used:
        return Used(self.cpu + other.cpu, self.faults + other.faults)

    def __sub__(self, other: Used) -> Used:
        return Used(self.cpu - other.cpu, self.faults - other.faults)


def below(process: int) -> list[int]:
    """All processes below one, its children first."""
    found: list[int] = []
    try:
        for thread in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (thread / "children").read_text().split()):
                found += [child, *below(child)]
    except (FileNotFoundError, ProcessLookupError):
        pass  # it has ended
    return found
