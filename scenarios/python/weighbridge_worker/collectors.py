"""What is collected over a region beside its time: what TensorStore counts, and what libraries tell `jax.monitoring`.

A region ends where the next one begins, so that nothing falls between two of them: work in the background goes on
meanwhile. A collector that fails is left out from there on, with its reason, and nothing else fails for it.
"""

from __future__ import annotations

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from . import tags
from .protocol import Message

now = time.perf_counter_ns

MOST = 100_000
"""So many events of a region are kept."""


class Collector(ABC):
    """Collects over regions, one after the other."""

    @abstractmethod
    def start(self) -> None:
        """Begins a region."""

    @abstractmethod
    def stop(self) -> list[tags.Reading]:
        """Ends the region, and tells what was collected in it."""

    def end(self) -> None:  # noqa: B027 (who listens to nothing has nothing to leave)
        """Lets go what it listens to."""


class TensorStore(Collector):
    """Differences of TensorStore's own counters."""

    def __init__(self, collect: Callable[[str], Iterable[Any]] | None = None) -> None:
        import tensorstore

        self.collect = collect or tensorstore.experimental_collect_matching_metrics
        self.before: dict[str, float] = {}

    def start(self) -> None:
        self.before = self.look()

    def stop(self) -> list[tags.Reading]:
        return tags.of_tensorstore(self.before, self.look())

    def look(self) -> dict[str, float]:
        """The counters that have one value, by name and kind: histograms have their count."""
        found: dict[str, float] = {}
        for prefix in tags.TENSORSTORE:
            for metric in self.collect(prefix):
                if len(values := metric.get("values", ())) != 1:
                    continue
                for kind in ("value", "count"):
                    value = values[0].get(kind)
                    if isinstance(value, (int, float)):
                        found[f"{metric['name']}_{kind}"] = value
        return found


class JaxMonitoring(Collector):
    """The scalars, durations and events that libraries tell `jax.monitoring`."""

    def __init__(self) -> None:
        from jax import monitoring

        self.heard: tags.Heard = []
        self.lost = False
        # Bound once: they are unregistered by what they are.
        self.listeners = (self.on_value, self.on_duration, self.on_event)
        monitoring.register_scalar_listener(self.listeners[0])
        monitoring.register_event_duration_secs_listener(self.listeners[1])
        monitoring.register_event_listener(self.listeners[2])

    def on_value(self, event: str, value: float, **_: object) -> None:
        self.hear(event, value, "")

    def on_duration(self, event: str, value: float, **_: object) -> None:
        self.hear(event, value, "s")

    def on_event(self, event: str, **_: object) -> None:
        self.hear(event, None, "")

    def hear(self, event: str, value: float | None, unit: str) -> None:
        """Keeps an event. Nothing is raised: it would be raised in the library that tells it."""
        if not isinstance(event, str) or not event.startswith(tags.JAX):
            return
        if len(self.heard) < MOST:
            self.heard.append((event, value, unit))
        else:
            self.lost = True

    def start(self) -> None:
        """Nothing is forgotten here: what comes between two regions is of the second."""

    def stop(self) -> list[tags.Reading]:
        heard, self.heard = self.heard, []
        if self.lost:
            raise OverflowError(f"more than {MOST} events came in a region")
        return tags.of_jax(heard)

    def end(self) -> None:
        from jax import monitoring

        monitoring.unregister_scalar_listener(self.listeners[0])
        monitoring.unregister_event_duration_listener(self.listeners[1])
        monitoring.unregister_event_listener(self.listeners[2])


class LiveArrays(Collector):
    """The change of the number of JAX arrays that live."""

    def __init__(self) -> None:
        import jax

        self.count = lambda: len(jax.live_arrays())
        self.before = 0

    def start(self) -> None:
        self.before = self.count()

    def stop(self) -> list[tags.Reading]:
        return [("7_memory/jax_live_arrays_count_delta", self.count() - self.before, "", "lower")]


COLLECTORS: dict[str, tuple[str, Callable[[], Collector]]] = {
    "tensorstore": ("tensorstore", TensorStore),
    "jax_monitoring": ("jax", JaxMonitoring),
    "jax_arrays": ("jax", LiveArrays),
}
"""Every collector, and the library that it looks at: where a worker has not imported that, there is nothing to see."""


class Collection:
    """The collectors of a worker, in the order in which they start."""

    def __init__(self, known: dict[str, tuple[str, Callable[[], Collector]]] = COLLECTORS) -> None:
        self.known = known
        self.running: dict[str, Collector] = {}
        self.cost: dict[str, int] = {}
        self.failed: dict[str, str] = {}

    def begin(self, names: list[str]) -> Message:
        """Begins the first region with those of these collectors that there are; without any it ends."""
        self.end()
        self.cost, self.failed = {}, {}
        for name in names:
            library, make = self.known.get(name, ("", None))
            if make is not None and library in sys.modules:
                self.attempt(name, lambda name=name, make=make: self.running.update({name: make()}))
        self.start()
        failed, self.failed = self.failed, {}
        return {"collectors": list(self.running), "failed": failed}

    def told(self) -> Message:
        """What was collected since the region began. Another one begins."""
        metrics: list[tags.Reading] = []
        # Who started last stops first.
        for name, collector in reversed(list(self.running.items())):
            self.attempt(name, lambda collector=collector: metrics.extend(collector.stop()))
        cost, self.cost = self.cost, {}
        self.start()  # who does not start again is told of with this region
        failed, self.failed = self.failed, {}
        return {"metrics": said(metrics, failed), "cost": cost, "failed": failed}

    def start(self) -> None:
        for name, collector in list(self.running.items()):
            self.attempt(name, collector.start)

    def attempt(self, name: str, run: Callable[[], object]) -> None:
        """Runs something of a collector, and takes its time. One that fails collects no more."""
        begun = now()
        try:
            run()
        except Exception as error:
            self.failed[name] = f"{type(error).__name__}: {error}"[:500]
            self.drop(name)
        self.cost[name] = self.cost.get(name, 0) + now() - begun

    def drop(self, name: str) -> None:
        collector = self.running.pop(name, None)
        if collector is None:
            return
        try:
            collector.end()
        except Exception as error:
            self.failed.setdefault(name, f"{type(error).__name__}: {error}"[:500])

    def end(self) -> None:
        for name in list(self.running):
            self.drop(name)


def said(metrics: list[tags.Reading], failed: dict[str, str]) -> list[Message]:
    """The readings of a message. What is no finite number is none, and JSON has no word for it."""
    message = []
    for tag, value, unit, better in metrics:
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number):
            message.append({"tag": tag, "value": number, "unit": unit, "better": better})
        else:
            failed[tag] = f"its value was {str(value)[:100]}"
    return message
