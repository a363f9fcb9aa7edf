"""What tests share: data sets in files, specifications as `open` has them, and the worker on the path."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HOME = Path(__file__).parent.parent
sys.path.insert(0, str(HOME))
sys.path.insert(0, str(HOME / "oracle"))

from weighbridge_worker.data import Data  # noqa: E402
from weighbridge_worker.pipeline import Kind, Pipeline, ways  # noqa: E402


class Made:
    """A data set in files, and pipelines over it."""

    def __init__(self, place: Path, fields: dict[str, np.ndarray], constants: dict[str, np.ndarray] | None = None):
        self.place, self.fields, self.elements = place, fields, len(next(iter(fields.values())))
        said = []
        for name, array in fields.items():
            array.tofile(place / f"{name}.bin")
            pair = (constants or {}).get(name)
            if pair is None and array.dtype == np.float32:
                width = array.shape[-1] if array.ndim > 1 else 1
                pair = np.stack([np.linspace(-1, 1, width), np.linspace(0.5, 2, width)]).astype(np.float32)
            said.append(
                {
                    **Kind(name, array.dtype, array.shape[1:]).to_dict(),
                    "path": str(place / f"{name}.bin"),
                    "mean": None if pair is None else pair[0].tolist(),
                    "scale": None if pair is None else pair[1].tolist(),
                }
            )
        self.said = {"elements": self.elements, "digest": "d" * 32, "fields": said}
        self.data = Data(self.said)

    def spec(self, *transforms: str, **other: Any) -> dict[str, Any]:
        """As `open` has it under `pipeline`."""
        said = {
            "first": 0,
            "end": self.elements,
            "batch_size": 4,
            "access": "memory",
            "workers": 0,
            "seed": 42,
            "transforms": list(transforms),
            "gates": [],
            "branches": [],
            "merge": "mean",
            "mixing": None,
            "mixture": [],
            "cache": False,
            "rebatch": None,
            "asks": [],
            "work": list(transforms),
            "output": [],
            **other,
        }
        kinds = [way.now for way in ways(Pipeline.from_dict(said), self.data.sources)]
        said["output"] = [kind.to_dict() for kind in kinds]
        return said

    def pipeline(self, *transforms: str, **other: Any) -> Pipeline:
        return Pipeline.from_dict(self.spec(*transforms, **other))

    @property
    def kinds(self) -> list[Kind]:
        return [source.kind for source in self.data.sources]


@pytest.fixture
def mixed(tmp_path: Path) -> Made:
    """All kinds of fields: as the oracle has them, with other numbers."""
    random, n = np.random.default_rng(7), 11
    fields = {
        "image": random.integers(0, 256, (n, 10, 10, 3), np.uint8),
        "mask": random.integers(0, 21, (n, 10, 10, 1), np.int32),
        "wide": random.standard_normal((n, 8, 8, 3), np.float32),
        "row": random.standard_normal((n, 61), np.float32),
        "tokens": random.integers(-50_000, 50_000, (n, 40), np.int32),
        "length": random.integers(0, 45, n, np.int32),
    }
    place = tmp_path / "data"
    place.mkdir()
    return Made(place, fields)


@pytest.fixture
def images(tmp_path: Path) -> Made:
    """Images alone."""
    place = tmp_path / "images"
    place.mkdir()
    return Made(place, {"image": np.random.default_rng(3).integers(0, 256, (23, 8, 8, 3), np.uint8)})


@pytest.fixture
def table(tmp_path: Path) -> Made:
    """Rows of numbers."""
    place = tmp_path / "table"
    place.mkdir()
    return Made(place, {"features": np.random.default_rng(3).standard_normal((23, 13), np.float32)})


@pytest.fixture
def tokens(tmp_path: Path) -> Made:
    """Rows of token ids."""
    place = tmp_path / "tokens"
    place.mkdir()
    return Made(place, {"tokens": np.random.default_rng(3).integers(0, 32_000, (23, 16), np.int32)})
