"""A state that changes between saves and beside them, in every checkpointer that is installed, over real workers."""

from __future__ import annotations

import numpy as np
import pytest

from .conftest import Made
from .harness import Worker
from .test_adapters import PINNED, python

ENVIRONMENTS = {
    "orbax": "orbax",
    "tensorstore": "orbax",
    "torch_dcp": "torch",
    "torch_save": "torch",
    "safetensors": "torch",
}
IN_BACKGROUND = ("orbax", "tensorstore", "torch_dcp")


@pytest.fixture
def state(tmp_path):
    random = np.random.default_rng(5)
    place = tmp_path / "data"
    place.mkdir()
    tensors = {"weight": random.normal(size=(1, 512, 256)), "bias": random.normal(size=(1, 40))}
    return Made(place, {name: array.astype(np.float32) for name, array in tensors.items()})


@pytest.fixture
def worker(request):
    name = request.param
    started = Worker(f"checkpointers.{name}", python(ENVIRONMENTS[name]), **PINNED)
    assert started.hear()[0] == "hello"
    yield started
    started.close()


def call(worker, what, **more):
    return worker.ask("call", name=what, **more)


def bits_of(array):
    return array.reshape(-1).view(np.uint32)


def check(worker, state, directory, turned):
    """What a checkpoint holds is the state with these bits turned over, whole and at places."""
    assert call(worker, "load", directory=directory) == ("answer", {})
    for position, (tensor, array) in enumerate(state.fields.items()):
        _, batch = call(worker, "loaded", field=position)
        expected = bits_of(array) ^ (turned if position == 0 else 0)
        assert np.array_equal(bits_of(worker.read(batch)[tensor]), expected), tensor
        parts = [{"field": position, "device": None, "width": 4, "places": [4 * 7, 0], "first": 0}]
        seen = bits_of(worker.read(call(worker, "look", parts=parts)[1])["seen"])
        assert seen.tolist() == [expected[7], expected[0], expected[0] & 0xFF, 0]
    assert call(worker, "release") == ("answer", {})


@pytest.mark.parametrize("worker", ENVIRONMENTS, indirect=True)
def test_each_save_is_of_the_state_as_it_is_then(worker, state, tmp_path):
    name, said = worker.open(state, tmp_path, {}, contract="checkpointer", state={"saving": "blocking"})
    assert name == "opened", said
    for number, turned in enumerate([0, 0x35, 0]):
        directory = str(tmp_path / str(number))
        assert call(worker, "save", directory=directory, durable=False) == ("answer", {})
        assert call(worker, "change", bits=[0x35, 0]) == ("answer", {})
        assert call(worker, "wait") == ("answer", {})
        check(worker, state, directory, turned)
    assert worker.ask("close")[0] == "closed"


@pytest.mark.parametrize("worker", IN_BACKGROUND, indirect=True)
def test_a_save_in_the_background_is_of_the_state_of_its_call(worker, state, tmp_path):
    name, said = worker.open(state, tmp_path, {}, contract="checkpointer", state={"saving": "background"})
    assert name == "opened", said
    for number, turned in enumerate([0, 0x35, 0]):
        directory = str(tmp_path / str(number))
        asked = {"kind": "processor", "steps": 1, "directory": directory, "bits": [0x35, 0]}
        assert call(worker, "steps", **asked)[0] == "answer"
        check(worker, state, directory, turned)
    assert worker.ask("close")[0] == "closed"
