"""The ways that components of a model can be written in: the same numbers but for rounding, in another time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .adapter import Declined
from .protocol import Broken

Ways = Mapping[str, str]
"""The way of each component by its name."""

States = Mapping[str, Ways]
"""The ways of each state that a system has: `original`, as a model was published, and `optimised`."""

KNOWN: Mapping[str, Sequence[str]] = {
    "rope": ("cached", "buffers"),
    "attention": ("by_hand", "math", "flash", "library"),
    "norm": ("parts", "fused"),
    "casts": ("kept", "removed"),
    "optimiser": ("plain", "foreach", "fused"),
    "layout": ("channels_first", "channels_last"),
}


OTHER = {"original": "optimised", "optimised": "original"}


@dataclass(frozen=True)
class Components:
    """What is asked of the components of a model: a state, and over it single ways."""

    state: str
    asked: Ways
    swapped: str | None = None
    """The component that is in the way of the other state."""

    @classmethod
    def from_dict(cls, said: Mapping[str, str]) -> Components:
        asked = {name: way for name, way in said.items() if name not in ("state", "swapped")}
        swapped = said.get("swapped")
        known = all(way in KNOWN.get(name, ()) for name, way in asked.items())
        if said["state"] not in OTHER or not known or swapped not in (None, *KNOWN):
            raise Broken(f"there are no components {dict(said)}")
        return cls(said["state"], asked, swapped)

    def ways(self, states: States, beside: Mapping[str, Sequence[str]] | None = None) -> Ways:
        """The ways that are due, of a system that has those of its states and some beside them."""
        if self.state not in states:
            raise Declined(f"state {self.state}: each component has one way here")
        for name, way in self.asked.items():
            offered = {of_state[name] for of_state in states.values() if name in of_state}
            if way not in offered | set((beside or {}).get(name, ())):
                raise Declined(f"{name} {way}: there is no such way here")
        ways = dict(states[self.state])
        if self.swapped:
            other = states.get(OTHER[self.state], {}).get(self.swapped)
            if other is None or other == ways[self.swapped]:
                raise Declined(f"swapped {self.swapped}: it is the same in both states here")
            ways[self.swapped] = other
        return {**ways, **self.asked}


def angles(turned: Sequence[Mapping[str, Any]], length: int, size: int) -> np.ndarray[Any, Any]:
    """For each place of a sequence the angle of each pair of neighbours in a head of `size` numbers: on a grid, the
    first half of the pairs turns with the row, the other half with the column; 0 on none."""
    table = np.zeros((length, size // 2))
    powers = np.arange(size // 4) * 4 / size
    for grid in turned:
        row, column = np.divmod(np.arange(grid["rows"] * grid["columns"]), grid["columns"])
        slower = float(grid["base"]) ** -powers
        of_grid = np.concatenate([row[:, None] * slower, column[:, None] * slower], 1)
        table[grid["first"] : grid["first"] + len(of_grid)] = of_grid
    return table
