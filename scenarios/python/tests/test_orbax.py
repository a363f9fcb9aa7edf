"""Orbax where it is installed: every layout gives back what was saved."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("orbax.checkpoint", reason="Orbax is not installed here")

from weighbridge_worker.checkpointer import SaveOptions
from weighbridge_worker.checkpointers import orbax

WHOLE = ((), ())
CUT = (("data", None), ("model",))


@pytest.mark.parametrize("saving", ["blocking", "background"])
@pytest.mark.parametrize(
    "mesh, told, stored",
    [
        ((), {}, "ocdbt.process_0"),
        ((("data", 4), ("model", 2)), {}, "ocdbt.process_0"),
        ((("data", 2), ("model", 1)), {"use_ocdbt": False, "use_zarr3": True}, "weight"),
        ((), {"use_compression": False, "chunk_byte_size": 1024, "save_concurrent_gb": 1}, "ocdbt.process_0"),
    ],
)
def test_a_state_comes_back_from_every_layout_on_as_many_devices_as_its_mesh_has(tmp_path, saving, mesh, told, stored):
    random = np.random.default_rng(7)
    state = {name: random.normal(size=shape).astype(np.float32) for name, shape in [("weight", (8, 6)), ("bias", (4,))]}
    options = SaveOptions(saving, mesh, CUT if mesh else WHOLE, told)
    checkpoints = orbax.Orbax(state, options)
    checkpoints.save(tmp_path / "saved", False)
    checkpoints.wait()
    checkpoints.load(tmp_path / "saved")
    assert {name: len(array.devices()) for name, array in checkpoints.held.items()} == dict.fromkeys(
        state, int(np.prod([size for _, size in mesh]))
    )
    for name, array in state.items():
        assert np.array_equal(checkpoints.loaded(name), array)
    assert (tmp_path / "saved" / stored).exists(), list((tmp_path / "saved").iterdir())
    checkpoints.release()
    checkpoints.close()
