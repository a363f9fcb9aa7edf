"""TensorFlow: `tf.GradientTape` in a step that is one `tf.function`, as its guide to custom training writes it.

As modules: a `tf.Module` for each step, whose variables the step changes by `assign_sub`. As a function: tensors that
are given and given back. A `tf.function` is traced for each length of a batch: an epoch has two of them where its last
batch is short, and both are traced while it is opened. What is counted as compiled is how often it was traced.

In parts a step is a `tf.function` forward under a tape outside of it, whose way back TensorFlow makes at its first use.

Windows are rows and then columns by `tf.gather` with an axis of the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from ..adapter import Place
from ..learner import KEPT, Given, Learner, Learning, Parameters, Task
from ..on_tf import backend_of_variables, device_for
from ..pipeline import Array

Tensor = Any
Pair = tuple[Tensor, Tensor]


def normalise(x: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    return (x - mean) * scale


def crop(x: Tensor, corners: Tensor, window: tuple[int, int]) -> Tensor:
    """The window of each element in the upper left corner, and zeros around it."""
    height, width = x.shape[1:3]
    tops, lefts = corners[:, :1] + tf.range(window[0]), corners[:, 1:] + tf.range(window[1])
    rows = tf.gather(x, tops, axis=1, batch_dims=1)
    cut = tf.transpose(tf.gather(tf.transpose(rows, (0, 2, 1, 3)), lefts, axis=1, batch_dims=1), (0, 2, 1, 3))
    return tf.pad(cut, ((0, 0), (0, height - window[0]), (0, width - window[1]), (0, 0)))


def drop(x: Tensor, kept: Tensor) -> Tensor:
    return x * (tf.cast(kept, tf.float32) * KEPT)


def loss_over(out: Tensor, groups: Sequence[int]) -> Tensor:
    """The sum of the groups' losses, each half the mean square of its numbers."""
    return tf.add_n([tf.reduce_mean(tf.square(group)) / 2 for group in tf.split(out, list(groups))])


class Normalise(tf.Module):
    def __init__(self, mean: Array, scale: Array) -> None:
        super().__init__()
        self.mean, self.scale = tf.constant(mean), tf.constant(scale)

    def __call__(self, x: Tensor) -> Tensor:
        return normalise(x, self.mean, self.scale)


class Crop(tf.Module):
    def __init__(self, number: int, window: tuple[int, int]) -> None:
        super().__init__()
        self.number, self.window = number, window

    def __call__(self, x: Tensor, corners: Sequence[Tensor]) -> Tensor:
        return crop(x, corners[self.number], self.window)


class Affine(tf.Module):
    """Scale and bias for each channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.scale, self.bias = tf.Variable(tf.ones(channels)), tf.Variable(tf.zeros(channels))

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.scale + self.bias


class Dropout(tf.Module):
    def __call__(self, x: Tensor, kept: Tensor) -> Tensor:
        return drop(x, kept)


class Learned(tf.Module):
    """The whole pipeline."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.transforms: list[Any] = []
        crops = 0
        for stage in task.stages:
            if stage.name == "Normalize":
                self.transforms.append(Normalise(*task.constants))
            else:
                self.transforms.append(Crop(crops, task.window))
                crops += 1
        self.affine, self.dropout = Affine(task.channels), Dropout()

    def __call__(self, x: Tensor, kept: Tensor, corners: Sequence[Tensor]) -> Tensor:
        for transform in self.transforms:
            x = transform(x, corners) if isinstance(transform, Crop) else transform(x)
        return self.dropout(self.affine(x), kept)


class Tape(Learning):
    """What both forms have: two graphs, the whole step and the way forward."""

    def where(self) -> str:
        return backend_of_variables(self.current())

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.whole_step = tf.function(self.traced_step)
        self.way_forward = tf.function(self.traced_forward)
        self.kept: tuple[Any, ...] = ()

    def compilations(self) -> int:
        return sum(one.experimental_get_tracing_count() for one in (self.whole_step, self.way_forward))

    def entering(self, given: Given) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        return tf.constant(given.rows), tf.constant(given.kept), tuple(map(tf.constant, given.corners))

    def traced_forward(
        self, parameters: Pair, rows: Tensor, kept: Tensor, corners: Sequence[Tensor], groups: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        out = self.through(parameters, rows, kept, corners)
        return loss_over(out, groups), out

    def traced_step(self, parameters: Pair, rows: Tensor, *rest: Any) -> tuple[Any, ...]:
        with tf.GradientTape() as tape:
            tape.watch((rows, parameters))
            loss, out = self.traced_forward(parameters, rows, *rest)
        *slopes, of_rows = tape.gradient(loss, (*parameters, rows))
        return out, of_rows, loss, self.down(parameters, slopes)

    def through(self, parameters: Pair, rows: Tensor, kept: Tensor, corners: Sequence[Tensor]) -> Tensor:
        raise NotImplementedError

    def down(self, parameters: Pair, slopes: Sequence[Tensor]) -> Any:
        """A step of gradient descent."""
        raise NotImplementedError

    def current(self) -> Pair:
        """The parameters as the framework has them."""
        raise NotImplementedError

    def forward(self, given: Given) -> tuple[Array, float]:
        rows, *rest = self.entering(given)
        parameters = self.current()
        with tf.GradientTape() as tape:
            tape.watch((rows, parameters))
            loss, out = self.way_forward(parameters, rows, *rest, given.groups)
        self.kept = (tape, loss, parameters, rows)
        return out.numpy(), float(loss)

    def backward(self) -> tuple[Array, Parameters]:
        tape, loss, parameters, rows = self.kept
        *self.slopes, of_rows = tape.gradient(loss, (*parameters, rows))
        self.kept = ()  # with what was kept of the way forward
        return of_rows.numpy(), Parameters(*(slope.numpy() for slope in self.slopes))

    def parameters(self) -> Parameters:
        return Parameters(*(one.numpy() for one in self.current()))


class Modules(Tape):
    def __init__(self, task: Task) -> None:
        self.model = Learned(task)
        super().__init__(task)

    def set(self, parameters: Parameters) -> None:
        self.model.affine.scale.assign(parameters.scale)
        self.model.affine.bias.assign(parameters.bias)

    def current(self) -> Pair:
        return self.model.affine.scale, self.model.affine.bias

    def through(self, parameters: Pair, rows: Tensor, kept: Tensor, corners: Sequence[Tensor]) -> Tensor:
        return self.model(rows, kept, corners)

    def down(self, parameters: Pair, slopes: Sequence[Tensor]) -> None:
        for one, slope in zip(parameters, slopes, strict=True):
            one.assign_sub(self.task.rate * slope)

    def step(self, given: Given) -> tuple[Array, Array, float]:
        out, of_rows, loss, _ = self.whole_step(self.current(), *self.entering(given), given.groups)
        return out.numpy(), of_rows.numpy(), float(loss)

    def update(self) -> None:
        self.down(self.current(), self.slopes)


class Function(Tape):
    def __init__(self, task: Task) -> None:
        normalises = any(stage.name == "Normalize" for stage in task.stages)
        self.constants = tuple(map(tf.constant, task.constants)) if normalises else ()
        super().__init__(task)

    def set(self, parameters: Parameters) -> None:
        self.pair = (tf.constant(parameters.scale), tf.constant(parameters.bias))

    def current(self) -> Pair:
        return self.pair

    def through(self, parameters: Pair, rows: Tensor, kept: Tensor, corners: Sequence[Tensor]) -> Tensor:
        (scale, bias), x, left = parameters, rows, list(corners)
        for stage in self.task.stages:
            x = normalise(x, *self.constants) if stage.name == "Normalize" else crop(x, left.pop(0), self.task.window)
        return drop(x * scale + bias, kept)

    def down(self, parameters: Pair, slopes: Sequence[Tensor]) -> Pair:
        scale, bias = (one - self.task.rate * slope for one, slope in zip(parameters, slopes, strict=True))
        return scale, bias

    def step(self, given: Given) -> tuple[Array, Array, float]:
        out, of_rows, loss, self.pair = self.whole_step(self.pair, *self.entering(given), given.groups)
        return out.numpy(), of_rows.numpy(), float(loss)

    def update(self) -> None:
        self.pair = self.down(self.pair, self.slopes)


def open(task: Task, place: Place) -> Tape:
    device_for(task.pipeline.device)  # TensorFlow works there unasked, or is refused by where its parameters are
    return Modules(task) if task.form == "module" else Function(task)


ADAPTER = Learner(
    framework="tf.GradientTape",
    distribution="tensorflow-cpu",
    entry_point="tensorflow.GradientTape",
    open=open,
    platforms=("cpu", "gpu"),
)
