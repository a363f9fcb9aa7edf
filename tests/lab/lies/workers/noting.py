"""Prints what noting a learner's step costs in a worker: steps in turns with and without a note.

`PYTHONPATH=scenarios/python PEER/venv/bin/python tests/lab/lies/workers/noting.py torch_autograd [module|function]`
"""

import importlib
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from unittest.mock import MagicMock

import numpy as np

sys.modules.setdefault("pytest", MagicMock())  # which an environment of a framework has not

from tests.conftest import Made
from weighbridge_worker.adapter import Place
from weighbridge_worker.data import Data
from weighbridge_worker.learner import NotedStep, Parameters, Task
from weighbridge_worker.pipeline import Pipeline

SIDE, BATCH, TURNS, STEPS = 32, 32, 60, 10
"""As PC-5 has them; so many turns of so many steps."""


def main(name: str = "torch_autograd", form: str = "module") -> None:
    place = Path(tempfile.mkdtemp())
    rows = np.random.default_rng(1).normal(size=(BATCH * STEPS, SIDE, SIDE, 3)).astype(np.float32)
    made = Made(place, {"image": rows})
    image = {"name": "image", "dtype": "f32", "shape": [SIDE, SIDE, 3]}
    said = {"form": form, "rate": 0.05, "work": ["a step"], "output": [image, {**image, "name": "image_gradient"}]}
    pipeline = Pipeline.from_dict(made.spec("Normalize", batch_size=BATCH))
    task = Task.from_dict(said, pipeline, Data(made.said))
    learning = importlib.import_module(f"weighbridge_worker.learners.{name}").ADAPTER.open(task, Place(place, place))

    def turn(is_noted: bool) -> float:
        learning.set(Parameters.start(task.channels))
        notes = []
        start = time.perf_counter_ns()
        for number in range(STEPS):
            given = task.given(number, 1)
            _, slopes, loss = learning.step(given)
            if is_noted:
                notes.append(NotedStep.of(learning, given, slopes, loss))
        return (time.perf_counter_ns() - start) / STEPS

    for is_noted in (False, True):
        turn(is_noted)
    ratios, plain = [], []
    for _ in range(TURNS):
        one, other, another, last = (turn(is_noted) for is_noted in (False, True, True, False))
        plain.append((one + last) / 2)
        ratios.append((other + another) / (one + last))
    ratios.sort()
    low, high = ratios[TURNS // 4], ratios[3 * TURNS // 4]
    print(f"{name} ({form}): a step takes {median(plain) / 1e3:.0f} us, with a note {median(ratios):.3f} times that "
          f"(the middle half of {TURNS} turns: {low:.3f} to {high:.3f})")


main(*sys.argv[1:])
