"""What the disk gives to `fio`, and what a checkpoint takes of it: both in turn, one table.

    python3 scenarios/python/beside_fio.py --variant default --rounds 5

`fio` writes and reads one file of the state's size, in blocks of 1 MiB, by one job, through the page cache. It ends a
write with `fsync`, and drops the file from the page cache before it reads. `Reference (sharded)` saves until its file
system was flushed, and loads after its files were dropped. Both use the same disk. What stands behind `--` goes to our
bench target. Needs `fio`, and the standard library alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from our_run import measured, seconds

ADAPTER = "Reference (sharded)"
BYTES = {"tiny": 16_000_000, "default": 268_000_000, "large": 1_000_000_000, "huge": 4_000_000_000}
"""About what a state of each variant has; a rate does not depend on the rest."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--variant", choices=BYTES, default="default")
    arguments.add_argument("--rounds", type=int, default=5, help="how often each of both runs")
    arguments.add_argument("--data", type=Path, default=Path("target/weighbridge"), help="where runs and files lie")
    typed = sys.argv[1:]
    end = typed.index("--") if "--" in typed else len(typed)
    given = arguments.parse_args(typed[:end])
    given.data = given.data.resolve()
    given.data.mkdir(parents=True, exist_ok=True)
    rates: dict[str, list[float]] = {name: [] for name in ("write", "read", "save", "load")}
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory(dir=given.data) as place:
            for way in ("write", "read"):
                rates[way].append(fio(way, Path(place), BYTES[given.variant]))
        rates["save"] += ours("CKPT-1", "operation=durable_save", given, typed[end + 1 :])
        rates["load"] += ours("CKPT-COLD", "page_cache=cold", given, typed[end + 1 :])
    print("| | fio | Reference (sharded) | of fio |\n|---|---|---|---|")
    for name, limit, own in (("durable save", "write", "save"), ("cold load", "read", "load")):
        share = statistics.median(rates[own]) / statistics.median(rates[limit])
        print(f"| {name} | {said(rates[limit])} | {said(rates[own])} | {share:.0%} |")


def said(rates: list[float]) -> str:
    """The median of rates with the least and the most, in MB/s."""
    low, middle, high = (rate / 1e6 for rate in (min(rates), statistics.median(rates), max(rates)))
    return f"{middle:,.0f} MB/s [{low:,.0f}, {high:,.0f}], n = {len(rates)}"


def fio(way: str, place: Path, size: int) -> float:
    """Bytes a second of one job; a file that is to be read is the one that was written before."""
    command = ["fio", "--name=beside", f"--filename={place / 'file'}", f"--rw={way}", "--bs=1M", f"--size={size}"]
    command += ["--ioengine=psync", "--numjobs=1", "--end_fsync=1", "--invalidate=1", "--output-format=json"]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(ended.stdout)["jobs"][0][way]["bw_bytes"]


def ours(scenario: str, point: str, given: argparse.Namespace, bench: list[str]) -> list[float]:
    """Bytes a second of each sample of one run."""
    command = ["cargo", "bench", "--", "--bench", scenario, "--adapter", ADAPTER, "--set", "all"]
    for value in (f"variant={given.variant}", point):
        command += ["--param", f"{scenario}.{value}"]
    command += ["--quick", "--repeats", "1", "--data", str(given.data), *bench]
    rates = []
    for _, observation in measured(command, given.data):
        took = seconds(observation)
        rates += [observation["bytes"] / len(took) / time for time in took]
    return rates


if __name__ == "__main__":
    main()
