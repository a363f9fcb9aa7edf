"""PyTorch: modules, as its tutorials write them.

`eager` is a call under `torch.inference_mode`, `tracked` one without it, so that a way back could follow, and
`compiled` is `torch.compile(model)` under it. Images stay in memory as they come: their channels are innermost, which
PyTorch calls `channels_last`. Keys and values are kept in tensors with room for all places.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..adapter import Declined, Place
from ..environments import of_torch
from ..on_torch import backend_of_tensors, device_for, memory_of
from ..pipeline import Array
from ..predictor import Layer, Prediction, Predictor, Task, short, told
from ..trainers.pytorch import NORM, Builder, transposed


class Kept:
    """What came before: how many places, and room for all of them."""

    def __init__(self) -> None:
        self.before = 0
        self.keeps = False
        self.pairs: dict[str, tuple[Tensor, Tensor]] = {}


class Positions(nn.Module):
    def __init__(self, length: int, width: int, kept: Kept) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.empty(length, width))
        self.kept = kept

    def forward(self, x: Tensor) -> Tensor:
        before = self.kept.before
        return x + self.positions[before : before + x.shape[1]]


class Attention(nn.Module):
    def __init__(self, at: str, width: int, heads: int, causal: bool, length: int, kept: Kept) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.at, self.heads, self.causal, self.length, self.kept = at, heads, causal, length, kept

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind()
        if self.kept.keeps:
            k, v = self.seen(k, v)
        # A single place is the last one, and sees all.
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal and length > 1)
        return self.out(seen.transpose(1, 2).reshape(batch, length, width))

    def seen(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values behind those that came before."""
        batch, heads, length, size = k.shape
        if self.at not in self.kept.pairs:
            shape = (batch, heads, self.length, size)
            self.kept.pairs[self.at] = (k.new_empty(shape), k.new_empty(shape))
        end = self.kept.before + length
        keys, values = self.kept.pairs[self.at]
        keys[:, :, self.kept.before : end] = k
        values[:, :, self.kept.before : end] = v
        return keys[:, :, :end], values[:, :, :end]


class LastPlace(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[:, -1]


class Predicting(Builder):
    """Makes the modules of a training, and others of what a model that predicts does otherwise."""

    def __init__(self, task: Task, kept: Kept) -> None:
        super().__init__({name: array.shape for name, array in task.weights.items()})
        self.task, self.kept = task, kept
        self.statistics: dict[str, Tensor] = {}

    def model(self) -> nn.Sequential:
        modules = [self.layer(layer, f"{number}") for number, layer in enumerate(self.task.layers)]
        if self.task.decodes:
            modules.insert(len(modules) - 2, LastPlace())
        return nn.Sequential(*modules)

    def layer(self, layer: Layer, at: str) -> nn.Module:
        match layer["kind"]:
            case "positions":
                length, width = self.shapes[f"{at}.positions"]
                return self.note(Positions(length, width, self.kept), at)
            case "attention":
                width, _ = self.shapes[f"{at}.out.weight"]
                length = self.task.length
                attention = Attention(at, width, layer["heads"], layer["causal"], length, self.kept)
                self.note(attention.qkv, f"{at}.qkv", weight=transposed)
                self.note(attention.out, f"{at}.out", weight=transposed)
                return attention
            case "batch_norm":
                (channels,) = self.shapes[f"{at}.scale"]
                norm = nn.BatchNorm2d(channels, layer["epsilon"])
                self.statistics[f"{at}.mean"] = norm.running_mean
                self.statistics[f"{at}.variance"] = norm.running_var
                return self.note(norm, at, names=NORM)
            case _:
                return super().layer(layer, at)


class PyTorch(Prediction):
    """A module."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.generation and task.mode == "compiled":
            raise Declined("mode compiled: each length of a generation would be compiled anew")
        self.kept = Kept()
        builder = Predicting(task, self.kept)
        self.module = builder.model().eval()
        with torch.no_grad():
            for one in builder.named:
                one.parameter.copy_(one.theirs(torch.from_numpy(task.weights[one.name])))
            for name, statistic in builder.statistics.items():
                statistic.copy_(torch.from_numpy(task.weights[name]))
        self.where_to = device_for(task.device)
        self.module = self.module.to(self.where_to)
        self.statistics = builder.statistics
        self.images = task.model["input"]["kind"] == "grid"
        if task.precision == "bf16":
            self.module = self.module.bfloat16()
        if self.images:
            self.module = self.module.to(memory_format=torch.channels_last)
        self.model: Any = torch.compile(self.module) if task.mode == "compiled" else self.module

    def forward(self, inputs: Array) -> Array:
        x = torch.from_numpy(inputs).to(self.where_to)
        if not self.task.takes_ids and self.task.precision == "bf16":
            x = x.bfloat16()
        if self.images:
            x = x.permute(0, 3, 1, 2)
        if self.task.mode == "tracked":
            return self.model(x).detach().float().cpu().numpy()
        with torch.inference_mode():
            return self.model(x).float().cpu().numpy()

    def predict(self, inputs: Array) -> Array:
        self.kept.keeps, self.kept.before = False, 0
        return self.forward(inputs)

    def prefill(self, ids: Array) -> Array:
        if self.task.mode == "tracked":
            raise Declined("mode tracked: what is kept of the places before would be part of a way back")
        self.kept.keeps, self.kept.before = True, 0
        logits = self.forward(ids)
        self.kept.before = ids.shape[1]
        return logits

    def decode(self, ids: Array) -> Array:
        logits = self.forward(ids[:, None])
        self.kept.before += 1
        return logits

    def settings(self) -> dict[str, str]:
        (dtype,) = {one.dtype for one in self.module.parameters()}
        learned = sum(one.numel() for one in self.module.parameters())
        return told(short(dtype), learned + sum(one.numel() for one in self.statistics.values()))

    def where(self) -> str:
        return backend_of_tensors(self.module.parameters())

    def device_memory(self) -> dict[str, int]:
        return memory_of(self.where_to)

    def environment(self) -> dict[str, str]:
        return of_torch()


def open(task: Task, place: Place) -> PyTorch:
    return PyTorch(task)


ADAPTER = Predictor(
    framework="PyTorch (inference)",
    distribution="torch",
    entry_point="torch.nn.Module",
    open=open,
    platforms=("cpu", "gpu"),
)
