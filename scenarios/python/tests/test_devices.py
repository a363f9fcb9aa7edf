"""Batches that are delivered on a device. There is none here: a queue of pending work stands in for it."""

from __future__ import annotations

from collections import deque
from itertools import islice

import numpy as np
import pytest

from weighbridge_worker import loop
from weighbridge_worker.adapter import Place
from weighbridge_worker.adapters import numpy as reference
from weighbridge_worker.device import OnDevice
from weighbridge_worker.exchange import Unready

from .harness import Worker
from .test_adapters import NAMES, PINNED, python

LOOK, WORK = 1_000, 400_000
"""What a look at the clock costs, and what the device takes for a batch, in nanoseconds of the clock of these tests."""

CAN = {"datarax": "JAX", "datarax_scan": "JAX", "jax_dataloader": "JAX", "torch": "torch", "dali": "DALI"}
"""Who has a device path, and what of it looks for the device."""


class There:
    """An array in the device's memory, whose numbers come when the device gets to them."""

    def __init__(self, array):
        self.numbers, self.nbytes = np.zeros_like(array), array.nbytes

    def __len__(self):
        return len(self.numbers)


class Queue(OnDevice):
    """A device that works when somebody waits for it."""

    def __init__(self):
        super().__init__("queue:0")
        self.pending, self.time = deque(), 0

    def now(self):
        self.time += LOOK
        return self.time

    def enqueue(self, array):
        there = There(array)
        self.pending.append((array, there))
        return there

    def has(self, array):
        return isinstance(array, There)

    def wait(self, batch):
        while self.pending:
            array, there = self.pending.popleft()
            np.copyto(there.numbers, array)
            self.time += WORK

    def copied(self, array):
        return array.numbers.copy()


class Delivers(reference.NumPy):
    """Copies its batches to the device, and waits for them or does not."""

    def __init__(self, pipeline, data, waits):
        super().__init__(pipeline, data)
        self.device, self.waits = Queue(), waits

    def begin(self, epoch):
        for batch in super().begin(epoch):
            there = {name: self.device.enqueue(array) for name, array in batch.items()}
            if self.waits:
                self.device.wait(there)
            yield there


class InOneCall(Delivers):
    """The same, many batches in a call."""

    whole_pass = True

    def begin(self, epoch):
        self.delivered = super().begin(epoch)
        return self.delivered

    def scan(self, batches):
        return list(islice(self.delivered, batches))


def is_one_of(held, batches):
    """Which one depends on how many were left out after the copy before."""
    return any(np.array_equal(held["image"], batch["image"]) for batch in batches)


def measured(loader, monkeypatch):
    monkeypatch.setattr(loop, "now", loader.device.now)
    return loop.run(loader, 1, 4, 1)


@pytest.mark.parametrize("kind", [Delivers, InOneCall])
def test_who_waits_has_nothing_pending_and_who_forgets_to_synchronise_has(images, kind, monkeypatch):
    pipeline = images.pipeline("Normalize")
    honest = measured(kind(pipeline, images.data, waits=True), monkeypatch)
    forgets = measured(kind(pipeline, images.data, waits=False), monkeypatch)
    looks = 4 if kind is Delivers else 1
    assert honest.audits == [{"waited": LOOK, "again": LOOK}] * looks
    assert len(forgets.audits) == looks
    assert all(audit["waited"] >= LOOK + WORK and audit["again"] == LOOK for audit in forgets.audits)
    assert min(honest.samples) >= WORK > max(forgets.samples), "whose time is too good"
    assert len(honest.samples) == len(forgets.samples)
    wanted = list(reference.open(pipeline, images.data, Place(images.place, images.place)).begin(0))
    assert len(honest.held) == 4 and all(is_one_of(held.batch, wanted) for held in honest.held)


def test_an_epoch_ends_when_its_last_batch_is_there(images, monkeypatch):
    pipeline = images.pipeline("Normalize")
    for waits in (True, False):
        loader = Delivers(pipeline, images.data, waits)
        monkeypatch.setattr(loop, "now", loader.device.now)
        timed = loop.epoch(loader, 0)
        assert timed.wall >= timed.batches * WORK and not loader.device.pending, timed


def test_what_is_delivered_elsewhere_than_on_the_device_is_no_batch(images, monkeypatch):
    loader = Delivers(images.pipeline("Normalize"), images.data, waits=True)
    monkeypatch.setattr(loader.device, "enqueue", lambda array: array)
    with pytest.raises(Unready, match=r"`image` of a batch is a numpy.ndarray and no array on queue:0"):
        measured(loader, monkeypatch)


ON_A_DEVICE = """
from tests.test_devices import Delivers
from weighbridge_worker.adapter import Adapter

ADAPTER = Adapter(
    "NumPy",
    "numpy",
    "numpy.frombuffer",
    lambda pipeline, data, place: Delivers(pipeline, data, waits=True),
    platforms=("cpu", "gpu"),
)
"""


def test_a_worker_tells_which_backend_is_active_and_hands_batches_over_from_it(images, tmp_path):
    path = tmp_path / "device.py"
    path.write_text(ON_A_DEVICE)
    worker = Worker(str(path))
    assert worker.hear()[0] == "hello"
    said, opened = worker.open(images, tmp_path, images.spec("Normalize"), device="gpu")
    assert said == "opened", opened
    assert opened["backend"] == "gpu" and opened["executed"]["ran_on"] == "cpu, delivered to queue:0"
    assert opened["executed"]["delivery"] == "device"
    pipeline = images.pipeline("Normalize")
    wanted = list(reference.open(pipeline, images.data, Place(tmp_path, tmp_path)).begin(0))
    for got, batch in zip(worker.verify(), wanted, strict=True):
        assert np.array_equal(got["image"], batch["image"])
    said, ran = worker.ask("run", warmup=1, batches=4, min_time=1)
    assert said == "ran" and len(ran["audit"]) == len(ran["checked"]) == 4, ran
    assert is_one_of(worker.read(ran["checked"][1]), wanted)
    assert worker.ask("begin", epoch=0)[0] == "begun"
    said, batch = worker.ask("advance")
    assert said == "batch" and np.array_equal(worker.read(batch)["image"], wanted[0]["image"])
    worker.close()


@pytest.mark.parametrize("name", NAMES)
def test_where_there_is_no_device_each_says_why_it_cannot(name, images, tmp_path):
    # As the harness starts it for a device: JAX may look for one. What a driver would show is hidden.
    environment = {**PINNED, "JAX_PLATFORMS": ""}
    worker = Worker(name, python(name), **environment)
    said, message = worker.hear()
    assert said == "hello", message["detail"]
    said, message = worker.open(images, tmp_path, images.spec("Normalize"), device="gpu")
    assert said == "declined", message
    if name in CAN:
        assert message["why"].startswith(CAN[name]) and " sees no " in message["why"], message
    else:
        assert "has no device path here" in message["why"], message
    said, opened = worker.open(images, tmp_path, images.spec("Normalize"))
    assert said == "opened" and opened["backend"] == "cpu", "on the host it still runs"
    worker.close()
