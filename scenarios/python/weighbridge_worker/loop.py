"""The timed loop: one place for all adapters, and none of them knows which batches it copies."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice, repeat
from statistics import median_low
from typing import Any

from numpy import ndarray

from . import spots
from .adapter import Loader
from .device import HOST
from .ledger import Ledger
from .pipeline import Batch
from .spots import CheckedBatch
from .usage import NOTHING, Tree, Usage

now = time.perf_counter_ns  # CLOCK_MONOTONIC

STOOD, TIMES = 20_000_000_000, 20
"""The passes end before their time when the clock has stood for so many nanoseconds, and so many times `min_time`."""

OWN = 200
"""So often a batch that is there is handed out, to see what the loop itself takes."""

IDLE = 100
"""While the clock stands, others than the loop's thread may use one part in so many of the time: they wake up."""


HandOver = Callable[[list[CheckedBatch]], list[dict[str, Any]]]
"""Writes copies where the harness reads them, and gives what is said of each."""


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
    own: int | None = None  # of each sample, what the loop itself takes
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
    ledger: dict[str, int] = field(default_factory=dict)
    cpu: int = 0  # of all processes, from the request on
    held: list[CheckedBatch] = field(default_factory=list)
    handed: list[dict[str, Any]] = field(default_factory=list)  # what is said of them

    def said(self) -> dict[str, Any]:
        """As the protocol has it."""
        return {
            "samples": self.samples,
            "elements": self.elements,
            "bytes": self.bytes,
            "wall": self.wall,
            "first": self.first,
            "loop": self.own,
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
            "ledger": self.ledger,
            "cpu": {"all": self.cpu},
            "checked": self.handed,
        }


@dataclass
class Timed:
    """What an epoch without a stop took. Times in nanoseconds."""

    wall: int = 0
    begin: int = 0
    first: int = 0
    elements: int = 0
    bytes: int = 0
    batches: int = 0
    ended: bool = False
    copied: int = 0
    usage: Usage = field(default_factory=Usage)
    held: list[CheckedBatch] = field(default_factory=list)

    def said(self, held: list[dict[str, Any]]) -> dict[str, Any]:
        """As the protocol has it."""
        return {
            "wall": self.wall,
            "begin": self.begin,
            "first": self.first,
            "elements": self.elements,
            "bytes": self.bytes,
            "batches": self.batches,
            "ended": self.ended,
            "copied": self.copied,
            "usage": asdict(self.usage),
            "checked": held,
        }


class Clock:
    """Says what was used while it ran, and what while it stood."""

    def __init__(self, measured: Measured, ledger: Ledger) -> None:
        self._measured, self._ledger, self._tree = measured, ledger, Tree()
        self._from = self._tree.look()
        self._ran_from = self._from
        self._stood: tuple[int, int, int] | None = None

    def start(self) -> int:
        """Lets the clock run: the last thing before the first request."""
        start = self._stood_until_now()
        self._ledger.turn("measured", start)
        return start

    def _stood_until_now(self) -> int:
        self._ran_from = self._tree.look()
        all_cpu, thread = self._ran_from.cpu, time.thread_time_ns()
        start = now()
        if self._stood is not None:
            stood, cpu, own = self._stood
            used = max(0, all_cpu - cpu)
            self._measured.stopped_wall += start - stood
            self._measured.stopped_cpu += used
            self._measured.stopped_others += max(0, used - (thread - own))
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

    def leave_out(self, entry: str) -> None:
        """What follows is asked for, but left out: it is neither measured nor time that the clock stands idle."""
        at = now() if self._stood is None else self._stood_until_now()
        self._stood = None
        self._ledger.turn(entry, at)

    def stop(self, end: int) -> None:
        """Stops the clock, which ran until the stamp `end`."""
        self._ledger.turn("stopped", end)
        thread = time.thread_time_ns()
        own = self._tree.own()
        others = self._tree.others()
        used = own if others is NOTHING else others + own
        measured = self._measured
        measured.usage = measured.usage + (used - self._ran_from)
        measured.processes = max(measured.processes, self._tree.processes)
        measured.threads = max(measured.threads, self._tree.threads)
        self._stood = (end, used.cpu, thread)

    def used(self) -> int:
        """CPU time that all have used since there is this clock, whether it ran or stood."""
        return (self._tree.look() - self._from).cpu

    def close(self) -> None:
        self._tree.close()


class Run:
    """Passes over an epoch, in progress."""

    def __init__(self, loader: Loader, epoch: int, of: int = 0, warmup: int = 0, *, copied: bool = True) -> None:
        self.ledger = Ledger(now())  # before anything else: this is when the request came
        self.loader, self.epoch, self.measured = loader, epoch, Measured()
        self.of = of  # batches of the epoch; 0 where that is not known
        self.warmup = min(warmup, max(0, of - 1))  # batches left out where the epoch begins anew within a pass
        self.is_first_of_epoch = True  # whether the epoch was begun for the pass in progress
        self.clock = Clock(self.measured, self.ledger)
        self.copies = spots.Copies()
        self.copied = copied
        self.device = loader.device
        self.handed_out = 0  # batches since the epoch was begun
        # The last batch, which stays until the next one is there, as it does in any loop. A heap whose batches have all
        # been freed goes back to the system: 18 page faults a batch were seen, as each pass touched new memory.
        self.last: Batch | None = None

    def begin(self) -> Iterator[Batch]:
        """Begins the epoch anew, with the clock stopped."""
        start = now()
        before = self.ledger.turn("begin", start)
        before_it = 1 + len(self.measured.restarts)  # the epoch without a stop is the first of all
        iterator = self.loader.begin(self.epoch + (before_it if self.loader.renewed else 0))
        end = now()
        self.ledger.turn(before, end)
        self.measured.restarts.append(end - start)
        self.handed_out = 0
        return iterator

    def warm_up(self, iterator: Iterator[Batch], count: int) -> Iterator[Batch]:
        """Goes through so many batches, which are left out."""
        measured, weigh, rewound = self.measured, self.device.weigh, False
        if not count:
            return iterator
        self.clock.leave_out("warm_up")
        while count:
            start = now()
            batch = next(iterator, None)
            if batch is None:
                iterator, rewound = self.rewind(rewound), True
                continue
            weigh(batch)
            self.last = batch
            if measured.first is None:
                measured.first = now() - start
            rewound = False
            measured.warmup += 1
            self.handed_out += 1
            count -= 1
        self.ledger.turn("stopped", now())
        return iterator

    def warm_up_first(self, iterator: Iterator[Batch], count: int, batches: int) -> Iterator[Batch]:
        """The same with the first batches of all, before a pass over so many. What was made together with the first one
        is left out with it, and an epoch that has no such pass left before its last batch is begun anew: the pass would
        have batches that are there.
        """
        chunk = min(self.loader.chunk, self.of)
        iterator = self.warm_up(iterator, max(count, chunk))
        if chunk > 1 and self.handed_out + batches >= self.of:
            iterator = self.begin()
        return iterator

    def catch_up(self, iterator: Iterator[Batch]) -> bool:
        """Leaves out batches for as long as the clock has stood, where some may have been made meanwhile: they come
        first, and each measured one is waited for. Whether the epoch has not ended.
        """
        due = self.clock.stood_at_work(unseen=self.device is not HOST)
        if not due:
            return True
        self.clock.leave_out("caught_up")
        begun, is_more = now(), True
        while is_more and now() - begun < due:
            batch = next(iterator, None)
            is_more = batch is not None
            if batch is not None:
                self.device.weigh(batch)
                self.last = batch
                self.handed_out += 1
                self.measured.caught_up += 1
        self.ledger.turn("stopped", now())
        return is_more

    def has_pass(self, batches: int) -> bool:
        """Whether the epoch has another pass. Its last batch may be a short one: such a pass stops before it."""
        return self.measured.passes > 0 and self.handed_out + batches < self.of

    def rewind(self, rewound: bool) -> Iterator[Batch]:
        """Goes back to the beginning at the end of the data."""
        if rewound:
            raise Empty("the epoch is empty: it gave no batch after it was begun")
        self.measured.ran_out |= self.is_first_of_epoch
        return self.begin()

    @property
    def first_pass(self) -> bool:
        return self.measured.passes == 0

    @property
    def due(self) -> int:
        """How many batches of this pass are copied: some whole ones of the first, and a part of one of any later."""
        if not self.copied:
            return 0
        return spots.BATCHES if self.first_pass else 1

    def keep(self, batch: Batch, place: int) -> None:
        """Copies the batch of this place in the epoch, with the clock stopped."""
        passes, whole = self.measured.passes, self.first_pass
        self.copies.add(spots.copied(self.device, batch, passes, whole=whole, place=place))

    def keep_last(self, batch: Batch, held_at: list[int]) -> None:
        """The same of the batch that was handed out last, whose place is the first that was drawn."""
        self.keep(batch, self.handed_out - 1)
        held_at.pop(0)

    def measure(self, iterator: Iterator[Batch], batches: int) -> Iterator[Batch]:
        """One pass over so many batches; what is left of the epoch."""
        measured, clock, samples = self.measured, self.clock, self.measured.samples
        done, rewound, elements, size = 0, False, 0, 0
        stamped, add, numpys, device = now, samples.append, ndarray, self.device  # names that are looked up at once
        weigh, on_host = device.weigh, device is HOST
        held_at, audited = spots.drawn(self.due, batches), self.first_pass
        batch, self.last = self.last, None
        start = last = clock.start()
        while done < batches:
            # Up to the next batch that is copied, so that nothing between two stamps looks for it.
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
                if audited and held_at and batch is not None and len(samples) - before == goal - done:
                    self.audit([batch])  # before anything else: what is pending goes on meanwhile
            taken = len(samples) - before
            done += taken
            self.handed_out, rewound = self.handed_out + taken, rewound and not taken
            if self.loader.chunk > 1 and held_at and goal <= done < batches and batch is not None:
                # Copied while the clock runs, which is little of a pass. Whoever catches up with what is made many at a
                # time comes to the end of the epoch, and the pass would have the work of another one.
                self.keep_last(batch, held_at)
                continue
            measured.wall += last - start
            clock.stop(last)
            if done < goal:
                # The end of the data is no batch: the clock has stopped at the last stamp.
                iterator, rewound = self.warm_up(self.rewind(rewound), self.warmup), True
            elif held_at and batch is not None:
                # Copied between two stamps, with the clock stopped.
                self.keep_last(batch, held_at)
                if done < batches:
                    if not self.catch_up(iterator):
                        iterator = self.warm_up(self.rewind(False), self.warmup)
                    batch, self.last = self.last or batch, None
            if done < batches:
                start = last = clock.start()
        self.last = batch
        measured.elements += elements
        measured.bytes += size
        measured.passes += 1
        return iterator

    def audit(self, batches: list[Batch]) -> None:
        """Looks what the device had still to do for batches whose time was taken, and what it costs to look."""
        took = []
        for _ in range(2):
            start = now()
            for batch in batches:
                self.device.wait(batch)
            took.append(now() - start)
        self.measured.audits.append({"waited": took[0], "again": took[1]})

    def prepare(self, batches: int) -> None:
        """Compiles for the next call, with the clock stopped."""
        before = self.ledger.turn("stopped", now())
        took = self.loader.prepare(batches)
        self.ledger.turn(before, now())
        if took:
            self.measured.compile = (self.measured.compile or 0) + took

    def scan(self, batches: int, timed: bool = True) -> None:
        """One pass of a system that runs many batches in one call: one sample, or none where it warms up."""
        measured, clock, loader, device = self.measured, self.clock, self.loader, self.device
        done, rewound, sample, due = 0, False, 0, self.due
        if not timed:
            clock.leave_out("warm_up")
        while done < batches:
            self.prepare(batches - done)
            start = clock.start() if timed else now()
            made = loader.scan(batches - done)
            weights = [device.weigh(batch) for batch in made]
            end = now()
            if timed:
                if self.first_pass and device is not HOST:
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
                # Drawn after the call among all that are still due: those beyond it are drawn anew after the next.
                for place in spots.drawn(due, batches - done):
                    if place < len(made):
                        self.keep(made[place], self.handed_out + place)
                        due -= 1
            else:
                measured.warmup += len(made)
            done += len(made)
            self.handed_out += len(made)
        if timed:
            measured.samples.append(sample)
            measured.wall += sample
            measured.passes += 1
        else:
            self.ledger.turn("stopped", now())

    def hand_over(self, put: HandOver) -> Measured:
        """Writes the copies where the harness reads them, and closes the account."""
        measured = self.measured
        self.ledger.turn("handed_over", now())
        measured.held = self.copies.all()
        measured.handed = put(measured.held)
        measured.cpu = self.clock.used()
        self.ledger.turn("stopped", now())
        measured.ledger = self.ledger.spent
        return measured


def own(loader: Loader, batch: Batch | None) -> int | None:
    """What the loop itself takes of a sample, in nanoseconds: to weigh and to stamp a batch that is there. None where
    samples are no batches.
    """
    if batch is None or loader.whole_pass:
        return None
    of = Run(loader, 0, copied=False)
    of.measured.passes, of.last = 1, batch  # as in a later pass
    try:
        of.measure(repeat(batch), OWN)
    finally:
        of.clock.close()
    return median_low(of.measured.samples)


def nowhere(held: list[CheckedBatch]) -> list[dict[str, Any]]:
    """Nothing is handed over."""
    return []


def run(
    loader: Loader,
    warmup: int,
    batches: int,
    min_time: int,
    epoch: int = 0,
    hand_over: HandOver = nowhere,
    all_batches: int = 0,
) -> Measured:
    """Passes over an epoch, one after the other, until the clock has run for `min_time`, or has stood for long.

    The epoch is begun anew where it has no whole pass left, and before every pass where its length is not known.
    """
    of = Run(loader, epoch, all_batches, warmup)
    measured = of.measured
    iterator: Iterator[Batch] = iter(())
    try:
        while True:
            whole = loader.whole_pass
            goes_on = of.has_pass(batches) and (whole or of.catch_up(iterator)) and of.has_pass(batches)
            of.is_first_of_epoch = not goes_on
            if not goes_on:
                iterator = of.begin()
                # The pipeline's first batch is a figure of its own: at least one is left out before it is measured.
                if whole:
                    of.scan(max(warmup, of.first_pass), timed=False)
                elif measured.first is not None:
                    iterator = of.warm_up(iterator, warmup)
                else:
                    iterator = of.warm_up_first(iterator, max(warmup, 1), batches)
            if whole:
                of.scan(batches)
            else:
                iterator = of.measure(iterator, batches)
            if measured.wall >= min_time or measured.stopped_wall >= max(STOOD, TIMES * min_time):
                measured.own = own(loader, of.last)
                return of.hand_over(hand_over)
    finally:
        of.clock.close()


def epoch(loader: Loader, number: int, batches: int = 0, limit: int | None = None, least: int = 0) -> Timed:
    """One epoch without a stop, from the call that begins it: to its end, or until `limit` has passed.

    Of `batches` batches that it has, or of the `least` that are gone through at any rate, some are copied in part while
    the clock runs: whoever stopped it for them would give time to make others.
    """
    tree = Tree()
    try:
        if loader.whole_pass and batches:
            return in_one_call(loader, number, batches, tree)
        return one_by_one(loader, number, batches or least, limit, least, tree)
    finally:
        tree.close()


def one_by_one(loader: Loader, number: int, among: int, limit: int | None, least: int, tree: Tree) -> Timed:
    """An epoch of a system that hands out batches."""
    timed, device = Timed(), loader.device
    held_at = spots.drawn(spots.BATCHES, among)
    look_at = sorted({0, *held_at})  # the first batch has a time of its own
    done = elements = size = 0
    batch: Batch | None = None
    before = tree.look()
    start = now()
    until = sys.maxsize if limit is None else start + limit
    iterator = loader.begin(number)
    begun = end = now()
    over = False
    while not over:
        goal = look_at.pop(0) + 1 if look_at else sys.maxsize
        for batch in islice(iterator, goal - done):
            count, weight = device.weigh(batch)
            end = now()
            elements += count
            size += weight
            done += 1
            if end >= until and done >= least:
                over = True
                break
        if done < goal and not over:
            timed.ended = over = True
        elif done == goal and batch is not None:
            if done == 1:
                timed.first = end - begun
            if done - 1 in held_at:
                timed.held.append(spots.copied(device, batch, None, whole=False, place=done - 1))
                stamp = now()
                timed.copied += stamp - end
                end = stamp
    if batch is not None and device is not HOST:
        device.wait(batch)  # nobody looks at it afterwards, so that what is still pending would be nobody's time
        end = now()
    timed.usage = tree.look() - before
    timed.wall, timed.begin = end - start, begun - start
    timed.elements, timed.bytes, timed.batches = elements, size, done
    return timed


def in_one_call(loader: Loader, number: int, batches: int, tree: Tree) -> Timed:
    """An epoch of a system that runs all of its batches in one call: none has a time of its own, not even the first."""
    timed, device = Timed(ended=True), loader.device
    before = tree.look()
    start = now()
    loader.begin(number)
    timed.begin = now() - start
    timed.usage = tree.look() - before
    loader.prepare(batches)
    before = tree.look()
    start = now()
    made = loader.scan(batches)
    for batch in made:
        count, weight = device.weigh(batch)
        timed.elements += count
        timed.bytes += weight
    if made:
        device.wait(made[-1])
    end = now()
    for place in spots.drawn(spots.BATCHES, len(made)):
        timed.held.append(spots.copied(device, made[place], None, whole=False, place=place))
    timed.copied = now() - end
    timed.wall = timed.begin + end - start + timed.copied
    timed.usage = timed.usage + (tree.look() - before)
    timed.batches = len(made)
    return timed


def each(loader: Loader, number: int, look: Callable[[Batch], None]) -> None:
    """Hands every batch of an epoch to `look`, on the host, before the next one is asked for."""
    for batch in loader.begin(number):
        loader.device.weigh(batch)
        look(loader.device.on_host(batch))
