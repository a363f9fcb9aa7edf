"""`python -m weighbridge_worker.http_server PREDICTOR TASK PORT`: a predictor behind plain HTTP on this machine.

A model that generates is asked by `/v1/completions`, any other one by `/v2/models/model/infer`, one request at a time.
It ends when its standard input ends, or when it is asked to.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from .adapter import Place
from .data import Data
from .pipeline import Array
from .predictor import Prediction, Predictor, Task

BEYOND = 0x100
"""The first character of ids that are no printable character of ASCII."""

OK, REFUSED, UNKNOWN = 200, 400, 404


class Refused(Exception):
    """A request that cannot be answered."""


def letter_of(number: int) -> str:
    """The character of an id."""
    return chr(number if 0x20 <= number < 0x7F else BEYOND + number)


def id_of(letter: str) -> int:
    """The id of a character."""
    code = ord(letter)
    number = code if code < BEYOND else code - BEYOND
    if number >= BEYOND or letter_of(number) != letter:
        raise Refused(f"{letter!r} is no token")
    return number


class Served:
    """A model, which answers one request at a time: keys and values that are kept are those of one text."""

    def __init__(self, prediction: Prediction) -> None:
        self.prediction, self.task, self.lock = prediction, prediction.task, threading.Lock()

    def logits(self, data: list[float]) -> list[float]:
        """The logits of one sample."""
        said = self.task.model["input"]
        if said["kind"] == "ids":
            shape, kind = (1, said["length"]), np.int32
        elif said["kind"] == "grid":
            shape, kind = (1, said["rows"], said["columns"], said["channels"]), np.float32
        else:
            shape, kind = (1, said["width"]), np.float32
        if len(data) != np.prod(shape):
            raise Refused(f"the input has {len(data)} numbers where {int(np.prod(shape))} are due")
        with self.lock:
            logits = self.prediction.checked(self.prediction.predict(np.array(data, kind).reshape(shape)), 1)
        return [float(logit) for logit in logits[0]]

    def tokens(self, prompt: str, count: int) -> Iterator[str]:
        """The letters that follow a text, as they come."""
        ids: Array = np.array([[id_of(letter) for letter in prompt]], np.int32)
        if not prompt or count < 1 or len(prompt) + count > self.task.length:
            raise Refused(f"{len(prompt)} tokens and {count} after them do not fit into {self.task.length} places")
        return self._tokens(ids, count)

    def _tokens(self, ids: Array, count: int) -> Iterator[str]:
        with self.lock:
            logits = self.prediction.prefill(ids)
            for number in range(1, count + 1):
                made = int(self.prediction.checked(logits, 1)[0].argmax())
                yield letter_of(made)
                if number < count:
                    logits = self.prediction.decode(np.array([made], np.int32))


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # a head and a body in one write
    served: Served

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: a line a request would be measured."""

    def given(self) -> bytes:
        """The body of the request. After one whose end is not known nothing more is read."""
        try:
            length = int(self.headers.get("Content-Length") or 0)
            if length < 0 or self.headers.get("Transfer-Encoding"):
                raise ValueError("a body without its length")
        except ValueError:
            self.close_connection = True
            raise
        return self.rfile.read(length)

    def do_GET(self) -> None:
        try:
            self.given()
        except ValueError as error:
            self.tell(REFUSED, {"error": {"message": str(error)}})
            return
        self.tell(OK if self.path == "/v2/health/ready" else UNKNOWN, {})

    def do_POST(self) -> None:
        try:
            said = json.loads(self.given())
            generates = self.served.task.generation is not None
            if self.path == "/v1/completions" and generates:
                self.complete(said)
            elif self.path == "/v2/models/model/infer" and not generates:
                (given,) = said["inputs"]
                logits = self.served.logits(given["data"])
                output = {"name": "logits", "shape": [1, len(logits)], "datatype": "FP32", "data": logits}
                self.tell(OK, {"model_name": "model", "outputs": [output]})
            else:
                self.tell(UNKNOWN, {})
        except (Refused, ValueError, KeyError, TypeError) as error:
            self.tell(REFUSED, {"error": {"message": f"{type(error).__name__}: {error}"}})

    def tell(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def complete(self, said: dict[str, Any]) -> None:
        """Goes on with a text."""
        prompt, count = said["prompt"], said.get("max_tokens", 16)
        letters = self.served.tokens(prompt, count)
        usage = {"prompt_tokens": len(prompt), "completion_tokens": count, "total_tokens": len(prompt) + count}
        if not said.get("stream"):
            text = "".join(letters)
            self.tell(OK, {"object": "text_completion", "choices": [{"index": 0, "text": text}], "usage": usage})
            return
        self.send_response(OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for letter in letters:
            self.event({"object": "text_completion", "choices": [{"index": 0, "text": letter}]})
        if (said.get("stream_options") or {}).get("include_usage"):
            self.event({"object": "text_completion", "choices": [], "usage": usage})
        self.part(b"data: [DONE]\n\n")
        self.part(b"")

    def event(self, said: dict[str, Any]) -> None:
        self.part(b"data: " + json.dumps(said).encode() + b"\n\n")

    def part(self, content: bytes) -> None:
        """A chunk of the body; the last one is empty."""
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()


class Listener(ThreadingHTTPServer):
    """Takes connections, each on a thread of its own."""

    daemon_threads = True
    request_queue_size = 1024


def end_with_input() -> None:
    """Ends this process when nobody holds the other end of its standard input."""
    while os.read(0, 1):
        pass
    os._exit(0)


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit("usage: python -m weighbridge_worker.http_server PREDICTOR TASK PORT")
    name, path, port = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    threading.Thread(target=end_with_input, name="input", daemon=True).start()
    said = json.loads(path.read_text())
    predictor: Predictor = importlib.import_module(f"weighbridge_worker.predictors.{name}").ADAPTER
    task = Task.from_dict(said["prediction"], Data(said["weights"]))
    prediction = predictor.open(task, Place(path.parent, path.parent))
    handler = type("ServingHandler", (Handler,), {"served": Served(prediction)})
    Listener(("127.0.0.1", port), handler).serve_forever()


if __name__ == "__main__":
    main()
