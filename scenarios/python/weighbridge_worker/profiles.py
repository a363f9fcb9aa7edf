"""Where the time of steps goes, operator by operator, as the profilers of frameworks have it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

Operators = dict[str, list[int]]
"""By an operator's name: nanoseconds that it took itself, in all, and how often it was called."""


def by_torch(run: Callable[[], None]) -> Operators:
    """What `torch.profiler` sees on the processor."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        run()
    found: Operators = {}
    for event in profiler.key_averages():
        if event.self_cpu_time_total > 0:
            # A compiled graph is called by its hash.
            add(
                found,
                re.sub(r"CompiledFxGraph \w+", "CompiledFxGraph", event.key).strip("# "),
                round(1000 * event.self_cpu_time_total),
                event.count,
            )
    return found


def by_jax(run: Callable[[], None]) -> Operators:
    """What `jax.profiler` sees of the operations that XLA runs, those of one kind as one."""
    import jax

    found: Operators = {}
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0  # else every call of Python is an event as well
    with tempfile.TemporaryDirectory() as place:
        with jax.profiler.trace(place, profiler_options=options):
            run()
        for file in Path(place).rglob("*.xplane.pb"):
            planes = jax.profiler.ProfileData.from_file(str(file)).planes
            for event in (event for plane in planes for line in plane.lines for event in line.events):
                if any(name == "hlo_op" for name, _ in event.stats):
                    add(found, kind(event.name), round(event.duration_ns), 1)
    return found


def by_tensorflow(run: Callable[[], None]) -> Operators:
    """What TensorFlow's profiler sees of the operations that it runs itself, and of those that XLA runs for it."""
    import tensorflow as tf
    from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

    found: Operators = {}
    # Operations, and neither calls of Python nor devices.
    options = tf.profiler.experimental.ProfilerOptions(2, python_tracer_level=0, device_tracer_level=0)
    with tempfile.TemporaryDirectory() as place:
        tf.profiler.experimental.start(place, options)
        try:
            run()
        finally:
            tf.profiler.experimental.stop()
        for file in Path(place).rglob("*.xplane.pb"):
            for plane in XSpace.FromString(file.read_bytes()).planes:
                for event in (event for line in plane.lines for event in line.events):
                    stats = {plane.stat_metadata[stat.metadata_id].name for stat in event.stats}
                    name = operation(plane.event_metadata[event.metadata_id].name, "hlo_op" in stats)
                    if name is not None:
                        add(found, name, round(event.duration_ps / 1000), 1)
    return found


def operation(event: str, is_of_xla: bool) -> str | None:
    """The operation that an event of TensorFlow's profiler is of: by itself, or `node:operation` of a graph."""
    if is_of_xla:
        return kind(event)
    told = re.fullmatch(r"(?:EagerLocalExecute: |[\w/.-]+:)(\w+)", event)
    # A whole function is what its operations are.
    return None if told is None or told[1].startswith("__") else told[1]


def add(found: Operators, name: str, time: int, calls: int) -> None:
    one = found.setdefault(name, [0, 0])
    one[0] += time
    one[1] += calls


def kind(name: str) -> str:
    """`dot.12` and `dot.3.clone` are both `dot`."""
    return re.sub(r"(\.(\d+|clone|remat\d*))+$", "", name)
