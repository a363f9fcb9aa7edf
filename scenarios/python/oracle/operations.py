"""Operations of products and convolutions in a step's forward and backward pass, as frameworks themselves count them.

    python oracle/operations.py torch    what `FlopCounterMode` sees while a step is computed
    python oracle/operations.py jax      what `dot` and `convolution` are in the program before XLA optimises it

Prints, for each model of `tests/models.json`, operations of a sample: an addition and a multiplication are two.
Attention is computed in full, and nothing twice.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent.parent
sys.path.insert(0, str(HOME))

BATCH = 2


def shapes(model: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {one["name"]: tuple(one["shape"]) for one in model["parameters"]}


def entering(model: dict[str, Any]) -> tuple[tuple[int, ...], str]:
    """The shape of what enters the model, as the message has it, and its type."""
    said = model["model"]["input"]
    match said["kind"]:
        case "grid":
            return (BATCH, said["rows"], said["columns"], said["channels"]), "float32"
        case "ids":
            return (BATCH, said["length"]), "int32"
        case _:
            return (BATCH, said["width"]), "float32"


def by_torch(model: dict[str, Any]) -> float:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from weighbridge_worker.trainers.pytorch import Builder

    module = Builder(shapes(model)).layers(model["model"]["layers"])
    shape, dtype = entering(model)
    x = torch.zeros(shape, dtype=getattr(torch, dtype))
    if len(shape) == 4:
        x = x.permute(0, 3, 1, 2)
    counter = FlopCounterMode(display=False)
    # The fused kernels compute scores again on the way back, which is counted.
    with counter, sdpa_kernel(SDPBackend.MATH):
        module(x).sum().backward()
    return counter.get_total_flops() / BATCH


def by_jax(model: dict[str, Any]) -> float:
    import jax
    from flax import nnx

    from weighbridge_worker.trainers.flax import Builder

    module = Builder(shapes(model), "f32").layers(model["model"]["layers"])
    graph, parameters, rest = nnx.split(module, nnx.Param, ...)

    def total(parameters: Any, x: Any) -> Any:
        return nnx.merge(graph, parameters, rest, copy=True)(x).sum()

    shape, dtype = entering(model)
    lowered = jax.jit(jax.value_and_grad(total)).lower(parameters, jax.ShapeDtypeStruct(shape, dtype))
    return operations(lowered.as_text(dialect="hlo")) / BATCH


INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?(\S+) = \w+\[([\d,]*)\]\S* (\w[\w-]*)\(([^)]*)\)(.*)$")


def operations(program: str) -> int:
    """Operations of all `dot` and `convolution` in the text of an HLO module."""
    known: dict[str, list[int]] = {}
    total = 0
    for line in program.splitlines():
        found = INSTRUCTION.match(line)
        if found is None:
            continue
        name, dimensions, kind, operands, attributes = found.groups()
        known[name] = result = [int(one) for one in dimensions.split(",") if one]
        if kind not in ("dot", "convolution"):
            continue
        left, right = (known[one.split()[-1].lstrip("%")] for one in operands.split(", "))
        if kind == "dot":
            (summed,) = re.findall(r"lhs_contracting_dims=\{([\d,]*)\}", attributes)
            over = math.prod(left[int(one)] for one in summed.split(",") if one)
        else:
            # A kernel is all that one output is made of, but for the axis of the outputs themselves.
            ((_, of_kernel, _),) = re.findall(r"dim_labels=(\w+)_(\w+)->(\w+)", attributes)
            over = math.prod(size for size, axis in zip(right, of_kernel, strict=True) if axis != "o")
            # Where the input was spread for a stride, only one place in so many holds a number.
            for spread in re.findall(r"lhs_dilate=([\dx]+)", attributes):
                over /= math.prod(int(one) for one in spread.split("x"))
        total += round(2 * math.prod(result) * over)
    return total


COUNTS = {"torch": by_torch, "jax": by_jax}

if __name__ == "__main__":
    count = COUNTS[sys.argv[1]]
    models = json.loads((HOME / "tests" / "models.json").read_text())
    print(json.dumps({model["name"]: count(model) for model in models}))
