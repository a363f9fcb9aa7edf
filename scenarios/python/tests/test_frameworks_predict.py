"""Every predictor whose framework is installed, over a real worker in its own environment, against the model by plain
numpy in `f64`."""

from __future__ import annotations

from math import erf

import numpy as np
import pytest

from weighbridge_worker.predictor import Generation, Task

from .conftest import HOME, Made
from .harness import Worker
from .test_adapters import PINNED, python

ENVIRONMENTS = {
    "predict_numpy": "numpy",
    "predict_torch": "torch",
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
    "predict_jax": "flax",
    "predict_tensorflow": "tf_data",
}
MODES = ["eager", "tracked", "compiled"]
BATCH, WIDTH, HEADS, LENGTH, BELOW = 2, 8, 2, 9, 11


def norm():
    return {"kind": "layer_norm", "epsilon": 1e-5}


def block(causal):
    network = [norm(), {"kind": "linear", "to": 4 * WIDTH}, {"kind": "gelu"}, {"kind": "linear", "to": WIDTH}]
    attention = [norm(), {"kind": "attention", "heads": HEADS, "causal": causal}]
    return [{"kind": "residual", "body": attention}, {"kind": "residual", "body": network}]


TEXT = [{"kind": "embed", "vocabulary": BELOW, "width": WIDTH}, {"kind": "positions"}]
DECODER = {
    "input": {"kind": "ids", "length": LENGTH, "below": BELOW},
    "layers": [*TEXT, *block(True), norm(), {"kind": "linear", "to": BELOW}],
}
ENCODER = {
    "input": {"kind": "ids", "length": LENGTH, "below": BELOW},
    "layers": [*TEXT, *block(False), {"kind": "first_token"}, {"kind": "linear", "to": 3}],
}
CONV = {"kind": "conv", "to": 4, "kernel": 3, "stride": 2}
PICTURE = {
    "input": {"kind": "grid", "rows": 9, "columns": 7, "channels": 3},
    "layers": [
        CONV,
        {"kind": "batch_norm", "epsilon": 1e-5},
        {"kind": "relu"},
        {"kind": "max_pool", "kernel": 3, "stride": 2},
        {
            "kind": "projected",
            "body": [{"kind": "conv", "to": 6, "kernel": 1, "stride": 1}],
            "around": [{"kind": "conv", "to": 6, "kernel": 3, "stride": 1}],
        },
        {"kind": "mean_pool"},
        {"kind": "linear", "to": 3},
    ],
}


def shapes(layers, last, length, above=""):
    """The tensors of layers by name, and the numbers of a row that leave them."""
    named = {}
    for number, layer in enumerate(layers):
        at = f"{above}{number}"
        match layer["kind"]:
            case "linear":
                named |= {f"{at}.weight": (last, layer["to"]), f"{at}.bias": (layer["to"],)}
                last = layer["to"]
            case "embed":
                named[f"{at}.table"] = (layer["vocabulary"], layer["width"])
                last = layer["width"]
            case "positions":
                named[f"{at}.positions"] = (length, last)
            case "layer_norm":
                named |= {f"{at}.scale": (last,), f"{at}.shift": (last,)}
            case "batch_norm":
                named |= {f"{at}.{name}": (last,) for name in ("scale", "shift", "mean", "variance")}
            case "attention":
                named |= {f"{at}.qkv.weight": (last, 3 * last), f"{at}.qkv.bias": (3 * last,)}
                named |= {f"{at}.out.weight": (last, last), f"{at}.out.bias": (last,)}
            case "conv":
                named[f"{at}.weight"] = (layer["kernel"], layer["kernel"], last, layer["to"])
                last = layer["to"]
            case "residual":
                named |= shapes(layer["body"], last, length, f"{at}.")[0]
            case "projected":
                longer, to = shapes(layer["body"], last, length, f"{at}.0.")
                named |= longer | shapes(layer["around"], last, length, f"{at}.1.")[0]
                last = to
    return named, last


def by_numpy(weights, layers, x, above=""):
    """What leaves layers, in `f64`: written out again, place by place."""
    for number, layer in enumerate(layers):
        at = f"{above}{number}"
        w = {name.removeprefix(f"{at}."): array for name, array in weights.items() if name.startswith(f"{at}.")}
        match layer["kind"]:
            case "linear":
                x = x @ w["weight"] + w["bias"]
            case "embed":
                x = w["table"][x]
            case "positions":
                x = x + w["positions"][: x.shape[1]]
            case "layer_norm":
                x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w["scale"] + w["shift"]
            case "batch_norm":
                x = (x - w["mean"]) / np.sqrt(w["variance"] + 1e-5) * w["scale"] + w["shift"]
            case "gelu":
                x = x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))
            case "relu":
                x = np.maximum(x, 0)
            case "first_token":
                x = x[:, 0]
            case "mean_pool":
                x = x.mean((1, 2))
            case "residual":
                x = x + by_numpy(weights, layer["body"], x, f"{at}.")
            case "projected":
                x = by_numpy(weights, layer["body"], x, f"{at}.0.") + by_numpy(weights, layer["around"], x, f"{at}.1.")
            case "conv" | "max_pool":
                x = windows(x, layer, w.get("weight"))
            case "attention":
                qkv = (x @ w["qkv.weight"] + w["qkv.bias"]).reshape(*x.shape[:2], 3, HEADS, -1)
                seen = np.zeros((*x.shape[:2], HEADS, WIDTH // HEADS))
                for sample, place, head in np.ndindex(*seen.shape[:3]):
                    end = place + 1 if layer["causal"] else x.shape[1]
                    scores = qkv[sample, :end, 1, head] @ qkv[sample, place, 0, head] / np.sqrt(WIDTH // HEADS)
                    shares = np.exp(scores) / np.exp(scores).sum()
                    seen[sample, place, head] = shares @ qkv[sample, :end, 2, head]
                x = seen.reshape(x.shape) @ w["out.weight"] + w["out.bias"]
    return x


def windows(x, layer, weight):
    kernel, stride, around = layer["kernel"], layer["stride"], (layer["kernel"] - 1) // 2
    outside = 0.0 if weight is not None else -np.inf
    padded = np.pad(x, ((0, 0), (around, around), (around, around), (0, 0)), constant_values=outside)
    rows, columns = ((side - 1) // stride + 1 for side in x.shape[1:3])
    made = []
    for row, column in np.ndindex(rows, columns):
        square = padded[:, row * stride : row * stride + kernel, column * stride : column * stride + kernel]
        made.append(square.max((1, 2)) if weight is None else np.tensordot(square, weight, 3))
    return np.stack(made, 1).reshape(len(x), rows, columns, -1)


@pytest.fixture
def started():
    workers = []

    def start(predictor):
        environment = ENVIRONMENTS[predictor]
        workers.append(Worker(f"predictors.{predictor}", python(environment), **PINNED))
        name, said = workers[-1].hear()
        assert name == "hello", said
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()


def opened(worker, place, model, mode, generation=None, precision="f32"):
    """Opens a model with drawn weights: what was said, the weights, and the task."""
    last = {"grid": 3, "ids": 0}[model["input"]["kind"]]
    random = np.random.default_rng(3)
    named, _ = shapes(model["layers"], last, LENGTH)
    fields = {name: random.normal(size=(1, *shape)) / 2 for name, shape in named.items()}
    fields = {name: np.abs(array) if name.endswith("variance") else array for name, array in fields.items()}
    (place / "weights").mkdir()
    made = Made(place / "weights", {name: array.astype(np.float32) for name, array in fields.items()})
    said = {
        "model": model,
        "decodes": model is DECODER,
        "precision": precision,
        "mode": mode,
        "batch": BATCH,
        "calls": 3,
        "generation": generation,
        "work": ["a model"],
    }
    answer = worker.ask(
        "open", contract="predictor", **worker.places(place), device="cpu", weights=made.said, prediction=said
    )
    kept = Generation(**generation) if generation else None
    task = Task(**{**said, "generation": kept, "work": ()}, weights={})
    return answer, {name: array[0].astype(np.float64) for name, array in made.fields.items()}, task


def logits(weights, model, x):
    if model is not DECODER:
        return by_numpy(weights, model["layers"], x)
    return by_numpy(weights, model["layers"], x)[:, -1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model", [DECODER, ENCODER, PICTURE], ids=["decoder", "encoder", "picture"])
@pytest.mark.parametrize("predictor", ENVIRONMENTS)
def test_logits_are_those_of_the_formulae_or_the_mode_is_declined(started, tmp_path, predictor, model, mode):
    worker = started(predictor)
    (name, said), weights, task = opened(worker, tmp_path, model, mode)
    if name == "declined":
        assert said["why"].startswith(f"mode {mode}: "), said
        return
    assert name == "opened", said
    assert said["settings"] == {"precision": "f32", "parameters": str(sum(w.size for w in weights.values()))}
    for call, batch in enumerate(worker.verify(6)):
        due = logits(weights, model, task.drawn(6, call))
        assert np.abs(batch["logits"] - due).max() < 1e-4 * np.abs(due).max(), call


@pytest.mark.parametrize("cached", [True, False], ids=["on", "off"])
@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("predictor", ENVIRONMENTS)
def test_each_id_that_is_generated_has_the_greatest_logit_after_all_before_it(
    started, tmp_path, predictor, mode, cached
):
    worker = started(predictor)
    generation = {"prompt": 4, "tokens": 4, "cached": cached}
    (name, said), weights, task = opened(worker, tmp_path, DECODER, mode, generation)
    if name == "declined":
        assert said["why"].startswith(f"mode {mode}"), said
        return
    assert name == "opened", said
    for call, batch in enumerate(worker.verify(6)):
        made = batch["token"].reshape(BATCH, 4)
        ids = np.concatenate([task.drawn(6, call), made], 1)
        for place in range(4, 8):
            due = logits(weights, DECODER, ids[:, :place])
            short = due.max(1) - due[np.arange(BATCH), ids[:, place]]
            assert (short < 1e-4 * np.abs(due).max()).all(), (call, place)


def test_products_are_of_bf16_where_that_is_asked_for_or_declined(started, tmp_path):
    worker = started("predict_torch")
    (name, said), weights, task = opened(worker, tmp_path, ENCODER, "eager", precision="bf16")
    assert name == "opened" and said["settings"]["precision"] == "bf16", said
    (first, *_) = worker.verify(6)
    due = logits(weights, ENCODER, task.drawn(6, 0))
    apart = np.abs(first["logits"] - due).max() / np.abs(due).max()
    assert 1e-5 < apart < 5e-2, "rounded to 8 bits, and no more"


def test_every_file_of_a_predictor_is_tried():
    files = (HOME / "weighbridge_worker" / "predictors").glob("[!_]*.py")
    assert {file.stem for file in files} - {"walk"} == set(ENVIRONMENTS)
