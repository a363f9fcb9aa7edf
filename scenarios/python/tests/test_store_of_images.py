"""Encoded images in an object store: a server of the test that counts, and refuses some requests."""

from __future__ import annotations

import io
import shutil
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest

from weighbridge_worker.own.remote import Objects, Unanswered

from .conftest import Made
from .harness import Worker
from .test_adapters import LEVELS, NAMES, PINNED, photograph, python

STEPS = ("DecodeResizedCrop", "RandomFlip", "Normalize", "CastToFloat32")


class Served:
    """Objects on this machine, one request of `failing` answered by 503."""

    def __init__(self, objects, failing=0):
        self.sent, self.asked, self.open = [], 0, 0
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(handler):  # noqa: N805 (the server is `self`)
                self.open += 1
                super().setup()

            def do_GET(handler):  # noqa: N805
                name = handler.path[1:]
                with lock:
                    self.asked += 1
                    refused = bool(failing) and self.asked % failing == 0
                    body = b"" if refused else objects.get(name, b"")
                    if not refused:
                        self.sent.append(name)
                handler.send_response(503 if refused else 200 if name in objects else 404)
                handler.send_header("Content-Length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)

            def log_message(handler, *_):  # noqa: N805
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def serve():
    started = []

    def start(objects, failing=0):
        started.append(Served(objects, failing))
        return started[-1]

    yield start
    for served in started:
        served.server.shutdown()
        served.server.server_close()


def reader(url, in_flight=1):
    store = SimpleNamespace(url=url, in_flight=in_flight)
    return Objects(SimpleNamespace(store=store, first=0, workers=0))


def test_a_connection_stays_and_what_is_refused_is_asked_for_again(serve):
    served = serve({f"{index:09}.jpg": bytes([index] * 5) for index in range(6)}, failing=3)
    got = [array.tobytes() for array in reader(served.url).many(range(6))]
    assert got == [bytes([index] * 5) for index in range(6)]
    assert (served.open, len(served.sent), served.asked) == (1, 6, 8)


def test_many_are_asked_for_at_once_and_come_in_their_order(serve):
    served = serve({f"{index:09}.jpg": bytes([index] * 5) for index in range(9)})
    objects = reader(served.url, in_flight=4)
    assert [array[0] for array in objects.many(range(9))] == list(range(9))
    assert served.open <= 4
    objects.close()


def test_a_store_that_goes_on_refusing_is_named_with_its_object(serve):
    served = serve({}, failing=1)
    with pytest.raises(Unanswered, match=r"000000002\.jpg, asked for 8 times: 503"):
        reader(served.url)[2]


@pytest.fixture
def photographs(tmp_path):
    """Encoded images, and the objects that they are in a store."""
    files, tar = [photograph(level) for level in LEVELS], io.BytesIO()
    rows = np.zeros((len(files), max(map(len, files))), np.uint8)
    with tarfile.open(fileobj=tar, mode="w") as shard:
        for index, content in enumerate(files):
            rows[index, : len(content)] = np.frombuffer(content, np.uint8)
            entry = tarfile.TarInfo(f"{index:09}.jpg")
            entry.size = len(content)
            shard.addfile(entry, io.BytesIO(content))
    place = tmp_path / "photographs"
    place.mkdir()
    objects = {f"{index:09}.jpg": content for index, content in enumerate(files)}
    return Made(place, {"image": rows}), {**objects, "photographs.tar": tar.getvalue()}


READERS = {
    "grain": "stored-files",
    "numpy": "stored-files",
    "spdl": "stored-files",
    "tf_data": "stored-files",
    "torch": "stored-files",
    "webdataset": "stored-tar",
}


def opened(name, access, url, made, place):
    """A worker that was asked to read a store, and what it said."""
    worker = Worker(name, python(name), **PINNED)
    said, message = worker.hear()
    assert said == "hello", message
    spec = made.spec(*STEPS, access=access, operators="own", store={"url": url, "in_flight": 4})
    return worker, *worker.open(made, place, spec)


@pytest.mark.parametrize("name", READERS)
def test_every_epoch_is_read_from_the_store(name, photographs, serve, tmp_path):
    if name == "webdataset" and shutil.which("curl") is None:
        pytest.skip("WebDataset reads addresses by the program `curl`, which is not installed here")
    made, objects = photographs
    served = serve(objects)
    worker, said, message = opened(name, READERS[name], served.url, made, tmp_path)
    if said == "declined" and ("FFmpeg" in message["why"] or "not installed" in message["why"]):
        pytest.skip(message["why"])
    assert said == "opened", message
    expected = ["photographs.tar"] if name == "webdataset" else sorted(objects)[: len(LEVELS)]
    for epoch in (1, 2):
        served.sent.clear()
        images = np.concatenate([batch["image"] for batch in worker.verify(epoch)])
        assert sorted(served.sent) == expected
        assert np.abs(images.mean((1, 2, 3)) * 255 - LEVELS).max() < 1.5
    assert worker.ask("close")[0] == "closed"
    worker.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_form_that_a_system_does_not_read_is_declined_with_the_reason(name, photographs, tmp_path):
    for access in {"stored-files", "stored-tar"} - {READERS.get(name)}:
        worker, said, message = opened(name, access, "http://127.0.0.1:9", photographs[0], tmp_path)
        worker.close()
        assert said == "declined" and ("operators own" in message["why"] or access in message["why"]), message
