"""A way through a model's layers: which layer is which, and by which name its weights are called. What each computes is
the framework's own file's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ..adapter import Declined
from ..predictor import Layer


class Walk(ABC):
    """Goes through layers. `x` has the samples on its first axis, then rows, and numbers on its last."""

    def model(self, layers: list[Layer], x: Any, decodes: bool) -> Any:
        """The logits; of a decoder those of the last place alone."""
        until_last = len(layers) - 2 if decodes else len(layers)
        for number, layer in enumerate(layers):
            if number == until_last:
                x = x[:, -1]
            x = self.layer(layer, x, f"{number}")
        return x

    def through(self, layers: list[Layer], x: Any, at: str) -> Any:
        for number, layer in enumerate(layers):
            x = self.layer(layer, x, f"{at}.{number}")
        return x

    def layer(self, layer: Layer, x: Any, at: str) -> Any:
        match layer["kind"]:
            case "linear":
                return self.linear(x, at)
            case "embed":
                return self.embed(x, f"{at}.table")
            case "positions":
                return self.positions(x, f"{at}.positions")
            case "residual":
                return self.add(x, self.through(layer["body"], x, at))
            case "projected":
                longer = self.through(layer["body"], x, f"{at}.0")
                return self.add(longer, self.through(layer["around"], x, f"{at}.1"))
            case "layer_norm":
                return self.layer_norm(x, at, layer["epsilon"])
            case "batch_norm":
                return self.batch_norm(x, at, layer["epsilon"])
            case "attention":
                qkv = self.linear(x, f"{at}.qkv")
                return self.linear(self.attention(qkv, at, layer["heads"], layer["causal"]), f"{at}.out")
            case "gelu":
                return self.gelu(x)
            case "relu":
                return self.relu(x)
            case "conv":
                return self.conv(x, f"{at}.weight", layer["kernel"], layer["stride"])
            case "max_pool":
                return self.max_pool(x, layer["kernel"], layer["stride"])
            case "mean_pool":
                return self.mean_pool(x)
            case "first_token":
                return self.first(x)
            case other:
                raise Declined(f"the layer {other}: no model here has it")

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def first(self, x: Any) -> Any:
        return x[:, 0]

    @abstractmethod
    def linear(self, x: Any, at: str) -> Any: ...

    @abstractmethod
    def embed(self, ids: Any, name: str) -> Any: ...

    @abstractmethod
    def positions(self, x: Any, name: str) -> Any: ...

    @abstractmethod
    def layer_norm(self, x: Any, at: str, epsilon: float) -> Any: ...

    @abstractmethod
    def batch_norm(self, x: Any, at: str, epsilon: float) -> Any: ...

    @abstractmethod
    def attention(self, qkv: Any, at: str, heads: int, causal: bool) -> Any:
        """Of queries, keys and values side by side, each by heads."""

    @abstractmethod
    def gelu(self, x: Any) -> Any: ...

    @abstractmethod
    def relu(self, x: Any) -> Any: ...

    @abstractmethod
    def conv(self, x: Any, name: str, kernel: int, stride: int) -> Any:
        """With `(kernel - 1) / 2` zeros around."""

    @abstractmethod
    def max_pool(self, x: Any, kernel: int, stride: int) -> Any: ...

    @abstractmethod
    def mean_pool(self, x: Any) -> Any: ...
