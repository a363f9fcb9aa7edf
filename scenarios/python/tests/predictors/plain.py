"""A linear map of numbers, or of a table's rows, by plain numpy; `PLAIN_LIE` makes it answer otherwise."""

import os

import numpy as np

from weighbridge_worker.adapter import Declined
from weighbridge_worker.predictor import Prediction, Predictor, told

LIE = os.environ.get("PLAIN_LIE")


class Odd(np.ndarray):
    """An array that could make its numbers when they are looked at."""


class Plain(Prediction):
    def __init__(self, task):
        super().__init__(task)
        if task.mode != "eager":
            raise Declined(f"mode {task.mode}: numpy has one")
        self.last = None

    def logits(self, rows):
        logits = (rows @ self.task.weights["0.weight"] + self.task.weights["0.bias"]).astype(np.float32)
        if LIE == "another kind":
            return logits.view(Odd)
        if LIE == "fewer":
            return logits[:1]
        return logits

    def predict(self, inputs):
        if self.task.takes_ids:
            return self.logits(np.eye(5, dtype=np.float32)[inputs].sum(1))
        return self.logits(inputs)

    def prefill(self, ids):
        self.last = np.eye(5, dtype=np.float32)[ids].sum(1)
        return self.logits(self.last)

    def decode(self, ids):
        self.last = self.last + np.eye(5, dtype=np.float32)[ids]
        return self.logits(self.last)

    def settings(self):
        return told("f32", sum(array.size for array in self.task.weights.values()))


ADAPTER = Predictor(
    framework="Plain", distribution="numpy", entry_point="numpy.dot", open=lambda task, place: Plain(task)
)
