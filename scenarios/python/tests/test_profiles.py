"""Operators as profilers of frameworks see them."""

from __future__ import annotations

import pytest

from weighbridge_worker.profiles import by_jax, by_tensorflow, by_torch, kind, operation


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


def test_events_of_tensorflow_are_operations_and_neither_calls_nor_whole_functions():
    told = {
        "EagerLocalExecute: MatMul": "MatMul",
        "matmul:_MklMatMul": "_MklMatMul",
        "gradient_tape/Gelu/Erfc:Erfc": "Erfc",
        "EagerLocalExecute: __inference_step_18": None,
        "__inference_step_18:__inference_step_18": None,
        "EagerKernelExecute": None,
        "KernelAndDeviceFunc::Run": None,
        "end: matmul.2": None,
    }
    assert {event: operation(event, False) for event in told} == told
    assert operation("matmul.2", True) == "matmul"


@pytest.mark.parametrize("how", [None, False, True], ids=["eager", "graph", "xla"])
def test_tensorflow_names_the_product_that_takes_most_of_the_time(how):
    tf = pytest.importorskip("tensorflow")
    pytest.importorskip("tensorflow.tsl.profiler.protobuf.xplane_pb2")
    matrix = tf.ones((700, 700))

    def body(x):
        return tf.tanh(x @ x) @ x

    product = body if how is None else tf.function(body, jit_compile=how)
    product(matrix)
    found = by_tensorflow(lambda: product(matrix))
    most = max(found, key=lambda name: found[name][0])
    assert "matmul" in most.lower() and found[most][1] == 2, found
