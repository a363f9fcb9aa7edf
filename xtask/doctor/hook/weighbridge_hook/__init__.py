"""The hook of `cargo weighbridge doctor`: it looks at a script from inside, and tries what would change.

Python runs it before the script, since its folder is the first of PYTHONPATH. The variable WEIGHBRIDGE_DOCTOR
names a folder: `plan.json` in it says what to do, and each process writes what it sees to a journal there. The
script's files stay as they are. What a framework does is patched after the framework has been imported, so that
a script which imports none pays for none.
"""

import json
import os
import sys
import time


def start():
    """Reads the plan, opens the journal, and waits for frameworks to be imported."""
    folder = os.environ.get("WEIGHBRIDGE_DOCTOR")
    if not folder:
        return
    from . import frameworks, imports, journal, state

    with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
        state.plan.update(json.load(file))
    journal.open_in(folder)
    journal.write(
        "begin",
        python=sys.version.split()[0],
        parent=os.getppid(),
        argv=list(getattr(sys, "orig_argv", sys.argv if hasattr(sys, "argv") else [])),
    )
    _tell_how_it_fails(journal)
    imports.watch(frameworks.PATCHES)


def _tell_how_it_fails(journal):
    """Notes the error that ends the script, and leaves it to whoever shows it."""
    before = sys.excepthook

    def hook(kind, error, trace):
        journal.write("failed", type=kind.__name__, text=str(error)[:500])
        return before(kind, error, trace)

    sys.excepthook = hook

    import atexit

    from . import state

    def at_end():
        state.finish()
        journal.write("end", at=time.monotonic_ns())

    atexit.register(at_end)
