"""Transforms by the operators of each framework, for pipelines that ask for `operators` own.

Each file here has the steps of one library: what it does with which operator is in its table, and what it has none for
is declined by name. Draws are the library's. What comes out is held against the reference's as
`scenarios/docs/transforms.md` says under "By operators of its own": traits of elements, spread alike within a
tolerance.

The parameters are those of `scenarios/docs/transforms.md`, once for all libraries.
"""

from __future__ import annotations

from ..adapter import Declined
from ..pipeline import Pipeline, Touch

PHOTOGRAPH = (375, 500)
"""Rows and columns of the suite's photographs."""
AREA = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)
SHIFT = (-0.4, 0.4)
"""Of `ColorJitter`, as a share of the range."""
FACTOR = (0.6, 1.4)
"""Of contrast and saturation."""
GREY = 0.2
"""Probability of `RandomGrayscale`."""
SIGMA = (0.1, 2.0)
TAPS = 5
"""Pixels on a side of the kernel of `GaussianBlur`."""
NOISE = 0.05
BRIGHTNESS = (-0.2, 0.2)
SCALE = (0.8, 1.2)

POINTWISE = {"Scale": 2.0, "Multiply": 0.9}
"""Steps that are one multiplication."""


def plain(pipeline: Pipeline, *, mixes: tuple[str, ...] = ("mixup",)) -> None:
    """Declines what is asked for beyond a list of transforms and the kinds of mixing that a library has."""
    mixing = pipeline.mixing
    if mixing is not None and mixing.kind not in mixes:
        raise Declined(f"operators own: this system has none for {mixing.kind}")
    for ask in pipeline.asks:
        if mixing is None or not ask.lower().startswith(mixing.kind):
            raise Declined(f"operators own: {ask}")
    if pipeline.device != "cpu":
        raise Declined("operators own: on the processor alone")
    if pipeline.access != "memory" and not pipeline.decodes:
        raise Declined(f"operators own: {pipeline.access}, from memory alone")


def missing(touch: Touch, library: str) -> Declined:
    """That a library has no operator for a step on such a field."""
    before = touch.before
    shape = "x".join(str(side) for side in before.shape)
    return Declined(f"operators own: {library} has none here for {touch.name} of {before.dtype} [{shape}]")
