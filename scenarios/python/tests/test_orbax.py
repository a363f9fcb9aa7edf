"""Orbax where it is installed: every layout gives back what was saved."""

from __future__ import annotations

import hashlib
import json
import struct

import numpy as np
import pytest

pytest.importorskip("orbax.checkpoint", reason="this Python has no Orbax: CONTRIBUTING.md has the command that has")

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from orbax.checkpoint import v1 as ocp_v1
from orbax.checkpoint._src.testing.benchmarks.core.pytree_utils import digest_pytree

import to_safetensors
from weighbridge_worker.adapter import Place
from weighbridge_worker.checkpointer import TRAINED, Placement, Policy, Retention, SaveOptions, turned
from weighbridge_worker.checkpointers import orbax, tensorstore
from weighbridge_worker.stored import StoredFiles

WHOLE = ((), ())
CUT = ((("data",), ()), (("model",),))
TOGETHER = (((), ("model", "data")), (("data", "model"),))


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
@pytest.mark.parametrize(
    "source, onto, cuts",
    [
        ((("data", 4), ("model", 2)), (), CUT),
        ((), (("model", 3), ("data", 2)), CUT),
        ((), (("model", 3), ("data", 2)), TOGETHER),
    ],
)
def test_each_device_of_the_target_has_its_part(tmp_path, adapter, source, onto, cuts):
    random = np.random.default_rng(7)
    state = {name: random.normal(size=shape).astype(np.float32) for name, shape in [("weight", (8, 6)), ("bias", (6,))]}
    target = Placement(onto, cuts if onto else WHOLE)
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


@pytest.mark.parametrize("layer", ["checkpointer", "tree", "arrays", "arrays with metadata", "TensorStore"])
@pytest.mark.parametrize("mesh", [(), (("data", 4), ("model", 2))])
def test_each_layer_says_what_is_in_a_checkpoint_and_how_it_was_cut_and_nothing_where_there_is_none(
    tmp_path, layer, mesh
):
    state = {"weight": np.ones((8, 6), np.float32), "bias.0": np.ones(4, np.float32)}
    place = Placement(mesh, CUT if mesh else WHOLE)
    if layer == "TensorStore":
        checkpoints = tensorstore.open(state, SaveOptions("blocking"), Place(tmp_path, tmp_path))
    else:
        checkpoints = orbax.open(state, SaveOptions("blocking", place, layer=layer), Place(tmp_path, tmp_path))
    checkpoints.save(tmp_path / "saved", False)
    checkpoints.wait()
    checkpoints.read_metadata(tmp_path / "saved")
    assert [header.said() for header in checkpoints.described()] == [
        {"key": "['weight']", "dtype": "<f4", "shape": [8, 6]},
        {"key": "['bias.0']", "dtype": "<f4", "shape": [4]},
    ]
    with pytest.raises(Exception, match=r"(?i)not.?found|no such|no metadata|exist"):
        checkpoints.read_metadata(tmp_path / "nothing")
    if mesh and layer != "TensorStore":
        lying = orbax.shardings(state, Placement(mesh, ((("model",), ()), ())))
        checkpoints.state = {name: jax.device_put(array, lying[name]) for name, array in state.items()}
        with pytest.raises(ValueError, match="`weight` was saved with"):
            checkpoints.described()
    checkpoints.close()


@pytest.mark.parametrize("saving", ["blocking", "background"])
@pytest.mark.parametrize("mesh", [(), (("data", 4), ("model", 2))])
@pytest.mark.parametrize("layer", ["checkpointer", "options", "tree", "arrays", "TensorStore"])
def test_a_save_holds_the_state_of_its_call_and_the_next_one_what_it_was_changed_into(tmp_path, layer, mesh, saving):
    random = np.random.default_rng(7)
    state = {name: random.normal(size=shape).astype(np.float32) for name, shape in [("weight", (8, 6)), ("bias", (4,))]}
    expected = {name: array.copy() for name, array in state.items()}
    place = Placement(mesh, CUT if mesh else WHOLE)
    if layer == "TensorStore":
        checkpoints = tensorstore.open(state, SaveOptions(saving), Place(tmp_path, tmp_path))
    else:
        told = {"use_compression": False} if layer == "options" else {}
        options = SaveOptions(saving, place, None, told, "checkpointer" if layer == "options" else layer)
        checkpoints = orbax.open(state, options, Place(tmp_path, tmp_path))
    for number in range(3):
        checkpoints.save(tmp_path / str(number), False)
        checkpoints.change({"weight": 0x55})
        checkpoints.wait()
        checkpoints.load(tmp_path / str(number))
        for name, array in expected.items():
            assert np.array_equal(checkpoints.loaded(name), array), (number, name)
        checkpoints.release()
        turned(expected["weight"], 0x55)
    checkpoints.close()


@pytest.mark.parametrize("adapter", [orbax.open, tensorstore.open])
def test_what_is_asked_to_be_compressed_is_smaller_than_what_is_not(tmp_path, adapter):
    state = {"weight": np.zeros((512, 512), np.float32), "bias": np.zeros(512, np.float32)}
    state["weight"][0] = np.arange(512)
    sizes = {}
    for compression in ["none", "zstd"]:
        checkpoints = adapter(state, SaveOptions("blocking", compression=compression), Place(tmp_path, tmp_path))
        checkpoints.save(tmp_path / compression, False)
        checkpoints.wait()
        checkpoints.load(tmp_path / compression)
        assert np.array_equal(checkpoints.loaded("weight"), state["weight"])
        checkpoints.release()
        checkpoints.close()
        sizes[compression] = sum(file.stat().st_size for file in (tmp_path / compression).rglob("*") if file.is_file())
    assert sizes["zstd"] < 2**18 < sizes["none"], sizes


@pytest.mark.parametrize("made_by", ["our adapter", "version 1 of Orbax", "safetensors"])
def test_what_lies_somewhere_is_read_with_every_type_onto_every_mesh_and_has_orbaxs_own_digests(tmp_path, made_by):
    random = np.random.default_rng(7)
    state = {"weight": random.normal(size=(8, 6)).astype(np.float32), "bias": random.normal(size=6).astype(np.float32)}
    there, format = tmp_path / "there", "orbax"
    if made_by == "our adapter":
        checkpoints = orbax.Orbax(state, SaveOptions("blocking", Placement((), WHOLE)))
        checkpoints.save(there, False)
        checkpoints.close()
    elif made_by == "version 1 of Orbax":
        state["bias"] = state["bias"].astype(jnp.bfloat16)
        ocp_v1.save(there, {name: jnp.asarray(array) for name, array in state.items()})
    else:
        format = "safetensors"
        there.mkdir()
        header, data = {}, b""
        for name, array in state.items():
            end = len(data) + array.nbytes
            header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), end]}
            data += array.tobytes()
        text = json.dumps(header).encode()
        (there / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    stored = orbax.open_stored(
        StoredFiles(there, format, None, {"restore_concurrent_gb": 1}), Place(tmp_path, tmp_path)
    )
    assert [header.key for header in stored.headers] == ["['bias']", "['weight']"]
    names = ["bias", "weight"]
    for onto in [None, Placement((("data", 4), ("model", 2)), (((),), (("data",), ("model",))))]:
        if onto is not None:
            stored.place(onto)
        stored.load()
        for at, name in enumerate(names):
            tensor = stored.loaded(at)
            assert tensor.header == stored.headers[at]
            assert tensor.data.tobytes() == state[name].tobytes()
            digest = hashlib.sha256(
                tensor.header.dtype.encode() + repr(tensor.header.shape).encode() + tensor.data.tobytes()
            )
            assert digest.hexdigest() == digest_pytree(state)[tensor.header.key]
            for device in range(onto.devices if onto else 0):
                part = np.ascontiguousarray(state[name][onto.part(at, state[name].shape, device)])
                assert stored.part(at, device).data.tobytes() == part.tobytes()
        stored.release()
    stored.close()


@pytest.mark.parametrize("once", [True, False])
def test_each_replica_has_all_of_the_state_and_memory_of_its_own_if_one_reads_for_all(tmp_path, once):
    random = np.random.default_rng(7)
    state = {"weight": random.normal(size=(8, 6)).astype(np.float32), "bias": random.normal(size=6).astype(np.float32)}
    checkpoints = orbax.Orbax(state, SaveOptions("blocking", Placement((), WHOLE)))
    checkpoints.save(tmp_path / "there", False)
    checkpoints.close()
    stored = orbax.open_stored(StoredFiles(tmp_path / "there", "orbax"), Place(tmp_path, tmp_path))
    onto = Placement((("replica", 4), ("model", 2)), (((),), (("model",),)))
    stored.place(onto)
    stored.share(once)
    stored.load()
    for at, name in enumerate(["bias", "weight"]):
        for device in range(onto.devices):
            part = np.ascontiguousarray(state[name][onto.part(at, state[name].shape, device)])
            assert stored.part(at, device).data.tobytes() == part.tobytes()
        if not once:
            continue  # where each reads, several devices may get one piece of memory: it hangs on where that begins
        for device in range(onto.devices):
            stored.fill(at, device, device + 1)
        for device in range(onto.devices):
            assert set(stored.part(at, device).data.tolist()) == {device + 1}
    stored.release()
    stored.close()


@pytest.mark.parametrize("layer", ["tree", "arrays", "arrays with metadata"])
@pytest.mark.parametrize("saving", ["blocking", "background"])
@pytest.mark.parametrize("told", [{}, {"use_ocdbt": False, "use_zarr3": True}, {"use_replica_parallel": True}])
def test_each_layer_alone_loads_what_it_saved(tmp_path, layer, saving, told):
    random = np.random.default_rng(7)
    state = {name: random.normal(size=shape).astype(np.float32) for name, shape in [("weight", (8, 6)), ("bias", (4,))]}
    options = SaveOptions(saving, Placement((("data", 4), ("model", 2)), CUT), None, told, layer)
    checkpoints = orbax.open(state, options, None)
    for step in ("one", "two"):
        checkpoints.save(tmp_path / step, False)
        checkpoints.wait()
        checkpoints.load(tmp_path / step)
        for name, array in state.items():
            assert np.array_equal(checkpoints.loaded(name), array)
        checkpoints.release()
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert ("_METADATA" in names) == (layer == "tree")
    assert ("array_metadatas" in names) == (layer != "arrays")
    checkpoints.close()


@pytest.mark.parametrize("layer", ["checkpointer", "tree", "arrays"])
@pytest.mark.parametrize(("shared", "apart"), [(True, False), (True, True), (False, False)])
def test_marked_devices_show_which_replicas_have_written(tmp_path, layer, shared, apart):
    state = {"weight": np.zeros((8, 6), np.float32)}
    told = {"use_replica_parallel": shared, "enable_replica_parallel_separate_folder": apart}
    placement = Placement((("replica", 4), ("model", 2)), (((), ("model",)),))
    checkpoints = orbax.open(state, SaveOptions("blocking", placement, None, told, layer, replicas=True), None)
    checkpoints.save(tmp_path / "before", False)
    checkpoints.mark()
    checkpoints.save(tmp_path / "marked", False)
    checkpoints.load(tmp_path / "marked")
    marks = checkpoints.loaded("weight").view(np.uint8)
    assert set(marks.ravel().tolist()) == (set(range(1, 9)) if shared else {1, 2})
    checkpoints.load(tmp_path / "before")
    assert not checkpoints.loaded("weight").any()
    checkpoints.close()


@pytest.mark.parametrize(
    ("save", "keep", "kept"),
    [
        ([("interval", 2)], [("latest", 2)], [2, 4]),
        ([("steps", [1, 3]), ("initial", None)], [("latest", 1), ("steps", [1])], [1, 3]),
        ([("interval", 1)], [("interval", 3), ("latest", 1)], [0, 3, 5]),
        ([("continuous", 0)], [("seconds", 0)], [0, 1, 2, 3, 4, 5]),
        ([("continuous", 60)], [("seconds", 60)], [0]),
        ([("preemption", None), ("initial", None)], [("latest", None)], [0]),
    ],
)
def test_orbaxs_policies_save_and_keep_what_is_expected_of_them(tmp_path, save, keep, kept):
    state = {"bias": np.ones(4, np.float32)}
    checkpoints = orbax.Orbax(state, SaveOptions("blocking", Placement()))
    each = [[Policy(*policy) for policy in policies] for policies in (save, keep)]
    manager = checkpoints.manager(Retention(1, 1, 1, *each))
    manager.begin(tmp_path)
    for step in range(6):
        manager.train()
        manager.offer(step)
        manager.settle()
    assert manager.kept() == kept
    assert sorted(int(path.name) for path in tmp_path.iterdir()) == kept
    manager.close()
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


def test_a_checkpoint_becomes_a_file_of_safetensors_with_the_same_numbers_under_dotted_names(tmp_path):
    tree = {
        "decoder": {"0": jnp.arange(6.0).reshape(2, 3), "scale": jnp.ones(3, jnp.bfloat16)},
        "count": jnp.arange(3, dtype=jnp.int32),
        "step": 7,
        "tag": "text",
    }
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as checkpointer:
        checkpointer.save(tmp_path / "there", args=ocp.args.PyTreeSave(tree))
    found = to_safetensors.arrays(tmp_path / "there")
    assert sorted(found) == ["count", "decoder.0", "decoder.scale", "step"], "a text is left out"
    assert found["step"].shape == () and found["step"] == 7
    there = tmp_path / "made"
    there.mkdir()
    to_safetensors.write(found, there / "model.safetensors")
    # Orbax's own reader of that format reads it back.
    stored = orbax.open_stored(StoredFiles(there, "safetensors"), Place(tmp_path, tmp_path))
    stored.load()
    made = {header.key: stored.loaded(at).data.tobytes() for at, header in enumerate(stored.headers)}
    assert made == {f"['{name}']": array.tobytes() for name, array in found.items()}
    assert made["['decoder.scale']"] == np.ones(3, jnp.bfloat16).tobytes()
    stored.release()
    stored.close()
