"""Orbax: `StandardCheckpointer` over JAX arrays on the processor, with its own defaults (OCDBT, zarr3 off, zstd of
TensorStore).

Blocking, a `Checkpointer` of the same handler is used, which its documentation has for that. In the background it is
the asynchronous `StandardCheckpointer`: `save` copies, and `wait_until_finished` is what `wait` waits for. `restore`
gets the abstract state, as the documentation asks for: shapes, types and shardings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from ..adapter import Place
from ..checkpointer import Checkpoints, Saver, State
from ..pipeline import Array


class Orbax(Checkpoints):
    """A directory of Orbax's own layout."""

    def __init__(self, state: State, saving: str) -> None:
        # `jnp.asarray` of a numpy array may be a view of it; the arrays of a training step are JAX's own.
        self.state = {name: jax.device_put(np.array(array)) for name, array in state.items()}
        jax.block_until_ready(self.state)
        self.abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, self.state)
        self.checkpointer: Any = (
            ocp.StandardCheckpointer() if saving == "background" else ocp.Checkpointer(ocp.StandardCheckpointHandler())
        )
        self.in_background = saving == "background"
        self.held: dict[str, jax.Array] = {}

    def save(self, directory: Path, durable: bool) -> None:
        if self.in_background:
            self.checkpointer.save(directory, self.state)
        else:
            self.checkpointer.save(directory, args=ocp.args.StandardSave(self.state))

    def wait(self) -> None:
        if self.in_background:
            self.checkpointer.wait_until_finished()

    def load(self, directory: Path) -> None:
        if self.in_background:
            held = self.checkpointer.restore(directory, self.abstract)
        else:
            held = self.checkpointer.restore(directory, args=ocp.args.StandardRestore(self.abstract))
        self.held = jax.block_until_ready(held)

    def loaded(self, name: str) -> Array:
        return np.asarray(self.held[name])

    def release(self) -> None:
        for array in self.held.values():
            array.delete()
        self.held = {}

    def close(self) -> None:
        self.checkpointer.close()


def open(state: State, saving: str, place: Place) -> Orbax:
    return Orbax(state, saving)


ADAPTER = Saver(
    framework="Orbax",
    distribution="orbax-checkpoint",
    entry_point="orbax.checkpoint.StandardCheckpointer",
    open=open,
)
