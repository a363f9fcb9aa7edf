"""The other end of the conversation, as small as it can be, and a worker to have it with."""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from weighbridge_worker.pipeline import Kind

from .conftest import HOME, Made

WORD = re.compile(r"[a-z0-9_]+")
"""A word of a metric's name."""


class Worker:
    """A worker process and the harness's end of its channel."""

    def __init__(self, adapter: str, python: str = sys.executable, **environment: str) -> None:
        ours, theirs = socket.socketpair()
        self.end = ours
        self.end.settimeout(120)
        self.process = subprocess.Popen(
            [python, "-P", "-m", "weighbridge_worker", adapter],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONPATH": str(HOME),
                "WEIGHBRIDGE_WORKER": "1",
                "OMP_NUM_THREADS": "1",
                **environment,
            },
        )
        theirs.close()
        self.beats = 0

    def tell(self, name: str, /, **message: Any) -> None:
        body = json.dumps({name: message}).encode()
        self.end.sendall(struct.pack("<I", len(body)) + body)

    def hear(self) -> tuple[str, dict[str, Any]]:
        while True:
            (length,) = struct.unpack("<I", self._exactly(4))
            ((name, message),) = json.loads(self._exactly(length)).items()
            if name != "beat":
                return name, message
            self.beats += 1

    def ask(self, name: str, /, **message: Any) -> tuple[str, dict[str, Any]]:
        self.tell(name, **message)
        answered, answer = self.hear()
        # Times become metrics under their names; operators are called as their profilers call them.
        if message.get("name") != "operators":
            odd = [key for key in answer.get("times", ()) if not WORD.fullmatch(key)]
            assert not odd, f"{message.get('name')} tells times of {odd}, which are no words of snake case"
        return answered, answer

    def places(self, place: Path) -> dict[str, str]:
        """Where a case may put things, as `open` has it."""
        self.exchange = place / "exchange"
        self.exchange.touch()
        folders = {name: str(place / name) for name in ("scratch", "converted")}
        for folder in folders.values():
            Path(folder).mkdir(exist_ok=True)
        return {"exchange": str(self.exchange), **folders}

    def _exactly(self, count: int) -> bytes:
        got = b""
        while len(got) < count:
            part = self.end.recv(count - len(got))
            if not part:
                raise EOFError("the worker has ended")
            got += part
        return got

    def open(
        self,
        made: Made,
        place: Path,
        spec: dict[str, Any],
        device: str = "cpu",
        contract: str = "loader",
        **more: Any,
    ) -> tuple[str, dict[str, Any]]:
        return self.ask(
            "open",
            contract=contract,
            **self.places(place),
            device=device,
            data=made.said,
            pipeline=spec,
            **more,
        )

    def read(self, said: dict[str, Any]) -> dict[str, np.ndarray]:
        """What a batch that was said holds."""
        batch = {}
        with self.exchange.open("rb") as content:
            for field in said["fields"]:
                shape = (said["elements"], *field["shape"])
                array = np.empty(shape, Kind.from_dict(field).dtype)
                content.seek(field["offset"])
                assert content.readinto(array.reshape(-1).view(np.uint8)) == array.nbytes
                batch[field["name"]] = array
        return batch

    def verify(self, epoch: int = 0) -> list[dict[str, np.ndarray]]:
        batches = []
        name, said = self.ask("verify", epoch=epoch)
        while name == "batch":
            batches.append(self.read(said))
            name, said = self.ask("next")
        assert name == "end", said
        return batches

    def close(self) -> tuple[str, str]:
        """What it printed on standard output, and on standard error."""
        self.end.close()
        out, errors = self.process.communicate(timeout=30)
        return out.decode(), errors.decode()
