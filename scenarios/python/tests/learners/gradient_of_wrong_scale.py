"""Forgets that the loss is a mean over the groups' numbers: every gradient is a tenth too large."""

from tests.learners import plain
from weighbridge_worker.learner import Learner, Parameters


class WrongScale(plain.Plain):
    def backward(self):
        slopes, gradient = super().backward()
        self.slopes = Parameters(gradient.scale * 1.1, gradient.bias * 1.1)
        return slopes * 1.1, self.slopes


ADAPTER = Learner("Plain", "numpy", "numpy.dot", lambda task, place: WrongScale(task))
