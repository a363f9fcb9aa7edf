"""`torchvision.transforms.v2`, image by image, as its documentation has it: transforms in a dataset, a batch stacked.

| transform | operator |
|---|---|
| `RandomResizedCrop`, `RandomFlip` | `v2.RandomResizedCrop` (bilinear), `v2.RandomHorizontalFlip` |
| `DecodeResizedCrop` | `torchvision.io.decode_jpeg`, `v2.RandomResizedCrop` without anti-aliasing |
| `ColorJitter` | arithmetic in `f32`: `v2.ColorJitter` multiplies the brightness, which is another distribution |
| `RandomGrayscale`, `GaussianBlur`, `RandomSolarize` | those of `v2` |
| `Normalize`, `CastToFloat32` | `v2.ToDtype(scale=True)`; of floats `torch.sub`, `torch.mul` |
| `MultiScaleResize` | `v2.functional.resize` twice, without anti-aliasing |
| noise, brightness, scale | `torch.randn`, arithmetic |
| MixUp | on the batch: `torch.lerp`; the weight from `torch.distributions.Beta` |

Images are tensors of channels, rows, columns over memory of rows, columns, channels, which torch calls `channels_last`
and has kernels for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
import torchvision
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional

from ..pipeline import CROP, Array, Pipeline, Source, Touch, ways
from . import AREA, BRIGHTNESS, FACTOR, GREY, NOISE, POINTWISE, RATIO, SCALE, SHIFT, SIGMA, TAPS, missing, plain

LIBRARY = f"torchvision {torchvision.__version__}"
Step = Callable[[torch.Tensor], torch.Tensor]


def between(low: float, high: float) -> float:
    return float(torch.empty(()).uniform_(low, high))


def jitter(x: torch.Tensor) -> torch.Tensor:
    """Brightness, contrast around the mean, saturation around the grey of each pixel; rounded once."""
    top = 255.0 if x.dtype == torch.uint8 else 1.0
    y = x.to(torch.float32)
    y = torch.lerp(y.mean(), y, between(*FACTOR)) + between(*SHIFT) * top
    y = torch.lerp(y.mean(0, keepdim=True), y, between(*FACTOR)).clamp_(0, top)
    return y.round_().to(torch.uint8) if x.dtype == torch.uint8 else y


def halved(x: torch.Tensor) -> torch.Tensor:
    height, width = x.shape[-2:]
    small = functional.resize(x, [height // 2, width // 2], antialias=False)
    return functional.resize(small, [height, width], antialias=False)


def step(touch: Touch) -> Step | None:
    """The operator for one step; `None` where nothing is to be done."""
    before = touch.before
    image = before.is_picture
    match touch.name:
        case "DecodeResizedCrop":
            crop = v2.RandomResizedCrop((CROP, CROP), scale=AREA, ratio=RATIO, antialias=False)
            return lambda x: crop(decode_jpeg(x, mode=ImageReadMode.RGB))
        case "Normalize" if touch.source.mean is None:
            return v2.ToDtype(torch.float32, scale=True) if image else lambda x: x.to(torch.float32).div_(255)
        case "Normalize":
            mean, scale = torch.from_numpy(touch.source.mean), torch.from_numpy(touch.source.scale)
            return lambda x: x.sub(mean).mul_(scale)
        case "CastToFloat32":
            return None if before.dtype == "float32" else lambda x: x.to(torch.float32)
        case "Scale" | "Multiply":
            return lambda x: x * POINTWISE[touch.name]
        case "Clip":
            return lambda x: x.clamp(0, 1)
        case "GaussianNoise":
            return lambda x: x + NOISE * torch.randn(x.shape)
        case "RandomBrightness":
            return lambda x: x + between(*BRIGHTNESS)
        case "RandomScale":
            return lambda x: x * between(*SCALE)
        case "RandomResizedCrop" if image:
            return v2.RandomResizedCrop(before.shape[:2], scale=AREA, ratio=RATIO)
        case "RandomFlip" | "RandomHorizontalFlip" if image:
            return v2.RandomHorizontalFlip(0.5)
        case "ColorJitter" if image:
            return jitter
        case "RandomGrayscale" if image:
            return v2.RandomGrayscale(GREY)
        case "GaussianBlur" if image:
            return v2.GaussianBlur(TAPS, SIGMA)
        case "RandomSolarize" if image:
            return v2.RandomSolarize(128 if before.dtype == "uint8" else 0.5, 0.5)
        case "MultiScaleResize" if image:
            return halved
    raise missing(touch, "torchvision")


class Own:
    """The steps of a pipeline on samples, and what is done with a batch of them."""

    def __init__(self, pipeline: Pipeline, sources: tuple[Source, ...]) -> None:
        plain(pipeline)
        self.pipeline = pipeline
        self.fields = []
        for way in ways(pipeline, sources):
            steps = [one for touch in way.touches if (one := step(touch)) is not None]
            self.fields.append((way.now, way.source.kind, steps))

    def sample(self, arrays: Mapping[str, Array]) -> dict[str, torch.Tensor]:
        """One element: the fields of the data set in, those that are delivered out."""
        made = {}
        for now, kind, steps in self.fields:
            x = torch.from_numpy(arrays[kind.name])
            x = x.permute(2, 0, 1) if kind.is_picture else x
            for one in steps:
                x = one(x)
            made[now.name] = x.permute(1, 2, 0) if now.is_picture else x
        return made

    def batch(self, samples: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
        """Samples stacked, and mixed where that is asked for."""
        batch = {name: torch.stack([sample[name] for sample in samples]) for name in samples[0]}
        mixing = self.pipeline.mixing
        if mixing is None:
            return batch
        share = float(torch.distributions.Beta(mixing.alpha, mixing.alpha).sample())
        return {name: torch.lerp(x.flip(0), x, share) for name, x in batch.items()}
