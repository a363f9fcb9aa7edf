"""The device of the frameworks that are JAX's. Imports JAX, so adapters alone import this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

from .adapter import Declined
from .device import HOST, Device, OnDevice
from .pipeline import Array, Pipeline


class Gpu(OnDevice):
    """The first GPU that JAX sees."""

    def __init__(self) -> None:
        if jax.default_backend() != "gpu":
            raise Declined(f"JAX {jax.__version__} sees no GPU: its backend here is {jax.default_backend()}")
        self.where = jax.devices()[0]
        super().__init__(f"{self.where} {self.where.device_kind}")

    def has(self, array: Any) -> bool:
        return isinstance(array, jax.Array) and array.devices() == {self.where}

    def wait(self, batch: Mapping[str, Any]) -> None:
        jax.block_until_ready(batch)

    def copied(self, array: Any) -> Array:
        return np.asarray(array)


def device_of(pipeline: Pipeline) -> Device:
    """Where the pipeline delivers, and so where JAX works unasked: a worker has one pipeline after the other."""
    device = Gpu() if pipeline.device == "gpu" else HOST
    if jax.default_backend() != "cpu":
        jax.config.update("jax_default_device", device.where if isinstance(device, Gpu) else _processor())
    return device


def _processor() -> Any:
    """The host, where JAX's own choice is a GPU."""
    try:
        return jax.devices("cpu")[0]
    except RuntimeError as why:
        raise Declined(f"JAX has no backend for the host here (JAX_PLATFORMS leaves it out): {why}") from why


def allow_wide(dtypes: Iterable[np.dtype[Any]]) -> None:
    """Lets JAX have numbers of 64 bits where there are some: it cuts them to 32 otherwise."""
    jax.config.update("jax_enable_x64", any(dtype.itemsize == 8 for dtype in dtypes))


class Compilations:
    """How often XLA has compiled in this process, by JAX's own events: counted from the first look on."""

    count = 0
    _listens = False

    @classmethod
    def so_far(cls) -> int:
        if not cls._listens:
            jax.monitoring.register_event_duration_secs_listener(cls._heard)
            cls._listens = True
        return cls.count

    @classmethod
    def _heard(cls, event: str, seconds: float, **_: Any) -> None:
        cls.count += event == "/jax/core/compile/backend_compile_duration"
