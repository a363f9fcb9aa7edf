"""Every adapter whose framework is installed, over a real worker in that framework's own environment.

Environments lie where the harness looks for them; an adapter without one is skipped. Each cell is verified or declined
by name: a batch that differs in a bit, or a failure, fails the test.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from weighbridge_worker.adapter import Place
from weighbridge_worker.adapters import numpy as reference

from .conftest import Made
from .harness import Worker

FILES = Path(reference.__file__).parent
NAMES = sorted(path.stem for path in FILES.glob("*.py") if path.stem != "__init__")
ENVIRONMENTS = {"datarax_scan": "datarax", "grain_records": "grain"}
WITHOUT_WORKERS = {"daft", "datarax", "datarax_scan", "deeplake", "jax_dataloader", "lance", "numpy"}
"""Adapters of frameworks that have no workers, or not without another framework: all others must not decline them."""
INEXACT: dict[str, float] = {}
"""Adapters whose numbers may differ by so many units in the last place, where the framework's compiler fuses."""


def peers() -> Path:
    if "WEIGHBRIDGE_PEERS" in os.environ:
        return Path(os.environ["WEIGHBRIDGE_PEERS"])
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(home) / "weighbridge/peers"


def python(name: str) -> str:
    """The interpreter that has the adapter's framework."""
    there = peers() / ENVIRONMENTS.get(name, name) / "venv/bin/python"
    if there.exists():
        return str(there)
    if name == "numpy":
        return sys.executable
    pytest.skip(f"{name} is not installed: cargo catalogue peers install {name}")


PINNED = {
    "CUDA_VISIBLE_DEVICES": "",
    "DAFT_PROGRESS_BAR": "0",
    "DO_NOT_TRACK": "true",
    "HF_HUB_OFFLINE": "1",
    "JAX_PLATFORMS": "cpu",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TQDM_DISABLE": "1",
}

BRANCHES = [["RandomBrightness", "Clip"], ["GaussianNoise"], ["Scale"]]
ALL_KINDS = ("CreateAttentionMask", "CausalMaskGeneration", "HashEmbeddingIndex", "Normalize", "CastToFloat32")
VIEWS = ("RandomResizedCrop", "RandomFlip", "ColorJitter", "RandomGrayscale", "GaussianBlur", "RandomSolarize")
SOME = [
    {"position": 1, "decided_at": 1, "from": 0.0, "below": 0.5},
    {"position": 2, "decided_at": 1, "from": 0.5, "below": 1.0},
]
CELLS = {
    "plain": ("images", (), {}),
    "normalised": ("images", ("Normalize", "CastToFloat32"), {}),
    "as its users start": ("images", ("Normalize", "CastToFloat32"), {"setting": "default"}),
    "as its users start, of numbers": ("table", ("Normalize",), {"setting": "default"}),
    "as its users start, of tokens": ("tokens", (), {"setting": "default"}),
    "as its users start, by two": ("images", ("Normalize", "CastToFloat32"), {"setting": "default", "workers": 2}),
    "two workers": ("images", ("Normalize", "CastToFloat32"), {"workers": 2}),
    "pointwise": ("images", ("Normalize", "Scale", "Clip", "Add", "Multiply", "LogTransform", "CheapTransform"), {}),
    "expensive": ("images", ("Normalize", "ExpensiveTransform"), {}),
    "numbers drawn": ("images", ("Normalize", "RandomScale", "RandomBrightness", "GaussianNoise"), {}),
    "views drawn": ("images", (*VIEWS, "Normalize"), {}),
    "views drawn by two": ("images", (*VIEWS, "Normalize"), {"workers": 2}),
    "pixels moved": ("images", ("RandomCrop", "AffineRotation", "MultiScaleResize", "Normalize"), {}),
    "all fields": ("mixed", ALL_KINDS, {}),
    "all fields by two": ("mixed", ALL_KINDS, {"workers": 2}),
    "image and mask": ("mixed", ("RandomFlip", "RandomCrop", "RandomResizedCrop"), {}),
    "padded": ("mixed", ("HashEmbeddingIndex", "DynamicPad", "CreateAttentionMask"), {}),
    "a shard": ("images", ("RandomFlip", "Normalize"), {"first": 5, "end": 18}),
    "streamed": ("images", ("Normalize",), {"access": "file-streaming"}),
    "eager": ("images", ("Normalize",), {"access": "file-eager"}),
    "mixup": ("images", ("Normalize",), {"mixing": {"kind": "mixup", "alpha": 0.4}}),
    "cutmix": ("images", ("Normalize",), {"mixing": {"kind": "cutmix", "alpha": 0.4}}),
    "gates": ("images", ("Normalize", "Scale", "RandomBrightness"), {"gates": SOME}),
    "branches": ("images", ("Normalize",), {"branches": BRANCHES}),
    "views": ("images", ("Normalize",), {"branches": BRANCHES, "merge": "views"}),
    "mixture": ("images", ("Normalize", "RandomFlip"), {"mixture": [3.0, 1.0]}),
    "cache": ("images", ("Normalize", "RandomFlip"), {"cache": True}),
    "regrouped": ("images", ("Normalize", "RandomFlip"), {"rebatch": 7}),
}


BEST_AS_THEY_START = {"numpy", "datarax", "datarax_scan", "deeplake", "lance"}
"""Adapters that are measured by the first example of their documentation."""

THREADS = {"numpy", "spdl"}
"""Adapters whose workers are threads where the interpreter has no global lock."""


def asks(spec):
    """What is asked for beyond a list of transforms, as the harness says it."""
    said = []
    if spec["mixture"]:
        said.append("mixture " + ":".join(f"{weight:g}" for weight in spec["mixture"]))
    if spec["gates"]:
        said.append("steps that only some elements go through")
    if spec["branches"]:
        what = "merged by their mean" if spec["merge"] == "mean" else "delivered as views"
        said.append(f"{len(spec['branches'])} branches {what}")
    if spec["mixing"]:
        said.append(f"{spec['mixing']['kind']} (alpha {spec['mixing']['alpha']})")
    if spec["cache"]:
        said.append("cache")
    if spec["rebatch"]:
        said.append(f"rebatch to {spec['rebatch']}")
    return said


@pytest.fixture(scope="module", params=NAMES)
def named(request):
    """The adapter's name, and a function that gives its worker: one for all cells, and a fresh one after a failure."""
    name = request.param
    interpreter, alive = python(name), []

    def worker() -> Worker:
        if not alive:
            started = Worker(name, interpreter, **PINNED)
            said, message = started.hear()
            assert said == "hello", message["detail"]
            alive.append(started)
        return alive[0]

    yield name, worker, alive
    for one in alive:
        one.close()


def elements(batches):
    """Every element as bytes, field by field: order is not looked at."""
    rows = []
    for batch in batches:
        for place in range(len(next(iter(batch.values())))):
            rows.append(tuple((name, x.dtype.str, x[place].shape, x[place].tobytes()) for name, x in batch.items()))
    return rows


@pytest.mark.parametrize("cell", CELLS)
def test_each_cell_is_verified_or_declined(named, cell, request, tmp_path):
    name, worker, alive = named
    data, names, other = CELLS[cell]
    made = request.getfixturevalue(data)
    spec = made.spec(*names, **other)
    spec["asks"] = asks(spec)
    worker = worker()
    said, opened = worker.open(made, tmp_path, spec)
    try:
        if said == "declined":
            assert cell not in ("plain", "normalised"), opened["why"]
            assert cell != "two workers" or name in WITHOUT_WORKERS, opened["why"]
            assert cell != "as its users start" or name in BEST_AS_THEY_START, opened["why"]
            assert opened["why"], "with the reason"
            pytest.skip(f"declined: {opened['why']}")
        assert said == "opened", opened["detail"]
        order_kept = opened["order"] == "kept"
        plain = {**spec, "workers": 0}
        expected = reference.open(
            made.pipeline(*names, **{**other, "workers": 0}), made.data, Place(tmp_path, tmp_path)
        )
        assert opened["executed"]["transforms"] == plain["work"]
        for epoch in (0, 1, 0):
            wanted = [dict(batch) for batch in expected.begin(epoch)]
            got = worker.verify(epoch)
            a, b = elements(got), elements(wanted)
            assert len(a) == len(b)
            if name in INEXACT:
                for x, y in zip(got, wanted, strict=True):
                    for field in x:
                        np.testing.assert_array_max_ulp(x[field], y[field], INEXACT[name])
            elif order_kept and not spec["mixing"]:
                assert a == b, f"epoch {epoch}"
                assert [len(x[next(iter(x))]) for x in got] == [len(x[next(iter(x))]) for x in wanted]
            else:
                assert sorted(a) == sorted(b), f"epoch {epoch}"
        said, ran = worker.ask("run", warmup=1, batches=7, min_time=2_000_000)
        assert said == "ran", ran["detail"]
        each = 1 if opened["whole_pass"] else 7
        assert len(ran["samples"]) == each * ran["passes"] and ran["wall"] == sum(ran["samples"])
        wanted = set(elements(expected.begin(0)))
        assert {held["pass"] for held in ran["checked"]} == set(range(ran["passes"]))
        if name not in INEXACT:
            assert all(row in wanted for held in ran["checked"] for row in elements([worker.read(held)]))
        # What an epoch that was left in its midst had under way does not come up in the next one.
        if not spec["cache"]:
            assert sorted(elements(worker.verify(1))) == sorted(elements(expected.begin(1)))
        if opened["can_save"] and not other.get("cache"):
            check_resuming(worker, expected)
    except pytest.skip.Exception:
        raise
    except BaseException:
        if worker in alive:
            alive.remove(worker)
            print(worker.close()[1][-3000:], file=sys.stderr)
        raise
    finally:
        if worker in alive:
            assert worker.ask("close")[0] == "closed"


def check_resuming(worker, expected):
    """A place is gone on from where it was saved."""
    assert worker.ask("begin", epoch=1) == ("begun", {})
    for _ in range(2):
        assert worker.ask("advance")[0] == "batch"
    said, saved = worker.ask("save")
    if said == "declined":
        return
    assert said == "saved", saved
    rest = []
    while (heard := worker.ask("advance"))[0] == "batch":
        rest.append(worker.read(heard[1]))
    assert worker.ask("restore", state=saved["state"]) == ("restored", {})
    again = []
    while (heard := worker.ask("advance"))[0] == "batch":
        again.append(worker.read(heard[1]))
    assert elements(again) == elements(rest) and rest
    whole = elements(expected.begin(1))
    assert elements(rest) == whole[len(whole) - len(elements(rest)) :]


OWN = {
    "long chain": (*VIEWS, "Normalize", "CastToFloat32"),
    "resized": ("MultiScaleResize", "Normalize"),
    "noise": ("Normalize", "GaussianNoise", "RandomBrightness", "RandomScale"),
}


SEEDED = {"datarax", "grain", "numpy", "spdl", "tf_data", "torch"}
"""Adapters whose own draws follow from the seed and the epoch, whatever was gone through before."""


@pytest.mark.parametrize("cell", OWN)
def test_by_operators_of_its_own_a_framework_delivers_as_many_elements_or_declines(named, cell, images, tmp_path):
    """Whether they are alike is for the harness to say, which has as many as it takes."""
    name, worker, _ = named
    spec = images.spec(*OWN[cell], operators="own")
    worker = worker()
    said, opened = worker.open(images, tmp_path, spec)
    if said == "declined":
        assert "operators own" in opened["why"]
        pytest.skip(f"declined: {opened['why']}")
    assert said == "opened", opened["detail"]
    try:
        assert opened["executed"]["operators"] == ["shared numpy" if name == "numpy" else "native"] * len(OWN[cell])
        first, other = ([batch["image"] for batch in worker.verify(epoch)] for epoch in (0, 1))
        assert [x.shape for x in first] == [(4, 8, 8, 3)] * 5 + [(3, 8, 8, 3)]
        assert all(x.dtype == np.float32 and np.isfinite(x).all() for x in first)
        drawn = cell != "resized"
        assert drawn == any(not np.array_equal(a, b) for a, b in zip(first, other, strict=True)), (
            "an epoch has its draws"
        )
        if name in SEEDED:
            again = [batch["image"] for batch in worker.verify(0)]
            assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True)), "and has them again"
    finally:
        assert worker.ask("close")[0] == "closed"


@pytest.mark.parametrize("cell", ["two workers", "views drawn by two", "cache", "regrouped"])
def test_by_an_interpreter_without_a_lock_two_threads_make_what_one_makes(named, cell, images, tmp_path):
    """Which they are by any interpreter: whether it has a lock is for the harness to ask."""
    name, worker, _ = named
    if name not in THREADS:
        pytest.skip("its workers are those that it always has")
    _, names, other = CELLS[cell]
    spec = images.spec(*names, **{**other, "workers": 2}, python="free_threaded")
    worker = worker()
    said, opened = worker.open(images, tmp_path, spec)
    if said == "declined" and cell in ("cache", "regrouped"):
        pytest.skip(f"declined: {opened['why']}")
    assert said == "opened", opened
    try:
        assert opened["executed"]["workers"] == 2 and opened["order"] == "kept"
        pipeline = images.pipeline(*names, **{**other, "workers": 0})
        expected = reference.open(pipeline, images.data, Place(tmp_path, tmp_path))
        for epoch in (0, 1):
            assert elements(worker.verify(epoch)) == elements(expected.begin(epoch))
        assert worker.ask("begin", epoch=0) == ("begun", {}) and worker.ask("advance")[0] == "batch"
        assert elements(worker.verify(1)) == elements(expected.begin(1)), "what was under way does not come up"
    finally:
        assert worker.ask("close")[0] == "closed"


def photograph(level: int) -> bytes:
    """A JPEG file of the suite's size, grey and all of one level: whatever window is cut from it is that level."""
    rows, columns = 375, 500
    # One table of steps of 8; lengths of differences from 0 to 7 under codes of 4 bits; "nothing follows" under `0`.
    head = "ffd8" + "ffdb0043" + "00" + "08" * 64 + f"ffc0000b08{rows:04x}{columns:04x}01011100"
    head += (
        "ffc4001b" + "00" + "00000008" + "00" * 12 + "0001020304050607" + "ffc40014" + "10" + "01" + "00" * 15 + "00"
    )
    head += "ffda0008" + "01" + "0100" + "003f00"
    difference, blocks = level - 128, -(-rows // 8) * -(-columns // 8)
    length = abs(difference).bit_length()
    sign = difference if difference > 0 else difference + (1 << length) - 1
    bits = f"{length:04b}" + (f"{sign:0{length}b}" if length else "") + "0" + "00000" * (blocks - 1)
    bits += "1" * (-len(bits) % 8)
    body = int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\x00")
    return bytes.fromhex(head) + body + b"\xff\xd9"


LEVELS = [65, 100, 128, 190, 70, 140, 180, 90, 120, 160]


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    files = [photograph(level) for level in LEVELS]
    rows = np.zeros((len(files), max(map(len, files))), np.uint8)
    for row, content in zip(rows, files, strict=True):
        row[: len(content)] = np.frombuffer(content, np.uint8)
    return Made(tmp_path_factory.mktemp("photographs"), {"image": rows})


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("access", ["files", "tar", "records", "memory"])
def test_of_encoded_images_a_framework_delivers_each_once_or_declines(named, access, workers, photographs, tmp_path):
    _, worker, _ = named
    steps = ("DecodeResizedCrop", "RandomFlip", "Normalize", "CastToFloat32")
    worker = worker()
    spec = photographs.spec(*steps, operators="own", access=access, workers=workers)
    said, opened = worker.open(photographs, tmp_path, spec)
    if said == "declined":
        pytest.skip(f"declined: {opened['why']}")
    assert said == "opened", opened["detail"]
    try:
        assert opened["executed"]["operators"] == ["native"] * len(steps)
        for epoch in (0, 1):
            images = np.concatenate([batch["image"] for batch in worker.verify(epoch)])
            assert images.shape == (len(LEVELS), 224, 224, 3) and images.dtype == np.float32
            levels = images.mean((1, 2, 3)) * 255
            if opened["order"] == "lost":
                levels.sort()
            expected = sorted(LEVELS) if opened["order"] == "lost" else LEVELS
            assert np.abs(levels - expected).max() < 1.5 and images.std((1, 2, 3)).max() < 0.01
    finally:
        assert worker.ask("close")[0] == "closed"


RAISES = """
from weighbridge_worker import adapter

ADAPTER = adapter.load({name!r})
parent, last = adapter.resolve(ADAPTER.entry_point)


def raises(*arguments, **named):
    raise RuntimeError("the entry point was called")


setattr(parent, last, raises)
"""


@pytest.mark.parametrize("name", NAMES)
def test_without_the_frameworks_own_entry_point_there_is_no_batch(name, images, tmp_path):
    path = tmp_path / "raises.py"
    path.write_text(RAISES.format(name=name))
    worker = Worker(str(path), python(name), **PINNED)
    said, message = worker.hear()
    assert said == "hello", message["detail"]
    said, message = worker.open(images, tmp_path, images.spec("Normalize"))
    if said == "opened":
        said, message = worker.ask("verify", epoch=0)
    worker.close()
    assert said == "failed" and "the entry point was called" in message["detail"], (said, message)
