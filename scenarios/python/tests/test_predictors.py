"""The contract `predictor`, over a real channel."""

from __future__ import annotations

import numpy as np
import pytest

from weighbridge_worker.predictor import Generation, Task

from .conftest import HOME, Made
from .harness import Worker

BATCH, CALLS = 3, 16
NUMBERS = {"input": {"kind": "vector", "width": 5}, "layers": [{"kind": "linear", "to": 5}]}
IDS = {"input": {"kind": "ids", "length": 9, "below": 5}, "layers": [{"kind": "linear", "to": 5}]}


def task(model=NUMBERS, generation=None, **other):
    return {
        "model": model,
        "decodes": generation is not None,
        "precision": "f32",
        "mode": "eager",
        "batch": BATCH,
        "calls": CALLS,
        "generation": generation,
        "work": ["a linear map"],
        **other,
    }


@pytest.fixture
def weights(tmp_path):
    place = tmp_path / "weights"
    place.mkdir()
    random = np.random.default_rng(5)
    fields = {"0.weight": random.normal(size=(1, 5, 5)), "0.bias": random.normal(size=(1, 5))}
    return Made(place, {name: array.astype(np.float32) for name, array in fields.items()})


@pytest.fixture
def started():
    workers = []

    def start(**environment):
        workers.append(Worker(str(HOME / "tests" / "predictors" / "plain.py"), **environment))
        name, said = workers[-1].hear()
        assert name == "hello", said
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()


def opened(worker, weights, place, **said):
    return worker.ask(
        "open",
        contract="predictor",
        **worker.places(place),
        device="cpu",
        weights=weights.said,
        prediction=task(**said),
    )


def noted(worker):
    name, said = worker.ask("call", name="noted")
    assert name == "batch", said
    return {field: array[0] for field, array in worker.read(said).items()}


def asked(weights, epoch, call, model=NUMBERS, generation=None):
    said = task(model, generation)
    made = Generation(**generation) if generation else None
    return Task(**{**said, "generation": made, "work": ()}, weights={}).drawn(epoch, call)


def test_the_draws_are_those_that_rust_has():
    ids = {"input": {"kind": "ids", "length": 4, "below": 1000}, "layers": []}
    numbers = {"input": {"kind": "vector", "width": 3}, "layers": []}

    def drawn(model):
        return Task(**{**task(model, batch=1), "work": (), "generation": None}, weights={}).drawn(7, 3)

    assert drawn(ids).tolist() == [[682, 231, 430, 865]]
    assert np.allclose(drawn(numbers), [[0.731045, -1.0740237, -0.2798593]], atol=1e-6)


def test_answers_are_a_stream_of_calls_on_inputs_of_their_own(started, weights, tmp_path):
    worker = started()
    name, said = opened(worker, weights, tmp_path)
    assert name == "opened" and said["settings"] == {"precision": "f32", "parameters": "30"}, said
    batches = worker.verify(4)
    assert len(batches) == CALLS and all(batch["logits"].shape == (BATCH, 5) for batch in batches)
    weight, bias = (weights.fields[name][0] for name in ("0.weight", "0.bias"))
    for call, batch in enumerate(batches):
        assert np.allclose(batch["logits"], asked(weights, 4, call) @ weight + bias, atol=1e-5)
    assert not np.array_equal(batches[0]["logits"], batches[1]["logits"])


def test_answers_are_noted_while_calls_are_timed_and_each_epoch_has_inputs_of_its_own(started, weights, tmp_path):
    worker = started()
    opened(worker, weights, tmp_path)
    name, ran = worker.ask("run", epoch=7, warmup=1, batches=CALLS - 3, min_time=1)
    assert name == "ran", ran
    name, said = worker.ask("call", name="call_times", epoch=99, calls=CALLS)
    assert name == "answer" and len(said["times"]["call"]) == CALLS
    notes = noted(worker)
    assert {8, 99} <= set(notes["epochs"].tolist()), "what was timed, and no epoch twice"
    rows = notes["logits"].reshape(-1, 5)
    weight, bias = (weights.fields[name][0] for name in ("0.weight", "0.bias"))
    at = 0
    for epoch, call, first, samples in zip(*(notes[n] for n in ("epochs", "calls", "firsts", "samples")), strict=True):
        due = (asked(weights, int(epoch), int(call)) @ weight + bias)[first : first + samples]
        assert np.allclose(rows[at : at + samples], due, atol=1e-5)
        at += samples
    assert at == len(rows) > 2


@pytest.mark.parametrize("cached", [True, False])
def test_a_generation_takes_the_greatest_logit_each_time_and_tells_its_first_id_apart(
    started, weights, tmp_path, cached
):
    generation = {"prompt": 4, "tokens": 3, "cached": cached}
    worker = started()
    name, said = opened(worker, weights, tmp_path, model=IDS, generation=generation)
    assert name == "opened", said
    (first, *_) = worker.verify(5)
    prompts = asked(weights, 5, 0, IDS, generation)
    weight, bias = (weights.fields[name][0] for name in ("0.weight", "0.bias"))
    ids = [list(prompt) for prompt in prompts]
    for _ in range(3):
        for sample in ids:
            sample.append(int((np.eye(5)[sample].sum(0) @ weight + bias).argmax()))
    assert first["token"].tolist() == [id_ for sample in ids for id_ in sample[4:]]
    name, said = worker.ask("call", name="step_phases", skip=1, steps=4)
    times = said["times"]
    assert {key: len(each) for key, each in times.items()} == {"step": 4, "prefill": 4, "decode": 4}
    for step, prefill, decode in zip(times["step"], times["prefill"], times["decode"], strict=True):
        assert prefill + decode == step
    assert noted(worker)["token"].size > 0


@pytest.mark.parametrize("lie", ["another kind", "fewer"])
def test_an_answer_that_is_no_array_of_logits_of_all_samples_fails(started, weights, tmp_path, lie):
    worker = started(PLAIN_LIE=lie)
    opened(worker, weights, tmp_path)
    name, said = worker.ask("verify", epoch=0)
    assert name == "failed" and "Unfit" in said["detail"], said


def test_memory_is_told_before_and_after_a_model_is_opened(started, weights, tmp_path):
    worker = started()
    opened(worker, weights, tmp_path)
    name, said = worker.ask("call", name="opened_memory")
    before, after = worker.read(said)["resident"][0]
    assert name == "batch" and 1 << 20 < before <= after


def test_a_mode_that_a_system_lacks_is_declined_and_one_that_nobody_has_is_broken(started, weights, tmp_path):
    worker = started()
    name, said = opened(worker, weights, tmp_path, mode="compiled")
    assert name == "declined" and said["why"] == "mode compiled: numpy has one", said
    with pytest.raises(EOFError):  # the harness has broken the protocol: the worker ends
        opened(worker, weights, tmp_path, mode="magic")
