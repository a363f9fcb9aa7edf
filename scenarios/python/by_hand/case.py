"""A case: its rows in memory, its batch size, and the work that is done on each batch."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

BATCH_SIZES = {"CV-1": 64, "NLP-1": 32, "TAB-1": 256}
TYPES = {"u8": np.uint8, "i32": np.int32, "f32": np.float32}


@dataclass(frozen=True)
class Case:
    """What a script is asked for."""

    name: str
    rows: Array
    """All elements: `u8` images, `i32` tokens, or `f32` features."""
    mean: Array | None
    scale: Array | None
    batch_size: int
    workers: int
    seconds: float
    """How long to go through epochs."""
    files: Path
    """The folder for files of the script. It lies as deep as the harness's own: the deeper a path, the longer it takes
    to look up, which is a tenth of a batch where a framework opens a file for each sample."""

    @classmethod
    def from_arguments(cls) -> Case:
        """The case of the command line."""
        _, name, folder, workers, seconds, files = sys.argv
        (field,) = json.loads(Path(folder, "data.json").read_text())["fields"]
        kind, constants = field["kind"], field.get("normalisation") or {"mean": None, "scale": None}
        # Mapped, as the harness has its data: numpy asks for huge pages for what it reads, which are some 4 % quicker.
        flat = np.asarray(np.memmap(Path(folder, kind["name"] + ".bin"), TYPES[kind["dtype"]], mode="r"))
        mean, scale = (None if constants[key] is None else np.float32(constants[key]) for key in ("mean", "scale"))
        rows = flat.reshape(-1, *kind["shape"])
        return cls(name, rows, mean, scale, BATCH_SIZES[name], int(workers), float(seconds), Path(files))

    @property
    def batches(self) -> int:
        """Batches of an epoch, the last one short."""
        return -(-len(self.rows) // self.batch_size)

    def batch(self, number: int) -> Array:
        """The rows of a batch, as a view of memory."""
        return self.rows[number * self.batch_size : (number + 1) * self.batch_size]

    def steps(self, rows: Array) -> Array:
        """The work on the rows of a batch, into memory of its own: `x / 255` of images, `(x - mean) * scale` of
        features, tokens as they are.
        """
        if self.name == "CV-1":
            return np.divide(rows, np.float32(255), dtype=np.float32)
        if self.name == "TAB-1":
            made = rows - self.mean
            made *= self.scale
            return made
        return np.array(rows)

    def decoded(self, samples: list[bytes]) -> Array:
        """Rows from the bytes of each."""
        return np.frombuffer(b"".join(samples), self.rows.dtype).reshape(-1, *self.rows.shape[1:])
