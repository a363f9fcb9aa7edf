"""The making of batches in a process: how much of its time it ran, queued for a processor, and waited."""

import os
import sys
import time

from . import journal, sampler, state


class _Fetches:
    """The times of fetches in this process, which are written some times a second."""

    def __init__(self):
        self.process, self.inside, self.hooked = None, False, False

    def _begin(self):
        self.process = os.getpid()
        self.queue = sampler.RunQueue()
        self.inside = False
        self._clear()
        state.at_finish.append(self.write)
        if state.looks() and not self.hooked:
            self.hooked = True
            sys.addaudithook(_count_opened)

    def _clear(self):
        self.count = self.wall = self.cpu = self.waited = 0
        self.written = time.monotonic()

    def timed(self, fetch, args):
        if self.process != os.getpid():
            self._begin()
        queue, cpu, wall = self.queue.waited(), time.process_time_ns(), time.monotonic_ns()
        self.inside = True
        try:
            return fetch(*args)
        finally:
            self.inside = False
            self.count += 1
            self.wall += time.monotonic_ns() - wall
            self.cpu += time.process_time_ns() - cpu
            self.waited += int((self.queue.waited() - queue) * 1e9)
            if time.monotonic() - self.written > 0.5:
                self.write()

    def write(self):
        if self.process == os.getpid() and self.count:
            journal.write(
                "fetch", count=self.count, wall=self.wall, cpu=self.cpu, waited=self.waited, opened=_opened[0]
            )
            _opened[0] = 0
            self._clear()


_fetches = _Fetches()
_opened = [0]


def _count_opened(event, _arguments):
    if event == "open" and _fetches.inside:
        _opened[0] += 1


def is_inside():
    """Tells whether a batch is being made here."""
    return _fetches.inside


def timed(fetch, *args):
    """Makes a batch, timed; within the making of another one it is a part of that."""
    if _fetches.inside and _fetches.process == os.getpid():
        return fetch(*args)
    return _fetches.timed(fetch, args)
