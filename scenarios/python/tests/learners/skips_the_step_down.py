"""Leaves the parameters where they are in the steps that are timed."""

from tests.learners import plain
from weighbridge_worker.learner import Learner


class Skips(plain.Plain):
    def step(self, given):
        out, loss = self.forward(given)
        slopes, _ = self.backward()
        return out, slopes, loss


ADAPTER = Learner("Plain", "numpy", "numpy.dot", lambda task, place: Skips(task))
