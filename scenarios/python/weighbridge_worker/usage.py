"""What this process and all its descendants use: CPU time, waiting, faults, switches.

The harness compares frameworks that work in their own threads and processes, so nothing may be missed: the clock of a
process counts threads that have ended, and a descendant that has ended is counted with what was last seen of it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

REFRESH = 20_000_000
"""Nanoseconds after which descendants and threads are looked for anew."""

PR_SET_CHILD_SUBREAPER = 36
RECENT = 4096


def adopt_orphans() -> None:
    """Makes descendants whose parents have ended children of this process, so that they stay in its tree."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@dataclass(slots=True)
class Usage:
    """Sums since the processes began; differences are what was used between two looks. Times in nanoseconds."""

    cpu: int = 0
    wait: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    voluntary: int = 0
    involuntary: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.cpu + other.cpu,
            self.wait + other.wait,
            self.minor_faults + other.minor_faults,
            self.major_faults + other.major_faults,
            self.voluntary + other.voluntary,
            self.involuntary + other.involuntary,
        )

    def __sub__(self, other: Usage) -> Usage:
        """What was used between two looks: never less than nothing, whatever has ended meanwhile."""
        return Usage(
            max(0, self.cpu - other.cpu),
            max(0, self.wait - other.wait),
            max(0, self.minor_faults - other.minor_faults),
            max(0, self.major_faults - other.major_faults),
            max(0, self.voluntary - other.voluntary),
            max(0, self.involuntary - other.involuntary),
        )


NOTHING = Usage()


def cpu_clock(process: int) -> int:
    """The clock of a process's CPU time, which ended threads are part of (`clock_getcpuclockid`)."""
    return (~process << 3) | 2


class Threads:
    """The threads of one process: what only threads know."""

    def __init__(self, process: int, switches: bool, but: Callable[[], set[str]] = set) -> None:
        self._folder, self._switches, self._but = f"/proc/{process}/task", switches, but
        self._open: dict[str, tuple[int, int]] = {}
        self._last: dict[str, tuple[int, int, int]] = {}
        self._gone = (0, 0, 0)
        self.refresh()

    def __len__(self) -> int:
        return len(self._open)

    def refresh(self) -> None:
        try:
            now = set(os.listdir(self._folder)) - self._but()
        except OSError:
            now = set()
        for thread in self._open.keys() - now:
            self._drop(thread)
        for thread in now:
            if thread not in self._open:
                try:
                    waits = os.open(f"{self._folder}/{thread}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
                except OSError:
                    continue
                try:
                    status = os.open(f"{self._folder}/{thread}/status", os.O_RDONLY | os.O_CLOEXEC)
                except OSError:
                    os.close(waits)
                    continue
                self._open[thread] = (waits, status)

    def look(self) -> tuple[int, int, int]:
        """Waiting, voluntary and involuntary switches of all that were ever seen."""
        if not self._switches and len(self._open) == 1:
            # The plain case, which is read between any two passes: as little as can be, so that caches stay warm.
            ((thread, (waits, _)),) = self._open.items()
            wait = int(os.pread(waits, 96, 0).split()[1])
            self._last[thread] = (wait, 0, 0)
            return self._gone[0] + wait, 0, 0
        for thread, (waits, status) in list(self._open.items()):
            try:
                wait = int(os.pread(waits, 96, 0).split()[1])
                switches = self._read_switches(status) if self._switches else (0, 0)
            except (OSError, IndexError, ValueError):
                self._drop(thread)
                continue
            self._last[thread] = (wait, *switches)
        total = self._gone
        for one in self._last.values():
            total = (total[0] + one[0], total[1] + one[1], total[2] + one[2])
        return total

    def close(self) -> None:
        for thread in list(self._open):
            self._drop(thread)

    @staticmethod
    def _read_switches(status: int) -> tuple[int, int]:
        text = os.pread(status, RECENT, 0)
        found = {line.partition(b":")[0]: line.partition(b":")[2] for line in text.splitlines()[-4:]}
        return int(found[b"voluntary_ctxt_switches"]), int(found[b"nonvoluntary_ctxt_switches"])

    def _drop(self, thread: str) -> None:
        for descriptor in self._open.pop(thread, ()):
            os.close(descriptor)
        last = self._last.pop(thread, (0, 0, 0))
        self._gone = (self._gone[0] + last[0], self._gone[1] + last[1], self._gone[2] + last[2])


class Descendant:
    """A process that this one started, or that one of those started."""

    def __init__(self, process: int) -> None:
        self.process = process
        self.threads = Threads(process, switches=True)
        self.last = Usage()
        self.ended = False

    def look(self) -> Usage:
        """What it has used; what was seen last, once it has ended."""
        try:
            cpu = time.clock_gettime_ns(cpu_clock(self.process))
            with open(f"/proc/{self.process}/stat", "rb") as file:
                # The name in brackets may hold anything: fields are counted from the last bracket.
                fields = file.read().rpartition(b")")[2].split()
        except (OSError, ProcessLookupError):
            self.ended = True
            return self.last
        self.ended = False
        wait, voluntary, involuntary = self.threads.look()
        now = Usage(cpu, wait, int(fields[7]), int(fields[9]), voluntary, involuntary)
        if now.cpu >= self.last.cpu:
            self.last = now
        return self.last


def ours() -> set[str]:
    """The threads of the worker's own, which do nothing while the clock runs, and are none of the framework's."""
    return {str(thread.native_id) for thread in threading.enumerate() if thread.name in ("heart", "watch")}


def descendants(process: int) -> list[int]:
    """All of them, those that have ended but for their exit status left out."""
    found, look = [], [process]
    while look:
        parent = look.pop()
        try:
            threads = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for thread in threads:
            try:
                with open(f"/proc/{parent}/task/{thread}/children", "rb") as file:
                    children = [int(child) for child in file.read().split()]
            except OSError:
                continue
            found += children
            look += children
    return found


def reaped() -> int:
    """CPU time of the children that were waited for, and of those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * 1e9)


class Tree:
    """This process and its descendants."""

    def __init__(self) -> None:
        self._own = Threads(os.getpid(), switches=False, but=ours)
        self._alive: dict[int, Descendant] = {}
        self._ended = NOTHING
        self._reaped = reaped()
        self._refreshed = 0
        self.processes = 1
        self.threads = 1

    def look(self) -> Usage:
        """What all have used. The own clock is read last, so that looking at the others costs what follows nothing."""
        others = self.others()
        own = self.own()
        return own if others is NOTHING else others + own

    def own(self) -> Usage:
        """What this process has used."""
        wait, _, _ = self._own.look()
        used = resource.getrusage(resource.RUSAGE_SELF)
        return Usage(time.process_time_ns(), wait, used.ru_minflt, used.ru_majflt, used.ru_nvcsw, used.ru_nivcsw)

    def others(self) -> Usage:
        """What the descendants have used."""
        if time.monotonic_ns() - self._refreshed > REFRESH:
            self._refresh()
        waited_for = reaped() - self._reaped  # before the look at each: what ends meanwhile is not counted twice
        if not self._alive and self._ended is NOTHING and not waited_for:
            return NOTHING
        ended, alive = self._ended, NOTHING
        for one in self._alive.values():
            used = one.look()
            if one.ended:
                ended = ended + used
            else:
                alive = alive + used
        # What a process used between the last look at it and its end is known where it was waited for.
        return alive + replace(ended, cpu=max(ended.cpu, waited_for))

    def _refresh(self) -> None:
        now = descendants(os.getpid())
        for process in self._alive.keys() - set(now):
            gone = self._alive.pop(process)
            gone.threads.close()
            self._ended = self._ended + gone.last
        for process in now:
            if process not in self._alive:
                self._alive[process] = Descendant(process)
            else:
                self._alive[process].threads.refresh()
        self._own.refresh()
        self.processes = max(self.processes, 1 + len(self._alive))
        threads = len(self._own) + sum(len(one.threads) for one in self._alive.values())
        self.threads = max(self.threads, threads)
        self._refreshed = time.monotonic_ns()

    def close(self) -> None:
        self._own.close()
        for one in self._alive.values():
            one.threads.close()
