"""`scenarios/docs/transforms.md` in numpy, over whole batches: the first axis of every array is the batch.

A step takes the batch of one field and gives back what becomes of it. A *pointwise* step can write into an array that
it is given, which may be its own input; the others make a new one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .draws import Draw, Floats, key, split

Array = npt.NDArray[Any]
F = np.float32
F32 = np.dtype(np.float32)
U8 = np.dtype(np.uint8)


@dataclass
class Circumstances:
    """What a step needs to know beside the numbers."""

    draw: Draw | None
    mean: Array | None
    """Constants of `Normalize` of a field that is `f32` in the data set."""
    scale: Array | None
    length: Array | None
    """The field `length` of the elements, for `DynamicPad`."""

    @property
    def drawn(self) -> Draw:
        assert self.draw is not None, "a step without draws asks for one"
        return self.draw


Function = Callable[[Array, Circumstances, Array | None], Array]


@dataclass(frozen=True)
class Step:
    """One transform."""

    run: Function
    pointwise: bool = False
    draws: bool = False


# Functions


def exp(z: Any) -> Any:
    """For a number or an array."""
    y, p = z / 1024.0, 1.0
    for k in range(13, 0, -1):
        p = 1.0 + p * y / k
    for _ in range(10):
        p = p * p
    return p


def ln64(v: float) -> float:
    bits = int(np.float64(v).view(np.int64))
    e = (bits - 0x3FE6A09E667F3BCD) >> 52
    m = float(np.int64(bits - (e << 52)).view(np.float64))
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = 1.0 / 23.0
    for k in range(21, 0, -2):
        p = p * z + 1.0 / k
    return e * 0.6931471805599453 + (2.0 * s) * p


def ln(v: Array) -> Array:
    bits = v.view(np.int32)
    e = (bits - np.int32(0x3F3504F3)) >> np.int32(23)
    t = (bits - (e << np.int32(23))).view(F)
    t -= F(1)
    p = horner(
        t,
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
    z = t * t
    f = e.astype(F)
    p *= t
    p *= z
    p += f * F(-2.12194440e-4)
    z *= F(0.5)
    p -= z
    t += p
    f *= F(0.693359375)
    t += f
    return t


def horner(x: Array, first: float, *rest: float) -> Array:
    p = np.full_like(x, F(first))
    for c in rest:
        p *= x
        p += F(c)
    return p


def sincos(x: Array) -> Array:
    y = x * F(0.6366197723675814)
    y += F(12582912)
    q, k = y.view(np.uint32), y - F(12582912)
    r = x - k * F(1.5703125)
    r -= k * F(4.837512969970703125e-4)
    k *= F(7.54978995489188216e-8)
    r -= k
    z = r * r
    s = z * F(-1.9515295891e-4)
    s += F(8.3321608736e-3)
    s *= z
    s -= F(1.6666654611e-1)
    s *= z
    s *= r
    s += r
    c = z * F(2.443315711809948e-5)
    c -= F(1.388731625493765e-3)
    c *= z
    c += F(4.166664568298827e-2)
    c *= z
    c *= z
    z *= F(0.5)
    c -= z
    c += F(1)
    # Bits 0 and 1 of q as signs: the other sign of `s`, then of the sum. An exact way to choose without branching.
    s.view(np.uint32)[...] ^= q << np.uint32(31)
    c += s
    c.view(np.uint32)[...] ^= (q & np.uint32(2)) << np.uint32(30)
    return c


def normal(draw: Draw, count: int) -> Array:
    """`count` standard normal numbers per element."""
    words = draw.words((count + 1) // 2)
    k = np.empty((*words.shape, 2), np.int32)
    k[..., 0] = words >> np.uint64(40)
    k[..., 1] = words >> np.uint64(16) & np.uint64(0xFFFFFF)
    k *= 2
    k += 1 - (1 << 24)
    x = k.reshape(len(words), -1)[:, :count].astype(F)
    x *= F(2.0**-24)
    u = F(1) - x
    u *= F(1) + x
    w = ln(u)
    np.negative(w, out=w)
    near = horner(
        w - F(2.5),
        2.81022636e-8,
        3.43273939e-7,
        -3.5233877e-6,
        -4.39150654e-6,
        0.00021858087,
        -0.00125372503,
        -0.00417768164,
        0.246640727,
        1.50140941,
    )
    rare = w >= F(5)
    near[rare] = horner(
        np.sqrt(w[rare]) - F(3),
        -0.000200214257,
        0.000100950558,
        0.00134934322,
        -0.00367342844,
        0.00573950773,
        -0.0076224613,
        0.00943887047,
        1.00167406,
        2.83297682,
    )
    near *= x
    near *= F(1.4142135623730951)
    return near


def per_element(numbers: Array, like: Array) -> Array:
    """One number per element, to be spread over its axes."""
    return numbers.reshape(len(numbers), *[1] * (like.ndim - 1))


def paint(y: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers of `f32` as what an image holds; `y` may be overwritten."""
    if dtype != U8:
        return y
    np.clip(y, F(0), F(255), out=y)
    np.rint(y, out=y)
    return y.astype(np.uint8)


# Pointwise steps


def normalize(x: Array, about: Circumstances, out: Array | None) -> Array:
    if about.mean is None:
        return np.divide(x, F(255), out=out, dtype=F32)
    assert about.scale is not None
    y = np.subtract(x, about.mean, out=out, dtype=F32)
    y *= about.scale
    return y


def cast(x: Array, about: Circumstances, out: Array | None) -> Array:
    if out is x or (out is None and x.dtype == F32):
        return x
    if out is None:
        return x.astype(F32)
    np.copyto(out, x, casting="unsafe")
    return out


def scale(x: Array, about: Circumstances, out: Array | None) -> Array:
    return np.multiply(x, F(2), out=out)


def clip(x: Array, about: Circumstances, out: Array | None) -> Array:
    y = np.minimum(x, F(1), out=out)
    np.copyto(y, F(0), where=y < 0)  # a maximum with 0 may turn a negative zero
    return y


def add(x: Array, about: Circumstances, out: Array | None) -> Array:
    return np.add(x, F(0.1), out=out)


def multiply(x: Array, about: Circumstances, out: Array | None) -> Array:
    return np.multiply(x, F(0.9), out=out)


def log_transform(x: Array, about: Circumstances, out: Array | None) -> Array:
    a = np.abs(x, out=out)
    u = a + F(1)
    with np.errstate(all="ignore"):
        y = ln(u)
        y *= a
        u -= F(1)
        changed = (u != 0) & (a != np.inf)
        y /= u
    np.copyto(a, y, where=changed)
    return a


def expensive(x: Array, about: Circumstances, out: Array | None) -> Array:
    for _ in range(8):
        x = sincos(x)
    if out is None:
        return x
    np.copyto(out, x)
    return out


def gaussian_noise(x: Array, about: Circumstances, out: Array | None) -> Array:
    noise = normal(about.drawn, math.prod(x.shape[1:]))
    noise *= F(0.05)
    return np.add(x, noise.reshape(x.shape), out=out)


def random_brightness(x: Array, about: Circumstances, out: Array | None) -> Array:
    return np.add(x, per_element(about.drawn.between(0, -0.2, 0.2).astype(F), x), out=out)


def random_scale(x: Array, about: Circumstances, out: Array | None) -> Array:
    return np.multiply(x, per_element(about.drawn.between(0, 0.8, 1.2).astype(F), x), out=out)


def hash_embedding_index(x: Array, about: Circumstances, out: Array | None) -> Array:
    # The least number has no absolute value in its own type: it is itself, and right when read without a sign.
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    with np.errstate(all="ignore"):
        y = np.abs(x, out=out)
    bits = y.view(unsigned)
    np.remainder(bits, unsigned.type(10000), out=bits)
    return y


def dynamic_pad(x: Array, about: Circumstances, out: Array | None) -> Array:
    assert about.length is not None, "a pipeline with DynamicPad has the field `length`"
    keep = np.arange(x.shape[1]) < about.length[:, None]
    return np.multiply(x, keep, out=out, dtype=x.dtype)


# Steps that move pixels, or choose elements


def crop_window(side: int) -> int:
    """How many of so many rows or columns `RandomCrop` keeps."""
    return 7 * side // 8


def crop_corners(draw: Draw, h: int, w: int) -> tuple[Array, Array]:
    """The top and the left of the window that `RandomCrop` keeps of each element."""
    return draw.below(0, h - crop_window(h) + 1), draw.below(1, w - crop_window(w) + 1)


def random_crop(x: Array, about: Circumstances, out: Array | None) -> Array:
    h, w = x.shape[1:3]
    rows, columns = crop_window(h), crop_window(w)
    tops, lefts = crop_corners(about.drawn, h, w)
    y = np.zeros_like(x)
    for element, (top, left) in enumerate(zip(tops.tolist(), lefts.tolist(), strict=True)):
        y[element, :rows, :columns] = x[element, top : top + rows, left : left + columns]
    return y


def random_flip(x: Array, about: Circumstances, out: Array | None) -> Array:
    chosen = about.drawn.coin(0)
    y = x.copy()
    y[chosen] = x[chosen, :, ::-1]
    return y


def affine_rotation(x: Array, about: Circumstances, out: Array | None) -> Array:
    turns = about.drawn.below(0, 4)
    y = x.copy()
    for turn in (1, 2, 3):
        chosen = turns == turn
        y[chosen] = np.rot90(x[chosen], turn, axes=(1, 2))
    return y


def windows(draw: Draw, h: int, w: int) -> list[tuple[int, int, int, int]]:
    """Top, left, height, width of what `RandomResizedCrop` keeps of each element."""
    most = 0.28768207245178085
    height, width = np.full(len(draw.keys), h), np.full(len(draw.keys), w)
    top, left = np.zeros_like(height), np.zeros_like(width)
    open_ones = np.arange(len(draw.keys))
    for attempt in range(10):
        here = draw.of(open_ones)
        area: Floats = here.between(2 * attempt, 0.08, 1.0) * (h * w)
        ratio = exp(here.between(2 * attempt + 1, -most, most))
        cw = np.floor(np.sqrt(area * ratio) + 0.5).astype(np.int64)
        ch = np.floor(np.sqrt(area / ratio) + 0.5).astype(np.int64)
        fits = (cw >= 1) & (cw <= w) & (ch >= 1) & (ch <= h)
        found, ch, cw = open_ones[fits], ch[fits], cw[fits]
        height[found], width[found] = ch, cw
        top[found] = draw.of(found).below(20, h - ch + 1)
        left[found] = draw.of(found).below(21, w - cw + 1)
        open_ones = open_ones[~fits]
        if not len(open_ones):
            break
    return list(zip(top.tolist(), left.tolist(), height.tolist(), width.tolist(), strict=True))


def nearest(size: int, into: int) -> Array:
    return np.minimum(np.floor((np.arange(into) + 0.5) * (size / into)).astype(np.int64), size - 1)


def bilinear(size: int, into: int) -> tuple[Array, Array, Array]:
    p = np.maximum(0.0, (np.arange(into) + 0.5) * (size / into) - 0.5)
    a = np.minimum(np.floor(p).astype(np.int64), size - 1)
    return a, np.minimum(a + 1, size - 1), (p - a).astype(F)


def resize(x: Array, height: int, width: int) -> Array:
    """A batch of images, all from one size to another."""
    h, w, channels = x.shape[1:]
    if x.dtype not in (U8, F32):
        return x[:, nearest(h, height)][:, :, nearest(w, width)]
    (upper, lower, down), (left, right, across) = bilinear(h, height), bilinear(w, width)
    # Numbers are taken one by one along flat rows, which is quicker than pixel by pixel.
    flat = x.reshape(len(x), h, w * channels)
    channel = np.arange(channels)
    at = (left[:, None] * channels + channel).ravel()
    y = flat.take(at, axis=2).astype(F, copy=False)
    at = (right[:, None] * channels + channel).ravel()
    z = flat.take(at, axis=2).astype(F, copy=False)
    z -= y
    z *= np.repeat(across, channels)
    y += z
    above, below = y.take(upper, axis=1), y.take(lower, axis=1)
    below -= above
    below *= down[:, None]
    above += below
    return paint(above.reshape(len(x), height, width, channels), x.dtype)


def random_resized_crop(x: Array, about: Circumstances, out: Array | None) -> Array:
    h, w = x.shape[1:3]
    y = np.empty_like(x)
    for element, (top, left, rows, columns) in enumerate(windows(about.drawn, h, w)):
        window = np.ascontiguousarray(x[element : element + 1, top : top + rows, left : left + columns])
        y[element : element + 1] = resize(window, h, w)
    return y


def multi_scale_resize(x: Array, about: Circumstances, out: Array | None) -> Array:
    h, w = x.shape[1:3]
    return resize(resize(x, h // 2, w // 2), h, w)


def means(x: Array) -> Array:
    """The mean of all numbers of each element, as `f32`."""
    count = math.prod(x.shape[1:])
    flat = x.reshape(len(x), count)
    if x.dtype == U8:
        return (flat.sum(axis=1, dtype=np.int64) / count).astype(F)
    whole = count - count % 8
    # Row after row is added to eight sums of each element: along the first axis numpy adds in order.
    rows = np.ascontiguousarray(flat[:, :whole].reshape(len(x), -1, 8).transpose(1, 0, 2), np.float64)
    sums = np.add.reduce(rows, axis=0)
    sums[:, : count - whole] += flat[:, whole:]
    pairs = sums[:, 0::2] + sums[:, 1::2]
    return (((pairs[:, 0] + pairs[:, 1]) + (pairs[:, 2] + pairs[:, 3])) / count).astype(F)


def grey(y: Array) -> Array:
    return (((y[..., 0] + y[..., 1]) + y[..., 2]) / F(3))[..., None]


def color_jitter(x: Array, about: Circumstances, out: Array | None) -> Array:
    top = 255.0 if x.dtype == U8 else 1.0
    draw = about.drawn
    b = (draw.between(0, -0.4, 0.4) * top).astype(F)
    c, s = (per_element(draw.between(n, 0.6, 1.4).astype(F), x) for n in (1, 2))
    n = per_element(means(x) + b, x)
    y = x + per_element(b, x)
    y -= n
    y *= c
    y += n
    g = grey(y)
    y -= g
    y *= s
    y += g
    if x.dtype == U8:
        return paint(y, x.dtype)
    np.copyto(y, F(0), where=y < 0)
    np.copyto(y, F(1), where=y > 1)
    return y


def random_grayscale(x: Array, about: Circumstances, out: Array | None) -> Array:
    chosen = about.drawn.unit(0) < 0.2
    y = x.copy()
    y[chosen] = paint(grey(x[chosen].astype(F)), x.dtype)
    return y


def gaussian_blur(x: Array, about: Circumstances, out: Array | None) -> Array:
    d = about.drawn.between(0, 0.1, 2.0)
    a = exp(-0.5 / (d * d))
    b = (a * a) * (a * a)
    n = 1.0 + 2.0 * (a + b)
    k0, k1, k2 = (per_element((k / n).astype(F), x) for k in (np.ones_like(a), a, b))

    def along(y: Array, axis: int) -> Array:
        edges = [(0, 0)] * 4
        edges[axis] = (2, 2)
        wide = np.pad(y, edges, mode="edge")
        size = y.shape[axis]

        def at(by: int) -> Array:
            cut = [slice(None)] * 4
            cut[axis] = slice(2 + by, 2 + by + size)
            return wide[tuple(cut)]

        total = k0 * at(0)
        pair = at(-1) + at(1)
        pair *= k1
        total += pair
        np.add(at(-2), at(2), out=pair)
        pair *= k2
        total += pair
        return total

    return paint(along(along(x.astype(F), 2), 1), x.dtype)


def random_solarize(x: Array, about: Circumstances, out: Array | None) -> Array:
    top, half = (np.uint8(255), 128) if x.dtype == U8 else (F(1), F(0.5))
    chosen = about.drawn.coin(0)
    y = x.copy()
    some = x[chosen]
    np.subtract(top, some, out=some, where=some >= half)
    y[chosen] = some
    return y


def create_attention_mask(x: Array, about: Circumstances, out: Array | None) -> Array:
    return (x != 0).astype(F)


def causal_mask_generation(x: Array, about: Circumstances, out: Array | None) -> Array:
    n = x.shape[1]
    y = np.empty((len(x), n, n), F)
    y[...] = np.tri(n, dtype=F)
    return y


STEPS: dict[str, Step] = {
    "Normalize": Step(normalize, pointwise=True),
    "CastToFloat32": Step(cast, pointwise=True),
    "Scale": Step(scale, pointwise=True),
    "Clip": Step(clip, pointwise=True),
    "Add": Step(add, pointwise=True),
    "Multiply": Step(multiply, pointwise=True),
    "RandomCrop": Step(random_crop, draws=True),
    "RandomFlip": Step(random_flip, draws=True),
    "GaussianNoise": Step(gaussian_noise, pointwise=True, draws=True),
    "RandomBrightness": Step(random_brightness, pointwise=True, draws=True),
    "RandomScale": Step(random_scale, pointwise=True, draws=True),
    "RandomResizedCrop": Step(random_resized_crop, draws=True),
    "ColorJitter": Step(color_jitter, draws=True),
    "RandomGrayscale": Step(random_grayscale, draws=True),
    "GaussianBlur": Step(gaussian_blur, draws=True),
    "RandomSolarize": Step(random_solarize, draws=True),
    "AffineRotation": Step(affine_rotation, draws=True),
    "MultiScaleResize": Step(multi_scale_resize),
    "DynamicPad": Step(dynamic_pad, pointwise=True),
    "LogTransform": Step(log_transform, pointwise=True),
    "HashEmbeddingIndex": Step(hash_embedding_index, pointwise=True),
    "CreateAttentionMask": Step(create_attention_mask),
    "CausalMaskGeneration": Step(causal_mask_generation),
    "ExpensiveTransform": Step(expensive, pointwise=True),
    "CheapTransform": Step(add, pointwise=True),
}
STEPS["RandomHorizontalFlip"] = STEPS["RandomFlip"]


def undecoded(x: Array, about: Circumstances, out: Array | None) -> Array:
    raise ValueError("no numpy function decodes images: systems do it by decoders of their own")


STEPS["DecodeResizedCrop"] = Step(undecoded, draws=True)


# What is done with whole batches


def beta(seed: int, epoch: int, first: int, alpha: float) -> float:
    """A draw from Beta(alpha, alpha) for the batch whose first element stands at this place."""
    root = key(seed, epoch, first, 1 << 33)

    def power(number: int) -> float:
        value: float = exp(ln64((split(root, number) >> 11) * 2.0**-53 + 2.0**-54) / alpha)
        return value

    for k in range(64):
        x, y = power(2 * k), power(2 * k + 1)
        if 0.0 < x + y <= 1.0:
            return x / (x + y)
    return 0.5


def mix_up(x: Array, share: float) -> Array:
    a = F(share)
    y = x[::-1] * (F(1) - a)
    y += a * x
    return y


def cut_mix(x: Array, share: float, seed: int, epoch: int, first: int) -> Array:
    root, side = key(seed, epoch, first, 1 << 33), math.sqrt(1.0 - share)

    def span(whole: int, number: int) -> slice:
        length = math.floor(whole * side)
        start = (split(root, number) * whole >> 64) - length // 2
        return slice(max(start, 0), max(min(start + length, whole), 0))

    rows, columns = span(x.shape[1], 128), span(x.shape[2], 129)
    y = x.copy()
    y[:, rows, columns] = x[::-1, rows, columns]
    return y
