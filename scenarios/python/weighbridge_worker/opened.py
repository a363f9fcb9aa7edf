"""What `opened` says of a case, whatever the case is of."""

from __future__ import annotations

from .adapter import Executed
from .device import HOST, Device
from .environments import of_process
from .protocol import Message
from .usage import Tree


def opened(entry_point: str, executed: Executed, costs: dict[str, int | None], device: Device = HOST) -> Message:
    """What is executed and where, what it cost to come there, and the processes that do it."""
    ran_on = executed.ran_on
    if device is not HOST and ran_on != device.name:
        ran_on = f"{ran_on}, delivered to {device.name}"
    tree = Tree()
    tree.look()
    said = {
        "executed": {
            "transforms": list(executed.transforms),
            "operators": [executed.operators] * len(executed.transforms),
            "library": executed.library,
            "environment": {**of_process(), **executed.environment},
            "ran_on": ran_on,
            "synchronised": executed.synchronised,
            "delivery": executed.delivery if device is HOST else "device",
            "workers": executed.workers,
        },
        "backend": device.backend,
        "entry_point": entry_point,
        "order": executed.order,
        "costs": costs,
        "processes": tree.processes,
        "threads": tree.threads,
    }
    tree.close()
    return said
