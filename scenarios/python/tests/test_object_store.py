"""A checkpoint in a bucket of a real server on this machine, and servers that refuse, answer 503 or never answer."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("runai_model_streamer_s3", reason="runai-model-streamer-s3 is not installed here")

import boto3
import torch
from safetensors.torch import save_file

from .harness import Worker

TENSORS = {
    "weight": torch.arange(12, dtype=torch.float32).reshape(3, 4),
    "bias.0": torch.arange(5, dtype=torch.int64),
    "half": torch.ones(7, dtype=torch.bfloat16),
}


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    command = os.environ.get("WEIGHBRIDGE_MOTO") or shutil.which("moto_server")
    if command is None:
        pytest.skip("there is no `moto_server`, and `WEIGHBRIDGE_MOTO` names none")
    server = subprocess.Popen([command, "-p", "0"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        line = next(line for line in server.stderr if "Running on" in line)
        endpoint = line.split()[-1]
        threading.Thread(target=server.stderr.read, daemon=True).start()
        file = tmp_path_factory.mktemp("weights") / "model.safetensors"
        save_file(TENSORS, file)
        keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "region_name": "us-east-1"}
        store = boto3.client("s3", endpoint_url=endpoint, **keys)
        store.create_bucket(Bucket="weights")
        store.upload_file(str(file), "weights", "llama/model.safetensors")
        yield endpoint
    finally:
        server.kill()
        server.wait()


def worker(monkeypatch, endpoint):
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
        "RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING": "0",
    }.items():
        monkeypatch.setenv(name, value)
    started = Worker("checkpointers.runai")
    name, said = started.hear()
    assert name == "hello", said
    return started


def opened(started, place, url="s3://weights/llama"):
    stored = {"directory": str(place), "store": url, "format": "safetensors"}
    return started.ask("open", contract="checkpointer", stored=stored, **started.places(place))


def test_what_lies_in_a_bucket_is_told_loaded_and_handed_over(monkeypatch, tmp_path, bucket):
    started = worker(monkeypatch, bucket)
    name, said = opened(started, tmp_path)
    assert name == "opened", said
    assert started.ask("call", name="load") == ("answer", {})
    for at, (key, dtype) in enumerate([("bias.0", "<i8"), ("half", "<V2"), ("weight", "<f4")]):
        name, batch = started.ask("call", name="loaded", tensor=at)
        found = started.read(batch)
        assert f"['{key}']" in bytes(found["header"]).decode() and dtype in bytes(found["header"]).decode()
        assert bytes(found["bytes"]) == TENSORS[key].contiguous().view(torch.uint8).numpy().tobytes()
    assert started.ask("call", name="release") == ("answer", {})
    assert started.ask("close")[0] == "closed"
    name, said = opened(started, tmp_path, "s3://weights/nothing")
    assert name == "failed" and "there are no files of safetensors" in said["detail"], said
    started.close()


LISTING = b"""<?xml version="1.0"?><ListBucketResult><Name>weights</Name><KeyCount>1</KeyCount><IsTruncated>false
</IsTruncated><Contents><Key>llama/model.safetensors</Key><Size>500</Size></Contents></ListBucketResult>"""


class Unavailable(BaseHTTPRequestHandler):
    """Lists what is there in `/weights`, and has nothing else."""

    def do_GET(self):
        body = LISTING if self.path.startswith("/weights?") else b""
        self.send_response(200 if body else 503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 (the name is that of the library)

    def log_message(self, *_):
        pass


def test_a_store_that_refuses_or_answers_503_is_a_failure_that_says_so(monkeypatch, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Unavailable)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    busy = f"http://127.0.0.1:{server.server_address[1]}"
    for endpoint, url, words in [
        (closed, "s3://weights/llama", "Could not connect to the endpoint"),
        (busy, "s3://busy/llama", "503"),
        (busy, "s3://weights/llama", "File access error"),
    ]:
        started = worker(monkeypatch, endpoint)
        name, said = opened(started, tmp_path, url)
        assert name == "failed" and words in said["detail"], said
        started.close()
    server.shutdown()
