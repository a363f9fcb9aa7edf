"""Orbax where it is installed: every layout gives back what was saved."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("orbax.checkpoint", reason="Orbax is not installed here")

from weighbridge_worker.adapter import Place
from weighbridge_worker.checkpointer import TRAINED, Placement, Retention, SaveOptions
from weighbridge_worker.checkpointers import orbax, tensorstore

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
    options = SaveOptions(saving, Placement(mesh, CUT if mesh else WHOLE), None, told)
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


@pytest.mark.parametrize("adapter", [orbax.open, tensorstore.open])
@pytest.mark.parametrize("source, onto", [((("data", 4), ("model", 2)), ()), ((), (("model", 3), ("data", 2)))])
def test_each_device_of_the_target_has_its_part(tmp_path, adapter, source, onto):
    random = np.random.default_rng(7)
    state = {name: random.normal(size=shape).astype(np.float32) for name, shape in [("weight", (8, 6)), ("bias", (6,))]}
    target = Placement(onto, CUT if onto else WHOLE)
    options = SaveOptions("blocking", Placement(source, CUT if source else WHOLE), target)
    checkpoints = adapter(state, options, Place(tmp_path, tmp_path))
    checkpoints.save(tmp_path / "saved", False)
    checkpoints.wait()
    checkpoints.load(tmp_path / "saved")
    for at, (name, array) in enumerate(state.items()):
        assert np.array_equal(checkpoints.loaded(name), array)
        for device in range(target.devices):
            assert np.array_equal(checkpoints.part(name, device), array[target.part(at, array.shape, device)])
        with pytest.raises(LookupError):
            checkpoints.part(name, target.devices)
    checkpoints.release()
    checkpoints.close()


@pytest.mark.parametrize("saving", ["blocking", "background"])
def test_orbaxs_own_manager_keeps_the_newest_of_each_training(tmp_path, saving):
    random = np.random.default_rng(7)
    state = {name: random.normal(size=shape).astype(np.float32) for name, shape in [("weight", (8, 6)), ("bias", (4,))]}
    checkpoints = orbax.Orbax(state, SaveOptions(saving, Placement((("data", 4), ("model", 2)), CUT)))
    manager = checkpoints.manager(Retention(2, 2, 1))
    for training in ("one", "two"):
        directory = tmp_path / training
        directory.mkdir()
        manager.begin(directory)
        for step in range(6):
            manager.train()
            manager.offer(step)
            manager.settle()
        assert sorted(path.name for path in directory.iterdir()) == ["2", "4"]
        assert manager.kept() == [2, 4]
        for step, position in ((2, 2), (None, 4)):
            manager.restore(step)
            assert manager.position() == position
            for name, array in state.items():
                expected = array.copy()
                for _ in range(position + 1):
                    expected *= TRAINED
                assert np.array_equal(manager.loaded(name), expected)
    manager.delete(2)
    assert [path.name for path in directory.iterdir()] == ["4"]
    manager.close()
    checkpoints.close()
