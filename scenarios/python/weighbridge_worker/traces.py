"""Traces of what a worker does, operation by operation, in files of a folder: by the profiler of its framework, or of
what Python allocates. A trace is made in a repeat of its own, whose times count nowhere.
"""

from __future__ import annotations

import contextlib
import json
import linecache
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from .adapter import Declined
from .protocol import Message

OPERATIONS = {"run", "save", "wait", "load"}
"""What is traced: the first of each."""

SITES = 15
"""So many places that allocate are told."""


@contextlib.contextmanager
def by_torch(place: Path) -> Iterator[None]:
    """`torch.profiler` on the processor, in the form that Chrome and Perfetto show."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        yield
    if profiler.events():  # a file without an operator would pass for a trace
        profiler.export_chrome_trace(str(place.with_name(f"{place.name}.json")))


@contextlib.contextmanager
def by_jax(place: Path) -> Iterator[None]:
    """`jax.profiler`, in the form that XProf and TensorBoard show."""
    import jax

    with jax.profiler.trace(str(place)):
        yield


@contextlib.contextmanager
def by_tracemalloc(place: Path) -> Iterator[None]:
    """The peak of what Python allocates, and the lines whose allocations live on at the end."""
    tracemalloc.start()
    try:
        before = tracemalloc.take_snapshot()
        begun, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        yield
        _, peak = tracemalloc.get_traced_memory()
        after = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()
    own = [tracemalloc.Filter(False, tracemalloc.__file__), tracemalloc.Filter(False, __file__)]
    changes = after.filter_traces(own).compare_to(before.filter_traces(own), "lineno")
    sites = []
    for change in changes[:SITES]:
        if change.size_diff or change.count_diff:
            frame = change.traceback[0]
            source = linecache.getline(frame.filename, frame.lineno).strip()
            sites.append(
                {
                    "place": f"{short(frame.filename)}:{frame.lineno}",
                    "source": source[:200],
                    "bytes": change.size_diff,
                    "allocations": change.count_diff,
                }
            )
    told = {"operation": place.name, "peak": max(0, peak - begun), "sites": sites}
    place.with_name(f"{place.name}.json").write_text(json.dumps(told, indent=1))


def short(file: str) -> str:
    """A file as people know it: below the folder that it was imported from."""
    for folder in sorted(filter(None, sys.path), key=len, reverse=True):
        if file.startswith(folder + "/"):
            return file[len(folder) + 1 :]
    return file


@contextlib.contextmanager
def by_nobody(place: Path) -> Iterator[None]:
    """XLA writes what it compiles itself: the harness has told it where before it was loaded."""
    yield


KINDS: dict[str, tuple[str, Callable[[Path], AbstractContextManager[None]]]] = {
    "torch": ("torch", by_torch),
    "jax": ("jax", by_jax),
    "tracemalloc": ("tracemalloc", by_tracemalloc),
    "hlo": ("jax", by_nobody),
}
"""Every kind of trace, and the library that it is of."""


class Tracing:
    """Traces the first of each operation, where the harness asks for it."""

    def __init__(self, said: Message | None, framework: str) -> None:
        self.folder: Path | None = None
        self.traced: set[str] = set()
        if said is None:
            return
        library, by = KINDS.get(said["kind"], (None, None))
        if by is None:
            raise Declined(f"a trace by `{said['kind']}`: it is none of {', '.join(KINDS)}")
        if library not in sys.modules:
            raise Declined(f"a trace by `{said['kind']}`: {framework} does not use {library} here")
        self.by, self.folder = by, Path(said["folder"])

    def over(self, operation: str) -> AbstractContextManager[None]:
        """Runs over an operation. What the trace costs is in its time."""
        if self.folder is None or operation not in OPERATIONS or operation in self.traced:
            return contextlib.nullcontext()
        self.traced.add(operation)
        return self.by(self.folder / operation)
