"""A loop over a loader: the time of each `next`, of each step after it, and of each start.

In a run that tries, the loop in which most time goes is held: its loader begins anew where it ends, and its
batches come by one arm after the other, block by block, in an order that the plan says.
"""

import functools
import os
import sys
import threading
import time

from . import fetches, journal, places, quiet, sampler, state
from .arms import Schedule

#: The loops of this process that are inside one another, the outermost first.
_active = []

_FLUSH = 250_000_000
_clock = time.monotonic_ns


class Loop:
    """All iterations over the loaders that one place of a script makes."""

    def __init__(self, key, framework, line, caller, source):
        self.key, self.framework, self.line, self.caller = key, framework, line, caller
        #: What frameworks give: `settings()`, `begin()`, `next(iterator)`, and the arms that they know.
        self.source = source
        self.told = False
        self.steps = 0
        self.epochs = 0
        self.entered_nested = None
        self.delivered = None
        self.written = _clock()
        self.next_times, self.step_times = [], []
        self.step_cpu = self.step_queued = 0
        self.schedule = None

    def begins(self, source, started):
        """One iteration begins; it began to at `started`."""
        self.source = source
        self.epochs += 1
        self.delivered = None
        self.starting = started
        if not self.told:
            self.told = True
            frame = sys._getframe(1)
            self._tell(places.users_line(frame) or "")
        if state.plan.get("mode") == "try" and self.schedule is None and self._is_main():
            self.schedule = Schedule(self, state.plan)
        state.at_finish.append(self.write) if self.write not in state.at_finish else None

    def _is_main(self):
        return state.plan.get("main") == self.key

    def _tell(self, iterated):
        journal.write(
            "loader",
            loader=self.key,
            framework=self.framework,
            line=self.line,
            caller=self.caller,
            iterated=iterated,
            settings=self.source.settings(),
            arms=sorted(self.source.arms()),
        )

    def next(self, iterator):
        """The next batch, timed."""
        if threading.current_thread() is not threading.main_thread() or is_inside():
            return self.source.next(iterator)
        entered, cpu = _clock(), time.process_time_ns()
        self._step_ended(entered, cpu)
        if self not in _active:
            self._enters(entered)
        state.where = "next"
        try:
            take = self.source.next if self.schedule is None else self.schedule.next
            if self.schedule is None and not self.source.is_made_elsewhere:
                take = functools.partial(fetches.timed, take)
            batch = _within(lambda: take(iterator))
        except BaseException:
            self._leaves()
            raise
        self._delivered(entered)
        return batch

    def _enters(self, now):
        # A loop that somebody broke off is over when an outer one goes on, or another one begins beside it.
        _active.append(self)
        self.entered_at = now

    def _leaves(self):
        """The iteration has ended, or was broken off."""
        if self in _active:
            while _active.pop() is not self:
                pass
            if _active:
                state.nested += _clock() - self.entered_at
        state.where = "step" if _active else "else"
        self.delivered = None
        self.write()

    def _step_ended(self, now, cpu):
        # Inner loops that were broken off ended at some time in this step.
        while self in _active and _active[-1] is not self:
            _active[-1]._broken_off()
        if self.delivered is None:
            return
        took = now - self.delivered - (state.nested - self.nested_before)
        self.step_times.append(max(took, 0))
        self.step_cpu += cpu - self.cpu_delivered
        self.step_queued += max(_queue().waited() - self.queued_delivered, 0.0)
        if self.schedule is not None:
            self.schedule.step_ended(max(took, 0))

    def _broken_off(self):
        _active.pop()
        if self.delivered is not None and _active:
            state.nested += self.delivered - self.entered_at
        self.delivered = None

    def _delivered(self, entered):
        now = _clock()
        if self.starting is not None:
            # The first batch of an iteration is a start, and no `next` like the others.
            journal.write("start", loader=self.key, took=now - self.starting, epoch=self.epochs)
            self.starting = None
        else:
            self.next_times.append(now - entered)
        self.delivered, self.cpu_delivered, self.queued_delivered = now, time.process_time_ns(), _queue().waited()
        self.nested_before = state.nested
        self.steps += 1
        state.where = "step"
        if state.first is None:
            state.first = now
            journal.write("first", loader=self.key)
            if os.environ.get("RANK", "0") == "0":
                sampler.start(50, lambda: state.where)
        if now - self.written > _FLUSH:
            self.write()
        if self.schedule is None:
            enough = state.has_seen_enough(self.steps)
            if enough is not None:
                state.done(enough)

    def write(self):
        """Writes the times that are held back."""
        self.written = _clock()
        if self.next_times or self.step_times:
            journal.write(
                "steps",
                loader=self.key,
                next=self.next_times,
                step=self.step_times,
                step_cpu=self.step_cpu,
                step_queued=int(self.step_queued * 1e9),
            )
        self.next_times, self.step_times = [], []
        self.step_cpu = self.step_queued = 0


def of(source, framework, skip):
    """The loop of a loader that is being made, by the place where that is."""
    line, caller = places.made_at(skip)
    key = "%s|%s" % (line, caller)
    loop = state.loops.get(key)
    if loop is None:
        loop = state.loops[key] = Loop(key, framework, line, caller, source)
    return loop


class Iterated:
    """An iterator that stands before another one: for frameworks whose iterators have no class of their own to
    patch."""

    def __init__(self, loop, iterator):
        self._weighbridge_loop, self._weighbridge_iterator = loop, iterator

    def __iter__(self):
        return self

    def __next__(self):
        return self._weighbridge_loop.next(self._weighbridge_iterator)

    def __getattr__(self, name):
        return getattr(self._weighbridge_iterator, name)


class Iterable:
    """What a loop needs of a loader of which only `iter` is known."""

    #: True where a batch is taken within the step: then it is an iterator that is handed on.
    is_taken_within = False
    #: True where what makes batches can be kept from running.
    can_freeze = False
    #: True where the making of batches is timed at another place.
    is_made_elsewhere = False

    def __init__(self, begin):
        self.begin = begin

    def settings(self):
        return {}

    def ahead(self):
        """Batches that are made ahead, as far as that is known."""
        return 0

    def arms(self):
        return {}

    def next(self, iterator):
        return next(iterator)

    def freeze(self, iterator):
        """Keeps what makes batches from running while another arm does; where that cannot be, it runs on."""

    def thaw(self, iterator):
        """Lets it go on."""


def patch_iter(kind, framework, skip, source_of=None, name="__iter__", when=None):
    """Patches the method that gives an iterator of this class of loaders, where `when` says so."""
    original = getattr(kind, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if is_inside() or threading.current_thread() is not threading.main_thread() or (when and not when(self)):
            return original(self, *args, **kwargs)
        started = _clock()
        begin = lambda loader: _within(lambda: iter(original(loader, *args, **kwargs)))  # noqa: E731
        source = source_of(self, begin) if source_of else Iterable(lambda: begin(self))
        loop = of(source, framework, skip)
        iterator = source.begin()
        loop.begins(source, started)
        return Iterated(loop, iterator)

    setattr(kind, name, method)


def _queue():
    """The queue of this process's main thread; a forked process has another one."""
    if _queues.get("process") != os.getpid():
        _queues.update(process=os.getpid(), queue=sampler.RunQueue())
    return _queues["queue"]


_queues = {}


class _Inside(threading.local):
    deep = 0


_inside = _Inside()


def is_inside():
    """Tells whether a loader is at work: the loaders that it is made of have no loops of their own."""
    return _inside.deep > 0


def _within(call):
    _inside.deep += 1
    try:
        return call()
    finally:
        _inside.deep -= 1


def within(function):
    """The function, as a part of a loader."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        return _within(lambda: function(*args, **kwargs))

    return call


def line_here():
    """The user's line that has called the framework."""
    return places.users_line(sys._getframe(1))


quiet.patch_python()
