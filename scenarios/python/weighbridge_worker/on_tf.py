"""The device of the frameworks that are TensorFlow's. Imports TensorFlow, so adapters alone import this."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from .adapter import Declined
from .device import backend_of

GPU = "GPU:0"


def device_for(asked: str) -> str:
    """The device of a platform, as `tf.device` takes it. There products of `f32` are of `f32`, and not of `tf32`."""
    if asked != "gpu":
        return "CPU:0"
    if not tf.config.list_logical_devices("GPU"):
        raise Declined(f"TensorFlow {tf.__version__} sees no GPU here")
    tf.config.experimental.enable_tensor_float_32_execution(False)
    return GPU


def backend_of_variables(variables: Iterable[Any]) -> str:
    """By the last part of `/job:localhost/replica:0/task:0/device:GPU:0`."""
    return backend_of(str(variable.device).rsplit("device:", 1)[-1].split(":")[0] for variable in variables)


def multiplies_tf32(variables: Iterable[Any]) -> bool:
    """Whether products of these, which are of `f32`, are of `tf32`."""
    return backend_of_variables(variables) == "gpu" and tf.config.experimental.tensor_float_32_execution_enabled()


def memory_of(device: str) -> dict[str, int]:
    """As `Loader.device_memory`. TensorFlow tells nothing of the driver's."""
    return {"framework": tf.config.experimental.get_memory_info(GPU)["peak"]} if device == GPU else {}
