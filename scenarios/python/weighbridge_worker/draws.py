"""The draws of random transforms: what depends on what is drawn for, never on who draws or in which order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def split(seed: int, index: int) -> int:
    """Output `index` of the generator that is seeded with `seed`."""
    z = (seed + (index + 1) * GOLDEN) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def mixed(z: Words) -> Words:
    """The generator's last step, in place."""
    scratch = z >> np.uint64(30)
    z ^= scratch
    z *= np.uint64(0xBF58476D1CE4E5B9)
    np.right_shift(z, np.uint64(27), out=scratch)
    z ^= scratch
    z *= np.uint64(0x94D049BB133111EB)
    np.right_shift(z, np.uint64(31), out=scratch)
    z ^= scratch
    return z


class Draw:
    """The draws of one step for some elements, one row of each answer per element."""

    def __init__(self, seed: int, epoch: int, elements: npt.NDArray[Any], position: int) -> None:
        steps = np.asarray(elements).astype(np.uint64) + np.uint64(1)
        keys = mixed(steps * np.uint64(GOLDEN) + np.uint64(split(seed, epoch)))
        self.keys = mixed(keys + np.uint64((position + 1) * GOLDEN & WORD))

    def of(self, chosen: npt.NDArray[Any] | slice) -> Draw:
        """The same draws for some of the elements."""
        draw = object.__new__(Draw)
        draw.keys = self.keys[chosen]
        return draw

    def bits(self, number: int) -> Words:
        """64 random bits per element."""
        return mixed(self.keys + np.uint64((number + 1) * GOLDEN & WORD))

    def words(self, count: int) -> Words:
        """The draws 0 .. `count` of each element: elements x count."""
        steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        return mixed(self.keys[:, None] + steps)

    def below(self, number: int, bound: int | npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """A whole number below `bound` (below 2^32): the upper half of a 128-bit product."""
        bits, factor = self.bits(number), np.asarray(bound).astype(np.uint64)
        carried = (bits & LOW) * factor >> HALF
        return (((bits >> HALF) * factor + carried) >> HALF).astype(np.int64)

    def unit(self, number: int) -> Floats:
        """A number from [0, 1)."""
        return (self.bits(number) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def between(self, number: int, low: float, high: float) -> Floats:
        """A number from [low, high)."""
        return low + (high - low) * self.unit(number)

    def coin(self, number: int) -> npt.NDArray[np.bool_]:
        """True with probability 1/2."""
        return self.bits(number) >> np.uint64(63) == 1


def unit(seed: int, epoch: int, element: int, position: int, number: int) -> float:
    """`Draw.unit` for one element."""
    return (split(key(seed, epoch, element, position), number) >> 11) * 2.0**-53


def key(seed: int, epoch: int, element: int, position: int) -> int:
    """What the draws of one element at one step are split from."""
    return split(split(split(seed, epoch), element), position)
