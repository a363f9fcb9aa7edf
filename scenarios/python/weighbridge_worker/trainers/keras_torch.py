"""Keras on PyTorch: `loss.backward()` and `optimizer.apply`, as its guide writes the step."""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "torch"

from collections.abc import Callable
from typing import Any

import torch

from ..environments import of_torch
from ..pipeline import Array
from ..profiles import Operators, by_torch
from ..trainer import Phases
from .keras_model import Keras, trainer


class KerasTorch(Keras):
    modes = ("eager",)
    library = f"PyTorch {torch.__version__}"

    def samples(self, index: int) -> tuple[Any, Any]:
        inputs, labels = self.task.of_step(index)
        return torch.from_numpy(inputs), torch.from_numpy(labels)

    def forward(self, x: Any, y: Any) -> tuple[Any, Any]:
        logits = self.model(x, training=True)
        return self.loss(y, logits), logits

    def backward(self, loss: Any) -> list[Any]:
        self.model.zero_grad()
        loss.backward()
        return [variable.value.grad for variable in self.model.trainable_variables]

    def update(self, gradients: list[Any]) -> None:
        with torch.no_grad():
            self.optimiser.apply(gradients, self.model.trainable_variables)

    def step(self, index: int) -> float:
        loss, _ = self.forward(*self.samples(index))
        self.update(self.backward(loss))
        return loss.item()

    def phases(self, index: int, clock: Phases) -> None:
        with clock.phase("data"):
            x, y = self.samples(index)
        with clock.phase("forward"):
            loss, _ = self.forward(x, y)
        with clock.phase("backward"):
            gradients = self.backward(loss)
        with clock.phase("optimiser"):
            self.update(gradients)
            loss.item()

    def environment(self) -> dict[str, str]:
        return of_torch()

    def operators(self, run: Callable[[], None]) -> Operators:
        return by_torch(run)

    def gradients(self, index: int) -> tuple[float, Array, list[Array]]:
        loss, logits = self.forward(*self.samples(index))
        gradients = [one.numpy() for one in self.backward(loss)]
        return loss.item(), logits.detach().float().numpy(), gradients

    def predict(self, inputs: Array) -> Array:
        with torch.no_grad():  # nothing is kept for a way back
            return super().predict(inputs)


ADAPTER = trainer("Keras (PyTorch)", KerasTorch)
