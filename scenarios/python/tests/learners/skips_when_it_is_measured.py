"""Honest where it is opened and in the epoch that is verified: then it delivers the first step again."""

from tests.learners import plain
from weighbridge_worker.learner import Learner


class SkipsLater(plain.Plain):
    HONEST = 3
    begun, first = 0, None

    def set(self, parameters):
        super().set(parameters)
        self.begun += 1

    def step(self, given):
        if self.begun <= self.HONEST:
            return super().step(given)
        self.first = self.first or super().step(given)
        out, slopes, loss = self.first
        return out[: len(given.rows)], slopes[: len(given.rows)], loss


ADAPTER = Learner("Plain", "numpy", "numpy.dot", lambda task, place: SkipsLater(task))
