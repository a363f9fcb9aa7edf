"""Files in the format of GGUF, from a decoder of the shape of GPT-2 and its weights: the model that llama.cpp takes.

What is written is the form of its version 3. The tokens are the letters that ids stand for in texts, and three more
that have no place in any: their logits are zero.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .adapter import Declined
from .http_server import letter_of
from .pipeline import Array
from .predictor import Layer, Task

MAGIC, VERSION, ALIGNMENT = b"GGUF", 3, 32
U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5
KINDS = {"float32": 0, "float16": 1}

BLANK = "\u2581"
"""What stands for a blank in a vocabulary of this kind."""

SPECIAL = ("<unk>", "<s>", "</s>")
NORMAL, UNKNOWN, CONTROL = 1, 2, 3


def text(content: str) -> bytes:
    raw = content.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(content: Any) -> bytes:
    """A value with its kind."""
    match content:
        case bool():
            return struct.pack("<I?", BOOL, content)
        case int():
            return struct.pack("<II", U32, content)
        case float():
            return struct.pack("<If", F32, content)
        case str():
            return struct.pack("<I", STRING) + text(content)
        case [str(), *_]:
            return struct.pack("<IIQ", ARRAY, STRING, len(content)) + b"".join(map(text, content))
        case [float(), *_]:
            return struct.pack(f"<IIQ{len(content)}f", ARRAY, F32, len(content), *content)
        case [int(), *_]:
            return struct.pack(f"<IIQ{len(content)}i", ARRAY, I32, len(content), *content)
    raise TypeError(f"there is no value like {content}")


def file(facts: dict[str, Any], tensors: dict[str, Array]) -> bytes:
    """The file of these facts and tensors. Its axes begin with the last one of an array."""
    said = b"".join(text(name) + value(fact) for name, fact in facts.items())
    heads, data = b"", b""
    for name, array in tensors.items():
        data += b"\0" * (-len(data) % ALIGNMENT)
        axes = struct.pack(f"<I{array.ndim}Q", array.ndim, *reversed(array.shape))
        heads += text(name) + axes + struct.pack("<IQ", KINDS[str(array.dtype)], len(data))
        data += np.ascontiguousarray(array).tobytes()
    start = MAGIC + struct.pack("<IQQ", VERSION, len(tensors), len(facts)) + said + heads
    return start + b"\0" * (-len(start) % ALIGNMENT) + data


def shape_of(layers: list[Layer]) -> tuple[int, int, int, float]:
    """Heads, width, blocks and what is added to a variance; refuses another shape than that of GPT-2."""
    kinds = [layer["kind"] for layer in layers]
    inner = [[one["kind"] for one in layer["body"]] for layer in layers if layer["kind"] == "residual"]
    blocks = len(inner) // 2
    due = ["embed", "positions", *["residual"] * (2 * blocks), "layer_norm", "linear"]
    block = [["layer_norm", "attention"], ["layer_norm", "linear", "gelu", "linear"]]
    if kinds != due or inner != block * blocks:
        raise Declined(f"a model of {', '.join(kinds)}: llama.cpp is given the shape of GPT-2 here")
    first = layers[2]["body"]
    return first[1]["heads"], layers[0]["width"], blocks, first[0]["epsilon"]


def tensors(task: Task, blocks: int) -> Iterator[tuple[str, Array]]:
    """The tensors by the names that llama.cpp has for those of GPT-2. A map is stored as rows of its outputs."""
    weights = task.weights
    more = len(SPECIAL)

    def norm(name: str, at: str) -> Iterator[tuple[str, Array]]:
        yield f"{name}.weight", weights[f"{at}.scale"]
        yield f"{name}.bias", weights[f"{at}.shift"]

    def linear(name: str, at: str) -> Iterator[tuple[str, Array]]:
        yield f"{name}.weight", weights[f"{at}.weight"].T.astype(np.float16)
        yield f"{name}.bias", weights[f"{at}.bias"]

    yield "token_embd.weight", np.pad(weights["0.table"], ((0, more), (0, 0))).astype(np.float16)
    yield "position_embd.weight", weights["1.positions"].reshape(task.length, -1)
    for block in range(blocks):
        attention, network = 2 + 2 * block, 3 + 2 * block
        yield from norm(f"blk.{block}.attn_norm", f"{attention}.0")
        yield from linear(f"blk.{block}.attn_qkv", f"{attention}.1.qkv")
        yield from linear(f"blk.{block}.attn_output", f"{attention}.1.out")
        yield from norm(f"blk.{block}.ffn_norm", f"{network}.0")
        yield from linear(f"blk.{block}.ffn_up", f"{network}.1")
        yield from linear(f"blk.{block}.ffn_down", f"{network}.3")
    last = 2 + 2 * blocks
    yield from norm("output_norm", f"{last}")
    if weights[f"{last + 1}.bias"].any():
        raise Declined("a map to the ids with a bias: GPT-2 has none in llama.cpp")
    yield "output.weight", np.pad(weights[f"{last + 1}.weight"].T, ((0, more), (0, 0))).astype(np.float16)


def write(task: Task, path: Path) -> Path:
    """Writes the model of what is asked for."""
    heads, width, blocks, epsilon = shape_of(task.layers)
    ids = int(task.model["input"]["below"])
    letters = [BLANK if letter_of(number) == " " else letter_of(number) for number in range(ids)]
    facts = {
        "general.architecture": "gpt2",
        "general.name": "weighbridge",
        "gpt2.context_length": task.length,
        "gpt2.embedding_length": width,
        "gpt2.feed_forward_length": 4 * width,
        "gpt2.block_count": blocks,
        "gpt2.attention.head_count": heads,
        "gpt2.attention.layer_norm_epsilon": epsilon,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [*letters, *SPECIAL],
        "tokenizer.ggml.scores": [0.0] * (ids + len(SPECIAL)),
        "tokenizer.ggml.token_type": [NORMAL] * ids + [UNKNOWN, CONTROL, CONTROL],
        "tokenizer.ggml.unknown_token_id": ids,
        "tokenizer.ggml.bos_token_id": ids + 1,
        "tokenizer.ggml.eos_token_id": ids + 2,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_eos_token": False,
        "tokenizer.ggml.add_space_prefix": False,
    }
    path.write_bytes(file(facts, dict(tensors(task, blocks))))
    return path
