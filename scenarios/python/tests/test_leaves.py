"""States with leaves that are no arrays, in every checkpointer that is installed, over real workers."""

from __future__ import annotations

import numpy as np
import pytest

from .conftest import Made
from .harness import Worker
from .test_adapters import PINNED, python

THAT_HAVE_THEM = {"orbax": "orbax", "torch_dcp": "torch", "torch_save": "torch"}
OTHERS = {"tensorstore": "orbax", "safetensors": "torch"}
LEAVES = {"step": "int", "name": "str"}


@pytest.fixture
def state(tmp_path):
    random = np.random.default_rng(5)
    place = tmp_path / "data"
    place.mkdir()
    tensors = {
        "before": random.normal(size=(1, 6, 4)).astype(np.float32),
        "step": np.zeros(1, np.int64),
        "between": random.normal(size=(1, 4)).astype(np.float32),
        "name": np.frombuffer(b"default_string", np.uint8)[np.newaxis],
    }
    return Made(place, tensors)


@pytest.fixture
def worker(request):
    name, environment = request.param
    started = Worker(f"checkpointers.{name}", python(environment), **PINNED)
    assert started.hear()[0] == "hello"
    yield started
    started.close()


def opened(worker, state, place, **more):
    said = {"saving": "blocking", "leaves": LEAVES, **more}
    return worker.open(state, place, {}, contract="checkpointer", state=said)


def call(worker, what, **more):
    return worker.ask("call", name=what, **more)


CUT = {"mesh": [["data", 2]], "shardings": [[["data"]], [], [["data"]], []]}


@pytest.mark.parametrize("mesh", [{}, CUT], ids=["whole", "cut"])
@pytest.mark.parametrize("worker", THAT_HAVE_THEM.items(), ids=THAT_HAVE_THEM, indirect=True)
def test_a_number_and_a_text_come_back_as_what_they_are_beside_the_arrays(worker, state, tmp_path, mesh):
    name, said = opened(worker, state, tmp_path, **mesh)
    assert name == "opened", said
    directory = str(tmp_path / "saved")
    assert call(worker, "save", directory=directory, durable=False) == ("answer", {})
    assert call(worker, "wait") == ("answer", {})
    assert call(worker, "load", directory=directory) == ("answer", {})
    for position, (tensor, array) in enumerate(state.fields.items()):
        name, batch = call(worker, "loaded", field=position)
        assert name == "batch", batch
        assert np.array_equal(worker.read(batch)[tensor], array), tensor
    assert call(worker, "release") == ("answer", {})
    name, said = call(worker, "manage", retention={})
    assert name == "declined" and "leaves that are no arrays" in said["why"], said
    assert worker.ask("close")[0] == "closed"


@pytest.mark.parametrize("worker", OTHERS.items(), ids=OTHERS, indirect=True)
def test_who_saves_arrays_alone_declines_and_names_the_leaf(worker, state, tmp_path):
    name, said = opened(worker, state, tmp_path)
    assert name == "declined" and said["why"].startswith("a state in which `step` is int"), said


@pytest.mark.parametrize("worker", [("orbax", "orbax")], ids=["orbax"], indirect=True)
@pytest.mark.parametrize("more", [{"layer": "tree"}, {"replicas": True}, {"onto": {"mesh": [], "shardings": []}}])
def test_a_layer_replicas_and_other_devices_have_arrays_alone(worker, state, tmp_path, more):
    name, said = opened(worker, state, tmp_path, **more)
    assert name == "declined" and "`step` is int" in said["why"], said
