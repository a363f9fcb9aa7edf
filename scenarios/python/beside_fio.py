"""What the disk gives to `fio`, and what each checkpointer takes of it: all in turn, one table.

    python3 scenarios/python/beside_fio.py --variant default --rounds 6

`fio` writes and reads one file of the state's size, in blocks of 1 MiB, by one job, through the page cache: a write
with a `fsync` at its end and one without, and a read of a file that is in the page cache and of one that was dropped
from it. Beside them the checkpointers save (CKPT-1), save until their file system was flushed, and load files that are
in the page cache or were dropped from it (CKPT-COLD). All use the same disk. In each round every rate is divided by
that of `Reference (sharded)`: the range of these ratios over six rounds is an interval of their median that holds in
97 % (two times 0.5 to the sixth are left). A system is ahead if all of it lies above 1.

`--adapter` names the checkpointers; without it all run that are installed. One that fails has no rate, and its reason
stands below the table. What stands behind `--` goes to our bench target. Needs `fio`, and the standard library alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from our_run import measured, seconds

REFERENCE = "Reference (sharded)"
BYTES = {"tiny": 16_000_000, "default": 268_000_000, "large": 1_000_000_000, "huge": 4_000_000_000}
"""About what a state of each variant has; a rate does not depend on the rest."""

OPERATIONS = {
    "save": ("CKPT-1", "operation", "save"),
    "durable save": ("CKPT-1", "operation", "durable_save"),
    "warm load": ("CKPT-COLD", "page_cache", "warm"),
    "cold load": ("CKPT-COLD", "page_cache", "cold"),
}
"""What a system does: the scenario, and the axis with its value."""

Rates = dict[str, list[float]]
"""Bytes a second by who reached them, one of each round."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--variant", choices=BYTES, default="default")
    arguments.add_argument("--rounds", type=int, default=6, help="how often each of them runs")
    arguments.add_argument("--adapter", action="append", default=[], help="a checkpointer; several times for several")
    arguments.add_argument("--profile", default="quick", help="of our runs; states of 4 GB need one with more memory")
    arguments.add_argument("--data", type=Path, default=Path("target/weighbridge"), help="where runs and files lie")
    typed = sys.argv[1:]
    end = typed.index("--") if "--" in typed else len(typed)
    given = arguments.parse_args(typed[:end])
    given.data = given.data.resolve()
    given.data.mkdir(parents=True, exist_ok=True)
    if given.adapter and REFERENCE not in given.adapter:
        given.adapter.append(REFERENCE)
    rates: dict[str, Rates] = {operation: {} for operation in OPERATIONS}
    failed: set[str] = set()
    for done in range(given.rounds):
        with tempfile.TemporaryDirectory(dir=given.data) as place:
            for operation in OPERATIONS:
                rate = fio(operation, Path(place) / "file", BYTES[given.variant])
                rates[operation].setdefault("fio", []).append(rate)
        for operation in OPERATIONS:
            for name, rate in ours(operation, given, typed[end + 1 :], failed).items():
                rates[operation].setdefault(name, []).append(rate)
        print(f"round {done + 1} of {given.rounds}", file=sys.stderr)
    print(table(rates, given.rounds))
    for reason in sorted(failed):
        print(reason)


def table(rates: dict[str, Rates], rounds: int) -> str:
    """Each row a system: its medians in MB/s, and what they are of the reference's with the range over the rounds."""
    names = list(dict.fromkeys(name for operation in rates.values() for name in operation))
    lines = ["| | " + " | ".join(rates) + " |", "|---" * (len(rates) + 1) + "|"]
    for name in names:
        cells = (cell(operation.get(name, []), operation.get(REFERENCE, []), rounds) for operation in rates.values())
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(rates: list[float], reference: list[float], rounds: int) -> str:
    """Rates of which a round is missing have no ratio: it would be one of other rounds."""
    if not rates:
        return "-"
    said = f"{statistics.median(rates) / 1e6:,.0f} MB/s"
    if len(rates) < rounds or len(reference) < rounds or rates is reference:
        return said
    ratios = [rate / other for rate, other in zip(rates, reference, strict=True)]
    return f"{said}, {statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"


def fio(operation: str, file: Path, size: int) -> float:
    """Bytes a second of one job; a file that is to be read is the one that was written before."""
    way = "write" if operation.endswith("save") else "read"
    command = ["fio", "--name=beside", f"--filename={file}", f"--rw={way}", "--bs=1M", f"--size={size}"]
    command += ["--ioengine=psync", "--numjobs=1", "--output-format=json"]
    command += [f"--end_fsync={operation == 'durable save':d}", f"--invalidate={operation == 'cold load':d}"]
    if way == "write":
        file.unlink(missing_ok=True)  # a checkpoint is a new file too
    os.sync()  # what was written before is none of this
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(ended.stdout)["jobs"][0][way]["bw_bytes"]


def ours(operation: str, given: argparse.Namespace, bench: list[str], failed: set[str]) -> dict[str, float]:
    """Bytes a second of each checkpointer: the median sample of one run."""
    scenario, axis, value = OPERATIONS[operation]
    command = ["cargo", "bench", "--", "--bench", scenario, "--set", "all"]
    for word in given.adapter:
        command += ["--adapter", word]
    for point in (f"variant={given.variant}", f"{axis}={value}"):
        command += ["--param", f"{scenario}.{point}"]
    command += ["--profile", given.profile, "--repeats", "1", "--data", str(given.data), *bench]
    rates = {}
    for case, observation in measured(command, given.data, failed):
        took = statistics.median(seconds(observation))
        rates[case["adapter"]] = observation["bytes"] / len(observation["samples"]) / took
    return rates


if __name__ == "__main__":
    main()
