"""SPDL's decoder, which is FFmpeg, and OpenCV behind it.

| transform | operator |
|---|---|
| `DecodeResizedCrop` | `demux_image`, `decode_packets` to `rgb24`, `convert_frames`; the window by `on_opencv.py` |
| all others | those of `on_opencv.py` |
"""

from __future__ import annotations

import spdl.io

from ..adapter import Declined
from ..pipeline import CROP, Array, Pipeline, Source
from . import on_opencv
from .on_opencv import Random

LIBRARY = f"FFmpeg by spdl.io, {on_opencv.LIBRARY}"
FILTER = "format=pix_fmts=rgb24"


def decode(x: Array, random: Random) -> Array:
    frames = spdl.io.decode_packets(spdl.io.demux_image(x.tobytes()), filter_desc=FILTER)
    picture = spdl.io.to_numpy(spdl.io.convert_frames(frames))
    return on_opencv.cropped(picture, random, (CROP, CROP))


def found() -> None:
    """Declines where FFmpeg is not there: SPDL has none of its own and takes the libraries of the system."""
    try:
        spdl.io.decode_config()
    except RuntimeError as why:
        if "libspdl" not in str(why):
            raise
        raise Declined(
            "spdl.io finds no FFmpeg (libavutil.so and its kin, versions 4 to 9): apt-get install libavdevice59"
        ) from why


class Own(on_opencv.Own):
    """As with OpenCV, with SPDL's decoder in its place."""

    def __init__(self, pipeline: Pipeline, sources: tuple[Source, ...]) -> None:
        super().__init__(pipeline, sources)
        if pipeline.decodes:
            found()
        swapped = {on_opencv.decode: decode}
        self.fields = [(name, source, [swapped.get(one, one) for one in steps]) for name, source, steps in self.fields]
