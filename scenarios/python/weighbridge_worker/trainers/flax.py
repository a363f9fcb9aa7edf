"""JAX: modules of Flax NNX, optimisers of Optax, and the functional step that NNX's guide to performance writes.

`compiled` is one `jax.jit` of the whole step, whose weights and optimiser are donated; its parts cannot be told apart.
`eager` is the same functions without `jit`, operation by operation. On several ranks a step that is told apart averages
gradients by a compiled function of its own; one that overlaps is a single program over all ranks.

The components of ViT-5 are written in several ways: `original` as its authors published them, `optimised` with what
JAX, Flax and Optax have for it. Where nothing is said they are as the documentation of Flax has them (`OWN`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax import Array
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..adapter import Declined, Place
from ..components import States, Ways, angles
from ..environments import of_jax
from ..on_jax import Compilations, backend_of_arrays, device_for, memory_of, multiplies_tf32, multiply_f32
from ..pipeline import Array as Numbers
from ..profiles import Operators, by_jax
from ..trainer import Layer, Phases, Precision, Rank, Schedule, Task, Tensors, Trainer, Training, precision, told

OWN: Ways = {
    "rope": "buffers",
    "attention": "library",
    "norm": "fused",
    "casts": "removed",
    "optimiser": "plain",
}
STATES: States = {
    "original": {
        "rope": "cached",
        "attention": "by_hand",
        "norm": "parts",
        "casts": "kept",
        "optimiser": "plain",
    },
    "optimised": {**OWN, "optimiser": "fused"},
}


class Patches(nnx.Module):
    """Squares of an image to rows."""

    def __init__(self, conv: nnx.Conv) -> None:
        self.conv = conv

    def __call__(self, x: Array) -> Array:
        return self.conv(x).reshape(len(x), -1, self.conv.out_features)


class Prepend(nnx.Module):
    def __init__(self, tokens: int, width: int) -> None:
        self.tokens = nnx.Param(jnp.zeros((tokens, width)))

    def __call__(self, x: Array) -> Array:
        tokens = self.tokens[...]
        return jnp.concatenate([jnp.broadcast_to(tokens, (len(x), *tokens.shape)), x], 1)


class Append(nnx.Module):
    def __init__(self, tokens: int, width: int) -> None:
        self.tokens = nnx.Param(jnp.zeros((tokens, width)))

    def __call__(self, x: Array) -> Array:
        tokens = self.tokens[...]
        return jnp.concatenate([x, jnp.broadcast_to(tokens, (len(x), *tokens.shape))], 1)


class Positions(nnx.Module):
    def __init__(self, length: int, width: int) -> None:
        self.positions = nnx.Param(jnp.zeros((length, width)))

    def __call__(self, x: Array) -> Array:
        return x + self.positions[...]


class Residual(nnx.Module):
    def __init__(self, body: nnx.Module) -> None:
        self.body = body

    def __call__(self, x: Array) -> Array:
        return x + self.body(x)


class Projected(nnx.Module):
    def __init__(self, body: nnx.Module, around: nnx.Module) -> None:
        self.body, self.around = body, around

    def __call__(self, x: Array) -> Array:
        return self.body(x) + self.around(x)


class Attention(nnx.Module):
    def __init__(self, width: int, heads: int, causal: bool, **how: Any) -> None:
        self.qkv, self.out = nnx.Linear(width, 3 * width, **how), nnx.Linear(width, width, **how)
        self.heads, self.causal = heads, causal

    def __call__(self, x: Array) -> Array:
        batch, length, width = x.shape
        qkv = self.qkv(x).astype(self.qkv.dtype).reshape(batch, length, 3, self.heads, width // self.heads)
        seen = jax.nn.dot_product_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], is_causal=self.causal)
        return self.out(seen.reshape(batch, length, width))


class Scale(nnx.Module):
    def __init__(self, width: int) -> None:
        self.scale = nnx.Param(jnp.zeros(width))

    def __call__(self, x: Array) -> Array:
        return x * self.scale[...]


class RmsNorm(nnx.Module):
    """The parts of `nnx.RMSNorm`, one by one."""

    def __init__(self, width: int, epsilon: float, casts: bool) -> None:
        self.scale = nnx.Param(jnp.ones(width))
        self.epsilon, self.casts = epsilon, casts

    def __call__(self, x: Array) -> Array:
        dtype = x.dtype
        if self.casts:
            x = x.astype(jnp.float32)
        x = x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + self.epsilon)
        return self.scale[...] * x.astype(dtype)


class Turns:
    """Turns by place, which are looked up in each forward: arrays of NumPy, since what is made while JAX traces a
    function must not outlive that."""

    def __init__(self, turned: list[dict[str, Any]]) -> None:
        self.turned = turned
        self.kept: dict[tuple[int, int], tuple[Numbers, ...]] = {}

    def of(self, length: int, size: int) -> tuple[Numbers, ...]:
        """Cosine and sine of each number of a head, by place."""
        if (length, size) not in self.kept:
            # Each pair of neighbours turns by one angle.
            each = angles(self.turned, length, size).repeat(2, -1)[:, None]
            self.kept[length, size] = tuple(one.astype(np.float32) for one in (np.cos(each), np.sin(each)))
        return self.kept[length, size]


def quarter(x: Array) -> Array:
    """Each pair of neighbours turned by a right angle."""
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    return jnp.stack([-pairs[..., 1], pairs[..., 0]], -1).reshape(x.shape)


class RotaryAttention(nnx.Module):
    def __init__(
        self, width: int, layer: Layer, norms: list[nnx.Module], turns: Turns, length: int, ways: Ways, **how: Any
    ) -> None:
        self.qkv, self.out = nnx.Linear(width, 3 * width, use_bias=False, **how), nnx.Linear(width, width, **how)
        self.heads, self.turns, self.kept = layer["heads"], turns, ways["rope"] == "buffers"
        self.queries, self.keys = norms
        if self.kept:
            self.cosine, self.sine = (nnx.Variable(jnp.asarray(one)) for one in turns.of(length, width // self.heads))
        self.by_hand, self.casts = ways["attention"] == "by_hand", ways["casts"] == "kept"

    def turned(self, x: Array, dtype: Any) -> Array:
        if self.kept:
            cosine, sine = self.cosine[...], self.sine[...]
        else:
            cosine, sine = self.turns.of(x.shape[1], x.shape[3])
        x = x.astype(jnp.float32 if self.casts else dtype)
        return (x * cosine.astype(x.dtype) + quarter(x) * sine.astype(x.dtype)).astype(dtype)

    def __call__(self, x: Array) -> Array:
        batch, length, width = x.shape
        dtype, size = self.qkv.dtype, width // self.heads
        qkv = self.qkv(x).astype(dtype).reshape(batch, length, 3, self.heads, size)
        queries, keys, values = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        queries, keys = self.turned(self.queries(queries), dtype), self.turned(self.keys(keys), dtype)
        if self.by_hand:
            scores = jnp.einsum("bqhs,bkhs->bhqk", queries * size**-0.5, keys)
            shares = jax.nn.softmax(scores.astype(jnp.float32) if self.casts else scores).astype(dtype)
            seen = jnp.einsum("bhqk,bkhs->bqhs", shares, values)
        else:
            seen = jax.nn.dot_product_attention(queries, keys, values)
        return self.out(seen.reshape(batch, length, width))


FACTORS = {"f32": jnp.float32, "bf16": jnp.bfloat16}


def factors(arrays: Any, dtype: Any, **_: Any) -> tuple[Array | None, ...]:
    """What is multiplied, in the type of the product. A bias is added in `f32`: XLA sums its gradient in the type
    that it was added in, and in `bf16` that sum is off by up to 17 %."""
    x, kernel, bias = arrays
    return x.astype(dtype), kernel.astype(dtype), bias


class Builder:
    """Makes modules of layers, and notes their parameters under the names of the message."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], precision: Precision, ways: Ways = OWN) -> None:
        self.shapes, self.ways, self.rngs = shapes, ways, nnx.Rngs(0)
        self.turns: list[Turns] = []
        """One for each kind of grids."""
        # Of what multiplies. All else computes in the wider one of its input and its weights, which are `f32`.
        self.products = {"dtype": FACTORS[precision], "promote_dtype": factors, "rngs": self.rngs}
        self.named: dict[str, nnx.Param[Any]] = {}

    def layers(self, layers: list[Layer], above: str = "") -> nnx.Sequential:
        return nnx.Sequential(*(self.layer(layer, f"{above}{number}") for number, layer in enumerate(layers)))

    def layer(self, layer: Layer, at: str) -> Callable[[Array], Array]:
        match layer["kind"]:
            case "patches":
                size, (numbers, width) = layer["size"], self.shapes[f"{at}.weight"]
                square = (size, size)
                conv = nnx.Conv(numbers // size**2, width, square, square, padding="VALID", **self.products)
                return Patches(self.note(conv, at, kernel="weight", bias="bias"))
            case "embed":
                embed = nnx.Embed(*self.shapes[f"{at}.table"], rngs=self.rngs)
                return self.note(embed, at, embedding="table")
            case "prepend":
                return self.note(Prepend(*self.shapes[f"{at}.tokens"]), at, tokens="tokens")
            case "append":
                return self.note(Append(*self.shapes[f"{at}.tokens"]), at, tokens="tokens")
            case "positions":
                return self.note(Positions(*self.shapes[f"{at}.positions"]), at, positions="positions")
            case "residual":
                return Residual(self.layers(layer["body"], f"{at}."))
            case "projected":
                return Projected(self.layers(layer["body"], f"{at}.0."), self.layers(layer["around"], f"{at}.1."))
            case "layer_norm":
                (width,) = self.shapes[f"{at}.scale"]
                norm = nnx.LayerNorm(width, epsilon=layer["epsilon"], rngs=self.rngs)
                return self.note(norm, at, scale="scale", bias="shift")
            case "batch_norm":
                (channels,) = self.shapes[f"{at}.scale"]
                norm = nnx.BatchNorm(channels, use_running_average=False, epsilon=layer["epsilon"], rngs=self.rngs)
                return self.note(norm, at, scale="scale", bias="shift")
            case "rms_norm":
                return self.note(self.rms_norm(f"{at}.scale", layer["epsilon"]), at, scale="scale")
            case "scale":
                return self.note(Scale(*self.shapes[f"{at}.scale"]), at, scale="scale")
            case "rotary_attention":
                return self.rotary(layer, at)
            case "attention":
                width, _ = self.shapes[f"{at}.out.weight"]
                attention = Attention(width, layer["heads"], layer["causal"], **self.products)
                self.note(attention.qkv, f"{at}.qkv", kernel="weight", bias="bias")
                self.note(attention.out, f"{at}.out", kernel="weight", bias="bias")
                return attention
            case "linear":
                linear = nnx.Linear(*self.shapes[f"{at}.weight"], **self.products)
                return self.note(linear, at, kernel="weight", bias="bias")
            case "gelu":
                return lambda x: jax.nn.gelu(x, approximate=False)
            case "relu":
                return jax.nn.relu
            case "conv":
                kernel, _, channels, to = self.shapes[f"{at}.weight"]
                around, stride = (kernel - 1) // 2, layer["stride"]
                conv = nnx.Conv(channels, to, (kernel, kernel), stride, padding=around, use_bias=False, **self.products)
                return self.note(conv, at, kernel="weight")
            case "max_pool":
                kernel, stride = layer["kernel"], layer["stride"]
                around = ((kernel - 1) // 2,) * 2
                return lambda x: nnx.max_pool(x, (kernel, kernel), (stride, stride), padding=(around, around))
            case "mean_pool":
                return lambda x: x.mean(tuple(range(1, x.ndim - 1)))
            case "first_token":
                return lambda x: x[:, 0]
            case other:
                raise ValueError(f"there is no layer `{other}`")

    def rms_norm(self, scale: str, epsilon: float) -> nnx.Module:
        (width,) = self.shapes[scale]
        if self.ways["norm"] == "parts":
            return RmsNorm(width, epsilon, self.ways["casts"] == "kept")
        return nnx.RMSNorm(width, epsilon=epsilon, rngs=self.rngs)

    def rotary(self, layer: Layer, at: str) -> RotaryAttention:
        width, _ = self.shapes[f"{at}.out.weight"]
        turns = next((one for one in self.turns if one.turned == layer["turned"]), None)
        if turns is None:
            turns = Turns(layer["turned"])
            self.turns.append(turns)
        length = max(grid["first"] + grid["rows"] * grid["columns"] for grid in layer["turned"])
        norms = [self.rms_norm(f"{at}.{part}.scale", layer["epsilon"]) for part in ("queries", "keys")]
        attention = RotaryAttention(width, layer, norms, turns, length, self.ways, **self.products)
        self.note(attention.qkv, f"{at}.qkv", kernel="weight")
        self.note(attention.queries, f"{at}.queries", scale="scale")
        self.note(attention.keys, f"{at}.keys", scale="scale")
        self.note(attention.out, f"{at}.out", kernel="weight", bias="bias")
        return attention

    def note(self, module: Any, at: str, **names: str) -> Any:
        """Keeps parameters of a module, in the order of the message."""
        for theirs, ours in names.items():
            self.named[f"{at}.{ours}"] = getattr(module, theirs)
        return module


NUMBERS = {
    "learning_rate": "rate",
    "momentum": "momentum",
    "b1": "beta1",
    "b2": "beta2",
    "eps": "epsilon",
    "weight_decay": "decay",
}
"""What Optax calls the numbers of an optimiser."""


def sgd_of_one(learning_rate: Any, momentum: Any) -> optax.GradientTransformation:
    return optax.flatten(optax.sgd(learning_rate, momentum))


def adamw_of_one(learning_rate: Any, b1: Any, b2: Any, eps: Any, weight_decay: Any) -> optax.GradientTransformation:
    return optax.flatten(optax.adamw(learning_rate, b1, b2, eps, weight_decay=weight_decay))


OPTIMISERS: dict[str, dict[str, Callable[..., optax.GradientTransformation]]] = {
    "plain": {"sgd": optax.sgd, "adamw": optax.adamw},
    "fused": {"sgd": sgd_of_one, "adamw": adamw_of_one},
}
"""Over parameter after parameter, or over all of them as one array."""


def wave(schedule: Schedule, rate: float) -> optax.Schedule:
    """The schedule of Optax that is this one."""
    warmup, until, least = schedule.warmup, schedule.until, schedule.least
    if warmup == 0:
        return optax.cosine_decay_schedule(rate, until, least)
    return optax.warmup_cosine_decay_schedule(rate / (warmup + 1), rate, warmup, until, rate * least)


class Flax(Training):
    """A state of arrays, and functions of it."""

    synchronised = "jax.block_until_ready"
    library = f"JAX {jax.__version__}, Optax {optax.__version__}"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.mode == "xla":
            raise Declined("mode xla: it is what `compiled` is")
        if task.mode == "autotuned":
            raise Declined("mode autotuned: XLA tries no variants on a processor")
        self.device_of_work = device_for(task.device)
        multiply_f32(self.device_of_work)
        if task.rank and task.rank.communication == "sharded":
            raise Declined("communication sharded: its weights are whole on every device of the mesh here")
        self.ranks = Ranks(task.rank) if task.rank else None
        self.overlaps = task.rank is not None and task.rank.communication == "overlapped"
        if self.overlaps and task.mode == "eager":
            self.close()
            raise Declined("communication overlapped in mode eager: one program over all ranks is compiled")
        self.ways = task.components.ways(STATES) if task.components else OWN
        builder = Builder({name: array.shape for name, array in task.weights.items()}, task.precision, self.ways)
        self.module, self.named = builder.layers(task.model["layers"]), builder.named
        for name, parameter in self.named.items():
            parameter[...] = jnp.asarray(task.weights[name].reshape(parameter.shape))
        graph, start, rest = nnx.split(self.module, nnx.Param, ...)
        # A copy: the parts of a module that is split are the module's own.
        self.start = jax.tree.map(jnp.copy, start)

        said = task.optimiser
        # The numbers as state, so that what is really set can be read back.
        numbers = {theirs: said[ours] for theirs, ours in NUMBERS.items() if ours in said}
        self.rate = wave(task.schedule, said["rate"]) if task.schedule else None
        if self.rate:
            numbers["learning_rate"] = self.rate
        kinds = OPTIMISERS[self.ways["optimiser"]]
        make = optax.inject_hyperparams(kinds[said["kind"]])
        optimiser = make(**numbers)
        self.first_state = optimiser.init(self.start)

        def logits_of(parameters: Any, x: Array) -> Array:
            return nnx.merge(graph, parameters, rest, copy=True)(x).astype(jnp.float32)

        def loss_of(parameters: Any, x: Array, y: Array) -> tuple[Array, Array]:
            logits = logits_of(parameters, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits

        def gradients_of(parameters: Any, x: Array, y: Array) -> tuple[tuple[Array, Array], Any]:
            return jax.value_and_grad(loss_of, has_aux=True)(parameters, x, y)

        def update(parameters: Any, state: Any, gradients: Any) -> tuple[Any, Any]:
            changes, state = optimiser.update(gradients, state, parameters)
            return optax.apply_updates(parameters, changes), state

        def whole_step(parameters: Any, state: Any, x: Array, y: Array) -> tuple[Any, Any, Array]:
            (loss, _), gradients = gradients_of(parameters, x, y)
            return *update(parameters, state, gradients), loss

        def step_of_all(parameters: Any, state: Any, x: Array, y: Array) -> tuple[Any, Any, Array]:
            (loss, _), gradients = gradients_of(parameters, x, y)
            gradients = jax.lax.pmean(gradients, RANKS)
            return *update(parameters, state, gradients), loss[None]

        self.logits_of = jax.jit(logits_of)
        self.loss_of, self.gradients_of, self.update, self.whole_step = loss_of, gradients_of, update, whole_step
        if task.mode == "compiled":
            self.gradients_of, self.whole_step = jax.jit(gradients_of), jax.jit(whole_step, donate_argnums=(0, 1))
            self.update = jax.jit(update, donate_argnums=(0, 1)) if self.ranks else update
        if self.ranks and self.overlaps:
            self.step_of_all = self.ranks.on_all(step_of_all)
        self.reset()

    def reset(self) -> None:
        # A copy: the step overwrites what it is given.
        self.parameters, self.state = jax.tree.map(jnp.copy, (self.start, self.first_state))

    def samples(self, index: int) -> tuple[Array, Array]:
        inputs, labels = self.task.of_step(index)
        return jax.device_put(inputs), jax.device_put(labels)

    def step(self, index: int) -> float:
        if self.ranks:
            return self.step_on_ranks(self.ranks, *self.samples(index))
        self.parameters, self.state, loss = self.whole_step(self.parameters, self.state, *self.samples(index))
        jax.block_until_ready(self.parameters)
        return float(loss)

    def step_on_ranks(self, ranks: Ranks, x: Array, y: Array) -> float:
        if self.overlaps:
            given = ranks.same((self.parameters, self.state))
            changed = self.step_of_all(*given, ranks.parts(x), ranks.parts(y))
            self.parameters, self.state, losses = ranks.own(changed)
            jax.block_until_ready(self.parameters)
            return float(losses[0])
        (loss, _), gradients = self.gradients_of(self.parameters, x, y)
        self.parameters, self.state = self.update(self.parameters, self.state, ranks.average(gradients))
        jax.block_until_ready(self.parameters)
        return float(loss)

    def phases(self, index: int, clock: Phases) -> None:
        with clock.phase("data"):
            x, y = jax.block_until_ready(self.samples(index))
        if self.ranks and self.overlaps:
            with clock.phase("forward_backward_communication_optimiser"):
                self.step_on_ranks(self.ranks, x, y)
            return
        if self.ranks and self.task.mode == "compiled":
            with clock.phase("forward_backward"):
                (loss, _), gradients = jax.block_until_ready(self.gradients_of(self.parameters, x, y))
            self.ending(clock, loss, gradients)
            return
        if self.task.mode == "compiled":
            with clock.phase("forward_backward_optimiser"):
                self.parameters, self.state, loss = self.whole_step(self.parameters, self.state, x, y)
                jax.block_until_ready(self.parameters)
                float(loss)
            return
        with clock.phase("forward"):
            # What `jax.value_and_grad` does, in two parts.
            loss, back, _ = jax.vjp(lambda parameters: self.loss_of(parameters, x, y), self.parameters, has_aux=True)
            jax.block_until_ready(loss)
        with clock.phase("backward"):
            (gradients,) = jax.block_until_ready(back(jnp.ones_like(loss)))
            del back  # with what it kept of the way forward
        self.ending(clock, loss, gradients)

    def ending(self, clock: Phases, loss: Array, gradients: Any) -> None:
        """What comes after the way back."""
        if self.ranks:
            with clock.phase("communication"):
                gradients = jax.block_until_ready(self.ranks.average(gradients))
        with clock.phase("optimiser"):
            self.parameters, self.state = self.update(self.parameters, self.state, gradients)
            jax.block_until_ready(self.parameters)
            float(loss)

    def compute(self, index: int) -> tuple[float, Numbers, Tensors]:
        (loss, logits), gradients = self.gradients_of(self.parameters, *self.samples(index))
        if self.ranks:
            gradients = self.ranks.average(gradients)
        return float(loss), np.asarray(logits), self.tensors(gradients)

    def compiling(self) -> dict[str, int]:
        compiled = {self.whole_step, self.gradients_of} if self.task.mode == "compiled" else set()
        return {"recompilations": sum(max(0, program._cache_size() - 1) for program in compiled)}

    def operators(self, run: Callable[[], None]) -> Operators:
        return by_jax(run)

    def predict(self, inputs: Numbers) -> Numbers:
        return np.asarray(self.logits_of(self.parameters, jax.device_put(inputs)))

    def weights(self) -> Tensors:
        return self.tensors(self.parameters)

    def tensors(self, tree: Any) -> Tensors:
        """The arrays of a tree like that of the weights, by the names of the message."""
        nnx.update(self.module, tree)
        return {
            name: np.asarray(parameter[...]).reshape(self.task.weights[name].shape)
            for name, parameter in self.named.items()
        }

    def settings(self) -> dict[str, str]:
        set_here = {NUMBERS[key]: value for key, value in self.state.hyperparams.items() if key in NUMBERS}
        rates = {}
        if self.rate and (schedule := self.task.schedule):
            # That of the first step is what the state has before it; the others Optax will ask its schedule for.
            rates = {step: float(self.rate(step)) for step in schedule.told} | {0: float(set_here["rate"])}
            set_here["rate"] = self.rate(schedule.warmup)
        leaves = jax.tree.leaves(self.parameters)
        (dtype,) = {leaf.dtype for leaf in leaves}
        modules = (module for _, module in nnx.iter_modules(self.module))
        (product,) = {jnp.dtype(one.dtype) for one in modules if isinstance(one, nnx.Linear | nnx.Conv)}
        stages = {type(stage) for stage in self.state.inner_state}
        return told(
            "adamw" if optax.ScaleByAdamState in stages else "sgd",
            set_here,
            rates,
            precision=precision(dtype, product, multiplies_tf32(self.parameters)),
            parameters=sum(leaf.size for leaf in leaves),
            batch=len(self.samples(0)[0]),
        )

    def compilations(self) -> int:
        return Compilations.so_far()

    def where(self) -> str:
        return backend_of_arrays(self.parameters)

    def device_memory(self) -> dict[str, int]:
        return memory_of(self.device_of_work)

    def environment(self) -> dict[str, str]:
        return {**of_jax(), **(self.ways if self.task.components else {})}

    def close(self) -> None:
        if self.ranks:
            jax.distributed.shutdown()
        super().close()


RANKS = "ranks"
"""The axis of all processes."""


class Ranks:
    """The processes that train one model, each with one device."""

    def __init__(self, rank: Rank) -> None:
        rank.by_jax()
        mesh = Mesh(np.array(jax.devices()), (RANKS,))
        self.mesh, self.of = mesh, rank.of
        self.split, self.whole = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in [(RANKS,), ()])
        self.together = jax.jit(lambda tree: ravel_pytree(tree)[0][None])
        self.mean = jax.jit(lambda rows: rows.mean(0), out_shardings=self.whole)
        self.apart: Callable[[Array], Any] | None = None
        """From one row to gradients again."""

    def parts(self, own: Array) -> Array:
        """An array of which every process has its rows."""
        shape = (self.of * len(own), *own.shape[1:])
        return jax.make_array_from_single_device_arrays(shape, self.split, [own])

    def same(self, tree: Any) -> Any:
        """Arrays that every process has whole."""
        return jax.tree.map(lambda own: jax.make_array_from_single_device_arrays(own.shape, self.whole, [own]), tree)

    def own(self, tree: Any) -> Any:
        """What this process has of arrays of all."""
        return jax.tree.map(lambda array: array.addressable_data(0), tree)

    def average(self, gradients: Any) -> Any:
        """Gradients to the mean of all ranks', by one call for all of them."""
        if self.apart is None:
            self.apart = jax.jit(ravel_pytree(gradients)[1])
        return self.apart(self.own(self.mean(self.parts(self.together(gradients)))))

    def on_all(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """A step of one process as one program over all."""
        whole, split = PartitionSpec(), PartitionSpec(RANKS)
        over = jax.shard_map(
            step,
            mesh=self.mesh,
            in_specs=(whole, whole, split, split),
            out_specs=(whole, whole, split),
            check_vma=False,
        )
        return jax.jit(over, donate_argnums=(0, 1))


def open(task: Task, place: Place) -> Flax:
    return Flax(task)


ADAPTER = Trainer(
    framework="JAX (Flax NNX)",
    distribution="flax",
    entry_point="flax.nnx.Module",
    open=open,
    ranks=True,
    platforms=("cpu", "gpu"),
)
