"""Operators as profilers of frameworks see them."""

from __future__ import annotations

import pytest

from weighbridge_worker.profiles import by_jax, by_torch, kind


def test_operations_of_one_kind_have_one_name():
    assert [kind(name) for name in ("dot.12", "dot.3.clone", "add_fusion.1.remat2", "copy", "wrapped_v2")] == [
        "dot",
        "dot",
        "add_fusion",
        "copy",
        "wrapped_v2",
    ]


def test_torch_names_the_product_that_takes_most_of_the_time():
    torch = pytest.importorskip("torch")
    matrix = torch.ones(700, 700)

    def run():
        for _ in range(4):
            matrix @ matrix
            matrix + 1

    found = by_torch(run)
    most = max(found, key=lambda name: found[name][0])
    assert most == "aten::mm" and found[most][1] == 4, found
    assert found["aten::add"][1] == 4, found


def test_jax_names_the_product_that_takes_most_of_the_time():
    jax = pytest.importorskip("jax")
    matrix = jax.numpy.ones((700, 700))
    product = jax.jit(lambda x: jax.numpy.tanh(x @ x) @ x)
    product(matrix).block_until_ready()
    found = by_jax(lambda: product(matrix).block_until_ready())
    most = max(found, key=lambda name: found[name][0])
    # What XLA calls a product depends on its version.
    assert most.startswith(("dot", "ynn")) and found[most][1] == 2, found
