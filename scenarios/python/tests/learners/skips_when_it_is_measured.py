"""Honest for two epochs, that which is verified among them: then it delivers the first step again."""

from tests.learners import plain
from weighbridge_worker.learner import Learner


class SkipsLater(plain.Plain):
    begun, first = 0, None

    def begin(self, epoch):
        self.begun += 1
        self.first = None
        return super().begin(epoch)

    def step(self, given):
        if self.begun < 2 or self.first is None:
            self.first = super().step(given)
        return tuple(array[: len(given.rows)] for array in self.first)


ADAPTER = Learner("Plain", "numpy", "numpy.dot", lambda task, place: SkipsLater(task))
