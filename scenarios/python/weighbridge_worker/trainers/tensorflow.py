"""TensorFlow without Keras: modules of variables, a `tf.GradientTape`, and optimisers as modules, as its guides to the
core write them.

`eager` runs operation by operation. `compiled` is one `tf.function` of the whole step, whose graph TensorFlow runs
itself; `xla` the same with `jit_compile`, which XLA compiles. The parts of either cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
import tensorflow as tf

from ..adapter import Declined, Place
from ..components import States, Ways, angles
from ..environments import of_tensorflow
from ..on_tf import backend_of_variables, device_for, memory_of, multiplies_tf32
from ..pipeline import Array
from ..profiles import Operators, by_tensorflow
from ..trainer import Layer, Phases, Precision, Schedule, Task, Tensors, Trainer, Training, precision, told

OWN: Ways = {"rope": "buffers", "attention": "by_hand", "norm": "parts", "casts": "kept", "optimiser": "plain"}
"""TensorFlow without Keras has no function of its own for any of these: there is one way of each."""

STATES: States = {"original": OWN}

Tensor = Any
Variable = Any


def like(variable: Variable, x: Tensor) -> Tensor:
    """A variable in what its layer multiplies."""
    return tf.cast(variable, x.dtype)


def wide(x: Tensor) -> Tensor:
    """What all else computes in."""
    return tf.cast(x, tf.float32)


class Affine(tf.Module):
    """A linear map of the last axis."""

    def __init__(self, products: tf.DType, weight: Variable, bias: Variable | None) -> None:
        super().__init__()
        self.products, self.weight, self.bias = products, weight, bias

    def of_rows(self, x: Tensor) -> Tensor:
        product = x @ like(self.weight, x)
        return product if self.bias is None else product + like(self.bias, x)

    def __call__(self, x: Tensor) -> Tensor:
        x = tf.cast(x, self.products)
        if len(x.shape) == 2:
            return self.of_rows(x)
        # One product of two matrices, and not one for each sample.
        rows = self.of_rows(tf.reshape(x, (-1, x.shape[-1])))
        return tf.reshape(rows, (*x.shape[:-1], self.weight.shape[1]))


class Patches(tf.Module):
    """Squares of an image to rows."""

    def __init__(self, products: tf.DType, size: int, weight: Variable, bias: Variable) -> None:
        super().__init__()
        self.products, self.size, self.weight, self.bias = products, size, weight, bias

    def __call__(self, x: Tensor) -> Tensor:
        x = tf.cast(x, self.products)
        width = self.weight.shape[-1]
        kernel = tf.reshape(like(self.weight, x), (self.size, self.size, -1, width))
        return tf.reshape(tf.nn.conv2d(x, kernel, self.size, "VALID"), (x.shape[0], -1, width)) + like(self.bias, x)


class Embed(tf.Module):
    def __init__(self, table: Variable) -> None:
        super().__init__()
        self.table = table

    def __call__(self, ids: Tensor) -> Tensor:
        return tf.nn.embedding_lookup(self.table, ids)


class Prepend(tf.Module):
    def __init__(self, tokens: Variable) -> None:
        super().__init__()
        self.tokens = tokens

    def __call__(self, x: Tensor) -> Tensor:
        return tf.concat([tf.broadcast_to(self.tokens, (x.shape[0], *self.tokens.shape)), wide(x)], 1)


class Append(tf.Module):
    def __init__(self, tokens: Variable) -> None:
        super().__init__()
        self.tokens = tokens

    def __call__(self, x: Tensor) -> Tensor:
        return tf.concat([wide(x), tf.broadcast_to(self.tokens, (x.shape[0], *self.tokens.shape))], 1)


class Positions(tf.Module):
    def __init__(self, positions: Variable) -> None:
        super().__init__()
        self.positions = positions

    def __call__(self, x: Tensor) -> Tensor:
        return wide(x) + self.positions


class Sequential(tf.Module):
    def __init__(self, modules: Sequence[Callable[[Tensor], Tensor]]) -> None:
        super().__init__()
        self.modules = modules

    def __call__(self, x: Tensor) -> Tensor:
        for module in self.modules:
            x = module(x)
        return x


class Residual(tf.Module):
    def __init__(self, body: Sequential, around: Sequential | None = None) -> None:
        super().__init__()
        self.body, self.around = body, around

    def __call__(self, x: Tensor) -> Tensor:
        return wide(self.body(x)) + wide(x if self.around is None else self.around(x))


class Norm(tf.Module):
    """Mean and variance over some axes, then a scale and a shift of the last one."""

    def __init__(self, axes: Sequence[int], epsilon: float, scale: Variable, shift: Variable) -> None:
        super().__init__()
        self.axes, self.epsilon, self.scale, self.shift = tuple(axes), epsilon, scale, shift

    def __call__(self, x: Tensor) -> Tensor:
        x = wide(x)
        mean, variance = tf.nn.moments(x, self.axes, keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, self.shift, self.scale, self.epsilon)


class Attention(tf.Module):
    def __init__(self, heads: int, causal: bool, qkv: Affine, out: Affine) -> None:
        super().__init__()
        self.heads, self.causal, self.qkv, self.out = heads, causal, qkv, out

    def __call__(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        of_head = width // self.heads
        split = tf.reshape(self.qkv(x), (batch, length, 3, self.heads, of_head))
        queries, keys, values = tf.unstack(tf.transpose(split, (2, 0, 3, 1, 4)))
        scores = tf.matmul(queries, keys, transpose_b=True) * of_head**-0.5
        if self.causal:
            before = tf.linalg.band_part(tf.ones((length, length), tf.bool), -1, 0)
            scores = tf.where(before, scores, float("-inf"))
        shares = tf.cast(tf.nn.softmax(wide(scores)), values.dtype)
        seen = tf.transpose(shares @ values, (0, 2, 1, 3))
        return self.out(tf.reshape(seen, (batch, length, width)))


class Scale(tf.Module):
    def __init__(self, scale: Variable) -> None:
        super().__init__()
        self.scale = scale

    def __call__(self, x: Tensor) -> Tensor:
        return wide(x) * self.scale


class RmsNorm(tf.Module):
    def __init__(self, epsilon: float, scale: Variable) -> None:
        super().__init__()
        self.epsilon, self.scale = epsilon, scale

    def __call__(self, x: Tensor) -> Tensor:
        x = wide(x)
        return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + self.epsilon) * self.scale


class RotaryAttention(tf.Module):
    def __init__(self, layer: Layer, qkv: Affine, norms: Sequence[RmsNorm], out: Affine) -> None:
        super().__init__()
        self.heads, self.qkv, self.norms, self.out = layer["heads"], qkv, norms, out
        length = max(grid["first"] + grid["rows"] * grid["columns"] for grid in layer["turned"])
        size = qkv.weight.shape[0] // self.heads
        # Each pair of neighbours turns by one angle.
        each = angles(layer["turned"], length, size).repeat(2, -1)
        self.cosine, self.sine = (tf.constant(one, tf.float32) for one in (np.cos(each), np.sin(each)))

    def turned(self, x: Tensor) -> Tensor:
        pairs = tf.reshape(x, (*x.shape[:-1], x.shape[-1] // 2, 2))
        quarter = tf.reshape(tf.stack([-pairs[..., 1], pairs[..., 0]], -1), x.shape)
        return x * self.cosine + quarter * self.sine

    def __call__(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        of_head = width // self.heads
        split = tf.reshape(self.qkv(x), (batch, length, 3, self.heads, of_head))
        parts = tf.unstack(tf.transpose(split, (2, 0, 3, 1, 4)))
        values = parts[2]
        queries, keys = (
            tf.cast(self.turned(norm(part)), values.dtype) for norm, part in zip(self.norms, parts, strict=False)
        )
        scores = tf.matmul(queries, keys, transpose_b=True) * of_head**-0.5
        shares = tf.cast(tf.nn.softmax(wide(scores)), values.dtype)
        seen = tf.transpose(shares @ values, (0, 2, 1, 3))
        return self.out(tf.reshape(seen, (batch, length, width)))


class Conv(tf.Module):
    def __init__(self, products: tf.DType, stride: int, weight: Variable) -> None:
        super().__init__()
        self.products, self.stride, self.weight = products, stride, weight

    def __call__(self, x: Tensor) -> Tensor:
        x = tf.cast(x, self.products)
        around = (self.weight.shape[0] - 1) // 2
        return tf.nn.conv2d(x, like(self.weight, x), self.stride, [[0, 0], [around] * 2, [around] * 2, [0, 0]])


class Builder:
    """Makes modules of layers, and keeps their variables under the names of the message."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], precision: Precision) -> None:
        self.shapes = shapes
        self.products = {"f32": tf.float32, "bf16": tf.bfloat16}[precision]
        self.named: dict[str, Variable] = {}

    def layers(self, layers: list[Layer], above: str = "") -> Sequential:
        return Sequential([self.layer(layer, f"{above}{number}") for number, layer in enumerate(layers)])

    def layer(self, layer: Layer, at: str) -> Callable[[Tensor], Tensor]:
        match layer["kind"]:
            case "patches":
                return Patches(self.products, layer["size"], *self.variables(at, "weight", "bias"))
            case "embed":
                return Embed(*self.variables(at, "table"))
            case "prepend":
                return Prepend(*self.variables(at, "tokens"))
            case "append":
                return Append(*self.variables(at, "tokens"))
            case "positions":
                return Positions(*self.variables(at, "positions"))
            case "residual":
                return Residual(self.layers(layer["body"], f"{at}."))
            case "projected":
                return Residual(self.layers(layer["body"], f"{at}.0."), self.layers(layer["around"], f"{at}.1."))
            case "layer_norm":
                return Norm([-1], layer["epsilon"], *self.variables(at, "scale", "shift"))
            case "batch_norm":
                return Norm([0, 1, 2], layer["epsilon"], *self.variables(at, "scale", "shift"))
            case "rms_norm":
                return RmsNorm(layer["epsilon"], *self.variables(at, "scale"))
            case "scale":
                return Scale(*self.variables(at, "scale"))
            case "rotary_attention":
                qkv = Affine(self.products, *self.variables(f"{at}.qkv", "weight"), None)
                norms = [
                    RmsNorm(layer["epsilon"], *self.variables(f"{at}.{part}", "scale")) for part in ("queries", "keys")
                ]
                return RotaryAttention(layer, qkv, norms, self.affine(f"{at}.out"))
            case "attention":
                qkv, out = (self.affine(f"{at}.{part}") for part in ("qkv", "out"))
                return Attention(layer["heads"], layer["causal"], qkv, out)
            case "linear":
                return self.affine(at)
            case "gelu":
                return lambda x: tf.nn.gelu(x, approximate=False)
            case "relu":
                return tf.nn.relu
            case "conv":
                return Conv(self.products, layer["stride"], *self.variables(at, "weight"))
            case "max_pool":
                kernel, stride, around = layer["kernel"], layer["stride"], [(layer["kernel"] - 1) // 2] * 2
                # Behind a unit that leaves nothing below 0, zeros at the edge are never the largest alone.
                return lambda x: tf.nn.max_pool2d(tf.pad(x, [[0, 0], around, around, [0, 0]]), kernel, stride, "VALID")
            case "mean_pool":
                return lambda x: tf.reduce_mean(x, tuple(range(1, len(x.shape) - 1)))
            case "first_token":
                return lambda x: x[:, 0]
            case other:
                raise ValueError(f"there is no layer `{other}`")

    def affine(self, at: str) -> Affine:
        return Affine(self.products, *self.variables(at, "weight", "bias"))

    def variables(self, at: str, *names: str) -> list[Variable]:
        """Variables of a layer, in the order of the message."""
        made = {f"{at}.{name}": tf.Variable(tf.zeros(self.shapes[f"{at}.{name}"])) for name in names}
        self.named.update(made)
        return list(made.values())


class Optimiser(tf.Module):
    """Its numbers are variables, so that what is really set can be read back: steps compute with them."""

    numbers: tuple[str, ...]

    def __init__(self, said: dict[str, Any], schedule: Schedule | None, weights: Sequence[Variable]) -> None:
        super().__init__()
        self.weights = list(weights)
        self.schedule = schedule
        self.set = {name: tf.Variable(said[name], trainable=False, dtype=tf.float32) for name in self.numbers}
        self.steps = tf.Variable(0.0, trainable=False)
        """How many were taken."""

    def kept(self) -> list[Variable]:
        """What it keeps of each weight: zeros to begin with."""
        return [tf.Variable(tf.zeros_like(weight), trainable=False) for weight in self.weights]

    def reset(self) -> None:
        """Forgets all steps."""
        forget(self.steps)

    def rate(self, step: Tensor) -> Tensor:
        """What a step, from 0, is multiplied with."""
        whole = tf.convert_to_tensor(self.set["rate"])
        if self.schedule is None:
            return whole
        warmup, until, least = (float(number) for number in astuple(self.schedule))
        gone = (tf.minimum(step, until) - warmup) / (until - warmup)
        down = least + (1 - least) * (1 + tf.cos(np.float32(np.pi) * gone)) / 2
        return whole * tf.where(step < warmup, (step + 1) / (warmup + 1), down)

    def apply(self, gradients: Sequence[Tensor]) -> None:
        """Takes the weights a step down."""
        raise NotImplementedError


def forget(*variables: Variable) -> None:
    for variable in variables:
        variable.assign(tf.zeros_like(variable))


class SGD(Optimiser):
    numbers = ("rate", "momentum")

    def __init__(self, said: dict[str, Any], schedule: Schedule | None, weights: Sequence[Variable]) -> None:
        super().__init__(said, schedule, weights)
        self.velocities = self.kept()

    def reset(self) -> None:
        super().reset()
        forget(*self.velocities)

    def apply(self, gradients: Sequence[Tensor]) -> None:
        rate, momentum = self.rate(tf.convert_to_tensor(self.steps)), tf.convert_to_tensor(self.set["momentum"])
        if self.schedule:
            self.steps.assign_add(1.0)
        for weight, velocity, gradient in zip(self.weights, self.velocities, gradients, strict=True):
            # TensorFlow's own kernel of this step.
            tf.raw_ops.ResourceApplyMomentum(
                var=weight.handle, accum=velocity.handle, lr=rate, grad=gradient, momentum=momentum
            )


class AdamW(Optimiser):
    """By its formula: TensorFlow's own kernel of Adam adds epsilon before the root is corrected, and has no decay."""

    numbers = ("rate", "beta1", "beta2", "epsilon", "decay")

    def __init__(self, said: dict[str, Any], schedule: Schedule | None, weights: Sequence[Variable]) -> None:
        super().__init__(said, schedule, weights)
        self.means, self.squares = self.kept(), self.kept()

    def reset(self) -> None:
        super().reset()
        forget(*self.means, *self.squares)

    def apply(self, gradients: Sequence[Tensor]) -> None:
        _, beta1, beta2, epsilon, decay = (tf.convert_to_tensor(self.set[name]) for name in self.numbers)
        rate = self.rate(tf.convert_to_tensor(self.steps))
        steps = self.steps.assign_add(1.0)
        of_mean, of_square = 1 - beta1**steps, 1 - beta2**steps
        for weight, mean, square, gradient in zip(self.weights, self.means, self.squares, gradients, strict=True):
            mean.assign_add((1 - beta1) * (gradient - mean))
            square.assign_add((1 - beta2) * (gradient**2 - square))
            change = mean / of_mean / (tf.sqrt(square / of_square) + epsilon)
            weight.assign_sub(rate * (change + decay * weight))


OPTIMISERS: dict[str, type[Optimiser]] = {"sgd": SGD, "adamw": AdamW}


class TensorFlow(Training):
    """A model and an optimiser, both modules of variables, and the step of the guides."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.mode == "autotuned":
            raise Declined("mode autotuned: TensorFlow tries no variants on a processor")
        self.ways = task.components.ways(STATES) if task.components else OWN
        self.device_of_work = device_for(task.device)
        builder = Builder({name: array.shape for name, array in task.weights.items()}, task.precision)
        with tf.device(self.device_of_work):
            self.model, self.named = builder.layers(task.model["layers"]), builder.named
            self.weights_here = [self.named[name] for name in task.weights]
            self.optimiser = OPTIMISERS[task.optimiser["kind"]](task.optimiser, task.schedule, self.weights_here)
        self.gradients_here, self.step_here = self.gradients_of, self.whole_step
        if task.mode != "eager":
            by_xla = task.mode == "xla"
            self.gradients_here = tf.function(self.gradients_of, jit_compile=by_xla)
            self.step_here = tf.function(self.whole_step, jit_compile=by_xla)
        self.reset()

    def reset(self) -> None:
        for name, array in self.task.weights.items():
            self.named[name].assign(array)
        self.optimiser.reset()

    def samples(self, index: int) -> tuple[Tensor, Tensor]:
        inputs, labels = self.task.of_step(index)
        return tf.constant(inputs), tf.constant(labels)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        logits = wide(self.model(x))
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)), logits

    def backward(self, tape: tf.GradientTape, loss: Tensor) -> list[Tensor]:
        # The gradient of a table comes as the rows that were looked up.
        return [tf.convert_to_tensor(one) for one in tape.gradient(loss, self.weights_here)]

    def gradients_of(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        with tf.GradientTape() as tape:
            loss, logits = self.forward(x, y)
        return loss, logits, self.backward(tape, loss)

    def whole_step(self, x: Tensor, y: Tensor) -> Tensor:
        loss, _, gradients = self.gradients_of(x, y)
        self.optimiser.apply(gradients)
        return loss

    def step(self, index: int) -> float:
        return float(self.step_here(*self.samples(index)))

    def phases(self, index: int, clock: Phases) -> None:
        with clock.phase("data"):
            x, y = self.samples(index)
        if self.task.mode != "eager":
            with clock.phase("forward_backward_optimiser"):
                float(self.step_here(x, y))
            return
        with clock.phase("forward"), tf.GradientTape() as tape:
            loss, _ = self.forward(x, y)
        with clock.phase("backward"):
            gradients = self.backward(tape, loss)
            del tape  # with what it kept of the way forward
        with clock.phase("optimiser"):
            self.optimiser.apply(gradients)
            float(loss)

    def compute(self, index: int) -> tuple[float, Array, Tensors]:
        loss, logits, gradients = self.gradients_here(*self.samples(index))
        named = zip(self.task.weights, gradients, strict=True)
        return float(loss), logits.numpy(), {name: gradient.numpy() for name, gradient in named}

    def operators(self, run: Callable[[], None]) -> Operators:
        return by_tensorflow(run)

    def predict(self, inputs: Array) -> Array:
        return wide(self.model(tf.constant(inputs))).numpy()

    def weights(self) -> Tensors:
        return {name: self.named[name].numpy() for name in self.task.weights}

    def compilations(self) -> int:
        """How often the functions of this training were traced."""
        made = (self.gradients_here, self.step_here)
        return sum(one.experimental_get_tracing_count() for one in made if hasattr(one, "function_spec"))

    def where(self) -> str:
        return backend_of_variables(self.weights_here)

    def device_memory(self) -> dict[str, int]:
        return memory_of(self.device_of_work)

    def environment(self) -> dict[str, str]:
        return {**of_tensorflow(), **(self.ways if self.task.components else {})}

    def settings(self) -> dict[str, str]:
        (dtype,) = {variable.dtype for variable in self.model.trainable_variables}
        steps = self.task.schedule.told if self.task.schedule else []
        x, _ = self.samples(0)
        return told(
            type(self.optimiser).__name__.lower(),
            {name: number.numpy() for name, number in self.optimiser.set.items()},
            {step: self.optimiser.rate(tf.constant(step, tf.float32)).numpy() for step in steps},
            precision=precision(dtype.name, self.model(x).dtype.name, multiplies_tf32(self.weights_here)),
            parameters=sum(int(np.prod(variable.shape)) for variable in self.model.trainable_variables),
            batch=len(x),
        )


def open(task: Task, place: Place) -> TensorFlow:
    return TensorFlow(task)


ADAPTER = Trainer(
    framework="TensorFlow",
    distribution="tensorflow-cpu",
    entry_point="tensorflow.GradientTape",
    open=open,
    platforms=("cpu", "gpu"),
)
