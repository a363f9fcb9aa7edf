"""Keras on TensorFlow: a `GradientTape` and `optimizer.apply`, as its guide writes the step.

`compiled` is one `tf.function` of the whole step with XLA, as Keras does unless it is told otherwise; `eager` is the
same function without it.
"""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..environments import of_tensorflow
from ..pipeline import Array
from ..profiles import Operators, by_tensorflow
from ..trainer import Phases, Task
from .keras_model import Keras, trainer


class KerasTensorFlow(Keras):
    modes = ("eager", "compiled")
    library = f"TensorFlow {tf.__version__}"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.gradients_here, self.step_here = self.gradients_of, self.whole_step
        if task.mode == "compiled":
            self.gradients_here = tf.function(self.gradients_of, jit_compile=True)
            self.step_here = tf.function(self.whole_step, jit_compile=True)

    def samples(self, index: int) -> tuple[Any, Any]:
        inputs, labels = self.task.of_step(index)
        return tf.constant(inputs), tf.constant(labels)

    def forward(self, x: Any, y: Any) -> tuple[Any, Any]:
        logits = self.model(x, training=True)
        return self.loss(y, logits), logits

    def gradients_of(self, x: Any, y: Any) -> tuple[Any, Any, list[Any]]:
        with tf.GradientTape() as tape:
            loss, logits = self.forward(x, y)
        return loss, logits, tape.gradient(loss, self.model.trainable_variables)

    def whole_step(self, x: Any, y: Any) -> Any:
        loss, _, gradients = self.gradients_of(x, y)
        self.optimiser.apply(gradients, self.model.trainable_variables)
        return loss

    def step(self, index: int) -> float:
        return float(self.step_here(*self.samples(index)))

    def phases(self, index: int, clock: Phases) -> None:
        with clock.phase("data"):
            x, y = self.samples(index)
        if self.task.mode == "compiled":
            with clock.phase("forward_backward_optimiser"):
                float(self.step_here(x, y))
            return
        with clock.phase("forward"), tf.GradientTape() as tape:
            loss, _ = self.forward(x, y)
        with clock.phase("backward"):
            gradients = tape.gradient(loss, self.model.trainable_variables)
        with clock.phase("optimiser"):
            self.optimiser.apply(gradients, self.model.trainable_variables)
            float(loss)

    def environment(self) -> dict[str, str]:
        return of_tensorflow()

    def operators(self, run: Callable[[], None]) -> Operators:
        return by_tensorflow(run)

    def gradients(self, index: int) -> tuple[float, Array, list[Array]]:
        loss, logits, gradients = self.gradients_here(*self.samples(index))
        return float(loss), logits.numpy(), [tf.convert_to_tensor(one).numpy() for one in gradients]


ADAPTER = trainer("Keras (TensorFlow)", KerasTensorFlow)
