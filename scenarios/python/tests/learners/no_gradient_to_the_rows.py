"""Takes the gradient to the parameters alone: what it hands out for the rows are the slopes of what came out."""

from tests.learners import plain
from weighbridge_worker.learner import Learner


class Parts(plain.Plain):
    def backward(self):
        _, gradient = super().backward()
        return (self.out / self.out.size).astype("float32"), gradient


ADAPTER = Learner("Plain", "numpy", "numpy.dot", lambda task, place: Parts(task))
