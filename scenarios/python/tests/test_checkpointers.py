"""The contract `checkpointer`, over a real channel."""

from __future__ import annotations

import json

import numpy as np
import pytest

from weighbridge_worker.checkpointer import TRAINED, Placement, SaveOptions, bytes_of, save_options

from .conftest import HOME, Made
from .harness import Worker

PLAIN = str(HOME / "tests" / "savers" / "plain.py")


@pytest.fixture
def state(tmp_path):
    random = np.random.default_rng(3)
    place = tmp_path / "data"
    place.mkdir()
    tensors = {"weight": random.normal(size=(1, 5, 7)), "bias": random.normal(size=(1, 5))}
    return Made(place, {name: array.astype(np.float32) for name, array in tensors.items()})


@pytest.fixture
def worker():
    started = Worker(PLAIN)
    name, said = started.hear()
    assert name == "hello", said
    yield started
    started.close()


def opened(worker, state, place, saving="blocking"):
    return worker.open(state, place, {}, contract="checkpointer", state={"saving": saving})


def call(worker, what, **more):
    return worker.ask("call", name=what, **more)


def test_a_state_is_saved_loaded_handed_over_and_let_go(worker, state, tmp_path):
    name, said = opened(worker, state, tmp_path)
    assert name == "opened" and said["executed"]["transforms"] == [], said
    directory = str(tmp_path / "saved")
    assert call(worker, "save", directory=directory, durable=False) == ("answer", {})
    assert call(worker, "wait") == ("answer", {})
    assert call(worker, "load", directory=directory) == ("answer", {})
    for position, (tensor, array) in enumerate(state.fields.items()):
        name, batch = call(worker, "loaded", field=position)
        assert name == "batch" and batch["elements"] == 1, batch
        assert np.array_equal(worker.read(batch)[tensor], array)
    assert call(worker, "release") == ("answer", {})
    assert call(worker, "loaded", field=0)[0] == "failed"
    assert worker.ask("close")[0] == "closed"


def test_numbers_that_numpy_has_no_type_for_and_single_numbers_are_handed_over_as_they_are(worker, tmp_path):
    place = tmp_path / "data"
    place.mkdir()
    half = np.arange(6, dtype=np.uint16).view("V2").reshape(1, 6)
    tensors = {"half": half, "count": np.array([7], np.int64), "one": half[:, 3]}
    assert opened(worker, Made(place, tensors), tmp_path)[0] == "opened"
    directory = str(tmp_path / "saved")
    assert call(worker, "save", directory=directory, durable=False) == ("answer", {})
    assert call(worker, "load", directory=directory) == ("answer", {})
    for position, (tensor, array) in enumerate(tensors.items()):
        _, batch = call(worker, "loaded", field=position)
        (field,) = batch["fields"]
        assert (field["dtype"], field["shape"]) == ("i64" if tensor == "count" else "bf16", list(array.shape[1:]))
        assert worker.read(batch)[tensor].tobytes() == array.tobytes()
    assert worker.ask("close")[0] == "closed"


def test_a_leaf_that_came_back_as_another_type_is_not_the_leaf():
    assert bytes_of(0, 0).tobytes() == bytes(8)
    assert bytes_of("name", "text").tobytes() == b"name"
    for found, due in [(np.int64(0), 0), (b"text", "text"), (0.0, 0), (False, 0), ("0", 0), (None, 0)]:
        with pytest.raises(TypeError, match="came back as"):
            bytes_of(found, due)


def test_collectors_begin_tell_region_by_region_and_end(worker, state, tmp_path):
    assert opened(worker, state, tmp_path)[0] == "opened"
    nothing = ("answer", {"metrics": [], "cost": {}, "failed": {}})
    # The saver imports none of the libraries that there are collectors for.
    begun = call(worker, "collect", collectors=["tensorstore", "jax_monitoring", "none such"])
    assert begun == ("answer", {"collectors": [], "failed": {}})
    assert call(worker, "save", directory=str(tmp_path / "saved"), durable=False) == ("answer", {})
    assert call(worker, "collected") == nothing
    assert call(worker, "collect", collectors=[]) == ("answer", {"collectors": [], "failed": {}})
    assert worker.ask("close")[0] == "closed"


def test_a_case_is_traced_where_it_is_asked_for_and_a_kind_that_is_not_there_is_declined(worker, state, tmp_path):
    def asked(kind):
        trace = {"kind": kind, "folder": str(tmp_path)}
        return worker.open(state, tmp_path, {}, contract="checkpointer", state={"saving": "blocking"}, trace=trace)

    name, said = asked("jax")
    assert name == "declined" and said["why"].endswith("does not use jax here"), said
    name, said = asked("tracemalloc")
    assert name == "opened", said
    assert call(worker, "save", directory=str(tmp_path / "saved"), durable=False) == ("answer", {})
    assert call(worker, "load", directory=str(tmp_path / "saved")) == ("answer", {})
    assert {file.name for file in tmp_path.glob("*.json")} == {"save.json", "load.json"}
    assert worker.ask("close")[0] == "closed"


def test_a_way_to_save_that_a_system_lacks_is_declined(worker, state, tmp_path):
    name, said = opened(worker, state, tmp_path, saving="background")
    assert name == "declined" and "saving background" in said["why"], said


def test_a_load_onto_other_devices_is_declined_by_who_has_none(worker, state, tmp_path):
    onto = {"mesh": [["data", 5]], "shardings": [[["data"]], [["data"]]]}
    name, said = worker.open(state, tmp_path, {}, contract="checkpointer", state={"saving": "blocking", "onto": onto})
    assert name == "declined" and said["why"].startswith("loading onto other devices"), said


@pytest.fixture
def somewhere(tmp_path):
    random = np.random.default_rng(5)
    tensors = {
        "weight": random.normal(size=(5, 7)).astype(np.float32),
        "half": random.normal(size=3).astype(np.float16),
    }
    np.savez(tmp_path / "state.npz", **tensors)
    return tmp_path, tensors


def opened_stored(worker, directory, place, format="sharded"):
    stored = {"directory": str(directory), "format": format}
    return worker.ask("open", contract="checkpointer", stored=stored, **worker.places(place))


def test_what_lies_somewhere_tells_what_is_in_it_is_loaded_and_handed_over_with_its_type(worker, somewhere):
    directory, tensors = somewhere
    assert opened_stored(worker, directory, directory)[0] == "opened"
    name, told = call(worker, "headers")
    headers = json.loads(worker.read(told)["headers"].tobytes())
    assert name == "batch" and headers == [
        {"key": "['half']", "dtype": "<f2", "shape": [3]},
        {"key": "['weight']", "dtype": "<f4", "shape": [5, 7]},
    ]
    assert call(worker, "loaded", tensor=0)[0] == "failed"
    assert call(worker, "load") == ("answer", {})
    for at, (tensor, header) in enumerate(zip(("half", "weight"), headers, strict=True)):
        name, batch = call(worker, "loaded", tensor=at)
        fields = worker.read(batch)
        assert json.loads(fields["header"].tobytes()) == header
        assert fields["bytes"].tobytes() == tensors[tensor].tobytes()
    looked = [{"field": 1, "device": None, "width": 4, "places": [12], "first": 0}]
    seen = worker.read(call(worker, "look", parts=looked)[1])["seen"].reshape(-1)[:4].view(np.float32)
    assert seen.tolist() == [tensors["weight"].reshape(-1)[3]]
    assert call(worker, "part", tensor=0, device=0)[0] == "failed"
    onto = {"mesh": [["data", 5]], "shardings": [[], []]}
    name, said = call(worker, "place", onto=onto)
    assert name == "declined" and said["why"].startswith("loading onto devices"), said
    assert call(worker, "release") == ("answer", {})
    assert worker.ask("close")[0] == "closed"


def test_another_format_is_declined_and_a_checkpoint_that_is_not_there_fails(worker, tmp_path):
    name, said = opened_stored(worker, tmp_path, tmp_path, "orbax")
    assert name == "declined" and said["why"] == "the checkpoint is of orbax, and it reads sharded alone", said
    assert opened_stored(worker, tmp_path / "nowhere", tmp_path)[0] == "failed"


@pytest.mark.parametrize("lie", ["halves", "looks later"])
def test_a_lie_about_what_lies_somewhere_is_told_by_what_is_handed_over(worker, somewhere, lie):
    directory, tensors = somewhere
    (directory / "lie").write_text(lie)
    assert opened_stored(worker, directory, directory)[0] == "opened"
    assert call(worker, "load") == ("answer", {})
    np.savez(directory / "state.npz", **{name: array + 1 for name, array in tensors.items()})
    fields = worker.read(call(worker, "loaded", tensor=1)[1])
    # The type is that of what was loaded, not that of the files; what changes with the files is no memory of its own.
    told = json.loads(fields["header"].tobytes())["dtype"], fields["bytes"].tobytes() == tensors["weight"].tobytes()
    assert told == (("<f2", False) if lie == "halves" else ("<f4", False))


def test_devices_are_numbered_along_the_last_axis_first():
    placement = Placement((("data", 2), ("model", 3)), ((("model",), ("data",)), ()))
    assert placement.devices == 6
    assert placement.part(0, (6, 4), 0) == (slice(0, 2), slice(0, 2))
    assert placement.part(0, (6, 4), 4) == (slice(2, 4), slice(2, 4))
    assert placement.part(1, (6,), 4) == (slice(0, 6),), "what is not cut lies on every device"
    assert Placement().devices == 1 and Placement().part(0, (6,), 0) == (slice(0, 6),)


def test_options_are_read_and_what_is_not_said_is_the_systems_own():
    assert save_options({"saving": "blocking"}) == SaveOptions("blocking")
    said = {
        "saving": "background",
        "mesh": [["data", 2], ["model", 4]],
        "shardings": [[["data", "model"], []], []],
        "onto": {"mesh": [["data", 4]], "shardings": [[], [["data"]]]},
        "system": {"use_zarr3": True, "use_ocdbt": None, "chunk_byte_size": 64},
    }
    assert save_options(said) == SaveOptions(
        "background",
        Placement((("data", 2), ("model", 4)), ((("data", "model"), ()), ())),
        Placement((("data", 4),), ((), (("data",),))),
        {"use_zarr3": True, "chunk_byte_size": 64},
    )


def test_a_save_cannot_be_cancelled_by_who_has_no_call_for_it(worker, state, tmp_path):
    opened(worker, state, tmp_path)
    name, said = call(worker, "cancel")
    assert name == "declined" and said["why"].startswith("cancelling a save"), said


def test_a_compression_that_a_system_lacks_is_declined_and_none_is_what_all_have(worker, state, tmp_path):
    asked = [{"saving": "blocking", "compression": compression} for compression in ("zstd", "none")]
    told = [worker.open(state, tmp_path, {}, contract="checkpointer", state=one) for one in asked]
    assert told[0] == ("declined", {"why": "compression zstd: it is not asked for that here"}), told
    assert told[1][0] == "opened", told


def test_another_contract_is_declined_by_name(worker, state, tmp_path):
    name, said = worker.open(state, tmp_path, {})
    assert name == "declined" and said["why"] == "the contract `loader`: Plain is a checkpointer", said


@pytest.mark.parametrize("directory, why", [("nothing", "FileNotFoundError"), ("odd", "a shard is missing")])
def test_a_checkpoint_that_cannot_be_loaded_is_a_failure_and_the_case_closes(worker, state, tmp_path, directory, why):
    opened(worker, state, tmp_path)
    name, said = call(worker, "load", directory=str(tmp_path / directory))
    assert name == "failed" and why in said["detail"], said
    assert worker.ask("close")[0] == "closed"


@pytest.mark.parametrize("kind", ["processor", "memory", "interpreter"])
def test_steps_go_on_beside_a_save_until_it_is_complete(worker, state, tmp_path, kind):
    opened(worker, state, tmp_path)
    directory = tmp_path / "saved"
    name, said = call(worker, "steps", kind=kind, steps=4, directory=str(directory), bits=[3, 0])
    assert name == "answer", said
    times = said["times"]
    (stall,), (complete,) = times["stall"], times["complete"]
    assert len(times["idle"]) == 4 and len(times["during"]) >= 1, times
    assert 0 < stall <= complete <= sum(times["during"]), times
    assert times["during"][0] >= stall and directory.exists(), times
    # The steps have changed the state, and the checkpoint holds that of the call.
    for bits in (0, 3):
        assert call(worker, "load", directory=str(directory)) == ("answer", {})
        _, batch = call(worker, "loaded", field=0)
        found = worker.read(batch)["weight"].reshape(-1).view(np.uint32)
        assert np.array_equal(found ^ bits, state.fields["weight"].reshape(-1).view(np.uint32))
        directory = tmp_path / "changed"
        if not bits:
            assert call(worker, "save", directory=str(directory), durable=False) == ("answer", {})
    directory = str(tmp_path / "nowhere")
    assert call(worker, "steps", kind="nothing", steps=1, directory=directory, bits=[0, 0])[0] == "declined"


def test_a_state_is_changed_where_it_lies_and_once_more_as_it_was(worker, state, tmp_path):
    opened(worker, state, tmp_path)
    expected = state.fields["weight"].reshape(-1).view(np.uint32)
    for turn, bits in enumerate([0x7F, 0]):
        assert call(worker, "change", bits=[0x7F, 0]) == ("answer", {})
        directory = str(tmp_path / str(turn))
        assert call(worker, "save", directory=directory, durable=False) == ("answer", {})
        assert call(worker, "load", directory=directory) == ("answer", {})
        _, batch = call(worker, "loaded", field=0)
        assert np.array_equal(worker.read(batch)["weight"].reshape(-1).view(np.uint32), expected ^ bits)


def test_numbers_at_places_are_read_of_what_was_loaded(worker, state, tmp_path):
    opened(worker, state, tmp_path)
    directory = str(tmp_path / "saved")
    assert call(worker, "save", directory=directory, durable=False) == ("answer", {})
    parts = [
        {"field": 1, "device": None, "width": 4, "places": [8, 0], "first": 4},
        {"field": 0, "device": None, "width": 4, "places": [4 * 34], "first": 0},
    ]
    assert call(worker, "look", parts=parts)[0] == "failed", "nothing was loaded"
    assert call(worker, "load", directory=directory) == ("answer", {})
    _, batch = call(worker, "look", parts=parts)
    weight, bias = (state.fields[name].reshape(-1) for name in ("weight", "bias"))
    # What is smaller than a page has one byte in the sum.
    seen = [
        (np.array([bias[2], bias[0]]), bias.view(np.uint8)[4]),
        (np.array([weight[34]]), weight.view(np.uint8)[0]),
    ]
    expected = b"".join(numbers.tobytes() + int(added).to_bytes(8, "little") for numbers, added in seen)
    assert worker.read(batch)["seen"].tobytes() == expected


def test_a_manager_saves_what_is_due_keeps_the_newest_and_loads_them_again(worker, state, tmp_path):
    opened(worker, state, tmp_path)
    retention = {"save_interval_steps": 2, "max_to_keep": 2, "num_deletion_threads": 1}
    assert call(worker, "manage", retention=retention) == ("answer", {})

    def numbers(call_name, field):
        name, batch = call(worker, call_name)
        assert name == "batch" and batch["elements"] == 1, batch
        return worker.read(batch)[field][0].tolist()

    for training in ("one", "two"):
        (tmp_path / training).mkdir()
        assert call(worker, "begin", directory=str(tmp_path / training)) == ("answer", {})
        for step in range(6):
            for what in ("train", "offer", "settle"):
                assert call(worker, what, **({"step": step} if what == "offer" else {})) == ("answer", {})
        assert numbers("kept", "steps") == [2, 4]
        for step, position in ((None, 4), (2, 2)):
            assert call(worker, "restore", step=step) == ("answer", {})
            assert numbers("position", "step") == [position]
            _, batch = call(worker, "restored", field=1)
            expected = state.fields["bias"].copy()
            for _ in range(position + 1):
                expected *= TRAINED
            assert np.array_equal(worker.read(batch)["bias"], expected)
            looked = [{"field": 1, "device": None, "width": 4, "places": [12], "first": 0}]
            seen = worker.read(call(worker, "look_restored", parts=looked)[1])["seen"]
            assert seen.reshape(-1)[:4].view(np.float32).tolist() == [expected.reshape(-1)[3]]
            assert call(worker, "let_go") == ("answer", {})
    assert call(worker, "delete", step=2) == ("answer", {})
    assert numbers("kept", "steps") == [4]
    assert call(worker, "restore", step=2)[0] == "failed"
    assert worker.ask("close")[0] == "closed"


def test_several_processes_are_declined_by_a_saver_of_one(worker, state, tmp_path):
    rank = {"index": 0, "of": 2, "meet": "127.0.0.1:1", "own": "127.0.0.1", "patience": 1}
    name, said = worker.open(state, tmp_path, {}, contract="checkpointer", state={"saving": "blocking"}, rank=rank)
    assert name == "declined" and said["why"] == "2 processes: Plain saves from one here", said
