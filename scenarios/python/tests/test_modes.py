"""Ways to run one list of steps: the same bits in each, and what is not written is declined."""

from __future__ import annotations

import importlib
import importlib.util

import numpy as np
import pytest

from weighbridge_worker.adapter import Declined, Place
from weighbridge_worker.adapters import numpy as reference
from weighbridge_worker.modes import WRITTEN, Square

from .conftest import Made


@pytest.fixture
def square(tmp_path):
    return Made(tmp_path, {"image": np.random.default_rng(5).normal(size=(23, 9, 9, 3)).astype(np.float32)})


def ways():
    """The adapters whose framework this interpreter has, with their modes."""
    found = []
    for module, needs in (("jax_dataloader", "jax_dataloader"), ("torch", "torch")):
        if importlib.util.find_spec(needs):
            adapter = importlib.import_module(f"weighbridge_worker.adapters.{module}").ADAPTER
            found += [pytest.param(adapter, mode, id=f"{module}-{mode}") for mode in adapter.modes]
    return found or [pytest.param(None, "", marks=pytest.mark.skip("no framework with modes is here"))]


@pytest.mark.parametrize(("adapter", "mode"), ways())
def test_every_way_delivers_the_same_bits(square, tmp_path, adapter, mode):
    place = Place(tmp_path, tmp_path)
    pipeline = square.pipeline(*WRITTEN, batch_size=10, mode=mode)
    loader = adapter.open(pipeline, square.data, place)
    before = loader.compilations()
    for epoch in (0, 3):
        plain = reference.open(square.pipeline(*WRITTEN, batch_size=10), square.data, place).begin(epoch)
        for found, expected in zip(loader.begin(epoch), plain, strict=True):
            assert type(found["image"]) is np.ndarray
            assert found["image"].tobytes() == expected["image"].tobytes()
    if mode in ("compiled", "fused"):
        assert loader.compilations() == before, "both lengths were compiled while it was opened"
    loader.close()


@pytest.mark.parametrize("names", [("Normalize",), ("Normalize", "AffineRotation", "RandomCrop")])
def test_a_list_that_is_not_written_is_declined(square, names):
    with pytest.raises(Declined, match="mode fused: it is written for Normalize > RandomCrop > AffineRotation"):
        Square.of(square.pipeline(*names, mode="fused"), square.data)


def test_workers_are_declined_by_a_mode(square):
    with pytest.raises(Declined, match="no workers"):
        Square.of(square.pipeline(*WRITTEN, workers=2, mode="eager"), square.data)
