"""Delivers what the step before has computed."""

from tests.learners import plain
from weighbridge_worker.learner import Learner


class Stale(plain.Plain):
    before_last = None

    def set(self, parameters):
        super().set(parameters)
        self.before_last = None

    def step(self, given):
        made = super().step(given)
        stale = self.before_last or made
        self.before_last = made
        return tuple(array[: len(given.rows)] for array in stale)


ADAPTER = Learner("Plain", "numpy", "numpy.dot", lambda task, place: Stale(task))
