"""A thread that looks at the stacks of a process some times a second, and at how late it comes to look."""

import collections
import os
import sys
import threading
import time

from . import journal, places, state

#: Innermost functions in which a thread waits for another one and wants no processor.
_WAITS = {"wait", "_wait_for_tstate_lock", "get", "select", "poll", "accept", "recv", "recv_bytes", "_recv"}
_WAITS |= {"read_bytes", "_poll", "acquire", "join", "_try_get_data", "sleep", "epoll_wait"}

#: From this lateness on somebody held the interpreter's lock.
_HELD = 1e-3

_running = None


class _Sampler(threading.Thread):
    def __init__(self, pause, label):
        super().__init__(name="weighbridge-sampler", daemon=True)
        self.pause, self.label = pause, label
        self.main = threading.main_thread().ident
        self.counts = collections.Counter()
        self.probes = self.held = self.wanting = 0
        self.stopped = False

    def run(self):
        queue = RunQueue()
        written = time.monotonic()
        while not self.stopped:
            before, waited = time.monotonic(), queue.waited()
            time.sleep(self.pause)
            late = time.monotonic() - before - self.pause - (queue.waited() - waited)
            try:
                self.look(late)
            except Exception as error:
                state.trouble("to sample stacks", error)
                return
            if time.monotonic() - written > 0.5:
                self.write()
                written = time.monotonic()

    def look(self, late):
        label = self.label()
        own = threading.get_ident()
        if label != "else":
            self.probes += 1
            self.held += late > _HELD
        for thread, frame in sys._current_frames().items():
            if thread == own:
                continue
            leaf = frame.f_code
            waits = leaf.co_name in _WAITS
            if label != "else" and not waits:
                self.wanting += 1
            if thread == self.main:
                key = (label, places.users_line(frame) or "", "%s:%s" % (leaf.co_filename, leaf.co_name))
                self.counts[key] += 1

    def write(self):
        counts, self.counts = self.counts, collections.Counter()
        stacks = [[label, line, leaf, count] for (label, line, leaf), count in counts.most_common(200)]
        facts = {"probes": self.probes, "held": self.held, "wanting": self.wanting}
        self.probes = self.held = self.wanting = 0
        journal.write("stacks", stacks=stacks, **facts)


class RunQueue:
    """The seconds that this thread has waited for a processor, where the system tells."""

    def __init__(self):
        try:
            path = "/proc/self/task/%d/schedstat" % threading.get_native_id()
            self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, AttributeError):
            self.descriptor = None

    def waited(self):
        if self.descriptor is None:
            return 0.0
        try:
            return int(os.pread(self.descriptor, 64, 0).split()[1]) * 1e-9
        except (OSError, IndexError, ValueError):
            return 0.0


def start(rate, label):
    """Starts it in this process, once, where the run looks."""
    global _running
    if not state.looks() or (_running is not None and _running[0] == os.getpid()):
        return
    sampler = _Sampler(1.0 / rate, label)
    _running = (os.getpid(), sampler)
    state.at_finish.append(sampler.write)
    sampler.start()
