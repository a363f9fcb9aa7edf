"""The contract `learner`, over a real channel, and learners that do not do what they say."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from weighbridge_worker.adapter import Place
from weighbridge_worker.data import Data
from weighbridge_worker.learner import KEPT, Parameters, Steps, Task
from weighbridge_worker.pipeline import Pipeline

from .conftest import Made
from .harness import Worker
from .learners import plain

LEARNERS = Path(__file__).parent / "learners"
START = {"scale": [1.0] * 3, "bias": [0.25] * 3}
RATE = 0.05


@pytest.fixture
def rows(tmp_path):
    place = tmp_path / "rows"
    place.mkdir()
    return Made(place, {"image": np.random.default_rng(5).normal(size=(23, 9, 8, 3)).astype(np.float32)})


def learning(**other):
    image = {"name": "image", "dtype": "f32", "shape": [9, 8, 3]}
    output = [image, {**image, "name": "image_gradient"}]
    return {"form": "module", "rate": RATE, "work": ["a learnable step"], "output": output, **other}


def spec(made, *transforms, **other):
    return made.spec(*(transforms or ("Normalize", "RandomCrop")), **{"batch_size": 10, **other})


def task(made, *transforms, form="module", **other):
    pipeline = Pipeline.from_dict(spec(made, *transforms, **other))
    return Task.from_dict(learning(form=form), pipeline, Data(made.said))


@pytest.fixture
def started():
    workers = []

    def start(file="plain"):
        workers.append(Worker(str(LEARNERS / f"{file}.py")))
        name, said = workers[-1].hear()
        assert name == "hello", said
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()


def opened(worker, made, place, *transforms, form="module", **other):
    said = spec(made, *transforms, **other)
    return worker.open(made, place, said, contract="learner", learning=learning(form=form))


def asked(worker, what, **more):
    """What a call hands over, each array without the axis of its one element."""
    name, said = worker.ask("call", name=what, **more)
    assert name == "batch", said
    return {field: array[0] for field, array in worker.read(said).items()}


def test_an_epoch_delivers_groups_with_their_gradient_and_begins_with_the_same_parameters(started, rows, tmp_path):
    worker = started()
    name, said = opened(worker, rows, tmp_path, rebatch=5)
    assert name == "opened" and said["executed"]["transforms"] == ["a learnable step"], said
    assert said["chunk"] == 2 and said["costs"]["compile"] is not None
    batches = worker.verify()
    assert [len(batch["image"]) for batch in batches] == [5, 5, 5, 5, 3]
    assert [list(batch) for batch in batches] == [["image", "image_gradient"]] * 5
    again, other = worker.verify(), worker.verify(1)
    for field in ("image", "image_gradient"):
        assert all(np.array_equal(one[field], two[field]) for one, two in zip(batches, again, strict=True))
        assert not np.array_equal(batches[0][field], other[0][field]), "another epoch has other draws"


def test_parts_of_a_step_are_the_step_and_each_needs_the_one_before(started, rows, tmp_path):
    worker = started()
    opened(worker, rows, tmp_path)
    assert worker.ask("call", name="restart", epoch=0, **START) == ("answer", {})
    forward, backward, after = (asked(worker, part) for part in ("forward", "backward", "update"))
    assert forward["elements"] == 10
    assert np.isclose(forward["loss"], np.mean(np.square(forward["learned"])) / 2)
    assert np.allclose(after["scale"], 1 - RATE * backward["scale"])
    assert np.allclose(after["bias"], 0.25 - RATE * backward["bias"])
    whole = asked(worker, "step", **START)
    parts = {"learned": forward["learned"], "slopes": backward["slopes"], **after}
    assert list(whole) == list(parts) and all(np.array_equal(whole[name], parts[name]) for name in parts)
    for part, why in (("backward", "go forward first"), ("update", "go backward first")):
        name, said = worker.ask("call", name=part)
        assert name == "failed" and why in said["detail"], said


def test_each_step_of_an_epoch_is_noted_as_it_was_left(started, rows, tmp_path):
    worker, by_hand = started(), plain.Plain(task(rows))
    opened(worker, rows, tmp_path)
    for epoch in (7, 3):
        worker.verify(epoch)
    noted = asked(worker, "noted")
    assert noted["epochs"].tolist() == [7, 3] and noted["steps"].tolist() == [3, 3]
    each = zip(noted["losses"], noted["slopes"], noted["places"], strict=True)
    after = np.stack([noted["scale"], noted["bias"]]).reshape(2, 6, 3)
    for epoch in (7, 3):
        by_hand.set(Parameters.start(3))
        for number in range(3):
            given = by_hand.task.given(number, epoch)
            _, slopes, due = by_hand.step(given)
            loss, slope, place = next(each)
            assert np.isclose(loss, due) and slope == slopes.ravel()[place]
            (scale, bias), after = after[:, 0], after[:, 1:]
            assert np.array_equal(scale, by_hand.scale) and np.array_equal(bias, by_hand.bias)


def test_an_epoch_ends_where_its_batches_do(started, rows, tmp_path):
    worker = started()
    opened(worker, rows, tmp_path)
    worker.ask("call", name="restart", epoch=2, **START)
    assert [asked(worker, "forward")["elements"] for _ in range(4)] == [10, 10, 3, 0]


def test_times_are_told_for_steps_and_for_their_parts(started, rows, tmp_path):
    worker = started()
    opened(worker, rows, tmp_path)
    name, said = worker.ask("call", name="step_phases", skip=1, steps=2)
    assert name == "answer", said
    times = said["times"]
    assert {part: len(each) for part, each in times.items()} == dict.fromkeys(
        ("step", "data", "forward", "backward", "update"), 2
    )
    for index, step in enumerate(times["step"]):
        assert step == sum(times[part][index] for part in ("data", "forward", "backward", "update"))
    name, said = worker.ask("call", name="steps", steps=2)
    assert name == "answer" and len(said["times"]["all"]) == 1 and said["times"]["all"][0] > 0


def test_compilations_are_told_where_there_are_some_and_a_call_that_nobody_has_is_broken(started, rows, tmp_path):
    worker = started()
    opened(worker, rows, tmp_path)
    assert worker.ask("call", name="compilations") == ("answer", {"times": {"compilations": [0]}})
    with pytest.raises(EOFError):
        worker.ask("call", name="magic")


@pytest.mark.parametrize(
    ("transforms", "other", "why"),
    [
        (("GaussianNoise",), {}, "no gradient of GaussianNoise: only of Normalize and RandomCrop"),
        ((), {"workers": 2}, "2 workers"),
        ((), {"access": "file-eager"}, "not in memory (file-eager)"),
        ((), {"cache": True, "asks": ["cache"]}, "no gradient through cache"),
    ],
)
def test_what_has_no_gradient_is_declined_by_name(started, rows, tmp_path, transforms, other, why):
    name, said = opened(started(), rows, tmp_path, *transforms, **other)
    assert name == "declined" and why in said["why"], said


def test_a_form_that_nobody_has_breaks_the_protocol(started, rows, tmp_path):
    with pytest.raises(EOFError):
        opened(started(), rows, tmp_path, form="magic")


def test_draws_are_those_that_the_page_has(rows):
    """Number by number, from the address of each draw."""
    from weighbridge_worker.draws import key, split

    given = task(rows).given(1, 7)
    for element in range(10):
        root = key(42, 7, 10 + element, 1 << 35)
        bits = [split(root, number // 4) >> 16 * (number % 4) & 0xFFFF for number in range(9 * 8 * 3)]
        assert np.array_equal(given.kept[element].ravel(), np.array(bits) >= 6554)
        top, left = (split(key(42, 7, 10 + element, 1), number) for number in (0, 1))
        assert given.corners[0][element].tolist() == [top * 3 >> 64, left * 2 >> 64]
    assert 0.85 < given.kept.mean() < 0.95 and np.float32(1 / 0.9) == KEPT


def frameworks():
    """The learners whose framework this interpreter has."""
    found = []
    for module, needs in (("nnx", "flax"), ("torch_autograd", "torch"), ("gradient_tape", "tensorflow")):
        if importlib.util.find_spec(needs):
            found.append(module)
    return found


@pytest.mark.parametrize("form", ["module", "function"])
@pytest.mark.parametrize(
    ("transforms", "rebatch"),
    [(("Normalize",), None), (("Normalize", "RandomCrop"), 5), (("RandomCrop", "RandomCrop"), None)],
)
@pytest.mark.parametrize("module", frameworks() or [pytest.param("", marks=pytest.mark.skip("no framework is here"))])
def test_what_a_framework_derives_is_what_was_written_by_hand(rows, tmp_path, module, form, transforms, rebatch):
    work, place = task(rows, *transforms, form=form, rebatch=rebatch), Place(tmp_path, tmp_path)
    derived = importlib.import_module(f"weighbridge_worker.learners.{module}").ADAPTER.open(work, place)
    by_hand = plain.Plain(work)
    before = derived.compilations()

    def near(found, expected):
        assert type(found) is np.ndarray and found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())

    for found, expected in zip(Steps(derived, work).begin(1), Steps(by_hand, work).begin(1), strict=True):
        assert list(found) == list(expected)
        for name in found:
            near(found[name], expected[name])
    assert before is None or derived.compilations() > before
    for learner in (derived, by_hand):
        learner.set(Parameters.start(3))
    for number in range(work.pipeline.batches):
        given = work.given(number, 0)
        (out, loss), (expected, of) = derived.forward(given), by_hand.forward(given)
        near(out, expected)
        assert np.isclose(loss, of)
        (slopes, gradient), (expected, of) = derived.backward(), by_hand.backward()
        near(slopes, expected)
        near(gradient.scale, of.scale)
        near(gradient.bias, of.bias)
        for learner in (derived, by_hand):
            learner.update()
        near(derived.parameters().scale, by_hand.scale)
        near(derived.parameters().bias, by_hand.bias)
    derived.close()


PASSES = 3
"""So many passes are looked at."""


class Seen:
    """What the harness gets to see of a learner."""

    def __init__(self, worker, made, place):
        name, said = opened(worker, made, place)
        assert name == "opened", said
        self.epoch = worker.verify()
        name, ran = worker.ask("run", warmup=1, batches=2, min_time=50_000_000)
        assert name == "ran", ran
        self.held = [(held, worker.read(held)) for held in ran["checked"] if held["pass"] < PASSES]
        # Each pass is of an epoch of its own: those after the one that was run.
        self.passes = [worker.verify(1 + number) for number in range(PASSES)]
        worker.ask("call", name="restart", epoch=0, **START)
        self.parts = {**asked(worker, "forward"), **asked(worker, "backward")}
        self.after = asked(worker, "update")
        self.whole = asked(worker, "step", **START)


def differs(found, expected):
    return not np.allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def evidence(seen, honest):
    """What differs from honest work: where the harness looks for it."""
    found = set()
    for field in ("image", "image_gradient"):
        pairs = zip(seen.epoch, honest.epoch, strict=True)
        if any(differs(one[field], other[field]) for one, other in pairs):
            found.add(f"epoch: {field}")
        for held, batch in seen.held:
            at = slice(held["first"], held["first"] + held["elements"])
            if differs(batch[field], honest.passes[held["pass"]][held["at"]][field][at]):
                found.add(f"measured: {field}")
    for name in ("scale", "bias"):
        if differs(seen.parts[name], honest.parts[name]):
            found.add("derivative")
        if differs(seen.after[name], START[name] - np.float32(RATE) * seen.parts[name]):
            found.add("descent")
        if differs(seen.whole[name], seen.after[name]):
            found.add("whole step")
    return found


@pytest.mark.parametrize(
    ("sin", "expected"),
    [
        ("plain", set()),
        ("gradient_of_wrong_scale", {"epoch: image", "epoch: image_gradient", "measured: image",
                                     "measured: image_gradient", "derivative"}),
        ("stale_result", {"epoch: image", "epoch: image_gradient", "measured: image", "measured: image_gradient"}),
        ("skips_the_step_down", {"epoch: image", "epoch: image_gradient", "measured: image",
                                 "measured: image_gradient", "whole step"}),
        ("skips_when_it_is_measured", {"measured: image", "measured: image_gradient", "whole step"}),
        ("no_gradient_to_the_rows", {"epoch: image_gradient", "measured: image_gradient"}),
    ],
)  # fmt: skip
def test_every_sin_of_a_learner_leaves_its_evidence(started, rows, tmp_path, sin, expected):
    places = [tmp_path / "honest", tmp_path / "sin"]
    for place in places:
        place.mkdir()
    honest = Seen(started(), rows, places[0])
    assert evidence(Seen(started(sin), rows, places[1]), honest) == expected


def test_every_sin_of_a_learner_is_looked_at():
    files = {path.stem for path in LEARNERS.glob("*.py")}
    mark = test_every_sin_of_a_learner_leaves_its_evidence.pytestmark[0]
    assert files == {sin for sin, _ in mark.args[1]}
