"""TensorFlow: functions over variables, without Keras; `compiled` is `tf.function`, and `tracked` a call under a
`tf.GradientTape`.

Keys and values are kept in tensors that grow; a compiled function takes them of any length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from ..adapter import Declined, Place
from ..environments import of_tensorflow
from ..on_tf import backend_of_variables, device_for, memory_of
from ..pipeline import Array
from ..predictor import Prediction, Predictor, Task, told
from .walk import Walk


class Way(Walk):
    """Layers over tensors: `kept` is what came before, where it is kept, and what it is after this way."""

    def __init__(self, weights: dict[str, Any], kept: dict[str, Any] | None = None, before: Any = 0) -> None:
        self.weights, self.kept, self.before = weights, kept, before

    def linear(self, x: Any, at: str) -> Any:
        return tf.matmul(x, self.weights[f"{at}.weight"]) + self.weights[f"{at}.bias"]

    def embed(self, ids: Any, name: str) -> Any:
        return tf.gather(self.weights[name], ids)

    def positions(self, x: Any, name: str) -> Any:
        return x + self.weights[name][self.before : self.before + tf.shape(x)[1]]

    def layer_norm(self, x: Any, at: str, epsilon: float) -> Any:
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        scale, shift = self.weights[f"{at}.scale"], self.weights[f"{at}.shift"]
        return tf.nn.batch_normalization(x, mean, variance, shift, scale, epsilon)

    def batch_norm(self, x: Any, at: str, epsilon: float) -> Any:
        mean, variance, scale, shift = (self.weights[f"{at}.{name}"] for name in ("mean", "variance", "scale", "shift"))
        return tf.nn.batch_normalization(x, mean, variance, shift, scale, epsilon)

    def attention(self, qkv: Any, at: str, heads: int, causal: bool) -> Any:
        batch, length, width = tf.shape(qkv)[0], tf.shape(qkv)[1], qkv.shape[2]
        size = width // (3 * heads)
        q, k, v = tf.unstack(tf.transpose(tf.reshape(qkv, [batch, length, 3, heads, size]), [2, 0, 3, 1, 4]))
        if self.kept is not None:
            before_k, before_v = self.kept[at]
            k, v = tf.concat([before_k, k], 2), tf.concat([before_v, v], 2)
            self.kept = {**self.kept, at: (k, v)}
        scores = tf.matmul(q, k, transpose_b=True) * size**-0.5
        if causal:
            places = self.before + tf.range(length)
            mask = tf.range(tf.shape(k)[2])[tf.newaxis, :] <= places[:, tf.newaxis]
            scores = tf.where(mask, scores, -np.inf)
        seen = tf.matmul(tf.nn.softmax(scores), v)
        return tf.reshape(tf.transpose(seen, [0, 2, 1, 3]), [batch, length, heads * size])

    def gelu(self, x: Any) -> Any:
        return tf.nn.gelu(x)

    def relu(self, x: Any) -> Any:
        return tf.nn.relu(x)

    def conv(self, x: Any, name: str, kernel: int, stride: int) -> Any:
        around = [(kernel - 1) // 2] * 2
        return tf.nn.conv2d(x, self.weights[name], stride, [[0, 0], around, around, [0, 0]])

    def max_pool(self, x: Any, kernel: int, stride: int) -> Any:
        around = [(kernel - 1) // 2] * 2
        return tf.nn.max_pool2d(x, kernel, stride, [[0, 0], around, around, [0, 0]])

    def mean_pool(self, x: Any) -> Any:
        return tf.reduce_mean(tf.reshape(x, [tf.shape(x)[0], -1, x.shape[-1]]), 1)


class TensorFlow(Prediction):
    """Functions over variables."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.precision != "f32":
            raise Declined(f"precision {task.precision}: only its products of f32 are written here")
        self.device_of_work = device_for(task.device)
        with tf.device(self.device_of_work):
            self.weights = {name: tf.Variable(array) for name, array in task.weights.items()}
        self.forward, self.further = self._forward, self._further
        if task.mode == "compiled":
            self.forward = tf.function(self._forward, reduce_retracing=True, autograph=False)
            self.further = tf.function(self._further, reduce_retracing=True, autograph=False)
        self.kept: dict[str, Any] = {}
        self.before = 0

    def _forward(self, x: Any) -> Any:
        return Way(self.weights).model(self.task.layers, x, self.task.decodes)

    def _further(self, ids: Any, kept: dict[str, Any], before: Any) -> Any:
        way = Way(self.weights, kept, before)
        return way.model(self.task.layers, ids, self.task.decodes), way.kept

    def predict(self, inputs: Array) -> Array:
        x = tf.constant(inputs)
        if self.task.mode == "tracked":
            with tf.GradientTape():
                return self.forward(x).numpy()
        return self.forward(x).numpy()

    def prefill(self, ids: Array) -> Array:
        if self.task.mode == "tracked":
            raise Declined("mode tracked: what is kept of the places before would be part of a way back")
        self.kept = {}
        for number, layer in enumerate(self.task.layers):
            for inner, one in enumerate(layer.get("body", ())):
                if one["kind"] == "attention":
                    at = f"{number}.{inner}"
                    size = self.weights[f"{at}.out.bias"].shape[0] // one["heads"]
                    none = tf.zeros((len(ids), one["heads"], 0, size))
                    self.kept[at] = (none, none)
        self.before = 0
        return self.go_on(ids)

    def go_on(self, ids: Array) -> Array:
        logits, self.kept = self.further(tf.constant(ids), self.kept, tf.constant(self.before))
        self.before += ids.shape[1]
        return logits.numpy()

    def decode(self, ids: Array) -> Array:
        return self.go_on(ids[:, np.newaxis])

    def settings(self) -> dict[str, str]:
        (dtype,) = {variable.dtype.name for variable in self.weights.values()}
        precision = {"float32": "f32"}.get(dtype, dtype)
        return told(precision, sum(int(np.prod(variable.shape)) for variable in self.weights.values()))

    def where(self) -> str:
        return backend_of_variables(self.weights.values())

    def device_memory(self) -> dict[str, int]:
        return memory_of(self.device_of_work)

    def environment(self) -> dict[str, str]:
        return of_tensorflow()


def open(task: Task, place: Place) -> TensorFlow:
    return TensorFlow(task)


ADAPTER = Predictor(
    framework="TensorFlow (inference)",
    distribution="tensorflow-cpu",
    entry_point="tensorflow.function",
    open=open,
    platforms=("cpu", "gpu"),
)
