"""A real worker process over a real channel."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from weighbridge_worker.adapter import Place, load
from weighbridge_worker.serve import Case
from weighbridge_worker.usage import Tree

from .harness import Worker

F = np.float32


@pytest.fixture
def worker():
    started = Worker("numpy")
    yield started
    started.close()


def hello(worker):
    name, said = worker.hear()
    assert name == "hello", said
    return said


def is_in(copy, batches):
    return any(np.array_equal(copy["image"], batch["image"]) for batch in batches)


def test_the_conversation(worker, images, tmp_path):
    said = hello(worker)
    assert said["protocol"] == 3 and said["framework"] == "NumPy" and said["version"] == np.__version__
    assert said["module"].endswith("numpy/__init__.py") and said["import"] > 0
    name, opened = worker.open(images, tmp_path, images.spec("Normalize"))
    assert name == "opened", opened
    environment = opened["executed"].pop("environment")
    assert environment["NumPy"] == np.__version__ and environment["threads of numerical libraries"] == "1", environment
    assert opened["executed"] == {
        "transforms": ["Normalize"],
        "operators": ["shared numpy"],
        "library": None,
        "ran_on": "cpu",
        "synchronised": "on return",
        "delivery": "owned",
        "workers": 0,
    }
    assert opened["costs"]["convert"] is None and opened["costs"]["set_up"] > 0 and opened["can_save"]
    batches = worker.verify()
    expected = images.fields["image"].astype(F) / F(255)
    assert np.array_equal(np.concatenate([batch["image"] for batch in batches]), expected)

    start = time.perf_counter_ns()
    name, ran = worker.ask("run", epoch=0, warmup=2, batches=7, min_time=20_000_000)
    passed = time.perf_counter_ns() - start
    assert name == "ran", ran
    assert len(ran["samples"]) == 7 * ran["passes"] and sum(ran["samples"]) == ran["wall"] >= 20_000_000
    assert ran["ran_out"] and ran["warmup"] == 2 * ran["passes"] and ran["first"] > 0
    assert len(ran["restarts"]) == 2 * ran["passes"], "an epoch has six batches"
    per_pass = [4, 4, 4, 3, 4, 4, 4]
    assert ran["elements"] == sum(per_pass) * ran["passes"] and ran["bytes"] == ran["elements"] * 8 * 8 * 3 * 4
    assert [held["pass"] for held in ran["checked"]] == [0, 0, 0, 0, *range(1, ran["passes"])]
    for held in ran["checked"]:
        assert held["of"] == held["elements"] in (3, 4) and is_in(worker.read(held), batches)
    assert ran["usage"]["cpu"] > 0 and ran["stopped"]["wall"] > 0
    assert ran["stopped"]["others"] < 5_000_000 and ran["processes"] == 1 and ran["threads"] == 1
    told = sum(ran["ledger"].values())
    assert passed - 50_000_000 < told < passed and ran["ledger"]["measured"] == ran["wall"]
    assert ran["cpu"]["all"] >= ran["usage"]["cpu"]

    name, timed = worker.ask("epoch", epoch=0, batches=6, limit=10_000_000_000, least=2)
    assert name == "timed" and (timed["elements"], timed["batches"], timed["ended"]) == (23, 6, True)
    assert timed["begin"] + timed["first"] + timed["copied"] < timed["wall"] and timed["usage"]["cpu"] > 0
    assert timed["bytes"] == 23 * 8 * 8 * 3 * 4 and [held["pass"] for held in timed["checked"]] == [None] * 4
    assert all(is_in(worker.read(held), batches) for held in timed["checked"])
    name, timed = worker.ask("epoch", epoch=1)
    assert name == "timed" and (timed["batches"], timed["checked"]) == (6, []), "what is left out is nothing"
    name, timed = worker.ask("epoch", epoch=1, batches=0, limit=None, least=0)
    assert name == "timed" and (timed["batches"], timed["checked"]) == (6, [])
    name, timed = worker.ask("epoch", epoch=1, batches=6, limit=0, least=2)
    assert (timed["batches"], timed["ended"]) == (2, False)

    assert worker.ask("begin", epoch=2) == ("begun", {})
    for _ in range(4):
        name, batch = worker.ask("advance")
    name, saved = worker.ask("save")
    assert name == "saved" and base64.b64decode(saved["state"])
    rest = [worker.ask("advance")[1]["elements"], worker.ask("advance")[1]["elements"]]
    assert rest == [4, 3] and worker.ask("advance") == ("end", {})
    assert worker.ask("restore", state=saved["state"]) == ("restored", {})
    name, batch = worker.ask("advance")
    assert np.array_equal(worker.read(batch)["image"], expected[16:20])

    name, closed = worker.ask("close")
    assert name == "closed" and closed["tear_down"] > 0
    assert worker.open(images, tmp_path, images.spec("Scale", "Normalize"))[0] == "opened", "the worker stays"


def test_a_rank_makes_batches_in_step_and_hands_them_over_when_it_is_asked(worker, images, tmp_path):
    hello(worker)
    spec = images.spec("Normalize", first=12, end=22)
    assert worker.open(images, tmp_path, spec, rank={"index": 1, "of": 2})[0] == "opened"
    expected = images.fields["image"].astype(F) / F(255)
    name, before = worker.ask("usage")
    assert name == "used" and before["cpu"] > 0
    for of in (1, 2):
        worker.ask("begin", epoch=0)
        for start, elements in ((12, 4), (16, 4), (20, 2)):
            said = worker.ask("step", band=[of - 1, of])
            assert said == ("stepped", {"elements": elements, "bytes": elements * 8 * 8 * 3 * 4 // of})
            name, batch = worker.ask("fetch")
            assert np.array_equal(worker.read(batch)["image"], expected[start : start + elements])
        assert worker.ask("step", band=[of - 1, of]) == ("end", {})
    assert worker.ask("usage")[1]["cpu"] > before["cpu"]


def test_the_band_that_a_rank_keeps_is_an_equal_run_of_every_element(images, tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "exchange").touch()
    said = {"pipeline": images.spec(), "data": images.said, "exchange": str(tmp_path / "exchange")}
    said |= {
        "scratch": str(tmp_path / "scratch"),
        "converted": str(tmp_path / "converted"),
        "rank": {"index": 0, "of": 4},
    }
    case = Case(load("numpy"), said)
    case.iterator = case.loader.begin(0)
    rows = images.fields["image"].reshape(23, 8, -1)
    for start in range(0, 23, 4):
        assert case.step(1, 2) == (len(rows[start : start + 4]), rows[start : start + 4].nbytes // 2)
        assert np.array_equal(case.band[0].reshape(-1, 4, 24), rows[start : start + 4, 4:])
    assert case.step(1, 2) is None
    case.close()


def test_a_rank_that_cannot_move_in_step_declines(images, tmp_path):
    path = tmp_path / "whole.py"
    path.write_text(
        "import dataclasses\nfrom weighbridge_worker.adapters import numpy\n"
        "def open(pipeline, data, place):\n    loader = numpy.ADAPTER.open(pipeline, data, place)\n"
        "    loader.whole_pass = True\n    return loader\n"
        "ADAPTER = dataclasses.replace(numpy.ADAPTER, open=open)\n"
    )
    worker = Worker(str(path))
    hello(worker)
    name, said = worker.open(images, tmp_path, images.spec(), rank={"index": 0, "of": 2})
    assert name == "declined" and "runs a whole pass in one call" in said["why"]
    assert worker.open(images, tmp_path, images.spec())[0] == "opened"
    worker.close()


def test_two_processes_that_convert_the_same_at_once_convert_it_once(tmp_path):
    made = []

    def convert(folder):
        made.append(folder)
        (folder / "data").write_text("whole")

    places = [Place(tmp_path, tmp_path / "converted", 2) for _ in range(4)]
    with ThreadPoolExecutor() as pool:
        folders = set(pool.map(lambda place: place.converting("0-8", convert), places))
    (folder,) = folders
    assert (folder / "data").read_text() == "whole" and len(made) == 1
    assert all(place.convert is not None for place in places)


def test_what_a_process_used_after_the_last_look_at_it_counts_when_it_has_ended():
    burn = "import time\nprint(flush=True)\ninput()\nwhile time.process_time() < 0.3: pass"
    tree = Tree()
    before = tree.look()
    child = subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    seen = tree.look()
    child.communicate(b"\n")
    for _ in range(2):
        used = tree.look() - before
        assert 290_000_000 < used.cpu < 600_000_000 and used.cpu > (seen - before).cpu
        tree._refreshed = 0  # what has ended is found out by looking for it, or by its being gone
    tree.close()


def test_what_cannot_be_done_is_declined_and_what_fails_says_so(worker, images, tmp_path):
    hello(worker)
    name, said = worker.open(images, tmp_path, images.spec(workers=2))
    assert name == "declined" and "2 workers" in said["why"]
    name, said = worker.open(images, tmp_path, {**images.spec("Normalize"), "output": []})
    assert name == "failed" and said["detail"].rstrip().endswith("scenarios/docs/transforms.md differs")
    assert worker.ask("close")[0] == "closed"
    assert worker.open(images, tmp_path, images.spec("Normalize"))[0] == "opened"


def test_what_is_printed_goes_to_standard_error(images, tmp_path):
    path = tmp_path / "loud.py"
    path.write_text(
        "import os\nprint('loud')\nos.system('echo louder; cat')\n"
        "from weighbridge_worker.adapters.numpy import ADAPTER\n"
    )
    worker = Worker(str(path))
    hello(worker)
    out, errors = worker.close()
    assert out == "" and "loud\n" in errors and "louder\n" in errors


def test_a_framework_that_is_not_there_is_told_of(tmp_path):
    path = tmp_path / "missing.py"
    path.write_text("import no_such_framework\n")
    worker = Worker(str(path))
    name, said = worker.hear()
    assert name == "failed" and "No module named 'no_such_framework'" in said["detail"]
    worker.close()


def test_it_says_that_it_lives_while_it_imports(tmp_path):
    path = tmp_path / "slow.py"
    path.write_text(
        "import threading, weighbridge_worker.beat\nfrom weighbridge_worker.adapters.numpy import ADAPTER\n"
        "threading.Event().wait(0.6)\n"
    )
    here = tmp_path / "sitecustomize.py"
    here.write_text("import weighbridge_worker.beat as beat\nbeat.SECONDS = 0.1\n")
    worker = Worker(str(path), PYTHONPATH=f"{os.environ.get('PYTHONPATH', '')}:{tmp_path}:{path.parents[1]}:" + HOME)
    hello(worker)
    assert worker.beats >= 2
    worker.close()


def test_it_ends_with_what_it_started_when_the_harness_goes(images, tmp_path):
    path = tmp_path / "starts.py"
    path.write_text(
        "import subprocess, sys\nfrom weighbridge_worker.adapters.numpy import ADAPTER\n"
        "child = subprocess.Popen(['setsid', 'sleep', '600'])\nprint(child.pid, file=sys.stderr)\n"
        "while True: pass\n"
    )
    worker = Worker(str(path))
    child = int(worker.process.stderr.readline())
    worker.end.close()
    worker.process.wait(20)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
    raise AssertionError("the child lives")


HOME = str(__import__("pathlib").Path(__file__).parent.parent)
