"""Goes through epochs, and prints what a batch took."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .case import Case


def measure(case: Case, epoch: Callable[[], Iterable[Any]]) -> None:
    """One epoch to warm up, whose numbers are held against the case's; then whole epochs for the seconds of the case.

    Beginning an epoch and its first batch are not timed: the harness tells them apart as well. Prints the elements and
    batches that were timed, and the wall and CPU seconds of this process and all below it.
    """
    check(case, epoch())
    elements, batches, wall, cpu = 0, 0, 0.0, 0.0
    until = time.perf_counter() + case.seconds
    while not batches or time.perf_counter() < until:
        iterator = iter(epoch())
        batch = next(iterator)
        others, own = descendants(), time.process_time()
        start = time.perf_counter()
        for batch in iterator:
            elements += len(batch)
            batches += 1
        wall += time.perf_counter() - start
        cpu += time.process_time() - own
        cpu += descendants() - others
    print(json.dumps({"elements": elements, "batches": batches, "wall": wall, "cpu": cpu}), flush=True)


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


def descendants() -> float:
    """CPU seconds of all processes below this one, and of the children that have ended."""
    used, parents = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        process = int(file.parent.name)
        parents[process] = int(fields[1])
        used[process] = sum(map(int, fields[11:15]))
    below, found = {os.getpid()}, set[int]()
    while below:
        below = {process for process, parent in parents.items() if parent in below}
        found |= below
    ended = os.times()
    ticks = sum(used[process] for process in found)
    return ticks / os.sysconf("SC_CLK_TCK") + ended.children_user + ended.children_system
