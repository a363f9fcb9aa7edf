"""Albumentations, image by image, where it has an operator, and OpenCV beside it: `A.Compose` in a random map.

| transform | operator |
|---|---|
| `RandomResizedCrop`, `RandomFlip` | `A.RandomResizedCrop` (linear), `A.HorizontalFlip` |
| `DecodeResizedCrop` | `cv2.imdecode`, `A.RandomResizedCrop` |
| `RandomGrayscale` | `A.ToGray` |
| `GaussianBlur` | `A.GaussianBlur` with a kernel of 5 |
| `RandomSolarize` | `A.Solarize` at one half |
| all others | those of `on_opencv.py` |

`A.ColorJitter` multiplies the brightness, which is another distribution; `A.GaussNoise` limits its result to the range.
"""

from __future__ import annotations

import os

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # it would ask the network for its newest version

import albumentations as A
import cv2
import numpy as np

from ..pipeline import CROP, Array, Pipeline, Source, Touch, ways
from . import AREA, GREY, RATIO, SIGMA, TAPS, on_opencv, plain
from .on_opencv import Random, Step

LIBRARY = f"albumentations {A.__version__}, {on_opencv.LIBRARY}"


class Composed:
    """Operators in a row. Their generator is seeded for each image from the map's own, as its documentation has it."""

    def __init__(self, operators: list[A.BasicTransform]) -> None:
        self.compose = A.Compose(operators)

    def __call__(self, x: Array, random: Random) -> Array:
        self.compose.set_random_seed(int(random.integers(0, 1 << 31)))
        return self.compose(image=x)["image"]


def crop(size: tuple[int, ...]) -> A.BasicTransform:
    return A.RandomResizedCrop(size, scale=AREA, ratio=RATIO, interpolation=cv2.INTER_LINEAR, p=1)


def operator(touch: Touch) -> A.BasicTransform | None:
    """The operator for one step, where it has one."""
    if not touch.before.is_picture or touch.before.dtype != np.uint8:
        return None
    match touch.name:
        case "RandomResizedCrop":
            return crop(touch.before.shape[:2])
        case "RandomFlip" | "RandomHorizontalFlip":
            return A.HorizontalFlip(p=0.5)
        case "RandomGrayscale":
            return A.ToGray(p=GREY)
        case "GaussianBlur":
            return A.GaussianBlur(blur_limit=(TAPS, TAPS), sigma_limit=SIGMA, p=1)
        case "RandomSolarize":
            return A.Solarize(threshold_range=(128 / 255, 128 / 255), p=0.5)
    return None


class Own(on_opencv.Own):
    """As with OpenCV, with what Albumentations has in its place."""

    def __init__(self, pipeline: Pipeline, sources: tuple[Source, ...]) -> None:
        plain(pipeline)
        cv2.setNumThreads(0)
        self.pipeline = pipeline
        self.fields = []
        for way in ways(pipeline, sources):
            steps: list[Step] = []
            row: list[A.BasicTransform] = []
            for touch in way.touches:
                if touch.name == "DecodeResizedCrop":
                    steps.append(lambda x, _: cv2.imdecode(x, cv2.IMREAD_COLOR_RGB))
                    row.append(crop((CROP, CROP)))
                    continue
                if (one := operator(touch)) is not None:
                    row.append(one)
                    continue
                if row:
                    steps.append(Composed(row))
                    row = []
                if (other := on_opencv.step(touch)) is not None:
                    steps.append(other)
            if row:
                steps.append(Composed(row))
            self.fields.append((way.now.name, way.source.kind.name, steps))
