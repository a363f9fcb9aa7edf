"""The user's own lines on a stack."""

import os
import sys

_HOOK = os.path.dirname(os.path.abspath(__file__))
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__))
_known = {}


def is_users(file):
    """Tells whether a file is the user's: none of Python's, of packages, or of the hook."""
    answer = _known.get(file)
    if answer is None:
        path = os.path.abspath(file)
        answer = not (
            file.startswith("<")
            or path.startswith((_HOOK, _LIBRARY + os.sep))
            or os.sep + "site-packages" + os.sep in path
            or os.sep + "dist-packages" + os.sep in path
            or os.path.basename(path) == "sitecustomize.py"
        )
        _known[file] = answer
    return answer


def users_line(frame):
    """The innermost line of the user's on the stack, as `FILE:LINE`; `None` where there is none."""
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return "%s:%d" % (os.path.abspath(frame.f_code.co_filename), frame.f_lineno)
        frame = frame.f_back
    return None


def made_at(skip):
    """Where a loader is being made: the user's line, and the line of whoever calls the framework, a trainer's
    perhaps. Frames whose files contain a text of `skip` are the framework's."""
    frame = sys._getframe(1)
    caller = None
    while frame is not None:
        file = frame.f_code.co_filename
        if caller is None and not file.startswith(_HOOK) and not any(part in file for part in skip):
            caller = "%s:%d" % (file, frame.f_lineno)
        if is_users(file):
            return "%s:%d" % (os.path.abspath(file), frame.f_lineno), caller or ""
        frame = frame.f_back
    return "", caller or ""


def processors():
    """The processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1
