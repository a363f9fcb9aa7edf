"""`python -m weighbridge_worker ADAPTER`: a name in `adapters/`, or the path of a file like those."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
import threading

from .protocol import Channel, take_standard_input
from .usage import adopt_orphans, descendants

PR_SET_PDEATHSIG = 1


def end_with(end: socket.socket) -> None:
    """Ends this process and what it started when the harness goes, whatever the main thread is doing then."""

    def watch() -> None:
        poll = select.poll()
        poll.register(end, select.POLLHUP | select.POLLERR)
        poll.poll()
        leave(0)

    threading.Thread(target=watch, name="watch", daemon=True).start()


def leave(status: int) -> None:
    """Ends at once, with all that was started: what clean-up would do is what the harness does."""
    sys.stderr.flush()
    for process in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    os._exit(status)


def main() -> None:
    end = take_standard_input()
    if len(sys.argv) != 2:
        sys.exit("usage: python -m weighbridge_worker ADAPTER, with the harness's socket as standard input")
    adopt_orphans()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    end_with(end)
    channel = Channel(end)
    # Imported here, where it is known that the harness can be told of a failure.
    try:
        from .beat import Heart
        from .serve import Server, hello

        heart = Heart(channel)
    except ImportError as error:
        channel.send("failed", {"detail": f"{type(error).__name__}: {error}"})
        leave(1)
        return
    adapter = hello(channel, heart, sys.argv[1])
    if adapter is not None:
        try:
            Server(channel, heart, adapter).serve()
        finally:
            adapter.end()
    leave(0)


if __name__ == "__main__":
    main()
