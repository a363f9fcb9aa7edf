"""What a run of ours has measured, for scripts that hold it beside another program."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]


def measured(
    command: list[str], data: Path, failed: set[str] | None = None
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Runs a command that makes one run under `data`: the case and the observation of each measured repeat. It runs in
    this repository, where `cargo xtask` is known, wherever the script was started: what it names is absolute.

    A repeat that failed ends the script with its reason; with `failed`, its reason is put there.
    """
    runs = data / "runs"
    before = set(runs.iterdir()) if runs.exists() else set()
    subprocess.run(command, check=failed is None, stdout=subprocess.DEVNULL, cwd=REPOSITORY)
    there = set(runs.iterdir()) if runs.exists() else set()
    made = [run for run in there - before if (run / "repeats").is_dir()]
    if len(made) != 1:
        raise SystemExit(f"{' '.join(command)}: it made {len(made)} runs and not one")
    (run,) = made
    repeats = []
    for path in sorted((run / "repeats").glob("*.json")):
        record = json.loads(path.read_text())["record"]
        case, repeat = record["case"], record["repeat"]
        if "measured" not in repeat["outcome"] and failed is not None:
            failed.add(f"{case['adapter']}: {json.dumps(repeat['outcome'])[:500]}")
            continue
        if repeat["purpose"] != "measure":
            continue
        if "measured" not in repeat["outcome"]:
            raise SystemExit(f"{path.name}: {repeat['outcome']}")
        repeats.append((case, repeat["outcome"]["measured"]["observation"]))
    return repeats


def seconds(observation: dict[str, Any]) -> list[float]:
    """What each sample of an observation took, an iteration."""
    return [sample / observation["iterations_per_sample"] / 1e9 for sample in observation["samples"]]
