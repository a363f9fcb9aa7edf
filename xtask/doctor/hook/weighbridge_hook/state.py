"""What the parts of the hook know of each other in one process."""

import os
import time

from . import journal

#: The doctor's plan: `mode` is `look` or `try`.
plan = {"mode": "look"}

#: The loops over loaders, by the key of the place where the loader is made.
loops = {}

#: Where the main thread is: `next` of a loader, the `step` after it, or `else`.
where = "else"

#: Nanoseconds that loops within other loops' steps took, in all.
nested = 0

#: When the first batch was delivered.
first = None

#: Called before the process ends.
at_finish = []

_done = False


def looks():
    """Tells whether this run only looks."""
    return plan.get("mode") != "try"


def finish():
    """Has every part write what it holds back."""
    for call in at_finish:
        try:
            call()
        except Exception as error:
            trouble("at the end", error)


def trouble(attempt, error):
    """Tells the doctor that a part of the hook failed, and goes on."""
    journal.write("trouble", attempt=attempt, text="%s: %s" % (type(error).__name__, error))


def done(why):
    """Says that all was seen, and stands still until the doctor ends the process."""
    global _done
    if _done:
        return
    _done = True
    finish()
    journal.write("done", why=why)
    doctor = plan.get("doctor")
    while doctor:
        try:
            os.kill(doctor, 0)
        except ProcessLookupError:
            os._exit(1)
        except OSError:
            pass
        time.sleep(0.05)


def has_seen_enough(steps):
    """Tells why a run of so many steps is long enough, if it is."""
    limit, seconds = plan.get("steps"), plan.get("seconds")
    if looks() and limit and steps >= limit:
        return "steps"
    if seconds and first is not None and time.monotonic_ns() - first >= seconds * 1e9:
        return "seconds"
    return None
