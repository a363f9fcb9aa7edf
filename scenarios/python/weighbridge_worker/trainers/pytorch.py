"""PyTorch: modules, autograd and `torch.optim`, as its tutorials write a training loop.

`compiled` is `torch.compile(model)`, `autotuned` the same with `max-autotune`; both compile the way forward and the way
back, and leave the optimiser as it is, so that the phases stay apart. Images stay in memory as they come: their
channels are innermost, which PyTorch calls `channels_last`.

The components of ViT-5 are written in several ways: `original` as its authors published them, `optimised` with what
PyTorch has for speed. Where nothing is said they are as PyTorch's own documentation has them (`OWN`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn
from torch._dynamo import utils as dynamo
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import LambdaLR

from ..adapter import Declined, Place
from ..components import States, Ways, angles
from ..environments import of_torch
from ..on_torch import EventPhases, backend_of_tensors, device_for, memory_of, multiplies_tf32, settle
from ..pipeline import Array
from ..profiles import Operators, by_torch
from ..trainer import Layer, Phases, Rank, Task, Tensors, Trainer, Training, precision, told

OWN: Ways = {
    "rope": "buffers",
    "attention": "library",
    "norm": "fused",
    "casts": "removed",
    "optimiser": "own",
    "layout": "channels_last",
}
STATES: States = {
    "original": {
        "rope": "cached",
        "attention": "by_hand",
        "norm": "parts",
        "casts": "kept",
        "optimiser": "plain",
        "layout": "channels_first",
    },
    "optimised": {**OWN, "attention": "flash", "optimiser": "fused"},
}
BESIDE = {"attention": ("math", "library"), "optimiser": ("foreach",)}
KERNELS = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION}


@dataclass(frozen=True)
class Named:
    """A parameter, and how its numbers lie here and in the message."""

    name: str
    parameter: nn.Parameter
    ours: Callable[[Tensor], Tensor]
    theirs: Callable[[Tensor], Tensor]


def same(tensor: Tensor) -> Tensor:
    return tensor


def transposed(tensor: Tensor) -> Tensor:
    return tensor.T


class Patches(nn.Module):
    """Squares of an image to rows."""

    def __init__(self, conv: nn.Conv2d) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x).flatten(2).transpose(1, 2)


class Prepend(nn.Module):
    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.tokens = nn.Parameter(torch.empty(tokens, width))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.tokens.expand(len(x), -1, -1), x], 1)


class Append(nn.Module):
    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.tokens = nn.Parameter(torch.empty(tokens, width))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.tokens.expand(len(x), -1, -1)], 1)


class Positions(nn.Module):
    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.empty(length, width))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.positions


class Residual(nn.Module):
    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)


class Projected(nn.Module):
    def __init__(self, body: nn.Module, around: nn.Module) -> None:
        super().__init__()
        self.body, self.around = body, around

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x) + self.around(x)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(*qkv.unbind(), is_causal=self.causal)
        return self.out(seen.transpose(1, 2).reshape(batch, length, width))


class Scale(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


class RmsNorm(nn.Module):
    def __init__(self, width: int, epsilon: float, ways: Ways) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(width))
        self.epsilon, self.fused, self.casts = epsilon, ways["norm"] == "fused", ways["casts"] == "kept"

    def forward(self, x: Tensor) -> Tensor:
        dtype = x.dtype
        if self.casts:
            x = x.to(torch.float32)
        if self.fused:
            return F.rms_norm(x, self.scale.shape, self.scale.to(x.dtype), self.epsilon).to(dtype)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon)
        return (self.scale * x.to(dtype)).to(dtype)


Turn = tuple[Tensor, Tensor]
"""Cosine and sine of each number of a head, by place."""


class Turns:
    """Turns by place, which are looked up in each forward."""

    def __init__(self, turned: list[dict[str, Any]]) -> None:
        self.turned = turned
        self.kept: dict[tuple[Any, ...], Turn] = {}

    def made(self, length: int, size: int) -> Turn:
        # Each pair of neighbours turns by one angle.
        each = torch.from_numpy(angles(self.turned, length, size).repeat(2, -1))[:, None]
        return each.cos().float(), each.sin().float()

    def of(self, x: Tensor) -> Turn:
        _, length, _, size = x.shape
        # The published code asks NumPy for the side of the grid each time.
        key = (int(np.sqrt(length)), length, size, x.device)
        if key not in self.kept:
            self.kept[key] = tuple(one.to(x.device) for one in self.made(length, size))
        return self.kept[key]


def quarter(x: Tensor) -> Tensor:
    """Each pair of neighbours turned by a right angle."""
    one, other = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([-other, one], -1).flatten(-2)


class RotaryAttention(nn.Module):
    def __init__(self, width: int, layer: Layer, turns: Turns, length: int, ways: Ways) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.heads, self.size = layer["heads"], width // layer["heads"]
        self.queries, self.keys = (RmsNorm(self.size, layer["epsilon"], ways) for _ in range(2))
        self.turns = turns if ways["rope"] == "cached" else None
        if self.turns is None:
            for name, table in zip(("cosine", "sine"), turns.made(length, self.size), strict=True):
                self.register_buffer(name, table, persistent=False)
        self.way, self.casts = ways["attention"], ways["casts"] == "kept"

    def turned(self, x: Tensor) -> Tensor:
        cosine, sine = self.turns.of(x) if self.turns else (self.cosine, self.sine)
        if self.casts:
            wide = x.to(torch.float32)
            return (wide * cosine + quarter(wide) * sine).to(x.dtype)
        return x * cosine.to(x.dtype) + quarter(x) * sine.to(x.dtype)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        queries, keys, values = self.qkv(x).view(batch, length, 3, self.heads, self.size).unbind(2)
        queries, keys = self.turned(self.queries(queries)), self.turned(self.keys(keys))
        seen = self.attend(*(part.transpose(1, 2) for part in (queries, keys, values)))
        return self.out(seen.transpose(1, 2).reshape(batch, length, width))

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        if self.way == "library":
            return F.scaled_dot_product_attention(queries, keys, values)
        if self.way != "by_hand":
            with sdpa_kernel(KERNELS[self.way]):
                return F.scaled_dot_product_attention(queries, keys, values)
        scores = (queries * self.size**-0.5) @ keys.transpose(-2, -1)
        shares = scores.to(torch.float32).softmax(-1).to(scores.dtype) if self.casts else scores.softmax(-1)
        return shares @ values


class MeanPool(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3)) if x.ndim == 4 else x.mean(1)


class FirstToken(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[:, 0]


class Builder:
    """Makes modules of layers, and notes their parameters under the names of the message."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], ways: Ways = OWN) -> None:
        self.shapes, self.ways = shapes, ways
        self.named: list[Named] = []
        self.turns: list[Turns] = []
        """One for each kind of grids."""

    def layers(self, layers: list[Layer], above: str = "") -> nn.Sequential:
        return nn.Sequential(*(self.layer(layer, f"{above}{number}") for number, layer in enumerate(layers)))

    def layer(self, layer: Layer, at: str) -> nn.Module:
        match layer["kind"]:
            case "patches":
                size, (numbers, width) = layer["size"], self.shapes[f"{at}.weight"]
                conv = nn.Conv2d(numbers // size**2, width, size, size)
                return Patches(self.note(conv, at, weight=squares(size), bias=same))
            case "embed":
                return self.note(nn.Embedding(*self.shapes[f"{at}.table"]), at, names={"weight": "table"})
            case "prepend":
                return self.note(Prepend(*self.shapes[f"{at}.tokens"]), at)
            case "append":
                return self.note(Append(*self.shapes[f"{at}.tokens"]), at)
            case "positions":
                return self.note(Positions(*self.shapes[f"{at}.positions"]), at)
            case "residual":
                return Residual(self.layers(layer["body"], f"{at}."))
            case "projected":
                return Projected(self.layers(layer["body"], f"{at}.0."), self.layers(layer["around"], f"{at}.1."))
            case "layer_norm":
                (width,) = self.shapes[f"{at}.scale"]
                return self.note(nn.LayerNorm(width, layer["epsilon"]), at, names=NORM)
            case "batch_norm":
                (channels,) = self.shapes[f"{at}.scale"]
                norm = nn.BatchNorm2d(channels, layer["epsilon"], track_running_stats=False)
                return self.note(norm, at, names=NORM)
            case "rms_norm":
                return self.note(RmsNorm(*self.shapes[f"{at}.scale"], layer["epsilon"], self.ways), at)
            case "scale":
                return self.note(Scale(*self.shapes[f"{at}.scale"]), at)
            case "rotary_attention":
                return self.rotary(layer, at)
            case "attention":
                width, _ = self.shapes[f"{at}.out.weight"]
                attention = Attention(width, layer["heads"], layer["causal"])
                self.note(attention.qkv, f"{at}.qkv", weight=transposed)
                self.note(attention.out, f"{at}.out", weight=transposed)
                return attention
            case "linear":
                return self.note(nn.Linear(*self.shapes[f"{at}.weight"]), at, weight=transposed)
            case "gelu":
                return nn.GELU()
            case "relu":
                return nn.ReLU()
            case "conv":
                kernel, _, channels, to = self.shapes[f"{at}.weight"]
                conv = nn.Conv2d(channels, to, kernel, layer["stride"], (kernel - 1) // 2, bias=False)
                return self.note(conv, at, weight=kernels)
            case "max_pool":
                return nn.MaxPool2d(layer["kernel"], layer["stride"], (layer["kernel"] - 1) // 2)
            case "mean_pool":
                return MeanPool()
            case "first_token":
                return FirstToken()
            case other:
                raise ValueError(f"there is no layer `{other}`")

    def rotary(self, layer: Layer, at: str) -> RotaryAttention:
        width, _ = self.shapes[f"{at}.out.weight"]
        turns = next((one for one in self.turns if one.turned == layer["turned"]), None)
        if turns is None:
            turns = Turns(layer["turned"])
            self.turns.append(turns)
        length = max(grid["first"] + grid["rows"] * grid["columns"] for grid in layer["turned"])
        attention = RotaryAttention(width, layer, turns, length, self.ways)
        self.note(attention.qkv, f"{at}.qkv", weight=transposed)
        self.note(attention.queries, f"{at}.queries")
        self.note(attention.keys, f"{at}.keys")
        self.note(attention.out, f"{at}.out", weight=transposed)
        return attention

    def note(self, module: Any, at: str, names: dict[str, str] | None = None, **layouts: Any) -> Any:
        """Keeps the parameters of a module in the order of the message."""
        for name, parameter in module.named_parameters(recurse=False):
            layout = layouts.get(name, same)
            ours, theirs = layout if isinstance(layout, tuple) else (layout, layout)
            self.named.append(Named(f"{at}.{(names or {}).get(name, name)}", parameter, ours, theirs))
        return module


NORM = {"weight": "scale", "bias": "shift"}

kernels = (lambda tensor: tensor.permute(2, 3, 1, 0), lambda tensor: tensor.permute(3, 2, 0, 1))
"""A kernel: from outputs, inputs, rows, columns to rows, columns, inputs, outputs, and back."""


def squares(size: int) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """The map of patches as a kernel."""
    ours, theirs = kernels
    return (
        lambda tensor: ours(tensor).flatten(0, 2),
        lambda tensor: theirs(tensor.unflatten(0, (size, size, -1))),
    )


def sharded(module: nn.Module, named: list[Named]) -> list[Named]:
    """Cuts the parameters of a module among all ranks, layer by layer; those parameters in the same order."""
    mesh = init_device_mesh("cpu", (distributed.get_world_size(),))
    places = {id(parameter): place for place, parameter in module.named_parameters()}
    for layer in module.children():
        if any(True for _ in layer.parameters()):
            fully_shard(layer, mesh=mesh)
    fully_shard(module, mesh=mesh)
    cut = dict(module.named_parameters())
    return [replace(one, parameter=cut[places[id(one.parameter)]]) for one in named]


def put(parameter: Tensor, content: Tensor) -> None:
    """Overwrites a parameter: of one that is cut, the shard that is here."""
    if isinstance(parameter, DTensor):
        mesh, cut = parameter.device_mesh, parameter.placements
        content = distribute_tensor(content.contiguous(), mesh, cut, src_data_rank=None)
    here(parameter).copy_(here(content))


def here(tensor: Tensor) -> Tensor:
    """What this process has of a tensor."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor, for which all ranks come together where it is cut."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


class PyTorch(Training):
    """A module, an optimiser, and the step of the tutorials."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.mode == "xla":
            raise Declined("mode xla: that is of a package beside PyTorch")
        self.ways = task.components.ways(STATES, BESIDE) if task.components else OWN
        self.where_to = device_for(task.device)
        builder = Builder({name: array.shape for name, array in task.weights.items()}, self.ways)
        module = builder.layers(task.model["layers"]).to(self.where_to)
        self.named, self.turns = builder.named, builder.turns
        self.images = task.model["input"]["kind"] == "grid"
        self.rank = task.rank
        self.shards = self.rank is not None and self.rank.communication == "sharded"
        # What is cut must be contiguous: `fully_shard` takes nothing else.
        self.channels_last = self.images and self.ways["layout"] == "channels_last" and not self.shards
        self.module = module.to(memory_format=torch.channels_last) if self.channels_last else module
        self.model: Callable[[Tensor], Tensor] = self.module
        self.overlaps = self.rank is not None and self.rank.communication == "overlapped"
        if self.rank:
            self.rank.by_torch()
        self.averages = not self.overlaps and not self.shards
        if self.overlaps:
            self.model = DistributedDataParallel(self.module)
        if self.shards:
            self.named = sharded(self.module, self.named)
        if task.mode != "eager":
            torch.compiler.reset()  # models of one class count as one, and of one there are eight programs at most
            dynamo.set_compilation_metrics_limit(10_000)
            mode = "max-autotune" if task.mode == "autotuned" else "default"
            self.model = torch.compile(self.model, mode=mode)
        self.start = {name: torch.from_numpy(array) for name, array in task.weights.items()}
        # In the order of the message: the modules' own is that of their attributes.
        parameters = [one.parameter for one in self.named]
        said = task.optimiser
        if said["kind"] == "sgd":
            self.optimiser: torch.optim.Optimizer = torch.optim.SGD(
                parameters, said["rate"], said["momentum"], **STEPS[self.ways["optimiser"]]
            )
        else:
            betas = (said["beta1"], said["beta2"])
            numbers = (said["rate"], betas, said["epsilon"], said["decay"])
            self.optimiser = torch.optim.AdamW(parameters, *numbers, **STEPS[self.ways["optimiser"]])
        self.before = counted()
        self.reset()

    def reset(self) -> None:
        with torch.no_grad():
            for one in self.named:
                put(one.parameter, one.theirs(self.start[one.name]))
        for turns in self.turns:
            turns.kept.clear()  # a training that begins has looked nothing up
        self.optimiser.state.clear()
        self.optimiser.zero_grad()
        if self.task.schedule:
            (group,) = self.optimiser.param_groups
            group["lr"] = group["initial_lr"] = self.task.optimiser["rate"]
            self.schedule = LambdaLR(self.optimiser, self.task.schedule.share)

    def descend(self) -> None:
        self.optimiser.step()
        if self.task.schedule:
            self.schedule.step()

    def precision(self) -> AbstractContextManager[Any]:
        return torch.autocast(self.where_to.type, torch.bfloat16) if self.task.precision == "bf16" else nullcontext()

    def samples(self, index: int) -> tuple[Tensor, Tensor]:
        inputs, labels = self.task.of_step(index)
        return self.entering(inputs), self.there(torch.from_numpy(labels)).long()

    def there(self, tensor: Tensor) -> Tensor:
        """A tensor of the host where it is trained: on the way through pinned memory if that is a device."""
        if self.where_to.type == "cpu":
            return tensor
        return tensor.pin_memory().to(self.where_to, non_blocking=True)

    def entering(self, inputs: Array) -> Tensor:
        inputs = self.there(torch.from_numpy(inputs))
        inputs = inputs.permute(0, 3, 1, 2) if self.images else inputs
        return inputs if self.channels_last else inputs.contiguous()

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        with self.precision():
            logits = self.model(x)
        return F.cross_entropy(logits.float().flatten(0, -2), y.flatten()), logits

    def step(self, index: int) -> float:
        x, y = self.samples(index)
        self.optimiser.zero_grad()
        loss, _ = self.forward(x, y)
        loss.backward()
        if self.rank and self.averages:
            self.average(self.rank)
        self.descend()
        settle(self.where_to)
        return loss.item()

    def average(self, rank: Rank) -> None:
        """Gradients to the mean of all ranks', by one call for all of them."""
        gradients = [one.parameter.grad for one in self.named]
        together = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(together)
        together /= rank.of
        parts = together.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    def phases(self, index: int, clock: Phases) -> None:
        with clock.phase("data"):
            x, y = self.samples(index)
        # What overlaps cannot be told apart: of shards the weights are gathered on both ways.
        with clock.phase("forward_communication" if self.shards else "forward"):
            loss, _ = self.forward(x, y)
        with clock.phase("backward" if self.averages else "backward_communication"):
            self.optimiser.zero_grad()
            loss.backward()
        if self.rank and self.averages:
            with clock.phase("communication"):
                self.average(self.rank)
        with clock.phase("optimiser"):
            self.descend()
            loss.item()
            settle(self.where_to)

    def compute(self, index: int) -> tuple[float, Array, Tensors]:
        self.optimiser.zero_grad()
        loss, logits = self.forward(*self.samples(index))
        loss.backward()
        if self.rank and self.averages:
            self.average(self.rank)
        gradients = {one.name: one.ours(whole(one.parameter.grad)).cpu().numpy() for one in self.named}
        return loss.item(), logits.detach().float().cpu().numpy(), gradients

    def predict(self, inputs: Array) -> Array:
        with torch.no_grad(), self.precision():
            return self.module(self.entering(inputs)).float().cpu().numpy()

    def compiling(self) -> dict[str, int]:
        return {what: count - self.before[what] for what, count in counted().items()}

    def operators(self, run: Callable[[], None]) -> Operators:
        return by_torch(run)

    def weights(self) -> Tensors:
        return {one.name: one.ours(whole(one.parameter.detach())).cpu().numpy() for one in self.named}

    def compilations(self) -> int:
        """Graphs that `torch.compile` has handed to its compiler in this process."""
        return int(dynamo.counters["stats"]["unique_graphs"])

    def where(self) -> str:
        return backend_of_tensors(self.module.parameters())

    def clock(self) -> Phases:
        return Phases() if self.where_to.type == "cpu" else EventPhases()

    def device_memory(self) -> dict[str, int]:
        return memory_of(self.where_to)

    def settings(self) -> dict[str, str]:
        (group,) = self.optimiser.param_groups
        numbers, rates = {"rate": group["lr"]}, {}
        if schedule := self.task.schedule:
            (rate,), (share,) = self.schedule.base_lrs, self.schedule.lr_lambdas
            numbers, rates = {"rate": rate}, {step: rate * share(step) for step in schedule.told}
        if isinstance(self.optimiser, torch.optim.SGD):
            numbers |= {"momentum": group["momentum"]}
        else:
            beta1, beta2 = group["betas"]
            numbers |= {"beta1": beta1, "beta2": beta2, "epsilon": group["eps"], "decay": group["weight_decay"]}
        x, _ = self.samples(0)
        (dtype,) = {one.dtype for one in self.module.parameters()}
        with torch.no_grad(), self.precision():
            computed = self.module(x).dtype
        return told(
            type(self.optimiser).__name__.lower(),
            numbers,
            rates,
            precision=precision(dtype, computed, multiplies_tf32(self.module.parameters())),
            parameters=sum(one.numel() for one in self.module.parameters()),
            batch=len(x),
        )

    def environment(self) -> dict[str, str]:
        own = {"own_numbers": str(sum(here(one.parameter).numel() for one in self.named))} if self.shards else {}
        return {**of_torch(), **(self.ways if self.task.components else {}), **own}

    def close(self) -> None:
        if self.rank:
            self.model = self.module
            distributed.destroy_process_group()
        super().close()


STEPS: dict[str, dict[str, bool]] = {
    "own": {},
    "plain": {"foreach": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
}
"""What an optimiser is told of the way that it is written in."""


def counted() -> dict[str, int]:
    """What Dynamo has counted in this process."""
    again = sum(one.recompile_reason is not None for one in dynamo.get_compilation_metrics())
    return {"graph_breaks": sum(dynamo.counters["graph_break"].values()), "recompilations": again}


def open(task: Task, place: Place) -> PyTorch:
    return PyTorch(task)


ADAPTER = Trainer(
    framework="PyTorch",
    distribution="torch",
    entry_point="torch.nn.Module",
    open=open,
    ranks=True,
    platforms=("cpu", "gpu"),
)
