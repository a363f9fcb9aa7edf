"""The private channel: frames of JSON, and the descriptors that are put out of the way for it."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from typing import Any

LONGEST = 64 << 20
Message = dict[str, Any]


class Broken(Exception):
    """What came is not a frame, or not a message."""


def take_standard_input() -> socket.socket:
    """Moves the socket on standard input to a private descriptor, and what is printed to standard error."""
    private = socket.socket(fileno=os.dup(0))  # closed on exec
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    # A forked child that kept it would keep the harness from seeing that this process has ended.
    os.register_at_fork(after_in_child=private.close)
    return private


class Channel:
    """Both directions of the conversation."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._sending = threading.Lock()

    def send(self, name: str, message: Message) -> None:
        body = json.dumps({name: message}, separators=(",", ":"), allow_nan=False).encode()
        if len(body) > LONGEST:
            raise Broken(f"`{name}` would have {len(body)} bytes, and a frame has at most {LONGEST}")
        with self._sending:
            self._end.sendall(struct.pack("<I", len(body)) + body)

    def receive(self) -> tuple[str, Message] | None:
        """The next message; nothing where the harness has gone."""
        head = self._exactly(4)
        if head is None:
            return None
        (length,) = struct.unpack("<I", head)
        if length > LONGEST:
            raise Broken(f"a frame of {length} bytes")
        body = self._exactly(length)
        if body is None:
            return None
        said = json.loads(body)
        if not isinstance(said, dict) or len(said) != 1:
            raise Broken("a message is an object with one key")
        ((name, message),) = said.items()
        if not isinstance(message, dict):
            raise Broken(f"`{name}` holds no object")
        return name, message

    def _exactly(self, count: int) -> bytes | None:
        got = bytearray()
        while len(got) < count:
            part = self._end.recv(count - len(got))
            if not part:
                return None
            got += part
        return bytes(got)
