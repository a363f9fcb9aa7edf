"""A predictor behind plain HTTP, and the file that llama.cpp is given."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from http.client import HTTPConnection

import numpy as np
import pytest

from weighbridge_worker import gguf_file
from weighbridge_worker.adapter import Declined
from weighbridge_worker.http_server import Refused, id_of, letter_of
from weighbridge_worker.predictor import Task
from weighbridge_worker.predictors import predict_numpy

from .conftest import HOME, Made
from .test_adapters import python
from .test_predictors import task

WIDTH, HEADS, LENGTH, BELOW = 8, 2, 40, 256
READY = 120
"""Seconds that a server may take to start."""


def norm():
    return {"kind": "layer_norm", "epsilon": 1e-5}


NETWORK = [norm(), {"kind": "linear", "to": 4 * WIDTH}, {"kind": "gelu"}, {"kind": "linear", "to": WIDTH}]
ATTENTION = [norm(), {"kind": "attention", "heads": HEADS, "causal": True}]
TEXT = {
    "input": {"kind": "ids", "length": LENGTH, "below": BELOW},
    "layers": [
        {"kind": "embed", "vocabulary": BELOW, "width": WIDTH},
        {"kind": "positions"},
        {"kind": "residual", "body": ATTENTION},
        {"kind": "residual", "body": NETWORK},
        norm(),
        {"kind": "linear", "to": BELOW},
    ],
}
NUMBERS = {"input": {"kind": "vector", "width": 5}, "layers": [{"kind": "linear", "to": 3}]}
GENERATION = {"prompt": 20, "tokens": 8, "cached": True}


def text_weights():
    random = np.random.default_rng(3)
    shapes = {"0.table": (BELOW, WIDTH), "1.positions": (LENGTH, WIDTH)}
    for at in ("2.0", "3.0", "4"):
        shapes |= {f"{at}.scale": (WIDTH,), f"{at}.shift": (WIDTH,)}
    maps = {"2.1.qkv": (8, 24), "2.1.out": (8, 8), "3.1": (8, 32), "3.3": (32, 8), "5": (8, BELOW)}
    for at, shape in maps.items():
        shapes |= {f"{at}.weight": shape, f"{at}.bias": shape[1:]}
    weights = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return {**weights, "5.bias": np.zeros(BELOW, np.float32)}


@pytest.fixture
def served(tmp_path):
    """Starts a server of a model with these weights: a connection to it, and its process."""
    started = []

    def start(model, weights, generation=None):
        made = Made(tmp_path, {name: array[np.newaxis] for name, array in weights.items()})
        said = {**task(model, generation), "batch": 1, "calls": 1}
        path = tmp_path / "task.json"
        path.write_text(json.dumps({"weights": made.said, "prediction": said}))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-P", "-m", "weighbridge_worker.http_server", "predict_numpy", str(path), str(port)]
        environment = {**os.environ, "PYTHONPATH": str(HOME), "PYTHONDONTWRITEBYTECODE": "1"}
        started.append(subprocess.Popen(command, env=environment, stdin=subprocess.PIPE))
        connection = HTTPConnection("127.0.0.1", port, timeout=READY)
        until = time.monotonic() + READY
        while True:
            assert started[-1].poll() is None and time.monotonic() < until, "it takes no requests"
            try:
                assert ask(connection, "GET", "/v2/health/ready")[0] == 200
                return connection, started[-1]
            except ConnectionRefusedError:
                connection.close()

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()


def ask(connection, method, path, body=None):
    connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body))
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_logits_are_those_of_the_model_and_a_bad_request_is_refused_and_harms_nobody(served):
    random = np.random.default_rng(5)
    weights = {"0.weight": random.normal(size=(5, 3)), "0.bias": random.normal(size=3)}
    weights = {name: array.astype(np.float32) for name, array in weights.items()}
    connection, _ = served(NUMBERS, weights)
    path = "/v2/models/model/infer"
    given = [0.5, -1.0, 2.0, 0.0, 1.5]
    due = np.array(given, np.float32) @ weights["0.weight"] + weights["0.bias"]

    def whole():
        status, body = ask(connection, "POST", path, {"inputs": [{"name": "input", "data": given}]})
        (output,) = json.loads(body)["outputs"]
        assert status == 200 and np.allclose(output["data"], due, atol=1e-5) and output["shape"] == [1, 3]

    whole()
    bad = [b"", b"{", b"[]", {}, {"inputs": []}, {"inputs": [{"data": [1.0]}]}, {"inputs": [{"data": ["x"] * 5}]}]
    for body in [*bad, {"inputs": [{"data": given}] * 2}, {"inputs": 7}]:
        status, said = ask(connection, "POST", path, body)
        assert status == 400 and json.loads(said)["error"]["message"], (body, said)
    assert ask(connection, "POST", "/v1/completions", {"prompt": "a"})[0] == 404
    assert ask(connection, "GET", "/")[0] == 404
    for head in ({"Content-Length": "-1"}, {"Content-Length": "x"}, {"Transfer-Encoding": "chunked"}):
        connection.putrequest("POST", path)
        for name, value in head.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        assert answer.status == 400 and answer.read(), head
    whole()


def test_a_text_goes_on_with_the_ids_of_the_greatest_logits_streamed_or_not(served):
    weights = text_weights()
    connection, _ = served(TEXT, weights, GENERATION)
    prompt = "time year 0f"
    model = predict_numpy.NumPy(Task.from_dict({**task(TEXT, GENERATION), "batch": 1}, Numbers(weights)))
    ids, due = [id_of(letter) for letter in prompt], ""
    for _ in range(8):
        ids.append(int(model.predict(np.array([ids], np.int32))[0].argmax()))
        due += letter_of(ids[-1])
    asked = {"prompt": prompt, "max_tokens": 8, "stream_options": {"include_usage": True}}
    status, body = ask(connection, "POST", "/v1/completions", asked)
    said = json.loads(body)
    assert status == 200 and said["choices"][0]["text"] == due and said["usage"]["completion_tokens"] == 8
    status, body = ask(connection, "POST", "/v1/completions", {**asked, "stream": True})
    events = [event.removeprefix("data: ") for event in body.decode().split("\n\n")]
    assert status == 200 and events[-2:] == ["[DONE]", ""]
    *letters, counts = (json.loads(event) for event in events[:-2])
    assert "".join(one["choices"][0]["text"] for one in letters) == due and len(letters) == 8
    assert counts["usage"] == {"prompt_tokens": 12, "completion_tokens": 8, "total_tokens": 20}
    for wrong in (
        {"prompt": ""},
        {"prompt": "a", "max_tokens": 40},
        {"prompt": "\n"},
        {"prompt": "a", "max_tokens": 0},
    ):
        assert ask(connection, "POST", "/v1/completions", wrong)[0] == 400, wrong


@pytest.mark.parametrize("way", ["input", "signal"])
def test_a_server_ends_when_its_input_ends_and_when_it_is_asked_to(served, way):
    weights = {"0.weight": np.zeros((5, 3), np.float32), "0.bias": np.zeros(3, np.float32)}
    _, process = served(NUMBERS, weights)
    if way == "input":
        process.stdin.close()
    else:
        process.send_signal(signal.SIGTERM)
    assert process.wait(READY) == 0


def test_every_id_has_a_letter_of_its_own():
    letters = [letter_of(number) for number in range(BELOW)]
    assert [id_of(letter) for letter in letters] == list(range(BELOW)) and len(set(letters)) == BELOW
    for letter in "\n\u00e9\u0161\u0200":
        with pytest.raises(Refused):
            id_of(letter)


class Numbers:
    """Weights as a task reads them."""

    def __init__(self, weights):
        self.weights = weights

    def load(self):
        return {name: array[np.newaxis] for name, array in self.weights.items()}


def decoder(weights, model=TEXT):
    return Task.from_dict({**task(model, GENERATION), "batch": 1}, Numbers(weights))


def test_a_file_of_gguf_has_every_tensor_at_its_place(tmp_path):
    weights = text_weights()
    written = gguf_file.write(decoder(weights), tmp_path / "model.gguf").read_bytes()
    magic, version, tensors, facts = struct.unpack_from("<4sIQQ", written)
    assert (magic, version, tensors, facts) == (b"GGUF", 3, 17, 18)
    # Where a tensor is to be found stands behind its name: axes, kind, offset.
    for name, array in (("output.weight", weights["5.weight"].T), ("blk.0.ffn_up.weight", weights["3.1.weight"].T)):
        head = struct.pack("<Q", len(name)) + name.encode()
        at = written.index(head) + len(head)
        axes, first, second, kind, offset = struct.unpack_from("<IQQIQ", written, at)
        assert (axes, first, kind) == (2, WIDTH, 1) and offset % 32 == 0
        start = written.index(weights["0.table"].astype(np.float16).tobytes())
        found = np.frombuffer(written, np.float16, first * second, start + offset).reshape(second, first)
        assert np.array_equal(found[: len(array)], array.astype(np.float16)) and not found[len(array) :].any()
        assert start % 32 == 0


def test_a_model_that_llama_has_no_place_for_is_declined():
    weights = text_weights()
    with pytest.raises(Declined, match="with a bias"):
        list(gguf_file.tensors(decoder({**weights, "5.bias": np.ones(BELOW, np.float32)}), 1))
    for layers in (TEXT["layers"][1:], [*TEXT["layers"], {"kind": "relu"}], TEXT["layers"][:2] + TEXT["layers"][3:]):
        with pytest.raises(Declined, match="the shape of GPT-2"):
            gguf_file.shape_of(layers)


LLAMA = """
import json, sys, llama_cpp
model = llama_cpp.Llama(sys.argv[1], n_ctx=40, n_threads=1, verbose=False)
made = model.create_completion(sys.argv[2], max_tokens=8, temperature=0, repeat_penalty=1.0)
print(json.dumps([model.tokenize(sys.argv[2].encode(), add_bos=False), made["choices"][0]["text"]]))
"""


def test_llama_reads_the_file_and_goes_on_as_the_model_does(tmp_path):
    weights, prompt = text_weights(), "time year 0f"
    path = gguf_file.write(decoder(weights), tmp_path / "model.gguf")
    command = [python("llama_cpp"), "-P", "-c", LLAMA, str(path), prompt]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ids, text = json.loads(said)
    assert ids == [id_of(letter) for letter in prompt] and len(text) == 8
    model = predict_numpy.NumPy(decoder(weights))
    for letter in text:
        logits = model.predict(np.array([ids], np.int32))[0]
        made = id_of(letter)
        assert logits.max() - logits[made] <= 2e-2 * np.abs(logits).max(), "rounded to f16, and no more"
        ids.append(made)
