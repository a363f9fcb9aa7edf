"""Keras on JAX: `stateless_call`, `jax.value_and_grad` and `stateless_apply`, as its guide writes the step.

`compiled` is one `jax.jit` of the whole step, as Keras does unless it is told otherwise; `eager` is the same function
without it.
"""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "jax"

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..adapter import Declined
from ..environments import of_jax
from ..pipeline import Array
from ..profiles import Operators, by_jax
from ..trainer import Phases, Task
from .keras_model import Keras, trainer


class KerasJax(Keras):
    synchronised = "jax.block_until_ready"
    library = f"JAX {jax.__version__}"
    first_state: Any = None
    """Of the weights, of what is not trained and of the optimiser, once they are set."""
    modes = ("eager", "compiled")

    def __init__(self, task: Task) -> None:
        if task.precision != "f32":
            raise Declined(
                f"precision {task.precision}: Keras adds a bias in it, so that XLA sums the gradient of one in it as "
                "well, and is off by up to 17 %"
            )
        super().__init__(task)
        model, optimiser, loss = self.model, self.optimiser, self.loss

        def loss_of(trainable: Any, other: Any, x: Any, y: Any) -> tuple[Any, tuple[Any, Any]]:
            logits, other = model.stateless_call(trainable, other, x, training=True)
            return loss(y, logits), (logits, other)

        def gradients_of(trainable: Any, other: Any, x: Any, y: Any) -> Any:
            return jax.value_and_grad(loss_of, has_aux=True)(trainable, other, x, y)

        def whole_step(state: Any, x: Any, y: Any) -> Any:
            trainable, other, of_optimiser = state
            (mean, (_, other)), gradients = gradients_of(trainable, other, x, y)
            trainable, of_optimiser = optimiser.stateless_apply(of_optimiser, gradients, trainable)
            return (trainable, other, of_optimiser), mean

        self.loss_of, self.gradients_of, self.whole_step = loss_of, gradients_of, whole_step
        if task.mode == "compiled":
            self.gradients_of, self.whole_step = jax.jit(gradients_of), jax.jit(whole_step, donate_argnums=0)

    def reset(self) -> None:
        if self.first_state is None:
            super().reset()
            kept = self.model.trainable_variables, self.model.non_trainable_variables, self.optimiser.variables
            self.first_state = tuple([variable.value for variable in part] for part in kept)
        # A copy: the step overwrites what it is given.
        self.state = jax.tree.map(jax.numpy.copy, self.first_state)

    def samples(self, index: int) -> tuple[Any, Any]:
        return jax.device_put(self.task.of_step(index))

    def step(self, index: int) -> float:
        self.state, loss = self.whole_step(self.state, *self.samples(index))
        jax.block_until_ready(self.state)
        return float(loss)

    def phases(self, index: int, clock: Phases) -> None:
        with clock.phase("data"):
            x, y = jax.block_until_ready(self.samples(index))
        if self.task.mode == "compiled":
            with clock.phase("forward_backward_optimiser"):
                self.state, loss = self.whole_step(self.state, x, y)
                jax.block_until_ready(self.state)
                float(loss)
            return
        trainable, other, of_optimiser = self.state
        with clock.phase("forward"):
            # What `jax.value_and_grad` does, in two parts.
            loss, back, (_, other) = jax.vjp(
                lambda weights: self.loss_of(weights, other, x, y), trainable, has_aux=True
            )
            jax.block_until_ready(loss)
        with clock.phase("backward"):
            (gradients,) = jax.block_until_ready(back(jax.numpy.ones_like(loss)))
            del back  # with what it kept of the way forward
        with clock.phase("optimiser"):
            trainable, of_optimiser = self.optimiser.stateless_apply(of_optimiser, gradients, trainable)
            self.state = trainable, other, of_optimiser
            jax.block_until_ready(self.state)
            float(loss)

    def gradients(self, index: int) -> tuple[float, Array, list[Array]]:
        trainable, other, _ = self.state
        (loss, (logits, _)), gradients = self.gradients_of(trainable, other, *self.samples(index))
        return float(loss), np.asarray(logits), [np.asarray(one) for one in gradients]

    def environment(self) -> dict[str, str]:
        return of_jax()

    def operators(self, run: Callable[[], None]) -> Operators:
        return by_jax(run)

    def predict(self, inputs: Array) -> Array:
        self.hand_back()
        return super().predict(inputs)

    def weights(self) -> dict[str, Array]:
        self.hand_back()
        return super().weights()

    def hand_back(self) -> None:
        """Gives the model the weights that the steps have left."""
        for variable, number in zip(self.model.trainable_variables, self.state[0], strict=True):
            variable.assign(number)


ADAPTER = trainer("Keras (JAX)", KerasJax)
