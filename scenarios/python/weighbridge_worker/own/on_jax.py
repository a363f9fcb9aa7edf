"""JAX, image by image under `jax.vmap`, compiled with the pipeline: what a stage of Datarax holds.

| transform | operator |
|---|---|
| `RandomResizedCrop` | `jax.image.scale_and_translate` (linear) of a window, whose bounds are draws |
| `RandomFlip`, `RandomSolarize`, `RandomGrayscale` | `jnp.where` |
| `ColorJitter` | arithmetic |
| `GaussianBlur` | sums of shifted images |
| `MultiScaleResize` | `jax.image.resize` twice, linear, without anti-aliasing |
| noise, brightness, scale | `jax.random.normal`, arithmetic |
| MixUp | on the batch: arithmetic; the weight by `jax.random.beta` |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..pipeline import Mixing, Touch
from . import AREA, BRIGHTNESS, FACTOR, GREY, NOISE, POINTWISE, RATIO, SCALE, SHIFT, SIGMA, TAPS, missing

LIBRARY = f"JAX {jax.__version__}"
LOG_RATIO = (math.log(RATIO[0]), math.log(RATIO[1]))
TRIES = 10
Step = Callable[[Any, Any], Any]


def between(key: Any, low: float, high: float) -> Any:
    return jax.random.uniform(key, (), minval=low, maxval=high)


def rounded(y: Any, like: Any) -> Any:
    """As the type of the field is: whole numbers where it is `u8`."""
    return jnp.clip(jnp.round(y), 0, 255).astype(jnp.uint8) if like.dtype == jnp.uint8 else y


def crop(x: Any, key: Any) -> Any:
    height, width, _ = x.shape
    keys = jax.random.split(key, 4)
    area = jax.random.uniform(keys[0], (TRIES,), minval=AREA[0], maxval=AREA[1]) * (height * width)
    ratio = jnp.exp(jax.random.uniform(keys[1], (TRIES,), minval=LOG_RATIO[0], maxval=LOG_RATIO[1]))
    w, h = jnp.round(jnp.sqrt(area * ratio)), jnp.round(jnp.sqrt(area / ratio))
    fits = (w >= 1) & (w <= width) & (h >= 1) & (h <= height)
    first = jnp.argmax(fits)
    w, h = jnp.where(fits.any(), w[first], width), jnp.where(fits.any(), h[first], height)
    top = jnp.floor(jax.random.uniform(keys[2]) * (height - h + 1))
    left = jnp.floor(jax.random.uniform(keys[3]) * (width - w + 1))
    scale = jnp.stack([height / h, width / w])
    shift = jnp.stack([-top, -left]) * scale
    y = jax.image.scale_and_translate(x.astype(jnp.float32), x.shape, (0, 1), scale, shift, "linear", antialias=False)
    return rounded(y, x)


def flip(x: Any, key: Any) -> Any:
    return jnp.where(jax.random.bernoulli(key), x[:, ::-1], x)


def jitter(x: Any, key: Any) -> Any:
    top = 255.0 if x.dtype == jnp.uint8 else 1.0
    keys = jax.random.split(key, 3)
    y = x.astype(jnp.float32)
    mean = y.mean()
    y = (y - mean) * between(keys[0], *FACTOR) + mean + between(keys[1], *SHIFT) * top
    grey = y.mean(-1, keepdims=True)
    return rounded(jnp.clip((y - grey) * between(keys[2], *FACTOR) + grey, 0, top), x)


def grey(x: Any, key: Any) -> Any:
    y = x.astype(jnp.float32) @ jnp.array([0.299, 0.587, 0.114], jnp.float32)
    y = jnp.broadcast_to(y[..., None], x.shape)
    return jnp.where(jax.random.bernoulli(key, GREY), rounded(y, x), x)


def blur(x: Any, key: Any) -> Any:
    reach = TAPS // 2
    taps = jnp.exp(-0.5 * (jnp.arange(-reach, reach + 1) / between(key, *SIGMA)) ** 2)
    taps = taps / taps.sum()
    y = x.astype(jnp.float32)
    for axis in (1, 0):
        n = y.shape[axis]
        pad = [(reach, reach) if other == axis else (0, 0) for other in range(3)]
        wide = jnp.pad(y, pad, mode="edge")
        y = sum(taps[k] * jax.lax.slice_in_dim(wide, k, k + n, axis=axis) for k in range(TAPS))
    return rounded(y, x)


def solarize(x: Any, key: Any) -> Any:
    half, top = (128, 255) if x.dtype == jnp.uint8 else (0.5, 1.0)
    return jnp.where(jax.random.bernoulli(key) & (x >= half), (top - x).astype(x.dtype), x)


def halved(x: Any, key: Any) -> Any:
    height, width, channels = x.shape
    small = rounded(jax.image.resize(x.astype(jnp.float32), (height // 2, width // 2, channels), "linear", False), x)
    return rounded(jax.image.resize(small.astype(jnp.float32), x.shape, "linear", False), x)


ON_IMAGES = {
    "RandomResizedCrop": crop,
    "RandomFlip": flip,
    "RandomHorizontalFlip": flip,
    "ColorJitter": jitter,
    "RandomGrayscale": grey,
    "GaussianBlur": blur,
    "RandomSolarize": solarize,
    "MultiScaleResize": halved,
}


def step(touch: Touch) -> Step | None:
    """One step on one element with a key; `None` where nothing is to be done."""
    if touch.name in ON_IMAGES and touch.before.is_picture:
        return ON_IMAGES[touch.name]
    match touch.name:
        case "Normalize" if touch.source.mean is None:
            return lambda x, _: x.astype(jnp.float32) / 255
        case "Normalize":
            return lambda x, _: (x - touch.source.mean) * touch.source.scale
        case "CastToFloat32":
            return None if touch.before.dtype == np.float32 else lambda x, _: x.astype(jnp.float32)
        case "Scale" | "Multiply":
            return lambda x, _: x * POINTWISE[touch.name]
        case "Clip":
            return lambda x, _: jnp.clip(x, 0, 1)
        case "GaussianNoise":
            return lambda x, key: x + NOISE * jax.random.normal(key, x.shape)
        case "RandomBrightness":
            return lambda x, key: x + between(key, *BRIGHTNESS)
        case "RandomScale":
            return lambda x, key: x * between(key, *SCALE)
    raise missing(touch, "JAX")


def through(touches: list[Touch], x: Any, key: Any) -> Any:
    """A batch through the steps of one field, each element with a key of its own."""
    steps = [one for touch in touches if (one := step(touch)) is not None]

    def element(x: Any, key: Any) -> Any:
        for number, one in enumerate(steps):
            x = one(x, jax.random.fold_in(key, number))
        return x

    return jax.vmap(element)(x, jax.random.split(key, len(x)))


def mixed(x: Any, key: Any, mixing: Mixing) -> Any:
    """The elements of a batch mixed with each other."""
    share = jax.random.beta(key, mixing.alpha, mixing.alpha)
    return share * x + (1 - share) * x[::-1]
