"""The scripts by hand: there is one for each framework, each is small and stands alone, and wrong work ends it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HOME = Path(__file__).parent.parent
SCRIPTS = HOME / "by_hand"
SHARED = {"__init__", "case", "timed"}
SERVERS = {"llama_cpp"}
MOST = 40
"""Lines of a script."""


def frameworks() -> list[str]:
    return sorted(path.stem for path in SCRIPTS.glob("*.py") if path.stem not in SHARED)


def data(place: Path) -> Path:
    """Images as the harness keeps them."""
    images = np.random.default_rng(3).integers(0, 256, (150, 4, 4, 3), np.uint8)
    images.tofile(place / "image.bin")
    kind = {"name": "image", "dtype": "u8", "shape": [4, 4, 3]}
    (place / "data.json").write_text(json.dumps({"format": 1, "elements": 150, "fields": [{"kind": kind}]}))
    return place


def run(place: Path, module: str, code: str | None = None) -> subprocess.CompletedProcess[str]:
    what = ["-m", module] if code is None else ["-c", code]
    line = [sys.executable, *what, "CV-1", str(data(place)), "0", "0", str(place)]
    return subprocess.run(line, check=False, cwd=HOME, capture_output=True, text=True, timeout=60)


def test_every_framework_that_is_installed_by_a_requirement_file_has_a_script():
    # A checkpointer, a trainer, a predictor and a server have no loader whose epochs a script could go through.
    others = (HOME / "weighbridge_worker" / kind for kind in ("checkpointers", "trainers", "predictors"))
    others = {path.stem for folder in others for path in folder.glob("*.py")}
    wanted = {path.stem for path in (HOME / "requirements").glob("*.in")} - others - SERVERS - {"tools"}
    assert wanted <= set(frameworks())


@pytest.mark.parametrize("name", frameworks())
def test_a_script_is_small_and_uses_nothing_of_the_worker(name):
    text = (SCRIPTS / f"{name}.py").read_text()
    assert len(text.splitlines()) <= MOST
    assert "weighbridge_worker" not in text


@pytest.mark.parametrize("name", sorted(SHARED))
def test_what_scripts_share_uses_nothing_of_the_worker(name):
    imports = [line for line in (SCRIPTS / f"{name}.py").read_text().splitlines() if "import" in line]
    assert not any("weighbridge_worker" in line for line in imports)


def test_a_script_prints_one_line_of_figures(tmp_path):
    ended = run(tmp_path, "by_hand.numpy")
    assert ended.returncode == 0, ended.stderr
    (line,) = ended.stdout.splitlines()
    said = json.loads(line)
    # Of 64, 64 and 22 elements the first batch is not timed, nor the last.
    assert (said["elements"], said["batches"]) == (64, 1)
    assert said["wall"] > 0 and said["cpu"] > 0 and said["faults"] >= 0


def test_what_ends_an_epoch_is_not_timed(tmp_path):
    code = (
        "import sys; sys.argv[0] = 'x'; import time; from by_hand.case import Case; from by_hand.timed import measure\n"
        "case, clock = Case.from_arguments(), [0.0]\n"
        "time.perf_counter = lambda: clock[0]\n"
        "def epoch():\n"
        "    yield from (case.steps(case.batch(number)) for number in range(case.batches))\n"
        "    clock[0] += 1\n"
        "measure(case, epoch)"
    )
    said = json.loads(run(tmp_path, "", code).stdout)
    assert said["wall"] == 0


@pytest.mark.parametrize(
    ("work", "complaint"),
    [
        ("case.steps(case.rows)[:149]", "149 elements"),
        ("case.steps(case.rows).astype(np.float16)", "float16"),
        ("case.steps(case.rows) * np.float32(0.999)", "add up to"),
    ],
)
def test_a_script_that_does_other_work_is_ended_and_prints_no_figures(tmp_path, work, complaint):
    code = (
        "import sys; sys.argv[0] = 'x'; import numpy as np; from by_hand.case import Case; "
        f"from by_hand.timed import measure; case = Case.from_arguments(); measure(case, lambda: [{work}])"
    )
    ended = run(tmp_path, "", code)
    assert ended.returncode == 1 and complaint in ended.stderr
    assert ended.stdout == ""
