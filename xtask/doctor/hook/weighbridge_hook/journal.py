"""What a process sees, as lines of JSON in a file of its own."""

import json
import os
import time

_folder = None
_descriptor = None


def open_in(folder):
    """Says where journals are, and has a forked child begin its own."""
    global _folder
    _folder = folder
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget)


def _forget():
    global _descriptor
    descriptor, _descriptor = _descriptor, None
    if descriptor is not None:
        try:
            os.close(descriptor)
        except OSError:
            pass


def write(kind, **facts):
    """Writes one event, whole, by one call of the system."""
    global _descriptor
    if _folder is None:
        return
    try:
        if _descriptor is None:
            path = os.path.join(_folder, "journal-%d.jsonl" % os.getpid())
            _descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        facts = dict(facts, kind=kind, pid=os.getpid(), at=time.monotonic_ns())
        os.write(_descriptor, (json.dumps(facts) + "\n").encode())
    except OSError:
        pass  # the folder is gone when the doctor is
