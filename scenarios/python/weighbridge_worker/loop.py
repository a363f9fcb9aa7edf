"""The timed loop: one place for all adapters, and none of them sees which batches it holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from numpy import ndarray

from .adapter import Loader
from .device import HOST
from .pipeline import Batch
from .usage import NOTHING, Tree, Usage

now = time.perf_counter_ns  # CLOCK_MONOTONIC

STOOD, TIMES = 20_000_000_000, 20
"""The passes end before their time when the clock has stood for so many nanoseconds, and so many times `min_time`."""

IDLE = 100
"""While the clock stands, others than the loop's thread may use one part in so many of the time: they wake up."""


class Empty(Exception):
    """An epoch that has no batch."""


@dataclass
class Measured:
    """What a run saw. Times in nanoseconds."""

    samples: list[int] = field(default_factory=list)
    elements: int = 0
    bytes: int = 0
    wall: int = 0
    first: int | None = None
    restarts: list[int] = field(default_factory=list)
    warmup: int = 0
    caught_up: int = 0
    passes: int = 0
    ran_out: bool = False
    usage: Usage = field(default_factory=Usage)
    stopped_wall: int = 0  # without the warm-up, which is asked for
    stopped_cpu: int = 0
    stopped_others: int = 0
    processes: int = 1
    threads: int = 1
    compile: int | None = None
    audits: list[dict[str, int]] = field(default_factory=list)
    held: list[Batch] = field(default_factory=list)

    def said(self, held: list[dict[str, Any]]) -> dict[str, Any]:
        """As the protocol has it."""
        return {
            "samples": self.samples,
            "elements": self.elements,
            "bytes": self.bytes,
            "wall": self.wall,
            "first": self.first,
            "restarts": self.restarts,
            "warmup": self.warmup,
            "caught_up": self.caught_up,
            "passes": self.passes,
            "ran_out": self.ran_out,
            "usage": asdict(self.usage),
            "stopped": {"wall": self.stopped_wall, "cpu": self.stopped_cpu, "others": self.stopped_others},
            "processes": self.processes,
            "threads": self.threads,
            "compile": self.compile,
            "audit": self.audits,
            "held": held,
        }


class Clock:
    """Says what was used while it ran, and what while it stood."""

    def __init__(self, measured: Measured) -> None:
        self._measured, self._tree = measured, Tree()
        self._ran_from = Usage()
        self._stood: tuple[int, int, int] | None = None

    def start(self) -> int:
        """Lets the clock run: the last thing before the first request."""
        self._ran_from = self._tree.look()
        all_cpu, thread = self._ran_from.cpu, time.thread_time_ns()
        start = now()
        if self._stood is not None:
            stood, cpu, own = self._stood
            self._measured.stopped_wall += start - stood
            self._measured.stopped_cpu += all_cpu - cpu
            self._measured.stopped_others += max(0, (all_cpu - cpu) - (thread - own))
        return start

    def stood_at_work(self, unseen: bool) -> int:
        """How long the clock has stood, if others than the loop's thread were at work meanwhile; else 0. Work
        that is `unseen`, on a device, may always have been done.
        """
        if self._stood is None:
            return 0
        stood, cpu, own = self._stood
        others = (self._tree.look().cpu - cpu) - (time.thread_time_ns() - own)
        wall = now() - stood
        return wall if unseen or others > wall // IDLE else 0

    def leave_out(self) -> None:
        """What follows is asked for, but left out: it is neither measured nor time that the clock stands idle."""
        if self._stood is not None:
            self.start()
            self._stood = None

    def stop(self, end: int) -> None:
        """Stops the clock, which ran until the stamp `end`."""
        thread = time.thread_time_ns()
        own = self._tree.own()
        others = self._tree.others()
        used = own if others is NOTHING else others + own
        measured = self._measured
        measured.usage = measured.usage + (used - self._ran_from)
        measured.processes = max(measured.processes, self._tree.processes)
        measured.threads = max(measured.threads, self._tree.threads)
        self._stood = (end, used.cpu, thread)

    def close(self) -> None:
        self._tree.close()


class Run:
    """Passes over an epoch, in progress."""

    def __init__(self, loader: Loader, epoch: int) -> None:
        self.loader, self.epoch, self.measured = loader, epoch, Measured()
        self.clock = Clock(self.measured)
        self.device = loader.device

    def begin(self) -> Iterator[Batch]:
        """Begins the epoch anew, with the clock stopped."""
        start = now()
        iterator = self.loader.begin(self.epoch)
        self.measured.restarts.append(now() - start)
        return iterator

    def warm_up(self, iterator: Iterator[Batch], count: int) -> Iterator[Batch]:
        """Goes through so many batches, which are left out."""
        measured, weigh, rewound = self.measured, self.device.weigh, False
        if count:
            self.clock.leave_out()
        while count:
            start = now()
            batch = next(iterator, None)
            if batch is None:
                iterator, rewound = self.rewind(rewound), True
                continue
            weigh(batch)
            if measured.first is None:
                measured.first = now() - start
            rewound = False
            measured.warmup += 1
            count -= 1
        return iterator

    def catch_up(self, iterator: Iterator[Batch]) -> Iterator[Batch]:
        """Leaves out batches for as long as the clock has stood, where some may have been made meanwhile: they come
        first, and each measured one is waited for.
        """
        due = self.clock.stood_at_work(unseen=self.device is not HOST)
        if not due:
            return iterator
        self.clock.leave_out()
        begun = now()
        while now() - begun < due:
            batch = next(iterator, None)
            if batch is None:
                return self.rewind(False)
            self.device.weigh(batch)
            self.measured.caught_up += 1
        return iterator

    def rewind(self, rewound: bool) -> Iterator[Batch]:
        """Goes back to the beginning at the end of the data."""
        if rewound:
            raise Empty("the epoch is empty: it gave no batch after it was begun")
        self.measured.ran_out = True
        return self.begin()

    def measure(self, iterator: Iterator[Batch], batches: int, hold: Collection[int]) -> None:
        """One pass over so many batches."""
        measured, clock, samples = self.measured, self.clock, self.measured.samples
        done, rewound, elements, size = 0, False, 0, 0
        stamped, add, numpys, device = now, samples.append, ndarray, self.device  # names that are looked up at once
        weigh, on_host = device.weigh, device is HOST
        held_at = sorted(position for position in hold if position < batches)
        start = last = clock.start()
        while done < batches:
            # Up to the next batch that is held, so that nothing between two stamps looks for it.
            goal = held_at[0] + 1 if held_at else batches
            before = len(samples)
            # The timed region: ask, see that it is there, stamp. The stamp that ends this batch starts the next.
            if on_host:
                for batch in islice(iterator, goal - done):
                    for array in batch.values():
                        if type(array) is not numpys:
                            weigh(batch)  # which says what it is
                        size += array.nbytes
                    elements += len(array)
                    stamp = stamped()
                    add(stamp - last)
                    last = stamp
            else:
                for batch in islice(iterator, goal - done):
                    count, weight = weigh(batch)
                    stamp = stamped()
                    add(stamp - last)
                    last = stamp
                    elements += count
                    size += weight
                if held_at and len(samples) - before == goal - done:
                    self.audit([batch])  # before anything else: what is pending goes on meanwhile
            measured.wall += last - start
            clock.stop(last)
            taken = len(samples) - before
            done += taken
            if done < goal:
                # The end of the data is no batch: the clock has stopped at the last stamp.
                iterator, rewound = self.rewind(rewound and not taken), True
            elif held_at:
                # Copied between two stamps, with the clock stopped.
                measured.held.append(device.kept(batch))
                held_at.pop(0)
                iterator, rewound = self.catch_up(iterator), False
            if done < batches:
                start = last = clock.start()
        measured.elements += elements
        measured.bytes += size
        measured.passes += 1

    def audit(self, batches: list[Batch]) -> None:
        """Looks what the device had still to do for batches whose time was taken, and what it costs to look."""
        took = []
        for _ in range(2):
            start = now()
            for batch in batches:
                self.device.wait(batch)
            took.append(now() - start)
        self.measured.audits.append({"waited": took[0], "again": took[1]})

    def scan(self, batches: int, hold: Collection[int], timed: bool = True) -> None:
        """One pass of a system that runs many batches in one call: one sample, or none where it warms up."""
        measured, clock, loader, device = self.measured, self.clock, self.loader, self.device
        done, rewound, sample = 0, False, 0
        if not timed:
            clock.leave_out()
        while done < batches:
            took = loader.prepare(batches - done)
            if took:
                measured.compile = (measured.compile or 0) + took
            start = clock.start() if timed else now()
            made = loader.scan(batches - done)
            weights = [device.weigh(batch) for batch in made]
            end = now()
            if timed:
                if hold and device is not HOST:
                    self.audit(made)
                clock.stop(end)
            if not made:
                self.rewind(rewound)
                rewound = True
                continue
            rewound = False
            if timed:
                sample += end - start
                measured.elements += sum(elements for elements, _ in weights)
                measured.bytes += sum(size for _, size in weights)
                measured.held += [device.kept(batch) for number, batch in enumerate(made, done) if number in hold]
            else:
                measured.warmup += len(made)
            done += len(made)
        if timed:
            measured.samples.append(sample)
            measured.wall += sample
            measured.passes += 1


def run(loader: Loader, warmup: int, batches: int, min_time: int, hold: Collection[int], epoch: int = 0) -> Measured:
    """Passes over an epoch, each from its beginning, until the clock has run for `min_time`, or has stood for long."""
    of = Run(loader, epoch)
    measured, held_at = of.measured, frozenset(hold)
    while True:
        iterator = of.begin()
        hold_now = held_at if measured.passes == 0 else ()
        if loader.whole_pass:
            of.scan(max(warmup, measured.passes == 0), (), timed=False)
            of.scan(batches, hold_now)
        else:
            # The first batch of the pipeline is a figure of its own: at least one is left out before it is measured.
            iterator = of.warm_up(iterator, max(warmup, measured.first is None))
            of.measure(iterator, batches, hold_now)
        if measured.wall >= min_time or measured.stopped_wall >= max(STOOD, TIMES * min_time):
            of.clock.close()
            return measured


def epoch(loader: Loader, number: int) -> dict[str, int]:
    """One whole epoch, from the first request to the end of the last batch, and to that of the first."""
    iterator, device = loader.begin(number), loader.device
    elements = size = batches = first = 0
    batch: Batch | None = None
    start = now()
    for batch in iterator:
        count, weight = device.weigh(batch)
        elements += count
        size += weight
        batches += 1
        first = first or now() - start
    if batch is not None:
        device.wait(batch)  # nobody looks at it afterwards, so that what is still pending would be nobody's time
    return {"wall": now() - start, "first": first, "elements": elements, "bytes": size, "batches": batches}


def each(loader: Loader, number: int, look: Callable[[Batch], None]) -> None:
    """Hands every batch of an epoch to `look`, on the host, before the next one is asked for."""
    for batch in loader.begin(number):
        loader.device.weigh(batch)
        look(loader.device.on_host(batch))
