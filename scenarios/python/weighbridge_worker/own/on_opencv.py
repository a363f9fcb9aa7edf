"""OpenCV and numpy, image by image: what people write by hand for a loader that maps functions of theirs.

| transform | operator |
|---|---|
| `RandomResizedCrop`, `MultiScaleResize` | a slice; `cv2.resize` with `INTER_LINEAR` |
| `DecodeResizedCrop` | `cv2.imdecode`, and the same |
| `RandomFlip` | `cv2.flip` |
| `ColorJitter`, `RandomGrayscale` | `cv2.transform`: all of the jitter is one affine map of colours; `cv2.mean` |
| `GaussianBlur` | `cv2.GaussianBlur` |
| `RandomSolarize` | `cv2.LUT` |
| `Normalize` | numpy; noise, brightness and scale: numpy's `Generator` |
| MixUp | `cv2.addWeighted` of whole batches |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import cv2
import numpy as np

from ..pipeline import CROP, Array, Batch, Pipeline, Source, Touch, ways
from . import AREA, BRIGHTNESS, FACTOR, GREY, NOISE, POINTWISE, RATIO, SCALE, SHIFT, SIGMA, TAPS, missing, plain

LIBRARY = f"OpenCV {cv2.__version__}"
F = np.float32
Random = np.random.Generator
Step = Callable[[Array, Random], Array]

SOLARIZED = np.array([x if x < 128 else 255 - x for x in range(256)], np.uint8)
LUMA = np.tile(np.array([0.299, 0.587, 0.114], F), (3, 1))


def window(random: Random, height: int, width: int) -> tuple[int, int, int, int]:
    """Top, left, height and width of a part of an image, by its area and the ratio of its sides."""
    for _ in range(10):
        area = random.uniform(*AREA) * height * width
        ratio = math.exp(random.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return int(random.integers(0, height - h + 1)), int(random.integers(0, width - w + 1)), h, w
    return 0, 0, height, width


def crop(x: Array, random: Random) -> Array:
    return cropped(x, random, x.shape[1::-1])


def cropped(x: Array, random: Random, size: tuple[int, int]) -> Array:
    """A window, resized to columns and rows."""
    top, left, h, w = window(random, *x.shape[:2])
    return cv2.resize(x[top : top + h, left : left + w], size, interpolation=cv2.INTER_LINEAR)


def decode(x: Array, random: Random) -> Array:
    return cropped(cv2.imdecode(x, cv2.IMREAD_COLOR_RGB), random, (CROP, CROP))


def flip(x: Array, random: Random) -> Array:
    return cv2.flip(x, 1) if random.random() < 0.5 else x


def jitter(x: Array, random: Random) -> Array:
    """`y = c (x - m) + m + b`, then `grey + s (y - grey)`, as one map of colours, rounded once."""
    top = 255 if x.dtype == np.uint8 else 1
    contrast, saturation = random.uniform(*FACTOR), random.uniform(*FACTOR)
    shift = (1 - contrast) * np.mean(cv2.mean(x)[:3]) + random.uniform(*SHIFT) * top
    turn = contrast * (saturation * np.eye(3) + (1 - saturation) / 3 * np.ones((3, 3)))
    y = cv2.transform(x, np.hstack([turn, np.full((3, 1), shift)]).astype(F))
    return y if x.dtype == np.uint8 else np.clip(y, 0, 1)


def grey(x: Array, random: Random) -> Array:
    return cv2.transform(x, LUMA) if random.random() < GREY else x


def blur(x: Array, random: Random) -> Array:
    return cv2.GaussianBlur(x, (TAPS, TAPS), random.uniform(*SIGMA), borderType=cv2.BORDER_REPLICATE)


def solarize(x: Array, random: Random) -> Array:
    if random.random() >= 0.5:
        return x
    return cv2.LUT(x, SOLARIZED) if x.dtype == np.uint8 else np.where(x >= 0.5, 1 - x, x)


def halved(x: Array, random: Random) -> Array:
    height, width = x.shape[:2]
    small = cv2.resize(x, (width // 2, height // 2), interpolation=cv2.INTER_LINEAR)
    return cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR)


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


def standardised(touch: Touch) -> Step:
    mean, scale = touch.source.mean, touch.source.scale
    return lambda x, _: (x - mean) * scale


def step(touch: Touch) -> Step | None:
    """The operator for one step; `None` where nothing is to be done."""
    if touch.name in ON_IMAGES and touch.before.is_picture:
        return ON_IMAGES[touch.name]
    match touch.name:
        case "DecodeResizedCrop":
            return decode
        case "Normalize" if touch.source.mean is None:
            return lambda x, _: np.true_divide(x, F(255), dtype=F)
        case "Normalize":
            return standardised(touch)
        case "CastToFloat32":
            return None if touch.before.dtype == np.float32 else lambda x, _: x.astype(F)
        case "Scale" | "Multiply":
            return lambda x, _: x * F(POINTWISE[touch.name])
        case "Clip":
            return lambda x, _: np.clip(x, F(0), F(1))
        case "GaussianNoise":
            return lambda x, random: x + random.standard_normal(x.shape, F) * F(NOISE)
        case "RandomBrightness":
            return lambda x, random: x + F(random.uniform(*BRIGHTNESS))
        case "RandomScale":
            return lambda x, random: x * F(random.uniform(*SCALE))
    raise missing(touch, "OpenCV")


class Own:
    """The steps of a pipeline on samples, and what is done with a batch of them."""

    def __init__(self, pipeline: Pipeline, sources: tuple[Source, ...]) -> None:
        plain(pipeline)
        cv2.setNumThreads(0)  # the loader's own threads are the workers
        self.pipeline = pipeline
        self.fields = []
        for way in ways(pipeline, sources):
            steps = [one for touch in way.touches if (one := step(touch)) is not None]
            self.fields.append((way.now.name, way.source.kind.name, steps))

    def sample(self, arrays: Mapping[str, Array], random: Random) -> Batch:
        """One element: the fields of the data set in, those that are delivered out."""
        made = {}
        for name, source, steps in self.fields:
            x = arrays[source]
            for one in steps:
                x = one(x, random)
            made[name] = x
        return made

    def batch(self, samples: list[Batch], random: Random) -> Batch:
        """Samples stacked, and mixed where that is asked for."""
        return self.mixed({name: np.stack([sample[name] for sample in samples]) for name in samples[0]}, random)

    def mixed(self, batch: Batch, random: Random) -> Batch:
        """The elements of a batch mixed with each other, where that is asked for."""
        return mixed(batch, self.pipeline, random)


def mixed(batch: Batch, pipeline: Pipeline, random: Random) -> Batch:
    """The elements of a batch mixed with each other, where that is asked for."""
    mixing = pipeline.mixing
    if mixing is None:
        return batch
    share = random.beta(mixing.alpha, mixing.alpha)
    made = {}
    for name, x in batch.items():
        flat = x.reshape(len(x), -1)
        partner = x[::-1].reshape(flat.shape)
        made[name] = cv2.addWeighted(flat, share, partner, 1 - share, 0).reshape(x.shape)
    return made
