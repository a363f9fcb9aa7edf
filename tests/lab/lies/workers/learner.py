"""A learner in a worker that does otherwise than it is asked in the one way that `LIE` names, or is honest.

It is the learner by hand of the worker's own tests, changed as little as the lie needs. All are honest in the first
step of epoch 0, by which a gradient is held against finite differences.
"""

import os
import sys

import numpy as np

from tests.learners.plain import Plain
from weighbridge_worker.learner import Learner, Parameters

LIE = os.environ["LIE"]


class NoUpdate(Plain):
    """The parameters stay as they are but in the first step."""

    steps = 0

    def set(self, parameters):
        super().set(parameters)
        self.steps = 0

    def step(self, given):
        before, first = (self.scale, self.bias), self.steps == 0
        self.steps += 1
        made = super().step(given)
        if not first:
            self.scale, self.bias = before
        return made


class OldGradients(Plain):
    """The gradient of every second step is that of the one before."""

    steps = 0

    def set(self, parameters):
        super().set(parameters)
        self.steps = 0

    def step(self, given):
        self.steps += 1
        if self.steps % 2:
            self.made = super().step(given)
            return self.made
        out, loss = self.forward(given)
        return out, self.made[1][: len(out)], loss


class WithTheFirst(Plain):
    """All steps of an epoch are done with its first batch."""

    done = ()

    def set(self, parameters):
        super().set(parameters)
        self.done = ()

    def step(self, given):
        if not self.done:
            epoch = sys._getframe(1).f_locals.get("epoch", 0)
            task = self.task
            numbers = range(task.pipeline.batches)
            honest = super().step
            self.done = []
            for number in numbers:
                made = honest(task.given(number, epoch))
                self.done.append((made, self.scale, self.bias))
        made, self.scale, self.bias = self.done.pop(0)
        return made


class WhenAsked(Plain):
    """Honest: the parameters are what they should be when somebody asks for them, which is after each step."""

    due = ()

    def set(self, parameters):
        super().set(parameters)
        self.due = []

    def step(self, given):
        out, loss = self.forward(given)
        self.due.append(given)
        if len(self.due) == 1:
            self.slopes_of_rows, _ = self.backward()
        return out, self.slopes_of_rows[: len(out)], loss

    def parameters(self):
        for given in self.due:
            self.forward(given)
            self.backward()
            self.update()
        self.due = []
        return Parameters(self.scale, self.bias)


class Compiles(Plain):
    """Honest, and the first step of its life takes 300 ms."""

    compiled_at = None

    def step(self, given):
        if not self.compiled_at:
            table = np.arange(1 << 20, dtype=np.float64)
            self.compiled_at = sum(float(np.sqrt(table).sum()) for _ in range(60))
        return super().step(given)


WAYS = {
    "no-update-in-a-worker": NoUpdate,
    "old-gradients-in-a-worker": OldGradients,
    "steps-with-the-first-in-a-worker": WithTheFirst,
    "update-when-asked-in-a-worker": WhenAsked,
    "whole-learning-in-a-worker": Plain,
    "compiles-in-a-worker": Compiles,
}

ADAPTER = Learner("PyTorch autograd", "numpy", "numpy.dot", lambda task, place: WAYS[LIE](task))
