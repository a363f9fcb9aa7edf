"""The device of the frameworks that are JAX's. Imports JAX, so adapters alone import this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

from .adapter import Declined
from .device import HOST, Device, OnDevice, backend_of
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
    """Where the pipeline delivers."""
    return device_for(pipeline.device)


def device_for(asked: str) -> Device:
    """The device of a platform, on which JAX works unasked from here on: a worker has one case after the other."""
    device = Gpu() if asked == "gpu" else HOST
    if jax.default_backend() != "cpu":
        jax.config.update("jax_default_device", device.where if isinstance(device, Gpu) else _processor())
    return device


def _processor() -> Any:
    """The host, where JAX's own choice is a GPU."""
    try:
        return jax.devices("cpu")[0]
    except RuntimeError as why:
        raise Declined(f"JAX has no backend for the host here (JAX_PLATFORMS leaves it out): {why}") from why


def multiply_f32(device: Device) -> None:
    """Has products of `f32` on a device be of `f32`: XLA takes `tf32` there unless it is told."""
    if device is not HOST:
        jax.config.update("jax_default_matmul_precision", "highest")


def multiplies_tf32(tree: Any) -> bool:
    """Whether products of these arrays, which are of `f32`, are of `tf32`."""
    return backend_of_arrays(tree) == "gpu" and jax.config.jax_default_matmul_precision not in ("highest", "float32")


def backend_of_arrays(tree: Any) -> str:
    return backend_of(device.platform for array in jax.tree.leaves(tree) for device in array.devices())


def memory_of(device: Device) -> dict[str, int]:
    """As `Loader.device_memory`."""
    said = (device.where.memory_stats() or {}) if isinstance(device, Gpu) else {}
    names = {"framework": "peak_bytes_in_use", "driver": "bytes_reserved"}
    return {who: said[name] for who, name in names.items() if name in said}


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
