"""TensorFlow, image by image: `dataset.map(augment).batch(B)`, as its documentation has it for images.

| transform | operator |
|---|---|
| `RandomResizedCrop` | a window by `tf.random`; `tf.image.resize` (bilinear) |
| `DecodeResizedCrop` | `tf.image.decode_and_crop_jpeg`, `tf.image.resize` |
| `RandomFlip` | `tf.image.flip_left_right` |
| `ColorJitter` | arithmetic: `adjust_contrast` takes a mean for each channel, `adjust_saturation` goes over HSV |
| `RandomGrayscale` | `tf.image.rgb_to_grayscale` |
| `GaussianBlur` | `tf.nn.depthwise_conv2d` with a row and a column |
| `RandomSolarize` | `tf.where` |
| `MultiScaleResize` | `tf.image.resize` twice |
| noise, brightness, scale | `tf.random.stateless_normal`, `tf.image.random_brightness`'s arithmetic |
| MixUp | on the batch: arithmetic; the weight from two gamma draws |

Draws are those of `tf.random`'s stateless operations, from the seed, the epoch and the place of the element: all
uniform numbers of an element in one call.

Images are `f32` in 0 to 255 between steps, and rounded where the field is `u8` after each step that makes fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from ..pipeline import CROP, Pipeline, Source, Touch, ways
from . import (
    AREA,
    BRIGHTNESS,
    FACTOR,
    GREY,
    NOISE,
    PHOTOGRAPH,
    POINTWISE,
    RATIO,
    SCALE,
    SHIFT,
    SIGMA,
    TAPS,
    missing,
    plain,
)

Step = Callable[[Any, "Draws"], Any]
LOG_RATIO = (math.log(RATIO[0]), math.log(RATIO[1]))
TRIES = 10
ROOM = 64
"""Uniform numbers of an element at most, and seeds."""


class Draws:
    """What is drawn for one element, or for one batch."""

    def __init__(self, seed: Any, number: Any) -> None:
        self.seed, self.number, self.taken, self.used = seed, number * ROOM, 0, 0
        self.units = tf.random.stateless_uniform((ROOM,), self.fresh())

    def fresh(self) -> Any:
        """A seed that nothing else is drawn from."""
        self.taken += 1
        return tf.stack([self.seed, self.number + self.taken])

    def between(self, low: float, high: float, count: int | None = None) -> Any:
        """A number, or so many."""
        start, self.used = self.used, self.used + (count or 1)
        assert self.used <= ROOM, "more numbers are drawn than there are"
        units = self.units[start] if count is None else self.units[start : self.used]
        return units if (low, high) == (0, 1) else units * (high - low) + low


def rounded(y: Any, like: Any) -> Any:
    """As the type of the field is: whole numbers where it is `u8`."""
    return tf.cast(tf.clip_by_value(tf.round(y), 0.0, 255.0), tf.uint8) if like.dtype == tf.uint8 else y


def window(draws: Draws, height: int, width: int) -> list[Any]:
    """Top, left, height and width of a part of an image, by its area and the ratio of its sides."""
    area = draws.between(*AREA, TRIES) * float(height * width)
    ratio = tf.exp(draws.between(*LOG_RATIO, TRIES))
    w, h = tf.round(tf.sqrt(area * ratio)), tf.round(tf.sqrt(area / ratio))
    fits = (w >= 1) & (w <= width) & (h >= 1) & (h <= height)
    first = tf.argmax(fits)
    w = tf.where(tf.reduce_any(fits), w[first], float(width))
    h = tf.where(tf.reduce_any(fits), h[first], float(height))
    top = tf.floor(draws.between(0, 1) * (height - h + 1))
    left = tf.floor(draws.between(0, 1) * (width - w + 1))
    return [tf.cast(n, tf.int32) for n in (top, left, h, w)]


def crop(height: int, width: int) -> Step:
    def cropped(x: Any, draws: Draws) -> Any:
        top, left, h, w = window(draws, height, width)
        return rounded(tf.image.resize(x[top : top + h, left : left + w], (height, width)), x)

    return cropped


def decode(x: Any, draws: Draws) -> Any:
    """A window of an encoded image: the decoder leaves out what is not needed of it."""
    height, width = PHOTOGRAPH
    top, left, h, w = window(draws, height, width)
    picture = tf.image.decode_and_crop_jpeg(x, tf.stack([top, left, h, w]), channels=3)
    return rounded(tf.image.resize(picture, (CROP, CROP)), picture)


def flip(x: Any, draws: Draws) -> Any:
    return tf.cond(draws.between(0, 1) < 0.5, lambda: tf.image.flip_left_right(x), lambda: x)


def jitter(x: Any, draws: Draws) -> Any:
    top = 255.0 if x.dtype == tf.uint8 else 1.0
    y = tf.cast(x, tf.float32)
    mean = tf.reduce_mean(y)
    y = (y - mean) * draws.between(*FACTOR) + mean + draws.between(*SHIFT) * top
    grey = tf.reduce_mean(y, -1, keepdims=True)
    return rounded(tf.clip_by_value((y - grey) * draws.between(*FACTOR) + grey, 0.0, top), x)


def grey(x: Any, draws: Draws) -> Any:
    return tf.cond(
        draws.between(0, 1) < GREY, lambda: tf.image.grayscale_to_rgb(tf.image.rgb_to_grayscale(x)), lambda: x
    )


def blur(x: Any, draws: Draws) -> Any:
    reach = TAPS // 2
    sigma, channels = draws.between(*SIGMA), x.shape[-1]
    taps = tf.exp(-0.5 * tf.square(tf.range(-reach, reach + 1, dtype=tf.float32) / sigma))
    taps = taps / tf.reduce_sum(taps)
    y = tf.pad(tf.cast(x, tf.float32), [[reach, reach], [reach, reach], [0, 0]], "SYMMETRIC")[None]
    for shape in ((1, TAPS, 1, 1), (TAPS, 1, 1, 1)):
        kernel = tf.tile(tf.reshape(taps, shape), (1, 1, channels, 1))
        y = tf.nn.depthwise_conv2d(y, kernel, (1, 1, 1, 1), "VALID")
    return rounded(y[0], x)


def solarize(x: Any, draws: Draws) -> Any:
    half, top = (128, 255) if x.dtype == tf.uint8 else (0.5, 1.0)
    return tf.cond(draws.between(0, 1) < 0.5, lambda: tf.where(x < half, x, top - x), lambda: x)


def halved(height: int, width: int) -> Step:
    def resized(x: Any, _: Draws) -> Any:
        small = rounded(tf.image.resize(x, (height // 2, width // 2)), x)
        return rounded(tf.image.resize(small, (height, width)), x)

    return resized


def step(touch: Touch) -> Step | None:
    """The operator for one step; `None` where nothing is to be done."""
    before = touch.before
    image = before.is_picture
    match touch.name:
        case "DecodeResizedCrop":
            return decode
        case "Normalize" if touch.source.mean is None:
            return lambda x, _: tf.cast(x, tf.float32) / 255.0
        case "Normalize":
            return lambda x, _: (x - touch.source.mean) * touch.source.scale
        case "CastToFloat32":
            return None if before.dtype == np.float32 else lambda x, _: tf.cast(x, tf.float32)
        case "Scale" | "Multiply":
            return lambda x, _: x * POINTWISE[touch.name]
        case "Clip":
            return lambda x, _: tf.clip_by_value(x, 0.0, 1.0)
        case "GaussianNoise":
            return lambda x, draws: x + tf.random.stateless_normal(tf.shape(x), draws.fresh(), stddev=NOISE)
        case "RandomBrightness":
            return lambda x, draws: x + draws.between(*BRIGHTNESS)
        case "RandomScale":
            return lambda x, draws: x * draws.between(*SCALE)
        case "RandomResizedCrop" if image:
            return crop(*before.shape[:2])
        case "RandomFlip" | "RandomHorizontalFlip" if image:
            return flip
        case "ColorJitter" if image:
            return jitter
        case "RandomGrayscale" if image:
            return grey
        case "GaussianBlur" if image:
            return blur
        case "RandomSolarize" if image:
            return solarize
        case "MultiScaleResize" if image:
            return halved(*before.shape[:2])
    raise missing(touch, "TensorFlow")


ON_BATCHES = ("Normalize", "CastToFloat32", "Scale", "Multiply", "Clip")
"""What draws nothing and moves nothing: where there is no other step, whole batches go through."""


class Own:
    """The steps of a pipeline on samples, and what is done with a batch of them."""

    def __init__(self, pipeline: Pipeline, sources: tuple[Source, ...]) -> None:
        plain(pipeline)
        self.pipeline = pipeline
        self.seed = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.fields = []
        self.on_batches = True
        for way in ways(pipeline, sources):
            self.on_batches &= all(touch.name in ON_BATCHES for touch in way.touches)
            steps = [one for touch in way.touches if (one := step(touch)) is not None]
            self.fields.append((way.now, way.source.kind.name, steps))

    def begin(self, epoch: int) -> None:
        """What is drawn from here on is drawn for this epoch."""
        self.seed.assign((self.pipeline.seed * 1_000_003 + epoch) % (1 << 63))

    def sample(self, number: Any, element: dict[str, Any]) -> dict[str, Any]:
        """One element and its place in the epoch: the fields of the data set in, those that are delivered out."""
        made, draws = {}, Draws(self.seed, number)
        for kind, source, steps in self.fields:
            x = element[source]
            for one in steps:
                x = one(x, draws)
            made[kind.name] = tf.ensure_shape(x, (None, *kind.shape) if self.on_batches else kind.shape)
        return made

    def mixed(self, number: Any, batch: dict[str, Any]) -> dict[str, Any]:
        """The elements of a batch mixed with each other."""
        mixing = self.pipeline.mixing
        assert mixing is not None, "asked for only where elements are mixed"
        draws = Draws(self.seed, -1 - number)
        one, other = (tf.random.stateless_gamma((), draws.fresh(), mixing.alpha) + 1e-30 for _ in range(2))
        share = one / (one + other)
        return {name: share * x + (1.0 - share) * tf.reverse(x, [0]) for name, x in batch.items()}
