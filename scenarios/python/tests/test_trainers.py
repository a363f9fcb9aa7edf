"""The contract `trainer`, over a real channel."""

from __future__ import annotations

import numpy as np
import pytest

from weighbridge_worker.trainer import step_order

from .conftest import HOME, Made
from .harness import Worker

BATCH, STEPS, RATE, HELD_OUT = 4, 6, 0.5, 20


class Material:
    """Samples and weights in files, and what is asked of a training over them."""

    def __init__(self, place):
        random = np.random.default_rng(5)
        for folder in ("data", "weights"):
            (place / folder).mkdir()
        count = BATCH * STEPS + HELD_OUT
        inputs = random.normal(size=(count, 3)).astype(np.float32)
        self.data = Made(place / "data", {"input": inputs, "label": random.integers(0, 2, count, dtype=np.int32)})
        start = {"0.weight": random.normal(size=(1, 3, 2)), "0.bias": random.normal(size=(1, 2))}
        self.weights = Made(place / "weights", {name: array.astype(np.float32) for name, array in start.items()})
        self.training = {
            "model": {"input": {"kind": "vector", "width": 3}, "layers": [{"kind": "linear", "to": 2}]},
            "optimiser": {"kind": "sgd", "rate": RATE, "momentum": 0.0},
            "schedule": {"kind": "constant"},
            "precision": "f32",
            "mode": "eager",
            "batch": BATCH,
            "steps": STEPS,
            "work": ["a linear map"],
        }


@pytest.fixture
def material(tmp_path):
    return Material(tmp_path)


@pytest.fixture
def worker():
    started = Worker(str(HOME / "tests" / "trainers" / "plain.py"))
    name, said = started.hear()
    assert name == "hello", said
    yield started
    started.close()


def opened(worker, material, place, rank=None, **other):
    training, more = {**material.training, **other}, {"rank": rank} if rank else {}
    return worker.open(
        material.data, place, {}, contract="trainer", training=training, weights=material.weights.said, **more
    )


def asked(worker, what, **more):
    """What a call hands over, each array without the axis of its one element."""
    name, said = worker.ask("call", name=what, **more)
    assert name == "batch", said
    return {field: array[0] for field, array in worker.read(said).items()}


def after(worker, steps):
    """What so many steps leave, from the beginning."""
    losses = asked(worker, "train", anew=True, steps=steps)["loss"]
    assert len(losses) == steps
    return asked(worker, "left")


def test_steps_are_a_stream_and_what_they_left_is_handed_over_without_computing(worker, material, tmp_path):
    name, said = opened(worker, material, tmp_path)
    assert name == "opened" and said["settings"]["optimiser.rate"] == "0.5", said
    losses = np.concatenate([batch["loss"] for batch in worker.verify()])
    assert losses.shape == (BATCH * STEPS,) and len(np.unique(losses)) == STEPS
    left, again = asked(worker, "left"), asked(worker, "left")
    assert left["steps"] == STEPS and all(np.array_equal(left[name], again[name]) for name in left)
    again = after(worker, STEPS)
    assert all(np.array_equal(left[name], again[name]) for name in left)
    assert worker.ask("close")[0] == "closed"


def test_each_epoch_has_an_order_of_its_own_and_what_its_steps_lost_is_noted_while_they_are_done(
    worker, material, tmp_path
):
    assert step_order(7, 6) == (1, 5, 0, 2, 4, 3)  # the Rust side has the same numbers (`step_order.rs`)
    assert step_order(0, 4) == (0, 1, 2, 3)
    opened(worker, material, tmp_path)
    as_they_lie = np.concatenate([batch["loss"] for batch in worker.verify()])[::BATCH]
    name, ran = worker.ask("run", epoch=7, warmup=1, batches=STEPS - 1, min_time=1)
    assert (name, ran["passes"]) == ("ran", 1)
    noted = asked(worker, "noted")
    assert noted["epochs"].tolist() == [0, 8], "the epoch of the run is another one than what went before"
    assert noted["steps"].tolist() == [STEPS, STEPS] and np.array_equal(noted["losses"][:STEPS], as_they_lie)
    fields, order = material.data.fields, step_order(8, STEPS)
    after(worker, 0)
    again = []
    for at, place in enumerate(order):
        samples = slice(place * BATCH, (place + 1) * BATCH)
        said = fed(tmp_path / f"fed{at}", fields["input"][samples], fields["label"][samples])
        again.append(float(asked(worker, "feed", samples=said)["loss"][0]))
    assert np.allclose(noted["losses"][STEPS:], again)


def test_the_first_step_is_computed_from_the_weights_of_the_beginning_and_changes_none(worker, material, tmp_path):
    opened(worker, material, tmp_path)
    first = asked(worker, "first")
    start = after(worker, 0)
    for name, array in material.weights.fields.items():
        assert np.array_equal(start[name], array[0])
        one = after(worker, 1)[name]
        assert np.allclose(one, array[0] - RATE * first[f"gradient of {name}"], atol=1e-6)
    expected = material.data.fields["input"][:BATCH] @ start["0.weight"] + start["0.bias"]
    assert np.allclose(first["logits"], expected, atol=1e-6)


def test_phases_are_told_for_the_steps_that_are_asked_for(worker, material, tmp_path):
    opened(worker, material, tmp_path)
    name, said = worker.ask("call", name="step_phases", skip=2, steps=3)
    assert name == "answer", said
    assert {key: len(times) for key, times in said["times"].items()} == {"step": 3, "whole_step": 3}
    assert all(whole <= step for whole, step in zip(said["times"]["whole_step"], said["times"]["step"], strict=True))


def test_training_goes_on_from_where_it_is_until_the_data_end(worker, material, tmp_path):
    opened(worker, material, tmp_path)
    whole = after(worker, 4)
    after(worker, 1)
    assert len(asked(worker, "train", anew=False, steps=3)["loss"]) == 3
    left = asked(worker, "left")
    assert all(np.array_equal(left[name], whole[name]) for name in whole)
    name, said = worker.ask("call", name="train", anew=False, steps=3)
    assert name == "failed" and "EndOfData: the data end after 6 steps" in said["detail"], said


def fed(place, inputs, labels):
    place.mkdir()
    return Made(place, {"input": inputs, "label": labels}).said


def test_a_step_takes_what_is_handed_over_instead_of_what_is_in_memory(worker, material, tmp_path):
    opened(worker, material, tmp_path)
    fields = material.data.fields
    start, second = after(worker, 0), slice(BATCH, 2 * BATCH)
    own = after(worker, 1)
    after(worker, 0)
    said = fed(tmp_path / "fed", fields["input"][second], fields["label"][second])
    loss = asked(worker, "feed", samples=said)["loss"]
    left = asked(worker, "left")
    assert left["steps"] == 1 and loss.shape == (1,)
    assert not np.array_equal(left["0.weight"], own["0.weight"])
    logits = fields["input"][second] @ start["0.weight"] + start["0.bias"]
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert np.allclose(loss, -np.log(shares[np.arange(BATCH), fields["label"][second]]).mean(), atol=1e-6)
    assert np.array_equal(after(worker, 1)["0.weight"], own["0.weight"]), "what is in memory stays"


@pytest.mark.parametrize(
    ("count", "dtype", "width"), [(BATCH - 1, np.float32, 3), (BATCH, np.float64, 3), (BATCH, np.float32, 4)]
)
def test_samples_that_no_step_takes_are_refused(worker, material, tmp_path, count, dtype, width):
    opened(worker, material, tmp_path)
    samples = fed(tmp_path / "fed", np.zeros((count, width), dtype), np.zeros(count, np.int32))
    name, said = worker.ask("call", name="feed", samples=samples)
    assert name == "failed" and "Unfit" in said["detail"], said


def test_going_forward_alone_takes_the_samples_of_the_steps_that_are_asked_for(worker, material, tmp_path):
    opened(worker, material, tmp_path)
    before = after(worker, 2)
    name, said = worker.ask("call", name="forward", steps=STEPS)
    assert name == "answer" and said["times"] == {}, said
    left = asked(worker, "left")
    assert left["steps"] == 2 and all(np.array_equal(left[name], before[name]) for name in before)


def test_labels_that_are_right_are_counted_on_what_was_held_out(worker, material, tmp_path):
    opened(worker, material, tmp_path)
    left = after(worker, 2)
    fields = material.data.fields
    logits = fields["input"][BATCH * STEPS :] @ left["0.weight"] + left["0.bias"]
    due = np.count_nonzero(logits.argmax(1) == fields["label"][BATCH * STEPS :])
    assert asked(worker, "right")["right"] == due and 0 < due < HELD_OUT
    assert asked(worker, "left")["steps"] == 2, "looking changes nothing"


def test_a_loss_that_is_no_number_ends_the_training_with_its_step(worker, material, tmp_path):
    opened(worker, material, tmp_path, optimiser={"kind": "sgd", "rate": 1e38, "momentum": 0.0})
    name, said = worker.ask("verify", epoch=0)
    while name == "batch":
        name, said = worker.ask("next")
    assert name == "failed" and "NotFinite: the loss of step" in said["detail"], said


def test_operators_are_declined_where_no_profiler_is_read(worker, material, tmp_path):
    opened(worker, material, tmp_path)
    name, said = worker.ask("call", name="operators", steps=2)
    assert name == "declined" and "no profiler" in said["why"], said
    assert len(asked(worker, "train", anew=True, steps=2)["loss"]) == 2, "the case goes on"


def test_a_mode_that_a_system_lacks_is_declined_and_one_that_nobody_has_is_broken(worker, material, tmp_path):
    name, said = opened(worker, material, tmp_path, mode="compiled")
    assert name == "declined" and said["why"] == "mode compiled: numpy has one", said
    with pytest.raises(EOFError):  # the harness has broken the protocol: the worker ends
        opened(worker, material, tmp_path, mode="magic")


def ranked(index, of):
    return {
        "index": index,
        "of": of,
        "communication": "apart",
        "meet": "127.0.0.1:1",
        "own": "127.0.0.1",
        "patience": 1,
    }


def test_a_rank_takes_its_share_of_every_step_and_says_how_large_it_is(material, tmp_path):
    losses = []
    for index in range(2):
        worker = Worker(str(HOME / "tests" / "trainers" / "shares.py"))
        assert worker.hear()[0] == "hello"
        place = tmp_path / str(index)
        place.mkdir()
        name, said = opened(worker, material, place, rank=ranked(index, 2))
        assert name == "opened", said
        delivered = worker.verify()
        assert [len(batch["loss"]) for batch in delivered] == [BATCH // 2] * STEPS
        first, start = asked(worker, "first"), after(worker, 0)
        own = material.data.fields["input"][index * BATCH // 2 : (index + 1) * BATCH // 2]
        assert np.allclose(first["logits"], own @ start["0.weight"] + start["0.bias"], atol=1e-6)
        losses.append(first["loss"])
        worker.close()
    assert losses[0] != losses[1]


def test_ranks_are_declined_by_a_trainer_of_one_process_and_must_divide_the_batch(worker, material, tmp_path):
    name, said = opened(worker, material, tmp_path, rank=ranked(0, 2))
    assert name == "declined" and said["why"] == "ranks 2: Plain trains in one process here", said
    several = Worker(str(HOME / "tests" / "trainers" / "shares.py"))
    assert several.hear()[0] == "hello"
    with pytest.raises(EOFError):  # the harness has broken the protocol: the worker ends
        opened(several, material, tmp_path, rank=ranked(0, 3))
