"""JAX: the list in each of the four ways.

`eager` is element by element and call by call; `vectorised` transform by transform under `jax.vmap`; `compiled` one
`jax.jit` of the vmap of the list; `fused` one `jax.jit` of a gather that computes each number from its source at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from . import Square

LIBRARY = f"JAX {jax.__version__}"

Run = Callable[[Any, Any, Any], Array]
"""Rows, corners and turns of a batch to what is delivered."""


def normalise(x: Array, mean: Array, scale: Array) -> Array:
    return (x - mean) * scale


def crop(x: Array, corner: Array, window: int) -> Array:
    """The window in the upper left corner, and zeros around it."""
    side, _, channels = x.shape
    cut = jax.lax.dynamic_slice(x, (corner[0], corner[1], 0), (window, window, channels))
    return jnp.pad(cut, ((0, side - window), (0, side - window), (0, 0)))


def turn(x: Array, turns: Array) -> Array:
    return jax.lax.switch(turns, [partial(jnp.rot90, k=k) for k in range(4)], x)


def run(mode: str, square: Square) -> Run:
    """The list in this way."""
    mean, scale = jnp.asarray(square.mean), jnp.asarray(square.scale)
    side, window = square.side, square.window

    def one(x: Array, corner: Array, turns: Array) -> Array:
        return turn(crop(normalise(x, mean, scale), corner, window), turns)

    def eager(rows: Any, corners: Any, turns: Any) -> Array:
        made = []
        for row, corner, k in zip(rows, corners, turns.tolist(), strict=True):
            x = crop(normalise(jnp.asarray(row), mean, scale), corner, window)
            made.append(jnp.rot90(x, k))
        return jnp.stack(made)

    def vectorised(rows: Any, corners: Any, turns: Any) -> Array:
        x = jax.vmap(normalise, (0, None, None))(jnp.asarray(rows), mean, scale)
        x = jax.vmap(partial(crop, window=window))(x, jnp.asarray(corners))
        return jax.vmap(turn)(x, jnp.asarray(turns))

    def fused(rows: Array, corners: Array, turns: Array) -> Array:
        i, j = jnp.mgrid[:side, :side]
        last = side - 1
        # Where a quarter turn takes each pixel from, for each number of turns.
        row = jnp.stack([i, j, last - i, last - j])[turns]
        column = jnp.stack([j, last - i, last - j, i])[turns]
        inside = (row < window) & (column < window)
        element = jnp.arange(len(rows))[:, None, None]
        x = rows[element, row + corners[:, 0, None, None], column + corners[:, 1, None, None]]
        return jnp.where(inside[..., None], normalise(x, mean, scale), jnp.float32(0))

    ways: dict[str, Run] = {
        "eager": eager,
        "vectorised": vectorised,
        "compiled": jax.jit(jax.vmap(one)),
        "fused": jax.jit(fused),
    }
    return ways[mode]
