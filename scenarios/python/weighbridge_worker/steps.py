"""Stubs of training steps, and a loop of them with a save beside it."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .adapter import Declined
from .protocol import Message

now = time.perf_counter_ns

STEP = 5_000_000
"""How long a step takes at least where nothing is beside it, in nanoseconds: the work is doubled until it does."""

COPIED = 32 << 20
"""Bytes that a step bound by memory copies at a time: more than a cache has."""

HASHED = 16 << 10
"""Bytes that a step bound by a processor hashes at a time: less than a cache has."""

Step = Callable[[int], None]


def processor(times: int, buffer: bytes = bytes(HASHED)) -> None:
    """Native code, which lets go of the interpreter's lock."""
    for _ in range(times):
        hashlib.sha256(buffer).digest()


def interpreter(times: int) -> None:
    """A loop in Python, which holds the lock."""
    total = 0
    for number in range(1000 * times):
        total += number & 3


def copying() -> Step:
    """Native code that copies more than a cache has, and lets go of the lock."""
    source: np.ndarray[Any, Any] = np.ones(COPIED, np.uint8)
    target = np.zeros_like(source)

    def step(times: int) -> None:
        for _ in range(times):
            np.copyto(target, source)

    return step


def stub(kind: str) -> Callable[[], None]:
    """A step of this kind that takes as long as `STEP` says at least."""
    match kind:
        case "processor":
            step: Step = processor
        case "interpreter":
            step = interpreter
        case "memory":
            step = copying()
        case _:
            raise Declined(f"steps of the kind `{kind}`")
    times = 1
    # The least of three, since a disturbed one would make all steps too short.
    while min(timed(step, times) for _ in range(3)) < STEP:
        times *= 2
    return partial(step, times)


def timed(step: Callable[..., None], *arguments: int) -> int:
    """How long a step takes, in nanoseconds."""
    start = now()
    step(*arguments)
    return now() - start


def beside(
    kind: str, steps: int, save: Callable[[], None], wait: Callable[[], None], change: Callable[[], None]
) -> Message:
    """Steps with nothing beside them, then steps while a state is saved, until `wait` returns on its own thread.

    As soon as the save lets the loop go on, the state is changed. That takes its time, which counts in none of these.
    """
    step = stub(kind)
    idle = [timed(step) for _ in range(steps)]
    complete, spent, failed = [0], [0], list[BaseException]()

    def waiting() -> None:
        try:
            wait()
        except BaseException as error:
            failed.append(error)
        complete[0] = now() - start - spent[0]

    during = []
    waiter = threading.Thread(target=waiting, name="waiter")
    start = last = now()
    save()
    stall = now() - start
    change()
    spent[0] = now() - start - stall
    last += spent[0]
    waiter.start()
    while True:
        step()
        end = now()
        during.append(end - last)
        last = end
        if not waiter.is_alive():
            break
    waiter.join()
    if failed:
        raise failed[0]
    return {"times": {"idle": idle, "during": during, "stall": [stall], "complete": complete}}
