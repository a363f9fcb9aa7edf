"""Files in the format of ONNX, from a model and its weights: the graph that a runtime of graphs is given.

What is written is protobuf by hand, by the numbers of the fields in ONNX's own `onnx.proto`: nothing need be installed
for it. The graph is that of opset 20.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from .pipeline import Array
from .predictor import Task
from .predictors.walk import Walk

OPSET, IR = 20, 9
FLOAT, INT32, INT64, BOOL = 1, 6, 7, 9
KINDS = {"float32": FLOAT, "int32": INT32, "int64": INT64}


def number(value: int) -> bytes:
    """A whole number, seven bits a byte."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def whole(field: int, value: int) -> bytes:
    return number(field << 3) + number(value)


def part(field: int, content: bytes | str) -> bytes:
    """A message or a text in a message."""
    content = content.encode() if isinstance(content, str) else content
    return number(field << 3 | 2) + number(len(content)) + content


def tensor(name: str, array: Array) -> bytes:
    dims = b"".join(whole(1, size) for size in array.shape)
    return dims + whole(2, KINDS[str(array.dtype)]) + part(8, name) + part(9, np.ascontiguousarray(array).tobytes())


def attribute(name: str, value: Any) -> bytes:
    said = part(1, name)
    match value:
        case float():
            return said + number(2 << 3 | 5) + struct.pack("<f", value) + whole(20, 1)
        case int():
            return said + whole(3, value) + whole(20, 2)
        case str():
            return said + part(4, value) + whole(20, 3)
        case list():
            return said + b"".join(whole(8, one) for one in value) + whole(20, 7)
    raise TypeError(f"there is no attribute like {value}")


def value_info(name: str, kind: int, axes: list[int | str]) -> bytes:
    """What enters or leaves a graph. A size that is a text may be any."""
    dims = b"".join(part(1, part(2, size) if isinstance(size, str) else whole(1, size)) for size in axes)
    return part(1, name) + part(2, part(1, whole(1, kind) + part(2, dims)))


class Graph(Walk):
    """A graph that is written layer by layer: what passes through it are the names of what nodes make.

    `keeps` adds keys and values of what came before to what enters and to what leaves, and `grows` says that the number
    of ids is not that of the model: then `places` says where they stand, and `seen` which places there are.
    """

    def __init__(self, task: Task, *, keeps: bool = False, grows: bool = False) -> None:
        self.task, self.keeps, self.grows = task, keeps, grows
        self.nodes: list[bytes] = []
        self.tensors: dict[str, bytes] = {}
        self.kept: list[str] = []
        self.made = 0
        self.mask: str | None = None

    def node(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"v{self.made + at}" for at in range(outputs)]
        self.made += outputs
        self.nodes.append(
            b"".join(part(1, name) for name in inputs)
            + b"".join(part(2, name) for name in names)
            + part(4, kind)
            + b"".join(part(5, attribute(name, value)) for name, value in attributes.items())
        )
        return names[0] if outputs == 1 else names

    def constant(self, name: str, array: Array) -> str:
        self.tensors.setdefault(name, tensor(name, array))
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, self.task.weights[name])

    def ints(self, *numbers: int) -> str:
        return self.constant("ints " + " ".join(map(str, numbers)), np.array(numbers, np.int64))

    def model_proto(self) -> bytes:
        """The file."""
        batch, said = self.task.batch, self.task.model["input"]
        length: int | str = "length" if self.grows else said.get("length", 0)
        match said["kind"]:
            case "ids":
                enters = value_info("input", INT32, [batch, length])
            case "grid":
                enters = value_info("input", FLOAT, [batch, said["rows"], said["columns"], said["channels"]])
            case _:
                enters = value_info("input", FLOAT, [batch, said["width"]])
        x: str = "input"
        if said["kind"] == "grid":
            x = self.node("Transpose", x, perm=[0, 3, 1, 2])
        logits = self.model(self.task.layers, x, self.task.decodes)
        entering = [enters]
        if self.grows:
            entering += [value_info("places", INT64, ["length"]), value_info("seen", INT64, ["seen"])]
        leaving = [value_info(self.named(logits, "logits"), FLOAT, [batch, "classes"])]
        for at, size in enumerate(self.sizes if self.keeps else []):
            heads, of_head = size
            for name in ("keys", "values"):
                entering.append(value_info(f"{name}{at}", FLOAT, [batch, heads, "before", of_head]))
        for name in self.kept:
            leaving.append(value_info(name, FLOAT, [batch, "heads", "seen", "size"]))
        graph = (
            b"".join(part(1, node) for node in self.nodes)
            + part(2, "model")
            + b"".join(part(5, one) for one in self.tensors.values())
            + b"".join(part(11, one) for one in entering)
            + b"".join(part(12, one) for one in leaving)
        )
        return whole(1, IR) + part(2, "weighbridge") + part(7, graph) + part(8, part(1, "") + whole(2, OPSET))

    def named(self, made: str, name: str) -> str:
        """The same under a name of one's own."""
        self.nodes.append(part(1, made) + part(2, name) + part(4, "Identity"))
        return name

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Heads and their width, of each layer of attention in turn."""
        return self._sizes

    _sizes: list[tuple[int, int]]

    def model(self, layers: Any, x: Any, decodes: bool) -> str:
        self._sizes = []
        until_last = len(layers) - 2 if decodes else len(layers)
        for at, layer in enumerate(layers):
            if at == until_last:
                x = self.node("Gather", x, self.constant("last", np.array(-1, np.int64)), axis=1)
            x = self.layer(layer, x, f"{at}")
        return str(x)

    def add(self, x: str, y: str) -> str:
        return str(self.node("Add", x, y))

    def first(self, x: str) -> str:
        return str(self.node("Gather", x, self.constant("first", np.array(0, np.int64)), axis=1))

    def linear(self, x: str, at: str) -> str:
        return self.add(self.node("MatMul", x, self.weight(f"{at}.weight")), self.weight(f"{at}.bias"))

    def embed(self, ids: str, name: str) -> str:
        return str(self.node("Gather", self.weight(name), ids, axis=0))

    def positions(self, x: str, name: str) -> str:
        rows = self.weight(name)
        return self.add(x, self.node("Gather", rows, "places", axis=0) if self.grows else rows)

    def layer_norm(self, x: str, at: str, epsilon: float) -> str:
        scale, shift = self.weight(f"{at}.scale"), self.weight(f"{at}.shift")
        return str(self.node("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon))

    def batch_norm(self, x: str, at: str, epsilon: float) -> str:
        names = (self.weight(f"{at}.{name}") for name in ("scale", "shift", "mean", "variance"))
        return str(self.node("BatchNormalization", x, *names, epsilon=epsilon))

    def attention(self, qkv: str, at: str, heads: int, causal: bool) -> str:
        (width,) = self.task.weights[f"{at}.out.bias"].shape
        size = width // heads
        # 0 is the size that it had.
        split = self.node("Reshape", qkv, self.ints(0, 0, 3, heads, size))
        parts = self.node(
            "Split", self.node("Transpose", split, perm=[2, 0, 3, 1, 4]), outputs=3, axis=0, num_outputs=3
        )
        q, k, v = (self.node("Squeeze", one, self.ints(0)) for one in parts)
        if self.keeps:
            number_of = len(self._sizes)
            self._sizes.append((heads, size))
            k = self.node("Concat", f"keys{number_of}", k, axis=2)
            v = self.node("Concat", f"values{number_of}", v, axis=2)
            self.kept += [self.named(k, f"keys{number_of} after"), self.named(v, f"values{number_of} after")]
        scale = self.constant(f"scale {size}", np.array(size**-0.5, np.float32))
        scores = self.node("Mul", self.node("MatMul", q, self.node("Transpose", k, perm=[0, 1, 3, 2])), scale)
        if causal:
            scores = self.masked(scores)
        seen = self.node("MatMul", self.node("Softmax", scores, axis=-1), v)
        return str(self.node("Reshape", self.node("Transpose", seen, perm=[0, 2, 1, 3]), self.ints(0, 0, width)))

    def masked(self, scores: str) -> str:
        """Scores of a place to itself and those before it alone."""
        if not self.grows:
            later = np.triu(np.full((self.task.length, self.task.length), -np.inf, np.float32), 1)
            return self.add(scores, self.constant("later", later))
        if self.mask is None:
            rows = self.node("Unsqueeze", "places", self.ints(1))
            self.mask = self.node("LessOrEqual", "seen", rows)
        never = self.constant("never", np.array(-np.inf, np.float32))
        return str(self.node("Where", self.mask, scores, never))

    def gelu(self, x: str) -> str:
        return str(self.node("Gelu", x))

    def relu(self, x: str) -> str:
        return str(self.node("Relu", x))

    def conv(self, x: str, name: str, kernel: int, stride: int) -> str:
        kernels = self.constant(name, self.task.weights[name].transpose(3, 2, 0, 1))
        around = [(kernel - 1) // 2] * 4
        return str(self.node("Conv", x, kernels, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=around))

    def max_pool(self, x: str, kernel: int, stride: int) -> str:
        around = [(kernel - 1) // 2] * 4
        return str(self.node("MaxPool", x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=around))

    def mean_pool(self, x: str) -> str:
        axes = self.ints(2, 3) if self.task.model["input"]["kind"] == "grid" else self.ints(1)
        return str(self.node("ReduceMean", x, axes, keepdims=0))


def write(task: Task, path: Path) -> Path:
    """Writes the graph of what is asked for."""
    generation = task.generation
    graph = Graph(task, keeps=bool(generation and generation.cached), grows=generation is not None)
    path.write_bytes(graph.model_proto())
    return path
