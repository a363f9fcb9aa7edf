"""PyTorch: modules, autograd and `torch.optim`, as its tutorials write a training loop.

`compiled` is `torch.compile(model)`, `autotuned` the same with `max-autotune`; both compile the way forward and the way
back, and leave the optimiser as it is, so that the phases stay apart. Images stay in memory as they come: their
channels are innermost, which PyTorch calls `channels_last`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import LambdaLR

from ..adapter import Declined, Place
from ..environments import of_torch
from ..pipeline import Array
from ..profiles import Operators, by_torch
from ..trainer import Layer, Phases, Rank, Task, Tensors, Trainer, Training, precision, told


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


class MeanPool(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3)) if x.ndim == 4 else x.mean(1)


class FirstToken(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[:, 0]


class Builder:
    """Makes modules of layers, and notes their parameters under the names of the message."""

    def __init__(self, shapes: dict[str, tuple[int, ...]]) -> None:
        self.shapes = shapes
        self.named: list[Named] = []

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
        content = distribute_tensor(content.contiguous(), parameter.device_mesh, parameter.placements, src_data_rank=None)
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
        builder = Builder({name: array.shape for name, array in task.weights.items()})
        module = builder.layers(task.model["layers"])
        self.named = builder.named
        self.images = task.model["input"]["kind"] == "grid"
        self.rank = task.rank
        self.shards = self.rank is not None and self.rank.communication == "sharded"
        # What is cut must be contiguous: `fully_shard` takes nothing else.
        innermost = self.images and not self.shards
        self.module = module.to(memory_format=torch.channels_last) if innermost else module
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
            mode = "max-autotune" if task.mode == "autotuned" else "default"
            self.model = torch.compile(self.model, mode=mode)
        self.start = {name: torch.from_numpy(array) for name, array in task.weights.items()}
        # In the order of the message: the modules' own is that of their attributes.
        parameters = [one.parameter for one in self.named]
        said = task.optimiser
        if said["kind"] == "sgd":
            self.optimiser: torch.optim.Optimizer = torch.optim.SGD(parameters, said["rate"], said["momentum"])
        else:
            betas = (said["beta1"], said["beta2"])
            self.optimiser = torch.optim.AdamW(parameters, said["rate"], betas, said["epsilon"], said["decay"])
        self.reset()

    def reset(self) -> None:
        with torch.no_grad():
            for one in self.named:
                put(one.parameter, one.theirs(self.start[one.name]))
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
        return torch.autocast("cpu", torch.bfloat16) if self.task.precision == "bf16" else nullcontext()

    def samples(self, index: int) -> tuple[Tensor, Tensor]:
        inputs, labels = self.task.of_step(index)
        return self.entering(inputs), torch.from_numpy(labels).long()

    def entering(self, inputs: Array) -> Tensor:
        inputs = torch.from_numpy(inputs)
        return inputs.permute(0, 3, 1, 2) if self.images else inputs

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

    def compute(self, index: int) -> tuple[float, Array, Tensors]:
        self.optimiser.zero_grad()
        loss, logits = self.forward(*self.samples(index))
        loss.backward()
        if self.rank and self.averages:
            self.average(self.rank)
        gradients = {one.name: one.ours(whole(one.parameter.grad)).numpy() for one in self.named}
        return loss.item(), logits.detach().float().numpy(), gradients

    def predict(self, inputs: Array) -> Array:
        with torch.no_grad(), self.precision():
            return self.module(self.entering(inputs)).float().numpy()

    def operators(self, run: Callable[[], None]) -> Operators:
        return by_torch(run)

    def weights(self) -> Tensors:
        return {one.name: one.ours(whole(one.parameter.detach())).numpy() for one in self.named}

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
            precision=precision(dtype, computed),
            parameters=sum(one.numel() for one in self.module.parameters()),
            batch=len(x),
        )

    def environment(self) -> dict[str, str]:
        if not self.shards:
            return of_torch()
        return of_torch() | {"own_numbers": str(sum(here(one.parameter).numel() for one in self.named))}

    def close(self) -> None:
        if self.rank:
            self.model = self.module
            distributed.destroy_process_group()
        super().close()


def open(task: Task, place: Place) -> PyTorch:
    return PyTorch(task)


ADAPTER = Trainer(framework="PyTorch", distribution="torch", entry_point="torch.nn.Module", open=open, ranks=True)
