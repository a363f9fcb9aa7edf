"""TensorFlow with another momentum than it was asked for."""

from weighbridge_worker.trainer import Trainer
from weighbridge_worker.trainers.tensorflow import TensorFlow


class Other(TensorFlow):
    def __init__(self, task):
        super().__init__(task)
        self.optimiser.set["momentum"].assign(0.25)


ADAPTER = Trainer(
    framework="Other",
    distribution="tensorflow-cpu",
    entry_point="tensorflow.GradientTape",
    open=lambda task, place: Other(task),
)
