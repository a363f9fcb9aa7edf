"""What is tried in turns while a loop goes on: each arm changes one thing, for a block of steps."""

import collections
import copy
import random
import time

from . import journal, quiet, state
from .places import processors

_clock = time.monotonic_ns

#: Batches that are replayed where loading is to cost nothing.
_KEPT = 4

#: The most batches that a loader which cannot be stopped is thought to make ahead.
_MOST_AHEAD = 64


class Arm:
    """The loop as it is."""

    def __init__(self, schedule, value):
        self.schedule, self.value = schedule, value

    def enter(self):
        self.schedule.own.thaw()
        self.schedule.own.drain(self.schedule.slow)

    def leave(self):
        self.schedule.own.freeze()

    def next(self):
        return self.schedule.own.next()


class Cached(Arm):
    """Batches that were delivered before are delivered again, in turn."""

    def enter(self):
        self.at = 0

    def leave(self):
        pass

    def next(self):
        kept = self.schedule.kept
        self.at += 1
        batch = kept[self.at % len(kept)]
        # A script may take things out of its batch. What they hold is shared.
        return copy.copy(batch) if isinstance(batch, (dict, list, collections.UserDict)) else batch


class Switch(Arm):
    """Calls of one kind do nothing."""

    def enter(self):
        super().enter()
        quiet.silent[self.value] = True

    def leave(self):
        quiet.silent[self.value] = False
        super().leave()


class Called(Arm):
    """One number of the framework is another one: the threads of its operations."""

    def enter(self):
        super().enter()
        self.before = self.value["get"]()
        self.value["set"](self.value["to"])

    def leave(self):
        self.value["set"](self.before)
        super().leave()


class Other(Arm):
    """Another loader of the same data stands in its place: with more workers, say."""

    def __init__(self, schedule, value):
        super().__init__(schedule, value)
        self.stream = None

    def enter(self):
        if self.stream is None:
            source = self.value()
            self.stream = Stream(source, source.begin())
            for _ in range(source.ahead() + 1):
                self.stream.take()
        self.stream.thaw()
        self.stream.drain(self.schedule.slow)

    def leave(self):
        self.stream.freeze()

    def next(self):
        return self.stream.next()


class Stream:
    """Batches of a loader that begins anew where it ends."""

    def __init__(self, source, iterator):
        self.source, self.iterator = source, iterator
        self.renewed = 0

    def next(self):
        try:
            return self.source.next(self.iterator)
        except StopIteration:
            self.iterator = self.source.begin()
            self.renewed += 1
            return self.source.next(self.iterator)

    def take(self):
        """A batch itself, also where a step takes its batch from the iterator."""
        if not self.source.is_taken_within:
            return self.next()
        try:
            return self.source.take(self.iterator)
        except StopIteration:
            self.iterator = self.source.begin()
            self.renewed += 1
            return self.source.take(self.iterator)

    def drain(self, slow):
        """Takes what was made ahead while another arm had its turn: up to a batch that has to be waited for."""
        for _ in range(_MOST_AHEAD if not self.source.can_freeze else 0):
            begun = _clock()
            self.take()
            if _clock() - begun > slow:
                return

    def freeze(self):
        self.source.freeze(self.iterator)

    def thaw(self):
        self.source.thaw(self.iterator)


class Schedule:
    """The blocks of a held loop, in the order of the plan: each round has all arms, in an order of its own."""

    def __init__(self, loop, plan):
        self.loop, self.plan = loop, plan
        self.warm_up = plan.get("warm_up", 5)
        self.block, self.settle = plan["block"], plan["settle"]
        self.random = random.Random(plan.get("seed", 0))
        self.kept = collections.deque(maxlen=_KEPT)
        self.own = None
        self.arms = None
        self.order, self.round = [], -1
        self.arm = None
        self.steps = self.left = 0
        self.periods, self.entered, self.renewed = [], None, 0
        self.counts = False
        #: Nanoseconds from which on a batch was waited for.
        self.slow = 0

    def next(self, iterator):
        """The batch of the arm whose turn it is."""
        if self.own is None or self.loop.source.is_taken_within:
            self.own = Stream(self.loop.source, iterator)  # it ends as the script has it end
        self.steps += 1
        if self.steps <= self.warm_up:
            batch = self.own.next()
            self.kept.append(batch)
            return batch
        if self.arms is None:
            self.arms = self._arms()
        if self.left == 0:
            self._turn()
        begun = _clock()
        renewed = self._renewed()
        batch = self.arm[1].next()
        self.took = _clock() - begun
        # Its start is no part of a step.
        self.counts = renewed == self._renewed()
        self.left -= 1
        return batch

    def step_ended(self, took):
        """A step with the batch has ended: with the time of its `next` it is a period."""
        if self.arm is not None and self.counts and self.left < self.block:
            self.periods.append(took + self.took)
        self.counts = False

    def _renewed(self):
        stream = getattr(self.arm[1], "stream", None) or self.own
        return stream.renewed

    def _arms(self):
        known = dict(self.loop.source.arms())
        is_within = self.loop.source.is_taken_within
        cached = Other(self, self.loop.source.replay) if is_within else Cached(self, None)
        arms = {"as it is": Arm(self, None), "cached": cached}
        for kind in quiet.silent:
            arms[kind] = Switch(self, kind)
        for name, (kind, value) in known.items():
            arms[name] = {"other": Other, "called": Called}[kind](self, value)
        wanted = self.plan.get("arms")
        return {name: arm for name, arm in arms.items() if wanted is None or name in wanted}

    def _turn(self):
        """Ends a block, and begins the next one."""
        if self.arm is not None:
            self.arm[1].leave()
            self._write(self.arm[0], self.periods)
        if not self.order:
            self.round += 1
            if self.round >= self.plan["rounds"]:
                self._end("rounds")
            if self.round > 0 and state.has_seen_enough(self.steps) is not None:
                self._end("seconds")
            self.order = list(self.arms)
            self.random.shuffle(self.order)
            self._alone()
        name = self.order.pop()
        while True:
            try:
                self.arms[name].enter()
                break
            except Exception as error:  # this arm cannot be tried here; the others can
                state.trouble("to try `%s`" % name, error)
                del self.arms[name]
                self.order = [other for other in self.order if other in self.arms] or list(self.arms)
                name = self.order.pop()
        self.arm = (name, self.arms[name])
        self.periods, self.left = [], self.block + self.settle

    def _end(self, why):
        self.loop.write()
        state.done(why)

    def _alone(self):
        """Takes batches one after the other with no step between: the loader's own rate."""
        if self.loop.source.is_taken_within:
            self._alone_within()
            return
        self.own.thaw()
        times = []
        ahead = self.own.source.ahead()
        for at in range(ahead + self.settle + self.block):
            renewed = self.own.renewed
            begun = _clock()
            self.own.next()
            if at >= ahead + self.settle and renewed == self.own.renewed:
                times.append(_clock() - begun)
        self.own.freeze()
        self._write_alone(times)

    def _alone_within(self):
        """The same with an iterator of its own: the loop's own one belongs to the step."""
        stream = Stream(self.loop.source, self.loop.source.begin())
        times = []
        for at in range(self.settle + self.block):
            begun = _clock()
            stream.take()
            if at >= self.settle:
                times.append(_clock() - begun)
        self._write_alone(times)

    def _write_alone(self, times):
        self._write("alone", times)
        if times:
            self.slow = sorted(times)[len(times) // 2] // (4 * processors())

    def _write(self, name, periods):
        journal.write("block", arm=name, round=self.round, periods=periods)
