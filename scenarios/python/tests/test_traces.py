"""Traces: each operation once, in files that are not empty, or a reason."""

from __future__ import annotations

import json

import pytest

from weighbridge_worker.adapter import Declined
from weighbridge_worker.traces import Tracing


def tracing(kind, folder):
    return Tracing({"kind": kind, "folder": str(folder)}, "NumPy")


def test_nothing_is_traced_unless_it_is_asked_for(tmp_path):
    with Tracing(None, "NumPy").over("run"):
        pass
    with tracing("tracemalloc", tmp_path).over("release"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_peak_of_an_operation_and_the_lines_that_keep_memory_are_told_once(tmp_path):
    traced, kept = tracing("tracemalloc", tmp_path), []
    for round in range(2):
        with traced.over("save"):
            bytearray(5_000_000)
            kept.append(bytearray(1_000_000))  # this line
        told = json.loads((tmp_path / "save.json").read_text())
        assert told["operation"] == "save" and 5_000_000 <= told["peak"] < 8_000_000, told
        assert told["sites"][0]["source"].endswith("# this line") and told["sites"][0]["bytes"] >= 1_000_000, told
        if round == 0:
            written = (tmp_path / "save.json").stat().st_mtime_ns
    assert (tmp_path / "save.json").stat().st_mtime_ns == written and [file.name for file in tmp_path.iterdir()] == [
        "save.json"
    ]


def test_an_operation_that_raises_raises_on_and_python_is_watched_no_more(tmp_path):
    import tracemalloc

    with pytest.raises(KeyError), tracing("tracemalloc", tmp_path).over("load"):
        raise KeyError("gone")
    assert not tracemalloc.is_tracing() and list(tmp_path.iterdir()) == []


def test_a_kind_that_is_none_or_that_the_framework_does_not_use_is_declined(tmp_path):
    with pytest.raises(Declined, match="it is none of torch, jax, tracemalloc, hlo"):
        tracing("strace", tmp_path)
    import sys

    if "torch" not in sys.modules:
        with pytest.raises(Declined, match="NumPy does not use torch here"):
            tracing("torch", tmp_path)


def test_jax_writes_a_profile(tmp_path):
    jax = pytest.importorskip("jax", reason="JAX is not installed here")
    with tracing("jax", tmp_path).over("run"):
        jax.numpy.ones(8).sum().block_until_ready()
    (profile,) = tmp_path.rglob("*.xplane.pb")
    assert profile.stat().st_size > 0 and profile.is_relative_to(tmp_path / "run")


def test_torch_writes_a_trace_and_none_of_what_has_no_operator(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed here")
    with tracing("torch", tmp_path).over("run"):
        torch.ones(8).sum().item()
    assert json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    with tracing("torch", tmp_path).over("save"):
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]
