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
        out, slopes, loss = self.before_last or made
        self.before_last = made
        return out[: len(given.rows)], slopes[: len(given.rows)], loss


ADAPTER = Learner("Plain", "numpy", "numpy.dot", lambda task, place: Stale(task))
