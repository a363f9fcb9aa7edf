"""`scenarios/docs/transforms.md` in numpy, and the outputs that loaders are held to.

    python3 scenarios/python/oracle/transforms.py            writes golden/*.bin beside this file
    python3 scenarios/python/oracle/transforms.py --check    says whether they are what it would write

It reads golden/input.*.bin, the first rows of the data set that `scenarios/loaders/tests/conformance/golden.rs` describes, and
needs numpy alone.
"""

import math
import sys
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parent / "golden"
ELEMENTS, SEED, EPOCH, POSITION = 5, 42, 0, 0
FIELDS = {
    "image": (np.uint8, (10, 10, 3)),
    "mask": (np.int32, (10, 10, 1)),
    "wide": (np.float32, (8, 8, 3)),
    "row": (np.float32, (61,)),
    "tokens": (np.int32, (40,)),
    "length": (np.int32, ()),
}
NAMES = """Normalize CastToFloat32 Scale Clip Add Multiply RandomCrop RandomFlip GaussianNoise RandomBrightness RandomScale
    RandomResizedCrop ColorJitter RandomGrayscale GaussianBlur RandomSolarize AffineRotation MultiScaleResize DynamicPad
    LogTransform HashEmbeddingIndex CreateAttentionMask CausalMaskGeneration ExpensiveTransform CheapTransform""".split()
F = np.float32
WORD = 1 << 64


def split(s, i):
    z = (s + (i + 1) * 0x9E3779B97F4A7C15) % WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)


class Draw:
    """The draws of one address."""

    def __init__(self, element):
        self.key = split(split(split(SEED, EPOCH), element), POSITION)

    def bits(self, n):
        return split(self.key, n)

    def below(self, n, m):
        return (self.bits(n) * m) >> 64

    def unit(self, n):
        return (self.bits(n) >> 11) * 2.0**-53

    def between(self, n, a, b):
        return a + (b - a) * self.unit(n)

    def coin(self, n):
        return self.bits(n) >> 63 == 1


def exp(z):
    y, p = z / 1024.0, 1.0
    for k in range(13, 0, -1):
        p = 1.0 + p * y / k
    for _ in range(10):
        p *= p
    return p


def ln(v):
    i = v.view(np.int32)
    e = (i - np.int32(0x3F3504F3)) >> 23
    t = (i - (e << 23)).view(F) - F(1)
    z, p = t * t, F(7.0376836292e-2)
    for c in (-1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
              2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1):
        p = p * t + F(c)
    e = e.astype(F)
    y = (p * t) * z
    y = y + e * F(-2.12194440e-4)
    y = y - F(0.5) * z
    return (t + y) + e * F(0.693359375)


def sincos(x):
    y = x * F(0.6366197723675814) + F(12582912)
    q, k = y.view(np.uint32), y - F(12582912)
    r = ((x - k * F(1.5703125)) - k * F(4.837512969970703125e-4)) - k * F(7.54978995489188216e-8)
    z = r * r
    s = (((F(-1.9515295891e-4) * z + F(8.3321608736e-3)) * z - F(1.6666654611e-1)) * z) * r + r
    c = ((F(2.443315711809948e-5) * z - F(1.388731625493765e-3)) * z + F(4.166664568298827e-2)) * z * z
    c = (c - F(0.5) * z) + F(1)
    a = np.where(q & 1, c - s, c + s)
    return np.where(q & 2, -a, a)


def normal(draw, count):
    words = [draw.bits(n) for n in range((count + 1) // 2)]
    k = np.array([part for b in words for part in (b >> 40, (b >> 16) % (1 << 24))][:count], np.int64)
    x = (2 * k + 1 - (1 << 24)).astype(F) * F(2.0**-24)
    w = -ln((F(1) - x) * (F(1) + x))

    def polynomial(w, first, *rest):
        p = F(first)
        for c in rest:
            p = p * w + F(c)
        return p

    near = polynomial(w - F(2.5), 2.81022636e-8, 3.43273939e-7, -3.5233877e-6, -4.39150654e-6, 0.00021858087,
                      -0.00125372503, -0.00417768164, 0.246640727, 1.50140941)
    far = polynomial(np.sqrt(w) - F(3), -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                     -0.0076224613, 0.00943887047, 1.00167406, 2.83297682)
    return (np.where(w < F(5), near, far) * x) * F(1.4142135623730951)


def window(draw, h, w):
    most = 0.28768207245178085
    for i in range(10):
        area = draw.between(2 * i, 0.08, 1.0) * (h * w)
        ratio = exp(draw.between(2 * i + 1, -most, most))
        cw, ch = math.floor(math.sqrt(area * ratio) + 0.5), math.floor(math.sqrt(area / ratio) + 0.5)
        if 1 <= cw <= w and 1 <= ch <= h:
            top, left = draw.below(20, h - ch + 1), draw.below(21, w - cw + 1)
            return slice(top, top + ch), slice(left, left + cw)
    return slice(0, h), slice(0, w)


def resize(x, height, width):
    h, w = x.shape[:2]

    def bilinear(size, into):
        p = np.maximum(0.0, (np.arange(into) + 0.5) * (size / into) - 0.5)
        a = np.minimum(np.floor(p).astype(np.int64), size - 1)
        return a, np.minimum(a + 1, size - 1), (p - a).astype(F)

    def nearest(size, into):
        return np.minimum(np.floor((np.arange(into) + 0.5) * (size / into)).astype(np.int64), size - 1)

    if x.dtype not in (np.uint8, F):
        return x[nearest(h, height)][:, nearest(w, width)]
    (upper, lower, down), (left, right, across) = bilinear(h, height), bilinear(w, width)
    y = x.astype(F)
    rows = y[:, left] + (y[:, right] - y[:, left]) * across[None, :, None]
    return paint(rows[upper] + (rows[lower] - rows[upper]) * down[:, None, None], x.dtype)


def paint(y, dtype):
    return np.rint(np.clip(y, F(0), F(255))).astype(np.uint8) if dtype == np.uint8 else y


def mean(x):
    if x.dtype == np.uint8:
        return F(int(x.astype(np.int64).sum()) / x.size)
    s = []
    for lane in range(8):
        total = 0.0
        for number in x.ravel()[lane::8]:
            total += float(number)
        s.append(total)
    return F((((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))) / x.size)


def jitter(x, draw):
    top = 255.0 if x.dtype == np.uint8 else 1.0
    b = F(draw.between(0, -0.4, 0.4) * top)
    c, s = F(draw.between(1, 0.6, 1.4)), F(draw.between(2, 0.6, 1.4))
    n = mean(x) + b
    y = ((x.astype(F) + b) - n) * c + n
    g = (((y[..., 0] + y[..., 1]) + y[..., 2]) / F(3))[..., None]
    return paint(np.clip((y - g) * s + g, F(0), F(top)), x.dtype)


def blur(x, draw):
    d = draw.between(0, 0.1, 2.0)
    a = exp(-0.5 / (d * d))
    b = (a * a) * (a * a)
    n = 1 + 2 * (a + b)
    k0, k1, k2 = F(1 / n), F(a / n), F(b / n)

    def along(y):
        last = len(y) - 1
        at = lambda by: y[np.clip(np.arange(last + 1) + by, 0, last)]
        return (k0 * at(0) + k1 * (at(-1) + at(1))) + k2 * (at(-2) + at(2))

    rows = along(x.astype(F).transpose(1, 0, 2)).transpose(1, 0, 2)
    return paint(along(rows), x.dtype)


def apply(name, field, x, draw, constants, length):
    """What becomes of a field of one element, and the field that it adds."""
    image, f32 = x.ndim == 3, x.dtype == F
    colours = image and x.dtype in (np.uint8, F)
    tokens = x.ndim == 1 and x.dtype == np.int32
    if name == "Normalize" and x.dtype == np.uint8:
        return x.astype(F) / F(255), None
    if name == "Normalize" and f32:
        return (x - constants[0]) * constants[1], None
    if name == "CastToFloat32":
        return x.astype(F), None
    if f32:
        if name == "Scale":
            return x * F(2), None
        if name == "Clip":
            return np.where(x < 0, F(0), np.where(x > 1, F(1), x)), None
        if name in ("Add", "CheapTransform"):
            return x + F(0.1), None
        if name == "Multiply":
            return x * F(0.9), None
        if name == "LogTransform":
            a = np.abs(x)
            u = F(1) + a
            with np.errstate(invalid="ignore"):
                return np.where(u == 1, a, (ln(u) * a) / (u - F(1))), None
        if name == "ExpensiveTransform":
            for _ in range(8):
                x = sincos(x)
            return x, None
        if name == "GaussianNoise":
            return x + F(0.05) * normal(draw, x.size).reshape(x.shape), None
        if name == "RandomBrightness":
            return x + F(draw.between(0, -0.2, 0.2)), None
        if name == "RandomScale":
            return x * F(draw.between(0, 0.8, 1.2)), None
    if image:
        h, w, channels = x.shape
        if name == "RandomCrop":
            rows, columns = 7 * h // 8, 7 * w // 8
            top, left = draw.below(0, h - rows + 1), draw.below(1, w - columns + 1)
            y = np.zeros_like(x)
            y[:rows, :columns] = x[top:top + rows, left:left + columns]
            return y, None
        if name == "RandomFlip":
            return (x[:, ::-1] if draw.coin(0) else x), None
        if name == "AffineRotation":
            return np.rot90(x, draw.below(0, 4)), None
        if name == "RandomResizedCrop":
            return resize(x[window(draw, h, w)], h, w), None
        if name == "MultiScaleResize":
            return resize(resize(x, h // 2, w // 2), h, w), None
        if name == "ColorJitter" and colours and channels == 3:
            return jitter(x, draw), None
        if name == "RandomGrayscale" and colours and channels == 3 and draw.unit(0) < 0.2:
            y = x.astype(F)
            g = ((y[..., 0] + y[..., 1]) + y[..., 2]) / F(3)
            return paint(np.repeat(g[..., None], 3, axis=2), x.dtype), None
        if name == "GaussianBlur" and colours:
            return blur(x, draw), None
        if name == "RandomSolarize" and colours and draw.coin(0):
            top, half = (np.uint8(255), 128) if x.dtype == np.uint8 else (F(1), F(0.5))
            return np.where(x >= half, top - x, x), None
    if x.dtype == np.int32 and name == "HashEmbeddingIndex":
        return (np.abs(x.astype(np.int64)) % 10000).astype(np.int32), None
    if tokens:
        n = len(x)
        if name == "DynamicPad":
            return np.where(np.arange(n) < length, x, np.int32(0)), None
        if name == "CreateAttentionMask":
            return x, (x != 0).astype(F)
        if name == "CausalMaskGeneration":
            return x, np.tril(np.ones((n, n), F))
    return x, None


def outputs(name):
    """The bytes that a loader delivers for one transform: field after field, elements in order, in one batch."""
    read = lambda field, dtype, shape: np.fromfile(GOLDEN / f"input.{field}.bin", dtype).reshape((ELEMENTS, *shape))
    data = {field: read(field, *kind) for field, kind in FIELDS.items()}
    fields, added = [], []
    for field, rows in data.items():
        constants = None
        if rows.dtype == F:
            constants = np.fromfile(GOLDEN / f"constants.{field}.bin", F).reshape((2, -1))
        done = [apply(name, field, x, Draw(element), constants, data["length"][element]) for element, x in enumerate(rows)]
        rows = np.stack([x for x, _ in done])
        if name == "DynamicPad" and field == "tokens":
            rows = rows[:, :min(rows.shape[1], -(-int(data["length"].max()) // 8) * 8)]
        fields.append(rows)
        added += [np.stack([x for _, x in done])] if done[0][1] is not None else []
    untouched = [np.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(fields, data.values())]
    # What is not touched is the input: it is held once.
    return b"".join(np.ascontiguousarray(x).tobytes() for x, same in zip(fields, untouched) if not same) + b"".join(
        np.ascontiguousarray(x[:1]).tobytes() for x in added
    )


def main():
    stale = []
    for name in NAMES:
        path, made = GOLDEN / f"{name}.bin", outputs(name)
        if "--check" not in sys.argv:
            path.write_bytes(made)
        elif not path.exists() or path.read_bytes() != made:
            stale.append(path.name)
    if stale:
        sys.exit(f"not what this page gives: {', '.join(stale)}")


if __name__ == "__main__":
    main()
