"""Pillow and numpy, image by image: for encoded images, where there is no other library.

| transform | operator |
|---|---|
| `DecodeResizedCrop` | `Image.open`, `convert("RGB")`; `transform` of an extent, bilinear, which smooths nothing |
| `RandomFlip` | a slice |
| `Normalize`, `CastToFloat32` | numpy |
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import PIL
from PIL import Image

from ..adapter import Declined
from ..pipeline import CROP, Array, Batch, Pipeline, Source, Touch, ways
from . import AREA, RATIO, missing, plain

LIBRARY = f"Pillow {PIL.__version__}"
F = np.float32
Random = np.random.Generator
Step = Callable[[Array, Random], Array]


def window(random: Random, height: int, width: int) -> tuple[int, int, int, int]:
    """Top, left, height and width of a part of an image, by its area and the ratio of its sides."""
    for _ in range(10):
        area = random.uniform(*AREA) * height * width
        ratio = math.exp(random.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return int(random.integers(0, height - h + 1)), int(random.integers(0, width - w + 1)), h, w
    return 0, 0, height, width


def decode(x: Any, random: Random) -> Array:
    """A window of an image that is encoded, or that Pillow has opened."""
    picture = (x if isinstance(x, Image.Image) else Image.open(io.BytesIO(x))).convert("RGB")
    top, left, height, width = window(random, picture.height, picture.width)
    extent = (left, top, left + width, top + height)
    return np.asarray(picture.transform((CROP, CROP), Image.Transform.EXTENT, extent, Image.Resampling.BILINEAR))


def flip(x: Array, random: Random) -> Array:
    return x[:, ::-1] if random.random() < 0.5 else x


def step(touch: Touch) -> Step | None:
    """The operator for one step; `None` where nothing is to be done."""
    match touch.name:
        case "DecodeResizedCrop":
            return decode
        case "RandomFlip" | "RandomHorizontalFlip" if touch.before.is_picture:
            return flip
        case "Normalize" if touch.source.mean is None:
            return lambda x, _: np.true_divide(x, F(255), dtype=F)
        case "CastToFloat32":
            return None if touch.before.dtype == np.float32 else lambda x, _: x.astype(F)
    raise missing(touch, "Pillow")


class Own:
    """The steps of a pipeline on samples, and what is done with a batch of them."""

    def __init__(self, pipeline: Pipeline, sources: tuple[Source, ...]) -> None:
        if not pipeline.decodes:
            raise Declined("operators own: it has none but for encoded images, its users map functions of theirs")
        plain(pipeline, mixes=())
        self.fields = []
        for way in ways(pipeline, sources):
            steps = [one for touch in way.touches if (one := step(touch)) is not None]
            self.fields.append((way.now.name, way.source.kind.name, steps))

    def sample(self, arrays: Mapping[str, Any], random: Random) -> Batch:
        """One element: the fields of the data set in, those that are delivered out."""
        made = {}
        for name, source, steps in self.fields:
            x = arrays[source]
            for one in steps:
                x = one(x, random)
            made[name] = x
        return made

    def batch(self, samples: list[Batch]) -> Batch:
        """Samples stacked."""
        names = [name for name, _, _ in self.fields]  # a loader may have put keys of its own beside them
        return {name: np.stack([sample[name] for sample in samples]) for name in names}
