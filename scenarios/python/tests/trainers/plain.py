"""A linear map with softmax and cross-entropy, trained by plain numpy."""

import numpy as np

from weighbridge_worker.adapter import Declined
from weighbridge_worker.trainer import Trainer, Training, told


class Plain(Training):
    def __init__(self, task):
        super().__init__(task)
        if task.mode != "eager":
            raise Declined(f"mode {task.mode}: numpy has one")
        self.reset()

    def reset(self):
        self.now = {name: array.copy() for name, array in self.task.weights.items()}

    def predict(self, inputs):
        return inputs @ self.now["0.weight"] + self.now["0.bias"]

    def compute(self, index):
        x, y = self.task.of_step(index)
        logits = self.predict(x)
        shares = np.exp(logits - logits.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        loss = -np.log(shares[np.arange(len(y)), y]).mean()
        shares[np.arange(len(y)), y] -= 1
        shares /= len(y)
        return float(loss), logits, {"0.weight": x.T @ shares, "0.bias": shares.sum(0)}

    def step(self, index):
        loss, _, gradients = self.compute(index)
        for name, gradient in gradients.items():
            self.now[name] -= np.float32(self.task.optimiser["rate"]) * gradient
        return loss

    def phases(self, index, clock):
        with clock.phase("whole_step"):
            self.step(index)

    def weights(self):
        return self.now

    def settings(self):
        return told("sgd", {"rate": self.task.optimiser["rate"]}, precision="f32")


ADAPTER = Trainer(
    framework="Plain", distribution="numpy", entry_point="numpy.dot", open=lambda task, place: Plain(task)
)
