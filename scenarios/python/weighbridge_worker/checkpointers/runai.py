"""The model streamer of Run:ai: safetensors of others, read by threads of its own into memory that the caller owns.

`stream_files` with its own defaults onto the processor, as its documentation has it. `owned=True` is one of them: a
tensor stays as it is for as long as it is held, so nothing is copied here. From an object store it reads by the package
`runai-model-streamer-s3`, with the address and the keys of the environment; that is installed apart.

Cannot: save, or load onto devices that are not there.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from runai_model_streamer import SafetensorsStreamer, list_safetensors

from ..adapter import Declined, Place
from ..checkpointer import Saver
from ..stored import StoredFiles
from .safetensors import StoredSafetensors, header


def stream(files: Sequence[str]) -> dict[str, object]:
    """All tensors of some files."""
    with SafetensorsStreamer() as streamer:
        streamer.stream_files(list(files))
        return dict(streamer.get_tensors())


class Streamed(StoredSafetensors):
    """Files that lie somewhere, one or several."""

    def load(self) -> None:
        self.held = stream([str(file) for file in self.files])


class StreamedFromStore(StoredSafetensors):
    """Files in a bucket. What is in them is known when they have been read once."""

    def __init__(self, url: str) -> None:
        self.urls = sorted(list_safetensors(url))
        if not self.urls:
            raise FileNotFoundError(f"{url}: there are no files of safetensors")
        self.load()
        headers = {name: header(name, tensor) for name, tensor in self.held.items()}
        self.names = sorted(headers, key=lambda name: headers[name].key)
        self.headers = [headers[name] for name in self.names]
        self.release()

    def load(self) -> None:
        self.held = stream(self.urls)


def open_stored(files: StoredFiles, place: Place) -> StoredSafetensors:
    if files.store is None:
        files.only("safetensors")
        return Streamed(files.directory)
    if importlib.util.find_spec("runai_model_streamer_s3") is None:
        raise Declined("a checkpoint in an object store: runai-model-streamer-s3 is not installed beside it")
    return StreamedFromStore(files.store)


ADAPTER = Saver(
    framework="Run:ai Model Streamer",
    distribution="runai-model-streamer",
    entry_point="runai_model_streamer.SafetensorsStreamer",
    open=None,
    open_stored=open_stored,
)
