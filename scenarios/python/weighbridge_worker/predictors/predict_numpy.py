"""NumPy: products of matrices and what is done number by number, as its users write a model by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..adapter import Declined, Place
from ..pipeline import Array
from ..predictor import Prediction, Predictor, Task, short, told
from .walk import Walk


def erf(x: Array) -> Array:
    """The error function, which NumPy has not: Abramowitz and Stegun 7.1.26, off by 1.5e-7 at most."""
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    factors = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
    sum_of = np.zeros_like(t)
    for factor in factors:
        sum_of = (sum_of + np.float32(factor)) * t
    return np.copysign(1 - sum_of * np.exp(-x * x), x)


PART = 1 << 14
"""Numbers that a function of several steps goes through at once. What it makes on the way stays in a cache, and is
small enough for memory that is used again: arrays of a large batch would each be of fresh pages, which took as long as
to compute them."""


class Way(Walk):
    """Layers over arrays. Keys and values are kept in arrays with room for all places."""

    def __init__(self, weights: dict[str, Array], length: int) -> None:
        self.weights, self.length = weights, length
        self.kept: dict[str, tuple[Array, Array]] | None = None
        self.before = 0

    def linear(self, x: Array, at: str) -> Array:
        y: Array = x @ self.weights[f"{at}.weight"]
        y += self.weights[f"{at}.bias"]
        return y

    def embed(self, ids: Array, name: str) -> Array:
        return self.weights[name][ids]

    def positions(self, x: Array, name: str) -> Array:
        return x + self.weights[name][self.before : self.before + x.shape[1]]

    def layer_norm(self, x: Array, at: str, epsilon: float) -> Array:
        y: Array = x - x.mean(-1, keepdims=True)
        y /= np.sqrt(np.square(y).mean(-1, keepdims=True) + np.float32(epsilon))
        y *= self.weights[f"{at}.scale"]
        y += self.weights[f"{at}.shift"]
        return y

    def batch_norm(self, x: Array, at: str, epsilon: float) -> Array:
        mean, variance, scale, shift = (self.weights[f"{at}.{name}"] for name in ("mean", "variance", "scale", "shift"))
        y: Array = x - mean
        y *= scale / np.sqrt(variance + np.float32(epsilon))
        y += shift
        return y

    def attention(self, qkv: Array, at: str, heads: int, causal: bool) -> Array:
        batch, length, width = qkv.shape
        size = width // (3 * heads)
        q, k, v = qkv.reshape(batch, length, 3, heads, size).transpose(2, 0, 3, 1, 4)
        if self.kept is not None:
            if at not in self.kept:
                shape = (batch, heads, self.length, size)
                self.kept[at] = (np.empty(shape, np.float32), np.empty(shape, np.float32))
            places = slice(self.before, self.before + length)
            for kept, new in zip(self.kept[at], (k, v), strict=True):
                kept[:, :, places] = new
            k, v = (kept[:, :, : self.before + length] for kept in self.kept[at])
        scores = q @ k.swapaxes(2, 3)
        scores *= np.float32(size**-0.5)
        if causal and length > 1:
            scores += np.triu(np.full(scores.shape[2:], -np.inf, np.float32), 1 + self.before)
        scores -= scores.max(-1, keepdims=True)
        shares = np.exp(scores, out=scores)
        shares /= shares.sum(-1, keepdims=True)
        return (shares @ v).swapaxes(1, 2).reshape(batch, length, width // 3)

    def gelu(self, x: Array) -> Array:
        y = np.empty_like(x)
        given, made = x.reshape(-1), y.reshape(-1)
        for start in range(0, given.size, PART):
            part = given[start : start + PART]
            made[start : start + PART] = np.float32(0.5) * part * (1 + erf(part * np.float32(0.5**0.5)))
        return y

    def relu(self, x: Array) -> Array:
        return np.maximum(x, 0)

    def conv(self, x: Array, name: str, kernel: int, stride: int) -> Array:
        return np.tensordot(self.squares(x, kernel, stride, 0), self.weights[name].transpose(2, 0, 1, 3), 3)

    def max_pool(self, x: Array, kernel: int, stride: int) -> Array:
        return self.squares(x, kernel, stride, -np.inf).max((-2, -1))

    def squares(self, x: Array, kernel: int, stride: int, outside: float) -> Array:
        """The squares of each image, by its channels."""
        around = (kernel - 1) // 2
        padded = np.pad(x, ((0, 0), (around, around), (around, around), (0, 0)), constant_values=outside)
        return sliding_window_view(padded, (kernel, kernel), (1, 2))[:, ::stride, ::stride]

    def mean_pool(self, x: Array) -> Array:
        return x.reshape(len(x), -1, x.shape[-1]).mean(1)


class NumPy(Prediction):
    """A way through the layers."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.mode != "eager":
            raise Declined(f"mode {task.mode}: NumPy runs each operation when it is asked for")
        if task.precision != "f32":
            raise Declined(f"precision {task.precision}: NumPy has no such numbers")
        self.way = Way(task.weights, task.length if task.takes_ids else 0)

    def forward(self, inputs: Array) -> Array:
        return np.ascontiguousarray(self.way.model(self.task.layers, inputs, self.task.decodes))

    def predict(self, inputs: Array) -> Array:
        self.way.kept, self.way.before = None, 0
        return self.forward(inputs)

    def prefill(self, ids: Array) -> Array:
        self.way.kept, self.way.before = {}, 0
        logits = self.forward(ids)
        self.way.before = ids.shape[1]
        return logits

    def decode(self, ids: Array) -> Array:
        logits = self.forward(ids[:, np.newaxis])
        self.way.before += 1
        return logits

    def settings(self) -> dict[str, str]:
        (dtype,) = {array.dtype for array in self.way.weights.values()}
        return told(short(dtype), sum(array.size for array in self.way.weights.values()))

    def environment(self) -> dict[str, str]:
        blas: dict[str, Any] = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})  # type: ignore[union-attr]
        return {"BLAS": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()}


def open(task: Task, place: Place) -> NumPy:
    return NumPy(task)


ADAPTER = Predictor(framework="NumPy (inference)", distribution="numpy", entry_point="numpy.matmul", open=open)
