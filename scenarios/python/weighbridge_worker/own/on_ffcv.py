"""FFCV's operations, which it compiles into one function for each field.

| transform | operator |
|---|---|
| `DecodeResizedCrop` | `RandomResizedCropRGBImageDecoder` (libjpeg-turbo, OpenCV's `INTER_AREA`) |
| `RandomFlip` | `RandomHorizontalFlip` |
| `Normalize` of `u8` with three channels | `NormalizeImage` |
| MixUp | `ImageMixup`: each image with the one before it, a weight for each |

`INTER_AREA` smooths a little where a window is made smaller; traits do not show it. One weight for a batch
(`same_lambda`) is refused by the spot checks.

Draws are those of numba's generator, which FFCV does not seed.
"""

from __future__ import annotations

from typing import Any

import ffcv.fields
import ffcv.fields.ndarray
import ffcv.fields.rgb_image
import ffcv.transforms
import numpy as np

from ..pipeline import CROP, Pipeline, Source, Touch, ways
from . import AREA, PHOTOGRAPH, RATIO, missing, plain


class Encoded(ffcv.fields.RGBImageField):  # type: ignore[misc]
    """Images as they are encoded: FFCV's own field would decode and encode them anew."""

    def encode(self, destination: Any, image: bytes, malloc: Any) -> None:
        destination["mode"] = ffcv.fields.rgb_image.IMAGE_MODES["jpg"]
        destination["height"], destination["width"] = PHOTOGRAPH
        destination["data_ptr"], room = malloc(len(image))
        room[:] = np.frombuffer(image, np.uint8)


def operation(touch: Touch) -> Any | None:
    """The operation for one step; `None` where nothing is to be done."""
    before = touch.before
    image = before.is_picture and before.dtype == np.uint8 and before.shape[2] == 3
    match touch.name:
        case "DecodeResizedCrop":
            return ffcv.fields.rgb_image.RandomResizedCropRGBImageDecoder((CROP, CROP), AREA, RATIO)
        case "RandomResizedCrop" if image and before.shape[0] == before.shape[1]:
            return ffcv.transforms.RandomResizedCrop(AREA, RATIO, before.shape[0])
        case "RandomFlip" | "RandomHorizontalFlip" if image:
            return ffcv.transforms.RandomHorizontalFlip()
        case "Normalize" if image:
            return ffcv.transforms.NormalizeImage(np.zeros(3), np.full(3, 255.0), np.float32)
        case "CastToFloat32" if before.dtype == np.float32:
            return None
    raise missing(touch, "FFCV")


class Own:
    """The operations of each field."""

    def __init__(self, pipeline: Pipeline, sources: tuple[Source, ...]) -> None:
        plain(pipeline)
        self.operations: dict[str, list[Any]] = {}
        for way in ways(pipeline, sources):
            steps = [one for touch in way.touches if (one := operation(touch)) is not None]
            if not pipeline.decodes:
                steps.insert(0, ffcv.fields.ndarray.NDArrayDecoder())
            if pipeline.mixing:
                steps.append(ffcv.transforms.ImageMixup(pipeline.mixing.alpha, same_lambda=False))
            self.operations[way.source.kind.name] = steps
