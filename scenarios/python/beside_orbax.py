"""A suite of Orbax, run by us and by Orbax's own runner in turn: one table of both, by Orbax's tags.

    python3 scenarios/python/beside_orbax.py CONFIGS/checkpoint_manager_benchmark.yaml --mesh data=4+model=2

Orbax must be installed (`cargo catalogue peers install orbax`); the runner is the one of that installation. What is
given beside the file stands in both for what the file says: a mesh, a state such as `a:float32[64x32]{fsdp,-}`, and
the mesh that a state is loaded from. The runner's `TestSuite` runs as it is, but what it writes for TensorBoard goes
nowhere: that would need two frameworks more. Its values are those that it takes itself. What stands behind `--` goes
to our bench target. Needs the standard library alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from our_run import measured, seconds

Values = dict[str, list[float]]
"""Seconds by Orbax's tags; a tag of several cases has the case before it."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--mesh", required=True)
    arguments.add_argument("--input")
    arguments.add_argument("--saved-from")
    arguments.add_argument("--rounds", type=int, default=3, help="how often each of both runs")
    arguments.add_argument("--repeats", type=int, default=6, help="of the runner, in each round")
    arguments.add_argument("--peers", type=Path, default=Path.home() / ".local/share/weighbridge/peers")
    arguments.add_argument("--data", type=Path, default=Path("target/weighbridge"), help="where our runs are kept")
    arguments.add_argument("--runner", type=Path, help=argparse.SUPPRESS)
    typed = sys.argv[1:]
    end = typed.index("--") if "--" in typed else len(typed)
    given = arguments.parse_args(typed[:end])
    given.data = given.data.resolve()  # Orbax takes no other path
    given.file = given.file.resolve()
    if given.runner:
        json.dump(runner(given), sys.stdout)
        return
    ours: Values = {}
    first: Values = {}
    later: Values = {}
    for _ in range(given.rounds):
        merge(ours, ran_here(given, typed[end + 1 :]))
        for repeat, values in enumerate(ran_there(given)):
            merge(later if repeat else first, values)
    print(table(ours, first, later))


def merge(into: Values, more: Values) -> None:
    for tag, values in more.items():
        into.setdefault(tag, []).extend(values)


def table(ours: Values, first: Values, later: Values) -> str:
    """The median of each with the least and the most, in milliseconds."""
    lines = [
        "| tag | ours | the runner | the runner's first | within each other's spread |",
        "|---|---|---|---|---|",
    ]

    def said(values: list[float]) -> str:
        low, middle, high = (1000 * value for value in (min(values), statistics.median(values), max(values)))
        return f"{middle:.1f} ms [{low:.1f}, {high:.1f}], n = {len(values)}"

    for tag in later:
        if tag not in ours:
            lines.append(f"| `{tag}` | | {said(later[tag])} | {said(first[tag])} | not taken here |")
            continue
        within = all(
            min(of) <= statistics.median(other) <= max(of)
            for of, other in ((ours[tag], later[tag]), (later[tag], ours[tag]))
        )
        lines.append(
            f"| `{tag}` | {said(ours[tag])} | {said(later[tag])} | {said(first[tag])} | {'yes' if within else 'no'} |"
        )
    return "\n".join(lines)


# Here.


def ran_here(given: argparse.Namespace, bench: list[str]) -> Values:
    """One run of ours, and what its repeats have."""
    command = ["cargo", "xtask", "suite", "run", str(given.file), "--mesh", given.mesh]
    for flag, value in (("--input", given.input), ("--saved-from", given.saved_from)):
        command += [flag, value] if value else []
    command += ["--", "--repeats", "1", "--measurement-time", "2", *bench]
    values: Values = {}
    for case, observation in measured(command, given.data):
        merge(values, tagged(case, observation))
    return values


def tagged(case: dict[str, Any], observation: dict[str, Any]) -> Values:
    """What a case of ours has, by the tags that Orbax's generators give it."""
    whole = seconds(observation)
    blocks: Values = {}
    for region in observation["regions"]:
        blocks.setdefault(region["path"], []).append(region["wall"] / 1e9)
    axes = {value["axis"]: value["text"] for value in case["point"]}
    zarr3 = f"use_zarr3={axes['use_zarr3']} " if "use_zarr3" in axes else ""
    time = "::0_basics/time_s"
    if case["scenario"] == "CKPT-2":
        return {f"{zarr3}load{time}": whole}
    number = "_0" if case["scenario"] == "CKPT-5" else ""
    if not blocks:
        return {f"{zarr3}restore{number}{time}": whole}
    return {
        f"{zarr3}save{number}{time}": blocks["blocking"],
        f"{zarr3}wait_until_finished{number}{time}": blocks["waiting"],
    }


# There.


def ran_there(given: argparse.Namespace) -> list[Values]:
    """One run of the runner: what each repeat has."""
    python = given.peers / "orbax/venv/bin/python"
    with tempfile.TemporaryDirectory(dir=given.data) as place:
        command = [python, __file__, str(given.file), "--mesh", given.mesh, "--repeats", str(given.repeats)]
        for flag, value in (("--input", given.input), ("--saved-from", given.saved_from)):
            command += [flag, value] if value else []
        command += ["--runner", place]
        devices = max(math.prod(mesh(text).values()) for text in (given.mesh, given.saved_from or "none"))
        environment = {
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        }
        ended = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(ended.stdout)


def mesh(text: str) -> dict[str, int]:
    """The axes of `data=2+model=4`."""
    axes = (axis.split("=") for axis in text.split("+") if axis != "none")
    return {name: int(size) for name, size in axes}


def spec(text: str) -> dict[str, Any]:
    """The arrays of `a:float32[64x32]{fsdp,-};b:float32[8]`, as a suite has them."""
    arrays = {}
    for array in text.split(";"):
        name, form = array.split(":")
        dtype, rest = form.split("[")
        shape, _, cuts = rest.partition("]")
        axes = [None if axes == "-" else axes.split("+") for axes in cuts.strip("{}").split(",")] if cuts else []
        arrays[name] = {"dtype": dtype, "shape": [int(size) for size in shape.split("x")], "sharding": axes}
    return arrays


def runner(given: argparse.Namespace) -> list[Values]:
    """Runs the suite by Orbax's `TestSuite`: the values of each repeat."""
    without_tensorboard()
    import jax
    import yaml
    from orbax.checkpoint._src.testing.benchmarks.core import (
        checkpoint_generation,
        config_parsing,
        configs,
        device_mesh,
    )

    jax.config.update("jax_enable_x64", True)  # as the runner's `main` does
    suite = yaml.safe_load(given.file.read_text())
    suite["num_repeats"] = given.repeats
    suite.pop("mesh_configs", None)
    axes = mesh(given.mesh)
    suite["mesh_config"] = {"mesh_axes": list(axes), "ici_parallelism": axes}
    if given.saved_from:
        source = mesh(given.saved_from)
        config = configs.MeshConfig(mesh_axes=list(source), ici_parallelism=source)
        checkpoint = configs.CheckpointConfig(spec=spec(given.input), random_seed=0)
        saved = given.runner / "checkpoint"
        checkpoint_generation.generate_and_save_checkpoint(checkpoint, saved, device_mesh.create_mesh(config))
        sharding = given.runner / "sharding.json"
        place = {"shape": list(axes.values()), "axes": list(axes)}
        arrays = {
            name: {**array, "sharding": {"mesh": place, "spec": array["sharding"]}}
            for name, array in spec(given.input).items()
        }
        sharding.write_text(json.dumps(arrays))
        for benchmark in suite["benchmarks"]:
            benchmark["options"]["reference_checkpoint_path"] = str(saved)
            benchmark["options"]["reference_sharding_path"] = str(sharding)
    elif given.input:
        suite.pop("checkpoint_configs", None)
        suite["checkpoint_config"] = {"spec": spec(given.input)}
    written = given.runner / "suite.yaml"
    written.write_text(yaml.safe_dump(suite))
    made = config_parsing.create_test_suite_from_config(
        str(written), output_dir=str(given.runner / "out"), remove_repeated_dir=True
    )
    results = made.run()
    repeats: list[Values] = [{} for _ in range(given.repeats)]
    cases = [benchmark.options for generator in made._benchmarks_generators for benchmark in generator.generate()]
    for at, result in enumerate(results):
        if not result.is_successful():
            raise SystemExit(f"{result.metrics.name}: {result.error!r}")
        zarr3 = getattr(cases[at // given.repeats], "use_zarr3", None)
        before = "" if zarr3 is None else f"use_zarr3={str(zarr3).lower()} "
        for tag, (value, _) in result.metrics.results.items():
            if tag.endswith("time_s") and not tag.startswith("correctness"):
                repeats[at % given.repeats].setdefault(before + tag, []).append(value)
    return repeats


def without_tensorboard() -> None:
    """Stands in for `clu`, which the runner writes TensorBoard by, where it is not installed."""
    if importlib.util.find_spec("clu"):
        return
    from unittest.mock import MagicMock

    clu = MagicMock()
    sys.modules |= {"clu": clu, "clu.metric_writers": clu.metric_writers}


if __name__ == "__main__":
    main()
