"""What a process computes with that no configuration says. It may differ between systems whose work is equal, so it is
told beside their figures."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig

import numpy as np

Facts = dict[str, str]


def of_process() -> Facts:
    """What is alike for every framework."""
    return {
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "C library": " ".join(platform.libc_ver()),
        "threads of numerical libraries": os.environ.get("OMP_NUM_THREADS") or PROCESSORS,
        **of_lock(),
    }


def of_lock() -> Facts:
    """Whether an interpreter that can do without its global lock does: what it imports may have switched it on."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return {}
    return {"gil": "on" if sys._is_gil_enabled() else "off"}  # type: ignore[attr-defined]


def of_torch() -> Facts:
    import torch

    return {
        "threads": str(torch.get_num_threads()),
        "products of f32": torch.get_float32_matmul_precision(),
        "oneDNN": used(torch.backends.mkldnn.is_available()),
    }


def of_jax() -> Facts:
    import jax

    flags = os.environ.get("XLA_FLAGS", "")
    return {
        "threads": f"as XLA_FLAGS say: {flags}" if "parallelism" in flags or "eigen" in flags else PROCESSORS,
        "products of f32": jax.config.jax_default_matmul_precision or "highest",
    }


def of_tensorflow() -> Facts:
    import tensorflow as tf

    return {
        "threads": str(tf.config.threading.get_intra_op_parallelism_threads() or PROCESSORS),
        "products of f32": "as tf32" if tf.config.experimental.tensor_float_32_execution_enabled() else "highest",
        "oneDNN": used(os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1") != "0"),
    }


def used(is_used: bool) -> str:
    return "used" if is_used else "not used"


PROCESSORS = str(len(os.sched_getaffinity(0)))
"""One thread for each processor that the process may run on: what these take where nothing is set."""
