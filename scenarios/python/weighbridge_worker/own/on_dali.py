"""DALI's operators on the host: one graph, which DALI runs sample by sample over a batch.

| transform | operator |
|---|---|
| `RandomResizedCrop`, `RandomFlip` | `fn.random_resized_crop` (linear), `fn.flip` |
| `DecodeResizedCrop` | `fn.decoders.image_random_crop`, `fn.resize` (linear, without anti-aliasing) |
| `ColorJitter` | `fn.brightness_contrast` around `fn.reductions.mean`, `fn.saturation` |
| `RandomGrayscale` | `fn.saturation` of 0 |
| `GaussianBlur` | `fn.gaussian_blur` with a window of 5 |
| `RandomSolarize` | arithmetic: an exclusive or with 255 where a pixel is 128 and more |
| `MultiScaleResize` | `fn.resize` twice, linear, without anti-aliasing |
| `Normalize`, `Scale`, `Clip`, brightness, scale | arithmetic, `math.clamp` |
| noise | `fn.random.normal` and arithmetic |
| MixUp | `fn.permute_batch` with `fn.batch_permutation`; a weight for each image by `fn.random.beta` |
"""

from __future__ import annotations

from typing import Any

import numpy as np
import nvidia.dali
from nvidia.dali import fn, math, types

from ..pipeline import CROP, Pipeline, Source, Touch, ways
from . import AREA, BRIGHTNESS, FACTOR, GREY, NOISE, POINTWISE, RATIO, SCALE, SHIFT, SIGMA, TAPS, missing, plain

LIBRARY = f"DALI {nvidia.dali.__version__}"


def between(low: float, high: float) -> Any:
    return fn.random.uniform(range=[low, high])


def jitter(x: Any) -> Any:
    y = fn.brightness_contrast(
        x,
        brightness_shift=between(*SHIFT),
        contrast=between(*FACTOR),
        contrast_center=fn.reductions.mean(x),
    )
    return fn.saturation(y, saturation=between(*FACTOR))


def grey(x: Any) -> Any:
    kept = fn.random.coin_flip(probability=1 - GREY)
    return fn.saturation(x, saturation=fn.cast(kept, dtype=types.FLOAT))


def solarize(x: Any) -> Any:
    chosen = fn.random.coin_flip(probability=0.5, dtype=types.UINT8)
    return x ^ ((x >= np.uint8(128)) * chosen * np.uint8(255))


def halved(x: Any, height: int, width: int) -> Any:
    small = fn.resize(x, size=[height // 2, width // 2], interp_type=types.INTERP_LINEAR, antialias=False)
    return fn.resize(small, size=[height, width], interp_type=types.INTERP_LINEAR, antialias=False)


def operator(touch: Touch, x: Any) -> Any:
    """One step on one field."""
    before = touch.before
    image = before.is_picture and before.dtype == np.uint8
    match touch.name:
        case "Normalize" if touch.source.mean is None:
            return x / np.float32(255)
        case "Normalize":
            return (x - types.Constant(touch.source.mean)) * types.Constant(touch.source.scale)
        case "CastToFloat32":
            return x if before.dtype == np.float32 else fn.cast(x, dtype=types.FLOAT)
        case "Scale" | "Multiply":
            return x * np.float32(POINTWISE[touch.name])
        case "Clip":
            return math.clamp(x, np.float32(0), np.float32(1))
        case "GaussianNoise":
            return x + fn.random.normal(x, stddev=NOISE)
        case "RandomBrightness":
            return x + between(*BRIGHTNESS)
        case "RandomScale":
            return x * between(*SCALE)
        case "DecodeResizedCrop":
            window = fn.decoders.image_random_crop(
                x, device="cpu", random_area=AREA, random_aspect_ratio=RATIO, jpeg_fancy_upsampling=True
            )
            return fn.resize(window, size=[CROP, CROP], interp_type=types.INTERP_LINEAR, antialias=False)
        case "RandomResizedCrop" if image:
            return fn.random_resized_crop(
                x,
                size=before.shape[:2],
                random_area=AREA,
                random_aspect_ratio=RATIO,
                interp_type=types.INTERP_LINEAR,
                antialias=False,
            )
        case "RandomFlip" | "RandomHorizontalFlip" if image:
            return fn.flip(x, horizontal=fn.random.coin_flip())
        case "ColorJitter" if image:
            return jitter(x)
        case "RandomGrayscale" if image:
            return grey(x)
        case "GaussianBlur" if image:
            return fn.gaussian_blur(x, window_size=TAPS, sigma=between(*SIGMA))
        case "RandomSolarize" if image:
            return solarize(x)
        case "MultiScaleResize" if image:
            return halved(x, *before.shape[:2])
    raise missing(touch, "DALI")


class Own:
    """The steps of a pipeline as a graph."""

    def __init__(self, pipeline: Pipeline, sources: tuple[Source, ...]) -> None:
        plain(pipeline)
        self.pipeline = pipeline
        self.ways = ways(pipeline, sources)

    def outputs(self, fields: dict[str, Any]) -> list[Any]:
        """What comes of the fields of the data set, in the order in which it is delivered."""
        made = []
        for way in self.ways:
            x = fields[way.source.kind.name]
            if way.source.kind.is_picture:
                x = fn.reshape(x, layout="HWC")
            for touch in way.touches:
                x = operator(touch, x)
            made.append(self.mixed(x))
        return made

    def mixed(self, x: Any) -> Any:
        mixing = self.pipeline.mixing
        if mixing is None:
            return x
        partner = fn.permute_batch(x, indices=fn.batch_permutation())
        share = fn.random.beta(alpha=mixing.alpha, beta=mixing.alpha)
        return x * share + partner * (np.float32(1) - share)
