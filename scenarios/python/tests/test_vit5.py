"""The parts of ViT-5 in every trainer that is installed, over a real worker in its own environment, against the same
model written out again in `f64`; and the ways that its components are written in."""

from __future__ import annotations

import json

import numpy as np
import pytest

from weighbridge_worker.adapter import Declined
from weighbridge_worker.components import Components, angles
from weighbridge_worker.protocol import Broken

from .conftest import HOME, Made
from .harness import Worker
from .test_adapters import PINNED, python
from .test_trainers import asked, opened

ENVIRONMENTS = {"pytorch": "torch", "flax": "flax", "tensorflow": "keras"}
BATCH, STEPS, SIDE, HEADS, REGISTERS = 3, 4, 6, 2, 4
MODELS = {model["name"]: model for model in json.loads((HOME / "tests" / "models.json").read_text())}
MODEL = MODELS["vit5_for_tests"]
ADAMW = {"kind": "adamw", "rate": 0.02, "beta1": 0.8, "beta2": 0.95, "epsilon": 0.003, "decay": 0.4}


class Images:
    """Samples and weights of a small ViT-5 in files, and what is asked of a training over them."""

    def __init__(self, place):
        random = np.random.default_rng(7)
        for folder in ("data", "weights"):
            (place / folder).mkdir()
        count, side = BATCH * STEPS, MODEL["model"]["input"]["rows"]
        images = random.normal(size=(count, side, side, 3)).astype(np.float32)
        self.data = Made(place / "data", {"input": images, "label": random.integers(0, 3, count, dtype=np.int32)})
        start = {}
        for one in MODEL["parameters"]:
            # Scales far from 1: a scale that is left out, or taken twice, is seen.
            array = random.normal(size=one["shape"]) * 0.4 + (1.0 if one["name"].endswith("scale") else 0.0)
            start[one["name"]] = array.astype(np.float32)[None]
        self.weights = Made(place / "weights", start)
        self.start = {name: array[0].astype(np.float64) for name, array in start.items()}
        self.training = {
            "model": MODEL["model"],
            "optimiser": ADAMW,
            "schedule": {"kind": "constant"},
            "precision": "f32",
            "mode": "eager",
            "batch": BATCH,
            "steps": STEPS,
            "work": ["a small ViT-5"],
        }


@pytest.fixture
def images(tmp_path):
    return Images(tmp_path)


@pytest.fixture
def started():
    workers = []

    def start(trainer):
        workers.append(Worker(f"trainers.{trainer}", python(ENVIRONMENTS[trainer]), **PINNED))
        name, said = workers[-1].hear()
        assert name == "hello", said
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()


def normed(x, scale, epsilon=1e-6):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * scale


def turned(x):
    """Neighbours as one complex number each, turned by row and column: patches from place 1 on, then registers."""
    pairs = x[..., 0::2] + 1j * x[..., 1::2]
    patches, half = (x.shape[1] - 1 - REGISTERS), x.shape[-1] // 4
    for place in range(x.shape[1]):
        for first, count, base in ((1, patches, 10_000), (1 + patches, REGISTERS, 100)):
            if first <= place < first + count:
                row, column = divmod(place - first, round(count**0.5))
                for pair in range(half):
                    slower = base ** (2 * pair / (x.shape[-1] / 2))
                    pairs[:, place, :, pair] *= np.exp(1j * row / slower)
                    pairs[:, place, :, half + pair] *= np.exp(1j * column / slower)
    found = np.empty_like(x)
    found[..., 0::2], found[..., 1::2] = pairs.real, pairs.imag
    return found


def gelu(x):
    from math import erf

    return x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def loss_of(weights, images, labels):
    """The mean loss, and the logits."""
    (patch,) = {layer["size"] for layer in MODEL["model"]["layers"] if layer["kind"] == "patches"}
    batch, side, _, channels = images.shape
    along = side // patch
    squares = images.reshape(batch, along, patch, along, patch, channels).transpose(0, 1, 3, 2, 4, 5)
    x = squares.reshape(batch, along**2, -1) @ weights["0.weight"] + weights["0.bias"] + weights["1.positions"]
    front, behind = (np.broadcast_to(weights[name], (batch, *weights[name].shape)) for name in ("2.tokens", "3.tokens"))
    x = np.concatenate([front, x, behind], 1)
    at = 4
    while f"{at}.1.qkv.weight" in weights:
        own = {name.removeprefix(f"{at}."): array for name, array in weights.items() if name.startswith(f"{at}.")}
        qkv = (normed(x, own["0.scale"]) @ own["1.qkv.weight"]).reshape(*x.shape[:2], 3, HEADS, -1)
        queries = turned(normed(qkv[:, :, 0], own["1.queries.scale"]))
        keys = turned(normed(qkv[:, :, 1], own["1.keys.scale"]))
        scores = np.exp(np.einsum("bqhs,bkhs->bhqk", queries, keys) / np.sqrt(qkv.shape[-1]))
        seen = np.einsum("bhqk,bkhs->bqhs", scores / scores.sum(-1, keepdims=True), qkv[:, :, 2])
        out = seen.reshape(x.shape) @ own["1.out.weight"] + own["1.out.bias"]
        x = x + out * own["2.scale"]
        own = {
            name.removeprefix(f"{at + 1}."): array for name, array in weights.items() if name.startswith(f"{at + 1}.")
        }
        inner = gelu(normed(x, own["0.scale"]) @ own["1.weight"] + own["1.bias"])
        x = x + (inner @ own["3.weight"] + own["3.bias"]) * own["4.scale"]
        at += 2
    logits = normed(x, weights[f"{at}.scale"])[:, 0] @ weights[f"{at + 2}.weight"] + weights[f"{at + 2}.bias"]
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return -np.log(shares[np.arange(batch), labels]).mean(), logits


def slopes(weights, images, labels, count=3):
    """Directions through all weights, and the slope of the loss along each by central differences."""
    random = np.random.default_rng(11)
    for _ in range(count):
        way = {name: random.normal(size=array.shape) for name, array in weights.items()}
        ends = [
            loss_of({name: array + step * way[name] for name, array in weights.items()}, images, labels)[0]
            for step in (1e-5, -1e-5)
        ]
        yield way, (ends[0] - ends[1]) / 2e-5


STATES = [None, {"state": "original"}, {"state": "optimised"}]
SWAPPED = [{"state": "original", "swapped": one} for one in ("rope", "attention", "norm", "casts", "optimiser")]


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("trainer", ENVIRONMENTS)
def test_every_state_computes_the_published_model_and_its_gradients(started, images, tmp_path, trainer, mode):
    worker = started(trainer)
    fields = images.data.fields
    first, labels = fields["input"][:BATCH].astype(np.float64), fields["label"][:BATCH]
    loss, logits = loss_of(images.start, first, labels)
    directions = list(slopes(images.start, first, labels))
    left = []
    for components in STATES + (SWAPPED if mode == "eager" else []):
        said = {"components": components} if components else {}
        name, told = opened(worker, images, tmp_path, mode=mode, **said)
        if name == "declined":
            assert trainer == "tensorflow" and components != {"state": "original"}, told
            continue
        assert name == "opened", told
        found = asked(worker, "first")
        assert abs(found["loss"] - loss) < 1e-5 and np.abs(found["logits"] - logits).max() < 1e-4, components
        for way, slope in directions:
            along = sum((found[f"gradient of {name}"] * part).sum() for name, part in way.items())
            assert abs(along - slope) < 1e-4 * max(1.0, abs(slope)), (components, along, slope)
        asked(worker, "train", anew=True, steps=STEPS)
        left.append(asked(worker, "left"))
        assert worker.ask("close")[0] == "closed"
    assert len(left) >= 2
    for other in left[1:]:
        assert max(np.abs(other[name] - array).max() for name, array in left[0].items()) < 1e-4


def test_a_cache_of_turns_makes_pytorch_compile_again_and_buffers_do_not(started, images, tmp_path):
    worker = started("pytorch")
    counted = {}
    for rope in ("cached", "buffers"):
        components = {"state": "optimised", "rope": rope}
        assert opened(worker, images, tmp_path, mode="compiled", components=components)[0] == "opened"
        asked(worker, "train", anew=True, steps=STEPS)
        name, said = worker.ask("call", name="compiling")
        assert name == "answer" and said["times"].keys() == {"graph_breaks", "recompilations"}, said
        counted[rope] = sum(sum(counts) for counts in said["times"].values())
        assert worker.ask("close")[0] == "closed"
    assert counted["buffers"] == 0 < counted["cached"], counted


@pytest.mark.parametrize("way", ["plain", "foreach", "fused"])
def test_pytorch_takes_the_way_of_the_optimiser_and_the_kernel_that_is_asked_for(started, images, tmp_path, way):
    worker = started("pytorch")
    attention = {"plain": "by_hand", "foreach": "math", "fused": "flash"}[way]
    asked_for = {"state": "original", "optimiser": way, "attention": attention}
    name, said = opened(worker, images, tmp_path, components=asked_for)
    assert name == "opened" and said["executed"]["environment"]["optimiser"] == way, said
    name, said = worker.ask("call", name="operators", steps=2)
    assert name == "answer", said
    calls = said["times"]
    # The whole of a step in one kernel, or one operation over a list of tensors, or one tensor at a time.
    seen = {
        "fused": any("fused_adamw" in call for call in calls),
        "foreach": any("_foreach_addcdiv" in call for call in calls),
    }
    assert seen == {"fused": way == "fused", "foreach": way == "foreach"}, sorted(calls)
    assert any("flash_attention" in call for call in calls) == (attention == "flash"), sorted(calls)
    assert any("scaled_dot_product_attention" in call for call in calls) == (attention != "by_hand"), sorted(calls)


@pytest.mark.parametrize(
    ("trainer", "components", "named"),
    [
        ("flax", {"state": "original", "attention": "flash"}, "attention flash"),
        ("flax", {"state": "original", "layout": "channels_first"}, "layout channels_first"),
        ("tensorflow", {"state": "optimised"}, "state optimised"),
    ],
)
def test_a_way_that_a_framework_lacks_is_declined_by_name(started, images, tmp_path, trainer, components, named):
    name, said = opened(started(trainer), images, tmp_path, components=components)
    assert name == "declined" and said["why"].startswith(named), said


def test_single_ways_go_over_those_of_a_state_and_a_component_is_swapped_for_that_of_the_other():
    states = {
        "original": {"norm": "parts", "casts": "kept", "rope": "cached"},
        "optimised": {"norm": "fused", "casts": "kept", "rope": "buffers"},
    }
    assert Components.from_dict({"state": "original"}).ways(states) == states["original"]
    one = Components.from_dict({"state": "original", "norm": "fused"})
    assert one.ways(states) == {**states["original"], "norm": "fused"}
    swapped = Components.from_dict({"state": "optimised", "swapped": "rope"})
    assert swapped.ways(states) == {**states["optimised"], "rope": "cached"}
    with pytest.raises(Declined, match="swapped casts: it is the same in both states"):
        Components.from_dict({"state": "original", "swapped": "casts"}).ways(states)
    for odd in ({"state": "faster"}, {"state": "original", "norm": "magic"}, {"state": "original", "swapped": "all"}):
        with pytest.raises(Broken):
            Components.from_dict(odd)


def test_places_on_no_grid_are_not_turned():
    table = angles([{"first": 1, "rows": 1, "columns": 2, "base": 100.0}], 4, 8)
    assert np.array_equal(table[[0, 3]], np.zeros((2, 4)))
    assert np.allclose(table[2], [0, 0, 1, 0.1])
