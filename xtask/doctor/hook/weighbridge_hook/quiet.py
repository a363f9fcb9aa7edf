"""Calls that tell of the training and are no part of it: timed where the run looks, left out by an arm."""

import builtins
import functools
import logging
import os
import threading
import time

from . import journal, places, state

#: True while such calls do nothing.
silent = {"telling": False, "saving": False}

_took = {}
_main = threading.main_thread()


def timed(function, kind, name):
    """The function, timed in the main thread, and left out while its kind is silent."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if silent[kind]:
            return None
        if threading.current_thread() is not _main or state.where != "step" or _nested.inside:
            return function(*args, **kwargs)
        _nested.inside = True
        begun = time.perf_counter_ns()
        try:
            return function(*args, **kwargs)
        finally:
            _nested.inside = False
            _note(kind, name, time.perf_counter_ns() - begun)

    return call


class _Nested(threading.local):
    inside = False


_nested = _Nested()


def _note(kind, name, took):
    import sys

    line = places.users_line(sys._getframe(2)) or ""
    entry = _took.setdefault((kind, name, line), [0, 0])
    entry[0] += 1
    entry[1] += took


def _write():
    for (kind, name, line), (count, took) in _took.items():
        journal.write("call", what=kind, name=name, line=line, count=count, took=took)
    _took.clear()


def patch_python():
    """Patches what Python itself brings."""
    builtins.print = timed(builtins.print, "telling", "print")
    logging.Logger.handle = timed(logging.Logger.handle, "telling", "logging")
    os.fsync = timed(os.fsync, "telling", "os.fsync")
    state.at_finish.append(_write)


def patch_summary_writer(module):
    """Patches TensorBoard's writer of PyTorch."""
    for name in ("add_scalar", "add_scalars", "add_histogram", "add_image", "flush"):
        function = getattr(module.SummaryWriter, name, None)
        if function is not None:
            setattr(module.SummaryWriter, name, timed(function, "telling", "SummaryWriter.%s" % name))
