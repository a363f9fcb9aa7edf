"""Every trainer whose framework is installed, over a real worker in its own environment, against the formulae of the
optimisers in `f64`."""

from __future__ import annotations

import numpy as np
import pytest

from .conftest import HOME
from .harness import Worker
from .test_adapters import PINNED, python
from .test_trainers import BATCH, Material, asked, opened

ENVIRONMENTS = {
    "pytorch": "torch",
    "flax": "flax",
    "tensorflow": "keras",
    "keras": "keras",
    "keras_jax": "keras",
    "keras_torch": "keras",
}
SGD = {"kind": "sgd", "rate": 0.3, "momentum": 0.7}
ADAMW = {"kind": "adamw", "rate": 0.02, "beta1": 0.8, "beta2": 0.95, "epsilon": 0.03, "decay": 0.4}
STEPS = 3
CONSTANT = {"kind": "constant"}
SCHEDULES = [
    {"kind": "cosine", "warmup": 1, "until": 3, "least": 0.1},  # half of the rate, all of it, 0.55 of it
    {"kind": "cosine", "warmup": 0, "until": 2, "least": 0.0},  # all of it, half of it, none
]
"""Each changes the rate in every one of the steps."""


def share(schedule, step):
    """By the formula of the configuration, written out again."""
    if schedule["kind"] == "constant":
        return 1.0
    warmup, until, least = schedule["warmup"], schedule["until"], schedule["least"]
    if step < warmup:
        return (step + 1) / (warmup + 1)
    wave = np.cos(np.pi * min(1.0, (step - warmup) / (until - warmup)))
    return least + (1 - least) * (1 + wave) / 2


@pytest.fixture
def material(tmp_path):
    return Material(tmp_path)


@pytest.fixture
def started():
    workers = []

    def start(adapter, environment):
        workers.append(Worker(adapter, python(environment), **PINNED))
        name, said = workers[-1].hear()
        assert name == "hello", said
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()


def gradients(weights, inputs, labels):
    shares = np.exp(inputs @ weights["0.weight"] + weights["0.bias"])
    shares /= shares.sum(1, keepdims=True)
    shares[np.arange(len(labels)), labels] -= 1
    shares /= len(labels)
    return {"0.weight": inputs.T @ shares, "0.bias": shares.sum(0)}


def by_formula(material, optimiser, steps=STEPS, schedule=CONSTANT):
    """The weights after some steps."""
    fields = material.data.fields
    weights = {name: array[0].astype(np.float64) for name, array in material.weights.fields.items()}
    first, second = ({name: np.zeros_like(array) for name, array in weights.items()} for _ in range(2))
    for step in range(steps):
        rate = optimiser["rate"] * share(schedule, step)
        at = slice(step * BATCH, (step + 1) * BATCH)
        for name, g in gradients(weights, fields["input"][at].astype(np.float64), fields["label"][at]).items():
            if optimiser["kind"] == "sgd":
                first[name] = optimiser["momentum"] * first[name] + g
                weights[name] = weights[name] - rate * first[name]
                continue
            beta1, beta2 = optimiser["beta1"], optimiser["beta2"]
            first[name] = beta1 * first[name] + (1 - beta1) * g
            second[name] = beta2 * second[name] + (1 - beta2) * g * g
            root = np.sqrt(second[name] / (1 - beta2 ** (step + 1))) + optimiser["epsilon"]
            change = first[name] / (1 - beta1 ** (step + 1)) / root + optimiser["decay"] * weights[name]
            weights[name] = weights[name] - rate * change
    return weights


def far(found, expected):
    return max(np.abs(found[name] - array).max() for name, array in expected.items())


@pytest.mark.parametrize("optimiser", [SGD, ADAMW], ids=["sgd", "adamw"])
@pytest.mark.parametrize("mode", ["eager", "compiled", "xla"])
@pytest.mark.parametrize("trainer", ENVIRONMENTS)
def test_weights_change_by_the_formula_of_the_optimiser_and_its_numbers_are_read_back(
    started, material, tmp_path, trainer, mode, optimiser
):
    worker = started(f"trainers.{trainer}", ENVIRONMENTS[trainer])
    name, said = opened(worker, material, tmp_path, mode=mode, optimiser=optimiser)
    if name == "declined":
        assert trainer != "tensorflow", said
        pytest.skip(said["why"])
    assert name == "opened", said
    told = {key: value for key, value in said["settings"].items() if key.startswith("optimiser.")}
    due = {f"optimiser.{key}": value for key, value in optimiser.items() if key != "kind"}
    assert told.keys() == due.keys() and said["settings"]["optimiser"] == optimiser["kind"]
    assert all(abs(float(told[key]) - value) < 1e-6 * value for key, value in due.items()), told
    expected = by_formula(material, optimiser)
    assert far(by_formula(material, {**optimiser, "rate": 1.01 * optimiser["rate"]}), expected) > 1e-4
    for _ in range(2):  # from the beginning, the optimiser too
        asked(worker, "train", anew=True, steps=STEPS)
        assert far(asked(worker, "left"), expected) < 2e-6


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["from_below", "from_the_top"])
@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("trainer", ENVIRONMENTS)
def test_a_rate_changes_with_the_steps_by_the_formula_and_is_read_back(
    started, material, tmp_path, trainer, mode, schedule
):
    worker = started(f"trainers.{trainer}", ENVIRONMENTS[trainer])
    optimiser = SGD
    if trainer.startswith("keras") and mode == "eager":
        # Its velocity has the rates of earlier steps in it: it is the same without momentum alone.
        name, said = opened(worker, material, tmp_path, mode=mode, optimiser=SGD, schedule=schedule)
        assert name == "declined" and said["why"].startswith("schedule with momentum"), said
    if trainer.startswith("keras"):
        optimiser = {**SGD, "momentum": 0.0}
    name, said = opened(worker, material, tmp_path, mode=mode, optimiser=optimiser, schedule=schedule)
    if name == "declined":
        assert trainer != "tensorflow", said
        pytest.skip(said["why"])
    assert name == "opened", said
    start = "optimiser.rate of step "
    told = {int(key.removeprefix(start)): float(rate) for key, rate in said["settings"].items() if start in key}
    warmup, until = schedule["warmup"], schedule["until"]
    assert told.keys() == {0, warmup, (warmup + until) // 2, until}
    assert all(abs(rate - SGD["rate"] * share(schedule, step)) < 1e-6 for step, rate in told.items()), told
    assert abs(float(said["settings"]["optimiser.rate"]) - SGD["rate"]) < 1e-6
    expected = by_formula(material, optimiser, schedule=schedule)
    assert far(by_formula(material, optimiser), expected) > 1e-3
    for _ in range(2):  # from the beginning, the schedule too
        asked(worker, "train", anew=True, steps=STEPS)
        assert far(asked(worker, "left"), expected) < 2e-6


def test_what_tensorflow_computes_with_is_what_is_read_back(started, material, tmp_path):
    worker = started(str(HOME / "tests" / "trainers" / "other_momentum.py"), "keras")
    for mode in ("eager", "compiled", "xla"):
        name, said = opened(worker, material, tmp_path, mode=mode, optimiser=SGD)
        assert name == "opened" and float(said["settings"]["optimiser.momentum"]) == 0.25, said
        asked(worker, "train", anew=True, steps=STEPS)
        left = asked(worker, "left")
        assert far(left, by_formula(material, {**SGD, "momentum": 0.25})) < 2e-6
        assert far(left, by_formula(material, SGD)) > 1e-3
        assert worker.ask("close")[0] == "closed"


def test_tensorflow_tells_apart_the_phases_of_what_is_not_compiled(started, material, tmp_path):
    worker = started("trainers.tensorflow", "keras")
    whole = {"data", "forward_backward_optimiser"}
    for mode, phases in (
        ("eager", {"data", "forward", "backward", "optimiser"}),
        ("compiled", whole),
        ("xla", whole),
    ):
        assert opened(worker, material, tmp_path, mode=mode, optimiser=SGD)[0] == "opened"
        name, said = worker.ask("call", name="step_phases", skip=1, steps=2)
        assert name == "answer" and said["times"].keys() == {"step", *phases}, said
        assert far(asked(worker, "left"), by_formula(material, SGD)) < 2e-6, "its steps are steps"
        assert worker.ask("close")[0] == "closed"


def test_tensorflow_declines_what_it_has_not(started, material, tmp_path):
    worker = started("trainers.tensorflow", "keras")
    name, said = opened(worker, material, tmp_path, mode="autotuned")
    assert name == "declined" and said["why"].startswith("mode autotuned"), said


def half(array):
    """Whether each number has no more digits than `bf16` holds."""
    return not (np.ascontiguousarray(array).view(np.uint32) & 0xFFFF).any()


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("trainer", ENVIRONMENTS)
def test_products_are_of_bf16_where_that_is_asked_for_and_weights_stay_f32(started, material, tmp_path, trainer, mode):
    worker = started(f"trainers.{trainer}", ENVIRONMENTS[trainer])
    fields = material.data.fields
    start = {name: array[0].astype(np.float64) for name, array in material.weights.fields.items()}
    due = gradients(start, fields["input"][:BATCH].astype(np.float64), fields["label"][:BATCH])
    off = {}
    for precision in ("f32", "bf16"):
        name, said = opened(worker, material, tmp_path, mode=mode, optimiser=SGD, precision=precision)
        if name == "declined":
            assert said["why"].startswith("precision bf16" if trainer == "keras_jax" else "mode compiled"), said
            pytest.skip(said["why"])
        assert name == "opened" and said["settings"]["precision"] == precision, said
        found = asked(worker, "first")["gradient of 0.weight"]
        off[precision] = np.linalg.norm(found - due["0.weight"]) / np.linalg.norm(due["0.weight"])
        asked(worker, "train", anew=True, steps=STEPS)
        assert not half(asked(worker, "left")["0.weight"])
        assert worker.ask("close")[0] == "closed"
    assert off["f32"] < 1e-6 and 1e-4 < off["bf16"] < 2e-2, off


@pytest.mark.parametrize("trainer", ENVIRONMENTS)
def test_going_forward_alone_changes_nothing(started, material, tmp_path, trainer):
    worker = started(f"trainers.{trainer}", ENVIRONMENTS[trainer])
    assert opened(worker, material, tmp_path, optimiser=SGD)[0] == "opened"
    asked(worker, "train", anew=True, steps=1)
    name, said = worker.ask("call", name="forward", steps=2)
    assert name == "answer" and said["times"] == {}, said
    asked(worker, "train", anew=False, steps=STEPS - 1)
    assert far(asked(worker, "left"), by_formula(material, SGD)) < 2e-6


COUNTS = ("pytorch", "flax", "tensorflow")
"""Who tells how often it has compiled."""


@pytest.mark.parametrize("trainer", COUNTS)
def test_what_is_compiled_compiles_and_calls_fewer_operations_than_what_is_not(started, material, tmp_path, trainer):
    worker = started(f"trainers.{trainer}", ENVIRONMENTS[trainer])
    made, called = {}, {}
    for mode in ("eager", "compiled"):
        name, said = opened(worker, material, tmp_path, mode=mode, optimiser=SGD)
        assert name == "opened", said
        before = compilations(worker)
        asked(worker, "train", anew=True, steps=STEPS)
        made[mode] = compilations(worker) - before
        asked(worker, "train", anew=True, steps=STEPS)
        assert compilations(worker) - before == made[mode], "the same steps compile nothing anew"
        name, said = worker.ask("call", name="operators", steps=STEPS)
        assert name == "answer", said
        called[mode] = sum(calls for operator, (_, calls) in said["times"].items() if operator)
        assert worker.ask("close")[0] == "closed"
    # JAX compiles each operation by itself, which is its way to run one.
    assert made["compiled"] > 0 and (made["eager"] == 0 or trainer == "flax"), made
    assert 0 < called["compiled"] < called["eager"], called


def compilations(worker):
    name, said = worker.ask("call", name="compilations")
    assert name == "answer", said
    return said["times"]["compilations"][0]


def test_autotuned_compiles_and_trains_as_the_formula_says(started, material, tmp_path):
    worker = started("trainers.pytorch", ENVIRONMENTS["pytorch"])
    name, said = opened(worker, material, tmp_path, mode="autotuned", optimiser=SGD)
    assert name == "opened", said
    before = compilations(worker)
    asked(worker, "train", anew=True, steps=STEPS)
    assert compilations(worker) > before
    assert far(asked(worker, "left"), by_formula(material, SGD)) < 2e-6
