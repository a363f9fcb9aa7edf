"""Flax NNX: the pipeline as modules under `nnx.jit`, or as a plain function under `jax.jit`.

As modules, idiomatic: an `nnx.Module` for each step, `nnx.value_and_grad` of a loss over the model and its rows, and
`nnx.Optimizer` with Optax's `sgd`; the step is one function under `nnx.jit`. As a function: the same arithmetic of a
dictionary of arrays, `jax.value_and_grad`, and `jax.jit` around the step. Both are compiled for each length of a batch:
an epoch has two of them where its last batch is short, and both are compiled while it is opened.

In parts (`forward`, `backward`) a step is `jax.vjp` under `jax.jit`, whose way back is a second compiled function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax import Array

from ..adapter import Place
from ..learner import KEPT, Given, Learner, Learning, Parameters, Stage, Task
from ..on_jax import Compilations, backend_of_arrays, device_for, multiply_f32
from ..pipeline import Array as Numbers

Arguments = tuple[Array, tuple[Array, ...]]
"""Which numbers dropout lets pass, and the corners of each crop."""


def normalise(x: Array, mean: Array, scale: Array) -> Array:
    return (x - mean) * scale


def crop(x: Array, corners: Array, window: tuple[int, int]) -> Array:
    """The window of each element in the upper left corner, and zeros around it."""
    _, height, width, channels = x.shape

    def one(element: Array, corner: Array) -> Array:
        cut = jax.lax.dynamic_slice(element, (corner[0], corner[1], 0), (*window, channels))
        return jnp.pad(cut, ((0, height - window[0]), (0, width - window[1]), (0, 0)))

    return jax.vmap(one)(x, corners)


def drop(x: Array, kept: Array) -> Array:
    return jnp.where(kept, x * KEPT, 0)


def loss_over(out: Array, groups: Sequence[int]) -> Array:
    """The sum of the groups' losses, each half the mean square of its numbers."""
    ends = np.cumsum(groups)[:-1].tolist()
    return sum((jnp.mean(jnp.square(group)) / 2 for group in jnp.split(out, ends)), jnp.float32(0))


class Normalise(nnx.Module):
    def __init__(self, mean: Numbers, scale: Numbers) -> None:
        self.mean, self.scale = nnx.Variable(jnp.asarray(mean)), nnx.Variable(jnp.asarray(scale))

    def __call__(self, x: Array) -> Array:
        return normalise(x, self.mean[...], self.scale[...])


class Crop(nnx.Module):
    def __init__(self, number: int, window: tuple[int, int]) -> None:
        self.number, self.window = number, window

    def __call__(self, x: Array, corners: tuple[Array, ...]) -> Array:
        return crop(x, corners[self.number], self.window)


class Affine(nnx.Module):
    """Scale and bias for each channel."""

    def __init__(self, channels: int) -> None:
        self.scale, self.bias = nnx.Param(jnp.ones(channels)), nnx.Param(jnp.zeros(channels))

    def __call__(self, x: Array) -> Array:
        return x * self.scale[...] + self.bias[...]


class Dropout(nnx.Module):
    def __call__(self, x: Array, kept: Array) -> Array:
        return drop(x, kept)


class Learned(nnx.Module):
    """The whole pipeline."""

    def __init__(self, task: Task) -> None:
        self.transforms = nnx.List([])
        crops = 0
        for stage in task.stages:
            if stage.name == "Normalize":
                self.transforms.append(Normalise(*task.constants))
            else:
                self.transforms.append(Crop(crops, task.window))
                crops += 1
        self.affine, self.dropout = Affine(task.channels), Dropout()

    def __call__(self, x: Array, kept: Array, corners: tuple[Array, ...]) -> Array:
        for transform in self.transforms:
            x = transform(x, corners) if isinstance(transform, Crop) else transform(x)
        return self.dropout(self.affine(x), kept)


def loss_of_model(model: Learned, rows: Array, arguments: Arguments, groups: tuple[int, ...]) -> tuple[Array, Array]:
    out = model(rows, *arguments)
    return loss_over(out, groups), out


@partial(nnx.jit, static_argnames="groups")
def step_of_model(
    model: Learned, optimiser: nnx.Optimizer[Learned], rows: Array, arguments: Arguments, groups: tuple[int, ...]
) -> tuple[Array, Array, Array]:
    gradients_of = nnx.value_and_grad(loss_of_model, argnums=(nnx.DiffState(0, nnx.Param), 1), has_aux=True)
    (loss, out), (of_model, of_rows) = gradients_of(model, rows, arguments, groups)
    optimiser.update(model, of_model)
    return out, of_rows, loss


Tree = dict[str, Array]


def transformed(
    parameters: Tree, rows: Array, arguments: Arguments, constants: tuple[Array, Array],
    stages: tuple[Stage, ...], window: tuple[int, int],
) -> Array:  # fmt: skip
    """The pipeline as a function that holds nothing."""
    kept, corners = arguments
    x, left = rows, list(corners)
    for stage in stages:
        x = normalise(x, *constants) if stage.name == "Normalize" else crop(x, left.pop(0), window)
    return drop(x * parameters["scale"] + parameters["bias"], kept)


def loss_of_function(parameters: Tree, rows: Array, groups: tuple[int, ...], *rest: Any) -> tuple[Array, Array]:
    out = transformed(parameters, rows, *rest)
    return loss_over(out, groups), out


@partial(jax.jit, static_argnums=(2, 5, 6, 7))
def step_of_function(
    parameters: Tree, rows: Array, groups: tuple[int, ...], arguments: Arguments, constants: tuple[Array, Array],
    stages: tuple[Stage, ...], window: tuple[int, int], rate: float,
) -> tuple[Tree, Array, Array, Array]:  # fmt: skip
    gradients_of = jax.value_and_grad(loss_of_function, argnums=(0, 1), has_aux=True)
    (loss, out), (slopes, of_rows) = gradients_of(parameters, rows, groups, arguments, constants, stages, window)
    return down(parameters, slopes, rate), out, of_rows, loss


def down(parameters: Tree, slopes: Tree, rate: float) -> Tree:
    return jax.tree.map(lambda parameter, slope: parameter - rate * slope, parameters, slopes)


back = jax.jit(lambda back, slope: back(slope))
"""The way back that `jax.vjp` gives, compiled."""


class Nnx(Learning):
    """What both forms have: batches go in as arrays of JAX, and come out as they are seen from numpy."""

    synchronised = "block_until_ready"

    def compilations(self) -> int:
        return Compilations.so_far()

    def entering(self, given: Given) -> tuple[Array, Arguments]:
        return jnp.asarray(given.rows), (jnp.asarray(given.kept), tuple(map(jnp.asarray, given.corners)))

    def part(self, given: Given, loss_of: Callable[..., Any], parameters: Any) -> tuple[Numbers, float]:
        rows, arguments = self.entering(given)
        loss, self.back, out = loss_of(parameters, rows, arguments, given.groups)
        return np.asarray(out), float(loss)

    def backward(self) -> tuple[Numbers, Parameters]:
        self.slopes, of_rows = jax.block_until_ready(back(self.back, jnp.float32(1)))
        del self.back  # with what it kept of the way forward
        return np.asarray(of_rows), self.numbers(self.slopes)

    def where(self) -> str:
        return backend_of_arrays(self.parameters_there())

    def parameters_there(self) -> Any:
        """The parameters where they are."""
        raise NotImplementedError

    def numbers(self, tree: Any) -> Parameters:
        return Parameters(np.asarray(tree["scale"]), np.asarray(tree["bias"]))


class Modules(Nnx):
    library = f"JAX {jax.__version__}, Optax {optax.__version__}"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.model = Learned(task)
        self.optimiser = nnx.Optimizer(self.model, optax.sgd(task.rate), wrt=nnx.Param)
        graph, _, rest = nnx.split(self.model, nnx.Param, ...)

        @partial(jax.jit, static_argnums=3)
        def loss_of(state: Any, rows: Array, arguments: Arguments, groups: tuple[int, ...]) -> Any:
            def of(state: Any, rows: Array) -> tuple[Array, Array]:
                return loss_of_model(nnx.merge(graph, state, rest), rows, arguments, groups)

            return jax.vjp(of, state, rows, has_aux=True)

        self.loss_of = loss_of

    def parameters_there(self) -> Any:
        return nnx.state(self.model, nnx.Param)

    def set(self, parameters: Parameters) -> None:
        affine = self.model.affine
        affine.scale[...], affine.bias[...] = jnp.asarray(parameters.scale), jnp.asarray(parameters.bias)

    def parameters(self) -> Parameters:
        affine = self.model.affine
        return Parameters(np.asarray(affine.scale[...]), np.asarray(affine.bias[...]))

    def step(self, given: Given) -> tuple[Numbers, Numbers, float]:
        out, slopes, loss = step_of_model(self.model, self.optimiser, *self.entering(given), groups=given.groups)
        jax.block_until_ready(self.model.affine.scale[...])
        return np.asarray(out), np.asarray(slopes), float(loss)

    def forward(self, given: Given) -> tuple[Numbers, float]:
        return self.part(given, self.loss_of, nnx.state(self.model, nnx.Param))

    def numbers(self, tree: Any) -> Parameters:
        return super().numbers({name: one[...] for name, one in tree["affine"].items()})

    def update(self) -> None:
        self.optimiser.update(self.model, self.slopes)
        jax.block_until_ready(self.model.affine.scale[...])


class Function(Nnx):
    library = f"JAX {jax.__version__}"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        constants = tuple(map(jnp.asarray, task.constants)) if any(s.name == "Normalize" for s in task.stages) else ()
        self.rest = (constants, task.stages, task.window)

        @partial(jax.jit, static_argnums=3)
        def loss_of(parameters: Tree, rows: Array, arguments: Arguments, groups: tuple[int, ...]) -> Any:
            def of(parameters: Tree, rows: Array) -> tuple[Array, Array]:
                return loss_of_function(parameters, rows, groups, arguments, *self.rest)

            return jax.vjp(of, parameters, rows, has_aux=True)

        self.loss_of = loss_of

    def parameters_there(self) -> Any:
        return self.tree

    def set(self, parameters: Parameters) -> None:
        self.tree = {"scale": jnp.asarray(parameters.scale), "bias": jnp.asarray(parameters.bias)}

    def parameters(self) -> Parameters:
        return self.numbers(self.tree)

    def step(self, given: Given) -> tuple[Numbers, Numbers, float]:
        rows, arguments = self.entering(given)
        after = step_of_function(self.tree, rows, given.groups, arguments, *self.rest, self.task.rate)
        self.tree, out, slopes, loss = after
        jax.block_until_ready(self.tree)
        return np.asarray(out), np.asarray(slopes), float(loss)

    def forward(self, given: Given) -> tuple[Numbers, float]:
        return self.part(given, self.loss_of, self.tree)

    def update(self) -> None:
        self.tree = jax.block_until_ready(down(self.tree, self.slopes, self.task.rate))


def open(task: Task, place: Place) -> Nnx:
    multiply_f32(device_for(task.pipeline.device))
    return Modules(task) if task.form == "module" else Function(task)


ADAPTER = Learner(
    framework="Flax NNX", distribution="flax", entry_point="flax.nnx.jit", open=open, platforms=("cpu", "gpu")
)
