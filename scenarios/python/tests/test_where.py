"""Where work is: read from what a framework holds. There is no device here: others say that they are one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from weighbridge_worker.adapter import Declined
from weighbridge_worker.device import backend_of

from .conftest import HOME
from .harness import Worker
from .test_trainers import Material, opened

PACKAGE = HOME / "weighbridge_worker"

ELSEWHERE = """
from dataclasses import replace
from tests.trainers.plain import ADAPTER as PLAIN, Plain


class Elsewhere(Plain):
    \"\"\"Trains on a device, whatever it was asked for.\"\"\"

    def where(self):
        return "gpu"


ADAPTER = replace(PLAIN, platforms=("cpu", "gpu"), open=lambda task, place: Elsewhere(task))
"""


@pytest.mark.parametrize(
    ("devices", "backend"),
    [(["cpu"], "cpu"), (["cuda", "cuda"], "gpu"), (["GPU"], "gpu"), (["tpu"], "tpu"), (["cuda", "cpu"], "cpu and gpu")],
)
def test_frameworks_call_their_devices_otherwise_and_what_lies_on_several_is_nothing_that_can_be_asked_for(
    devices, backend
):
    assert backend_of(devices) == backend


def test_a_trainer_tells_where_its_weights_are_and_not_where_they_were_asked_to_be(tmp_path):
    script = tmp_path / "elsewhere.py"
    script.write_text(ELSEWHERE)
    worker = Worker(str(script))
    assert worker.hear()[0] == "hello"
    material = Material(tmp_path)
    said, message = opened(worker, material, tmp_path)
    assert said == "opened", message
    assert message["backend"] == "gpu" and message["executed"]["ran_on"] == "gpu", "the harness refuses that"
    worker.close()


def test_a_trainer_without_a_device_path_declines_by_name(tmp_path):
    worker = Worker(str(HOME / "tests" / "trainers" / "plain.py"))
    assert worker.hear()[0] == "hello"
    material = Material(tmp_path)
    said, message = worker.open(
        material.data,
        tmp_path,
        {},
        contract="trainer",
        training=material.training,
        weights=material.weights.said,
        device="gpu",
    )
    assert said == "declined" and "has no device path here" in message["why"], message
    worker.close()


def files(*folders: str) -> list[Path]:
    return [file for folder in folders for file in sorted((PACKAGE / folder).glob("[a-z]*.py"))]


@pytest.mark.parametrize(
    "file", files("trainers", "predictors", "learners", "checkpointers"), ids=lambda file: file.stem
)
def test_who_has_a_device_path_says_where_its_work_is(file):
    text = file.read_text()
    if 'platforms=("cpu", "gpu")' in text:
        assert re.search(r"def where\(self\) -> str:\n\s+return backend_of_\w+\(", text), "by what it holds"


class Event:
    """An event of a stream whose work takes a thousandth of a second each time that one is recorded."""

    clock = 0.0

    def __init__(self, enable_timing):
        assert enable_timing, "an event that keeps no time has none"
        self.at, self.waited = None, False

    def record(self):
        Event.clock += 1.0
        self.at = Event.clock

    def synchronize(self):
        self.waited = True

    def elapsed_time(self, end):
        assert end.waited, "its time is not there before it is reached"
        return end.at - self.at


def test_phases_on_a_device_are_timed_by_its_events_and_the_rest_of_a_step_is_the_hosts(monkeypatch):
    torch = pytest.importorskip("torch")
    from weighbridge_worker.on_torch import EventPhases

    monkeypatch.setattr(torch.cuda, "Event", Event)
    clock = EventPhases()
    for name in ("forward", "backward"):
        with clock.phase(name):
            pass
    clock.rest(5_000_000)
    assert clock.took == {"forward": 1_000_000, "backward": 1_000_000, "host": 3_000_000}


def test_on_a_gpu_products_of_f32_are_of_f32_and_who_sees_none_declines(monkeypatch):
    torch = pytest.importorskip("torch")
    from weighbridge_worker import on_torch
    from weighbridge_worker.trainer import precision

    assert on_torch.device_for("cpu").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(Declined, match=r"torch .* sees no GPU"):
        on_torch.device_for("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")
        assert str(on_torch.device_for("gpu")) == "cuda:0"
        assert torch.get_float32_matmul_precision() == "highest" and not torch.backends.cudnn.allow_tf32
        there = [type("Tensor", (), {"device": torch.device("cuda:0")})()]
        assert not on_torch.multiplies_tf32(there)
        torch.set_float32_matmul_precision("high")
        assert on_torch.multiplies_tf32(there), "it is read back, and not remembered"
        assert not on_torch.multiplies_tf32([torch.zeros(1)]), "a processor has no tf32"
    finally:
        torch.set_float32_matmul_precision(before)
    assert precision("float32", "float32", tf32=True) == "tf32"
    assert precision("float32", "bfloat16", tf32=True) == "bf16"


def test_a_state_on_a_device_is_changed_there_as_it_is_on_the_host():
    torch = pytest.importorskip("torch")
    import numpy as np

    from weighbridge_worker.checkpointer import turned
    from weighbridge_worker.on_torch import turned_there

    for kind in (np.float32, np.int64, np.uint8):
        ours = np.arange(12, dtype=kind).reshape(3, 4)
        theirs = torch.from_numpy(ours.copy())
        turned(ours, 5)
        turned_there(theirs, 5)
        assert np.array_equal(theirs.numpy(), ours)


def test_jax_reads_the_backend_of_arrays_from_the_arrays():
    jax = pytest.importorskip("jax")
    from weighbridge_worker.on_jax import backend_of_arrays, device_for, memory_of, multiplies_tf32

    tree = {"a": jax.numpy.zeros(3), "b": [jax.numpy.ones(2)]}
    host = device_for("cpu")
    assert backend_of_arrays(tree) == "cpu" and memory_of(host) == {} and not multiplies_tf32(tree)
    if jax.default_backend() == "cpu":
        with pytest.raises(Declined, match="sees no GPU"):
            device_for("gpu")


def test_tensorflow_reads_the_backend_of_variables_from_their_names():
    pytest.importorskip("tensorflow")
    from weighbridge_worker.on_tf import backend_of_variables

    def variable(device):
        return type("Variable", (), {"device": f"/job:localhost/replica:0/task:0/device:{device}"})()

    assert backend_of_variables([variable("GPU:0"), variable("GPU:0")]) == "gpu"
    assert backend_of_variables([variable("CPU:0")]) == "cpu"
