"""Starts the hook in a Python process that the doctor watches, and then the user's own `sitecustomize`."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _start():
    try:
        import weighbridge_hook

        weighbridge_hook.start()
    except Exception as error:  # the script runs whatever becomes of the hook
        sys.stderr.write("weighbridge: the hook could not be started: %r\n" % (error,))


def _start_the_users_own():
    """Imports the `sitecustomize` that this one hides, under its name."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


_start()
# The script sees the path that it would have without the doctor.
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
_start_the_users_own()
