"""Encoded images in an object store over HTTP, by the client that comes with Python.

A connection for each thread, which stays; an answer of 503 or a connection that breaks off is asked for again, as
stores ask of their clients.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import numpy as np

from ..adapter import Declined
from ..pipeline import Array, Pipeline

TRIES = 8
SHARD = "photographs.tar"


def name(index: int) -> str:
    """The name of the object of an element."""
    return f"{index:09}.jpg"


class Unanswered(Exception):
    """A store that goes on refusing."""


class Objects:
    """The objects of a store, each asked for whole. One of these may be used from several threads, and be sent to
    another process, where it has connections of its own."""

    def __init__(self, pipeline: Pipeline) -> None:
        if pipeline.store is None:
            raise Declined("an object store: the pipeline names none")
        self.url, self.in_flight = pipeline.store.url, max(pipeline.store.in_flight // max(pipeline.workers, 1), 1)
        self.first = pipeline.first
        self.connect()

    def connect(self) -> None:
        self.own = threading.local()
        self.pool: ThreadPoolExecutor | None = None

    def __getstate__(self) -> tuple[str, int, int]:
        return self.url, self.in_flight, self.first

    def __setstate__(self, state: tuple[str, int, int]) -> None:
        self.url, self.in_flight, self.first = state
        self.connect()

    def object(self, name: str) -> bytes:
        """The bytes of an object."""
        said = ""
        for _ in range(TRIES):
            try:
                connection = getattr(self.own, "connection", None)
                if connection is None:
                    connection = self.own.connection = http.client.HTTPConnection(urlsplit(self.url).netloc)
                connection.request("GET", f"/{name}")
                answer = connection.getresponse()
                body: bytes = answer.read()
            except (OSError, http.client.HTTPException) as why:
                self.own.connection, said = None, repr(why)
                continue
            if answer.status == 200:
                return body
            said = f"{answer.status} {answer.reason}"
        raise Unanswered(f"{self.url}/{name}, asked for {TRIES} times: {said}")

    def __getitem__(self, number: int) -> Array:
        return np.frombuffer(self.object(name(self.first + number)), np.uint8)

    def many(self, numbers: Sequence[int]) -> list[Array]:
        """Some elements by their places in the epoch, as many at once as may be under way."""
        if self.in_flight == 1:
            return [self[number] for number in numbers]
        if self.pool is None:  # made where it is used: threads do not outlive a fork
            self.pool = ThreadPoolExecutor(self.in_flight)
        return list(self.pool.map(self.__getitem__, numbers))

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown()
        self.pool = None
