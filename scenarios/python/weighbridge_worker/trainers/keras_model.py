"""What Keras has alike on each of its backends: the model, the optimiser, what is read back.

The step is the backend's own, after Keras' guides to training loops written from scratch. Import it once
`KERAS_BACKEND` is chosen.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from ..adapter import Declined, Place
from ..pipeline import Array
from ..trainer import Layer, Precision, Schedule, Task, Tensors, Trainer, Training, precision, told


class Patches(layers.Layer):
    """Squares of an image to rows."""

    def __init__(self, size: int, width: int, policy: str) -> None:
        super().__init__(dtype=policy)
        self.width = width
        self.conv = layers.Conv2D(width, size, size, dtype=policy)

    def build(self, shape: Any) -> None:
        self.conv.build(shape)

    def call(self, x: Any) -> Any:
        return ops.reshape(self.conv(x), (ops.shape(x)[0], -1, self.width))


class Prepend(layers.Layer):
    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.tokens = self.add_weight((tokens, width), "zeros")

    def call(self, x: Any) -> Any:
        return ops.concatenate([ops.broadcast_to(self.tokens, (ops.shape(x)[0], *self.tokens.shape)), x], 1)


class Positions(layers.Layer):
    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.positions = self.add_weight((length, width), "zeros")

    def call(self, x: Any) -> Any:
        return x + self.positions


class Residual(layers.Layer):
    def __init__(self, body: keras.Sequential, around: keras.Sequential | None = None) -> None:
        super().__init__()
        self.body, self.around = body, around

    def build(self, shape: Any) -> None:
        for part in (self.body, self.around):
            if part is not None:
                part.build(shape)

    def call(self, x: Any) -> Any:
        return ops.add(self.body(x), x if self.around is None else self.around(x))


class Attention(layers.Layer):
    def __init__(self, width: int, heads: int, causal: bool, policy: str) -> None:
        super().__init__(dtype=policy)
        self.qkv, self.out = layers.Dense(3 * width, dtype=policy), layers.Dense(width, dtype=policy)
        self.heads, self.causal = heads, causal

    def build(self, shape: Any) -> None:
        self.qkv.build(shape)
        self.out.build(shape)

    def call(self, x: Any) -> Any:
        _, length, width = x.shape
        qkv = ops.reshape(self.qkv(x), (-1, length, 3, self.heads, width // self.heads))
        seen = ops.dot_product_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], is_causal=self.causal)
        return self.out(ops.reshape(seen, (-1, length, width)))


class Builder:
    """Makes layers, and notes under which names of the message their variables are."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], precision: Precision) -> None:
        self.shapes = shapes
        # Of layers that multiply. All others take what comes to `f32`, which every weight is of.
        self.products = {"f32": "float32", "bf16": "mixed_bfloat16"}[precision]
        self.noted: list[tuple[Any, str, dict[str, str]]] = []

    def layers(self, said: list[Layer], above: str = "") -> keras.Sequential:
        return keras.Sequential([self.layer(layer, f"{above}{number}") for number, layer in enumerate(said)])

    def layer(self, layer: Layer, at: str) -> Any:
        match layer["kind"]:
            case "patches":
                _, width = self.shapes[f"{at}.weight"]
                patches = Patches(layer["size"], width, self.products)
                self.note(patches.conv, at, kernel="weight", bias="bias")
                return patches
            case "embed":
                return self.note(layers.Embedding(*self.shapes[f"{at}.table"]), at, embeddings="table")
            case "prepend":
                return self.note(Prepend(*self.shapes[f"{at}.tokens"]), at, tokens="tokens")
            case "positions":
                return self.note(Positions(*self.shapes[f"{at}.positions"]), at, positions="positions")
            case "residual":
                return Residual(self.layers(layer["body"], f"{at}."))
            case "projected":
                return Residual(self.layers(layer["body"], f"{at}.0."), self.layers(layer["around"], f"{at}.1."))
            case "layer_norm":
                return self.note(layers.LayerNormalization(epsilon=layer["epsilon"]), at, gamma="scale", beta="shift")
            case "batch_norm":
                return self.note(layers.BatchNormalization(epsilon=layer["epsilon"]), at, gamma="scale", beta="shift")
            case "attention":
                width, _ = self.shapes[f"{at}.out.weight"]
                attention = Attention(width, layer["heads"], layer["causal"], self.products)
                self.note(attention.qkv, f"{at}.qkv", kernel="weight", bias="bias")
                self.note(attention.out, f"{at}.out", kernel="weight", bias="bias")
                return attention
            case "linear":
                return self.note(layers.Dense(layer["to"], dtype=self.products), at, kernel="weight", bias="bias")
            case "gelu":
                return layers.Activation(lambda x: ops.gelu(x, approximate=False))
            case "relu":
                return layers.ReLU()
            case "conv":
                padded, stride = layers.ZeroPadding2D((layer["kernel"] - 1) // 2), layer["stride"]
                conv = layers.Conv2D(layer["to"], layer["kernel"], stride, use_bias=False, dtype=self.products)
                return keras.Sequential([padded, self.note(conv, at, kernel="weight")])
            case "max_pool":
                # Behind a unit that leaves nothing below 0, zeros at the edge are never the largest alone.
                padded = layers.ZeroPadding2D((layer["kernel"] - 1) // 2)
                return keras.Sequential([padded, layers.MaxPooling2D(layer["kernel"], layer["stride"])])
            case "mean_pool":
                return layers.Lambda(lambda x: ops.mean(x, tuple(range(1, len(x.shape) - 1))))
            case "first_token":
                return layers.Lambda(lambda x: x[:, 0])
            case other:
                raise Declined(f"the layer {other}: it is not written for Keras here")

    def note(self, layer: Any, at: str, **names: str) -> Any:
        self.noted.append((layer, at, names))
        return layer

    def named(self) -> dict[str, keras.Variable]:
        """The variables of a model that is built, in the order of the message."""
        return {
            f"{at}.{ours}": getattr(layer, theirs) for layer, at, names in self.noted for theirs, ours in names.items()
        }


def wave(schedule: Schedule, rate: float) -> keras.optimizers.schedules.LearningRateSchedule:
    """The schedule of Keras that is this one."""
    warmup, down = schedule.warmup, schedule.until - schedule.warmup
    if warmup == 0:
        return keras.optimizers.schedules.CosineDecay(rate, down, schedule.least)
    return keras.optimizers.schedules.CosineDecay(
        rate / (warmup + 1), down, schedule.least, warmup_target=rate, warmup_steps=warmup
    )


class Keras(Training):
    """A model and an optimiser of Keras."""

    modes: tuple[str, ...]
    """Those that Keras has on this backend."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.mode not in self.modes:
            raise Declined(f"mode {task.mode}: on {keras.backend.backend()} Keras has {' and '.join(self.modes)}")
        said = task.optimiser
        if said["kind"] != "sgd":
            raise Declined(
                f"optimiser {said['kind']}: Keras adds epsilon before it corrects the root, which is another one"
            )
        if task.schedule and said["momentum"]:
            raise Declined(
                "schedule with momentum: Keras adds up gradients times their rates, which is another momentum"
            )
        keras.backend.clear_session()
        builder = Builder({name: array.shape for name, array in task.weights.items()}, task.precision)
        self.model = builder.layers(task.model["layers"])
        inputs, _ = task.of_step(0)
        self.model.build(inputs.shape)
        self.named = builder.named()
        self.rate = wave(task.schedule, said["rate"]) if task.schedule else None
        self.optimiser = keras.optimizers.SGD(self.rate or said["rate"], said["momentum"])
        self.optimiser.build(self.model.trainable_variables)
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.fresh = [np.asarray(ops.convert_to_numpy(variable)) for variable in self.optimiser.variables]
        self.reset()

    def reset(self) -> None:
        for name, variable in self.named.items():
            variable.assign(self.task.weights[name].reshape(variable.shape))
        for variable, number in zip(self.optimiser.variables, self.fresh, strict=True):
            variable.assign(number)

    @abstractmethod
    def gradients(self, index: int) -> tuple[float, Array, list[Array]]:
        """Loss, logits, and the gradients of `trainable_variables`, as the mode computes them."""

    def compute(self, index: int) -> tuple[float, Array, Tensors]:
        loss, logits, gradients = self.gradients(index)
        by_variable = {
            id(variable): array for variable, array in zip(self.model.trainable_variables, gradients, strict=True)
        }
        named = {name: by_variable[id(variable)] for name, variable in self.named.items()}
        return loss, logits, self.shaped(named)

    def predict(self, inputs: Array) -> Array:
        # In training: statistics of a batch are then its own, as the model is defined.
        return ops.convert_to_numpy(ops.stop_gradient(self.model(ops.convert_to_tensor(inputs), training=True)))

    def weights(self) -> Tensors:
        return self.shaped({name: ops.convert_to_numpy(variable) for name, variable in self.named.items()})

    def shaped(self, arrays: dict[str, Array]) -> Tensors:
        return {name: array.reshape(self.task.weights[name].shape) for name, array in arrays.items()}

    def settings(self) -> dict[str, str]:
        # With a schedule, the rate that Keras tells is that of the next step, which is the first one here.
        numbers, rates = {"rate": self.optimiser.learning_rate, "momentum": self.optimiser.momentum}, {}
        if self.rate and (schedule := self.task.schedule):
            rates = {step: float(ops.convert_to_numpy(self.rate(step))) for step in schedule.told}
            rates[0] = float(ops.convert_to_numpy(numbers["rate"]))
            numbers["rate"] = self.rate(schedule.warmup)
        (dtype,) = {variable.dtype for variable in self.model.trainable_variables}
        return told(
            type(self.optimiser).__name__.lower(),
            {name: float(ops.convert_to_numpy(number)) for name, number in numbers.items()},
            rates,
            precision=precision(dtype, self.model.outputs[0].dtype),
            parameters=sum(int(np.prod(variable.shape)) for variable in self.model.trainable_variables),
            batch=len(self.task.of_step(0)[0]),
        )


def trainer(name: str, training: type[Keras]) -> Trainer:
    def open(task: Task, place: Place) -> Keras:
        return training(task)

    return Trainer(framework=name, distribution="keras", entry_point="keras.Model", open=open)
