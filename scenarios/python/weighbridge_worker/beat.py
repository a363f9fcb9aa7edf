"""Heartbeats: a thread that says that the worker lives, and sleeps while it measures."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .protocol import Channel

SECONDS = 2.0


class Heart:
    """Beats while something is being done that may take long, and is still otherwise."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._change = threading.Condition()
        self._doing: str | None = None
        threading.Thread(target=self._beat, name="heart", daemon=True).start()

    @contextmanager
    def beating(self, doing: str) -> Iterator[None]:
        """Beats until the block is left."""
        self._say(doing)
        try:
            yield
        finally:
            self._say(None)

    def _say(self, doing: str | None) -> None:
        with self._change:
            self._doing = doing
            self._change.notify()

    def _beat(self) -> None:
        while True:
            with self._change:
                if self._doing is None:
                    self._change.wait()  # without a timeout: nothing wakes it while the clock runs
                    continue
                if self._change.wait(SECONDS) or self._doing is None:
                    continue
                # Sent under the lock, so that no beat follows the end of what was being done.
                try:
                    self._channel.send("beat", {"doing": self._doing})
                except OSError:
                    return
