"""JAX: functions of `jax.numpy` over a tree of weights, compiled by `jax.jit`; `eager` is the same without it.

Keys and values are kept in arrays of one size, since each other one would be compiled anew: places that are still to
come are masked. What is kept is donated to the next call.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..adapter import Declined, Place
from ..environments import of_jax
from ..on_jax import backend_of_arrays, device_for, memory_of, multiply_f32
from ..pipeline import Array
from ..predictor import Prediction, Predictor, Task, short, told
from .walk import Walk


class Way(Walk):
    """Layers over arrays: `kept` is what came before `before`, where it is kept, and what it is after this way."""

    def __init__(self, weights: dict[str, Any], kept: dict[str, Any] | None = None, before: Any = 0) -> None:
        self.weights, self.kept, self.before = weights, kept, before

    def linear(self, x: Any, at: str) -> Any:
        return x @ self.weights[f"{at}.weight"] + self.weights[f"{at}.bias"]

    def embed(self, ids: Any, name: str) -> Any:
        return jnp.take(self.weights[name], ids, axis=0)

    def positions(self, x: Any, name: str) -> Any:
        return x + lax.dynamic_slice_in_dim(self.weights[name], self.before, x.shape[1])

    def layer_norm(self, x: Any, at: str, epsilon: float) -> Any:
        standard = jax.nn.standardize(x, axis=-1, epsilon=epsilon)
        return standard * self.weights[f"{at}.scale"] + self.weights[f"{at}.shift"]

    def batch_norm(self, x: Any, at: str, epsilon: float) -> Any:
        mean, variance, scale, shift = (self.weights[f"{at}.{name}"] for name in ("mean", "variance", "scale", "shift"))
        return (x - mean) * (scale * lax.rsqrt(variance + epsilon)) + shift

    def attention(self, qkv: Any, at: str, heads: int, causal: bool) -> Any:
        batch, length, width = qkv.shape
        q, k, v = jnp.moveaxis(qkv.reshape(batch, length, 3, heads, width // (3 * heads)), 2, 0)
        if self.kept is None:
            seen = jax.nn.dot_product_attention(q, k, v, is_causal=causal)
        else:
            pair = zip(self.kept[at], (k, v), strict=True)
            k, v = (lax.dynamic_update_slice_in_dim(kept, new, self.before, 1) for kept, new in pair)
            self.kept = {**self.kept, at: (k, v)}
            places = self.before + jnp.arange(length)
            mask = jnp.arange(k.shape[1])[None, :] <= places[:, None]
            seen = jax.nn.dot_product_attention(q, k, v, mask=mask[None, None])
        return seen.reshape(batch, length, width // 3)

    def gelu(self, x: Any) -> Any:
        return jax.nn.gelu(x, approximate=False)

    def relu(self, x: Any) -> Any:
        return jax.nn.relu(x)

    def conv(self, x: Any, name: str, kernel: int, stride: int) -> Any:
        around = [((kernel - 1) // 2,) * 2] * 2
        axes = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, self.weights[name], (stride, stride), around, dimension_numbers=axes)

    def max_pool(self, x: Any, kernel: int, stride: int) -> Any:
        around = ((0, 0), *[((kernel - 1) // 2,) * 2] * 2, (0, 0))
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, kernel, kernel, 1), (1, stride, stride, 1), around)

    def mean_pool(self, x: Any) -> Any:
        return x.reshape(len(x), -1, x.shape[-1]).mean(1)


class Jax(Prediction):
    """Functions of the weights."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.mode == "tracked":
            raise Declined("mode tracked: JAX derives functions, and keeps nothing unless it is asked to")
        if task.generation and not task.generation.cached and task.mode == "compiled":
            raise Declined("mode compiled, cache off: each length of a generation would be compiled anew")
        self.device_of_work = device_for(task.device)
        multiply_f32(self.device_of_work)
        kind = jnp.bfloat16 if task.precision == "bf16" else jnp.float32
        self.weights = {name: jnp.asarray(array, kind) for name, array in task.weights.items()}
        self.kind = kind
        self.forward, self.further = self._forward, self._further
        if task.mode == "compiled":
            self.forward = jax.jit(self._forward)
            self.further = jax.jit(self._further, donate_argnums=(2,))
        self.kept: dict[str, Any] = {}
        self.before = 0

    def _forward(self, weights: dict[str, Any], x: Any) -> Any:
        return Way(weights).model(self.task.layers, x, self.task.decodes)

    def _further(self, weights: dict[str, Any], ids: Any, kept: dict[str, Any], before: Any) -> Any:
        way = Way(weights, kept, before)
        logits = way.model(self.task.layers, ids, self.task.decodes)
        return logits, way.kept

    def predict(self, inputs: Array) -> Array:
        x = jnp.asarray(inputs) if self.task.takes_ids else jnp.asarray(inputs, self.kind)
        return np.asarray(self.forward(self.weights, x), np.float32)

    def prefill(self, ids: Array) -> Array:
        self.kept = dict(self.empty(len(ids)))
        self.before = 0
        return self.go_on(ids)

    def empty(self, batch: int) -> Any:
        """Room for keys and values, of each layer of attention."""
        for number, layer in enumerate(self.task.layers):
            for inner, one in enumerate(layer.get("body", ())):
                if one["kind"] == "attention":
                    at = f"{number}.{inner}"
                    size = self.weights[f"{at}.out.bias"].shape[0] // one["heads"]
                    shape = (batch, self.task.length, one["heads"], size)
                    yield at, (jnp.zeros(shape, self.kind), jnp.zeros(shape, self.kind))

    def go_on(self, ids: Array) -> Array:
        logits, self.kept = self.further(self.weights, jnp.asarray(ids), self.kept, self.before)
        self.before += ids.shape[1]
        return np.asarray(logits, np.float32)

    def decode(self, ids: Array) -> Array:
        return self.go_on(ids[:, np.newaxis])

    def settings(self) -> dict[str, str]:
        (dtype,) = {array.dtype for array in self.weights.values()}
        return told(short(dtype), sum(array.size for array in self.weights.values()))

    def where(self) -> str:
        return backend_of_arrays(self.weights)

    def device_memory(self) -> dict[str, int]:
        return memory_of(self.device_of_work)

    def environment(self) -> dict[str, str]:
        return of_jax()


def open(task: Task, place: Place) -> Jax:
    return Jax(task)


ADAPTER = Predictor(
    framework="JAX", distribution="jax", entry_point="jax.numpy.matmul", open=open, platforms=("cpu", "gpu")
)
