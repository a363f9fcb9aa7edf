"""Whether a batch takes as long in a worker as in a plain script: the same loader, interleaved, as a ratio.

    python3 scenarios/python/bench_loop.py [--rounds 3] [--seconds 0.5]

Both go through epoch 0 of the numpy adapter over the same files and stamp each batch. The worker is a process of its
own, asked over its channel as the harness asks it; the script is a loop of five lines in another process. Rounds
alternate between the two, so that what disturbs one disturbs the other. Needs numpy alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
CASES = {
    "CV-1 small": ([32, 32, 3], "u8", 64, ["Normalize", "CastToFloat32"], 10_000),
    "NLP-1 small": ([128], "i32", 32, [], 10_000),
    "TAB-1 small": ([100], "f32", 256, ["Normalize"], 10_000),
}
KINDS = {"u8": np.uint8, "i32": np.int32, "f32": np.float32}
BATCHES, WARMUP = 100, 5
PAIRS = 12
"""Processes of each kind: where the memory of a process happens to lie makes a few percent, so a pair has one ratio."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--seconds", type=float, default=0.5)
    arguments.add_argument("--plain", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.plain:
        plain(Path(given.plain))
        return
    for name, (shape, dtype, batch, transforms, elements) in CASES.items():
        with tempfile.TemporaryDirectory() as place:
            said = written(Path(place), shape, dtype, batch, transforms, elements)
            ratios = [compared(Path(place), said, given.rounds, given.seconds) for _ in range(PAIRS)]
        low, high = interval(ratios)
        print(f"{name}: worker / script = {statistics.median(ratios):.4f} [{low:.4f}, {high:.4f}], {PAIRS} pairs")


def written(
    place: Path, shape: list[int], dtype: str, batch: int, transforms: list[str], elements: int
) -> dict[str, Any]:
    """Data in a file, and what `open` says of them."""
    made = np.random.default_rng(1).integers(0, 100, (elements, *shape)).astype(KINDS[dtype])
    made.tofile(place / "x.bin")
    for folder in ("scratch", "converted"):
        (place / folder).mkdir()
    constants = [0.5] * shape[-1] if dtype == "f32" else None
    kind = {"name": "x", "shape": shape}
    field = {**kind, "dtype": dtype, "path": str(place / "x.bin"), "mean": constants, "scale": constants}
    output = {**kind, "dtype": "f32" if transforms else dtype}
    spec = {"first": 0, "end": elements, "batch_size": batch, "access": "memory", "workers": 0, "seed": 42}
    return {
        "contract": "loader",
        "exchange": str(place / "exchange"),
        "scratch": str(place / "scratch"),
        "converted": str(place / "converted"),
        "device": "cpu",
        "data": {"elements": elements, "digest": "0" * 32, "fields": [field]},
        "pipeline": {**spec, "transforms": transforms, "work": transforms, "output": [output]},
    }


def compared(place: Path, said: dict[str, Any], rounds: int, seconds: float) -> float:
    """The ratio of the medians of both in one pair of processes: the middle one of all rounds."""
    (place / "said.json").write_text(json.dumps(said))
    worker, script = Other("-m", "weighbridge_worker", "numpy"), Other(__file__, "--plain", str(place / "said.json"))
    worker.hear("hello")
    worker.tell("open", **said)
    worker.hear("opened")
    ask = {"warmup": WARMUP, "batches": BATCHES, "min_time": int(seconds * 1e9)}
    ratios = []
    for _ in range(rounds + 1):
        times = {}
        pair = [("worker", worker), ("script", script)]
        random.shuffle(pair)
        for name, other in pair:
            other.tell("run", **ask)
            times[name] = statistics.median(other.hear("ran")["samples"])
        ratios.append(times["worker"] / times["script"])
    for other in (worker, script):
        other.end.close()
        other.process.wait()
    return statistics.median(ratios[1:])  # the first round of both warms up


def interval(ratios: list[float]) -> tuple[float, float]:
    """A 95 % interval of the median, from the order of the values (binomial, by the normal approximation)."""
    ordered, n = sorted(ratios), len(ratios)
    reach = 0.98 * n**0.5
    return ordered[max(0, int(n / 2 - reach))], ordered[min(n - 1, int(n / 2 + reach))]


class Other:
    """A process that is asked over a channel."""

    def __init__(self, *command: str) -> None:
        self.end, theirs = socket.socketpair()
        pinned = {"PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1"}
        arguments = [sys.executable, *command]
        self.process = subprocess.Popen(arguments, stdin=theirs, env={**os.environ, **pinned})
        theirs.close()

    def tell(self, name: str, **message: Any) -> None:
        body = json.dumps({name: message}).encode()
        self.end.sendall(struct.pack("<I", len(body)) + body)

    def hear(self, wanted: str) -> dict[str, Any]:
        while True:
            (length,) = struct.unpack("<I", self.end.recv(4, socket.MSG_WAITALL))
            ((name, message),) = json.loads(self.end.recv(length, socket.MSG_WAITALL)).items()
            if name == wanted:
                return dict(message)
            assert name == "beat", message


def plain(path: Path) -> None:
    """The plain script: the same loader, and the loop that anybody would write around it."""
    import time
    from itertools import islice

    from weighbridge_worker.adapter import Place
    from weighbridge_worker.adapters import numpy as adapter
    from weighbridge_worker.data import Data
    from weighbridge_worker.pipeline import Pipeline
    from weighbridge_worker.protocol import Channel

    said = json.loads(path.read_text())
    channel = Channel(socket.socket(fileno=os.dup(0)))
    pipeline, here = Pipeline.from_dict(said["pipeline"]), Path(said["scratch"])
    loader = adapter.open(pipeline, Data(said["data"]), Place(here, here))
    clock = time.perf_counter_ns
    while (heard := channel.receive()) is not None:
        samples: list[int] = []
        wall = 0
        while wall < heard[1]["min_time"]:
            batches = loader.begin(0)
            for _ in range(WARMUP):
                next(batches)
            elements = size = 0
            begun = last = clock()
            for batch in islice(batches, BATCHES):
                for array in batch.values():
                    elements += len(array)
                    size += array.nbytes
                now = clock()
                samples.append(now - last)
                last = now
            wall += last - begun
        channel.send("ran", {"samples": samples})


if __name__ == "__main__":
    main()
