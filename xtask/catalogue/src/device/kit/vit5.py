"""A training step of ViT-5 Small on one device, original and optimised: a row of the published table for each.

    python vit5.py eager|compiled|autotuned [--rehearse]

ViT-5 Small: 224 x 224 pixels, patches of 16, width 384, 6 heads, 12 blocks, 201 tokens. It is assumed that 201 are 196
patches, a token of the class and 4 registers, and that rotary positions turn patches alone, by row and column. The data
are random and stay on the device. `--rehearse` runs a tiny model on the host: no figure of it is one of a device.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

MODES = {"eager": None, "compiled": "default", "autotuned": "max-autotune"}

PEAKS = {
    "H200 NVL": 835.0,
    "H200": 989.4,
    "H100 PCIe": 756.0,
    "H100 NVL": 835.0,
    "H100": 989.4,
    "A100": 312.0,
    "L40S": 362.05,
    "L4": 121.0,
    "RTX 4090": 165.2,
    "RTX 3090": 71.0,
    "B200": 2250.0,
}
"""Dense bf16 with sums of f32, TFLOP/s, as NVIDIA's data sheets and white papers have it; the first that fits."""


@dataclass(frozen=True)
class Shape:
    width: int = 384
    heads: int = 6
    blocks: int = 12
    pixels: int = 224
    patch: int = 16
    classes: int = 1000
    batch: int = 256
    extra: int = 5

    @property
    def side(self) -> int:
        return self.pixels // self.patch

    @property
    def tokens(self) -> int:
        return self.side**2 + self.extra

    def flops(self) -> float:
        """Of a sample, forward and backward: two for each multiplication, the way back twice the way there."""
        block = 12 * self.width**2 * self.tokens + 2 * self.tokens**2 * self.width
        patches = self.side**2 * self.patch**2 * 3 * self.width
        return 3.0 * 2.0 * (self.blocks * block + patches + self.width * self.classes)


def angles(shape: Shape, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosines and sines for each token and half of a head: none turns the class and the registers."""
    half = shape.width // shape.heads // 2
    rates = 100.0 ** (-torch.arange(0, half, 2, device=device, dtype=torch.float32) / half)
    at = torch.arange(shape.side, device=device, dtype=torch.float32)
    rows, columns = torch.meshgrid(at, at, indexing="ij")
    turned = torch.cat([rows.reshape(-1, 1) * rates, columns.reshape(-1, 1) * rates], 1)
    turned = torch.cat([torch.zeros(shape.extra, half, device=device), turned])
    return turned.cos(), turned.sin()


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    even, odd = x.chunk(2, -1)
    return torch.cat([even * cos - odd * sin, even * sin + odd * cos], -1)


class PlainNorm(nn.Module):
    """RMSNorm operation by operation, in f32."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight).to(x.dtype)


class FusedNorm(PlainNorm):
    """The same by one call. Its weights take part in the type of what enters: there is no fused kernel otherwise."""

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), 1e-6)


class Attention(nn.Module):
    def __init__(self, shape: Shape, optimised: bool) -> None:
        super().__init__()
        self.shape, self.optimised = shape, optimised
        self.qkv, self.out = nn.Linear(shape.width, 3 * shape.width), nn.Linear(shape.width, shape.width)
        self.cache: dict[str, tuple[Tensor, Tensor]] = {}

    def forward(self, x: Tensor, cos: Tensor | None, sin: Tensor | None) -> Tensor:
        batch, tokens, width = x.shape
        heads = self.shape.heads
        q, k, v = self.qkv(x).view(batch, tokens, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind()
        if not self.optimised:
            # Made anew for each call behind a look into a dictionary, in f32, and cast back.
            self.cache.clear()
            key = f"{tokens} on {x.device}"
            if key not in self.cache:
                self.cache[key] = angles(self.shape, x.device)
            cos, sin = self.cache[key]
            q, k = (turn(part.float(), cos, sin).to(v.dtype) for part in (q, k))
            scores = (q.float() @ k.float().transpose(-1, -2)) * (width // heads) ** -0.5
            seen = scores.softmax(-1).to(v.dtype) @ v
        else:
            q, k = (turn(part, cos, sin) for part in (q, k))
            seen = F.scaled_dot_product_attention(q, k, v)
        return self.out(seen.transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    def __init__(self, shape: Shape, optimised: bool) -> None:
        super().__init__()
        width = shape.width
        norm = FusedNorm if optimised else PlainNorm
        self.first, self.second = norm(width), norm(width)
        self.attention = Attention(shape, optimised)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor, cos: Tensor | None, sin: Tensor | None) -> Tensor:
        x = x + self.attention(self.first(x), cos, sin)
        return x + self.mlp(self.second(x))


class ViT5(nn.Module):
    def __init__(self, shape: Shape, optimised: bool, device: torch.device) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, shape.width, shape.patch, shape.patch)
        self.extra = nn.Parameter(torch.zeros(shape.extra, shape.width))
        self.blocks = nn.ModuleList(Block(shape, optimised) for _ in range(shape.blocks))
        self.norm = (FusedNorm if optimised else PlainNorm)(shape.width)
        self.head = nn.Linear(shape.width, shape.classes)
        cos, sin = angles(shape, torch.device("cpu")) if optimised else (None, None)
        for name, value in (("cos", cos), ("sin", sin)):
            self.register_buffer(name, None if value is None else value.to(torch.bfloat16))
        self.to(device)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.extra.to(x.dtype).expand(len(x), -1, -1), x], 1)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return self.head(self.norm(x)[:, 0])


def timed(step: Callable[[], None], device: torch.device, least: float) -> list[float]:
    """Milliseconds of steps, by the device's events where there are such, each complete before it ends."""
    times, until = [], time.perf_counter() + least
    while len(times) < 10 or time.perf_counter() < until:
        if device.type == "cuda":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            step()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        else:
            start = time.perf_counter()
            step()
            times.append((time.perf_counter() - start) * 1e3)
        if len(times) >= 200:
            break
    return times


def measured(state: str, mode: str, shape: Shape, device: torch.device, least: float) -> dict[str, object]:
    torch.manual_seed(42)
    optimised = state == "optimised"
    model = ViT5(shape, optimised, device)
    if optimised:
        model = model.to(memory_format=torch.channels_last)
    where = {parameter.device.type for parameter in model.parameters()}
    if where != {device.type}:
        raise RuntimeError(f"the weights are on {where}, not on {device.type}")
    optimiser = torch.optim.AdamW(
        model.parameters(), 1e-3, weight_decay=0.05, foreach=False, fused=optimised and device.type == "cuda"
    )
    x = torch.randn(shape.batch, 3, shape.pixels, shape.pixels, device=device)
    y = torch.randint(shape.classes, (shape.batch,), device=device)
    if optimised:
        x = x.to(memory_format=torch.channels_last)
    forward = torch.compile(model, mode=MODES[mode]) if MODES[mode] else model
    losses: list[Tensor] = []

    def step() -> None:
        optimiser.zero_grad()
        with torch.autocast(device.type, torch.bfloat16):
            loss = F.cross_entropy(forward(x).float(), y)
        loss.backward()
        optimiser.step()
        losses[:] = [loss.detach()]

    start = time.perf_counter()
    for _ in range(3):
        step()
    first = float(losses[0])  # waits for all of it
    warm = time.perf_counter() - start
    times = timed(step, device, least)
    row: dict[str, object] = {
        "state": state,
        "mode": mode,
        "ms": statistics.median(times),
        "lowest_ms": min(times),
        "steps": len(times),
        "warm_up_s": warm,
        "loss": [first, float(losses[0])],
        "samples_per_s": shape.batch / statistics.median(times) * 1e3,
        "precision": "bf16",
    }
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info()
        row["peak_memory_of_framework"] = torch.cuda.max_memory_allocated()
        row["memory_of_driver"] = total - free
    if not all(map(torch.isfinite, losses)):
        raise RuntimeError("the loss is no number")
    return row


def named_peak(name: str) -> float | None:
    """By whole words of the device's name: an L40 is no L4, and another variant than those of the table has no peak."""
    words = set(re.split(r"[\s-]+", name))
    if words & {"D", "Laptop", "Ti", "MIG"}:
        return None
    return next((peak for part, peak in PEAKS.items() if set(part.split()) <= words), None)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--rehearse", action="store_true")
    args = parser.parse_args()
    if args.rehearse:
        device, shape, least = torch.device("cpu"), Shape(32, 2, 2, 32, 8, 10, 4), 0.0
        name = "REHEARSAL on the host, no figure of a device"
    elif torch.cuda.is_available():
        device, shape, least = torch.device("cuda"), Shape(), 6.0
        name = torch.cuda.get_device_name()
    else:
        sys.exit("PyTorch sees no device here")
    peak, flops = named_peak(name), shape.flops()
    print(f"{name}, PyTorch {torch.__version__}, {shape}", flush=True)
    print(f"{flops / 1e9:.2f} GFLOPs a sample of training; ", end="")
    if peak:
        print(f"peak {peak} TFLOP/s dense bf16: at most {peak * 1e12 / flops:,.0f} samples/s", flush=True)
    else:
        print("no peak is known of this device: no MFU", flush=True)
    print("\n| state | mode | ms | samples/s | MFU % |\n| --- | --- | ---: | ---: | ---: |", flush=True)
    crashed = False
    for state in ("original", "optimised"):
        try:
            row = measured(state, args.mode, shape, device, least)
            mfu = f"{row['samples_per_s'] * flops / peak / 1e10:.1f}" if peak else "n/a"
            print(f"| {state} | {args.mode} | {row['ms']:.2f} | {row['samples_per_s']:,.0f} | {mfu} |", flush=True)
        except Exception as why:  # a mode that crashes is a row
            crashed = True
            told = f"{type(why).__name__}: {why}".strip().splitlines()[0][:200]
            row = {"state": state, "mode": args.mode, "crash": told}
            print(f"| {state} | {args.mode} | CRASH | | {told} |", flush=True)
        row |= {"device": name, "torch": torch.__version__, "batch": shape.batch, "flops": flops, "peak_tflops": peak}
        with open(Path(os.environ.get("OUT", ".")) / "vit5.jsonl", "a") as file:
            print(json.dumps(row), file=file)
        torch.compiler.reset()
    sys.exit(1 if crashed else 0)


if __name__ == "__main__":
    main()
