"""The model streamer of Run:ai: safetensors of others, read by threads of its own into memory that the caller owns.

`stream_files` with its own defaults onto the processor, as its documentation has it. `owned=True` is one of them: a
tensor stays as it is for as long as it is held, so nothing is copied here.

Cannot: save, or load onto devices that are not there.
"""

from __future__ import annotations

from runai_model_streamer import SafetensorsStreamer

from ..adapter import Place
from ..checkpointer import Saver
from ..stored import StoredFiles
from .safetensors import StoredSafetensors


class Streamed(StoredSafetensors):
    """Files that lie somewhere, one or several."""

    def load(self) -> None:
        with SafetensorsStreamer() as streamer:
            streamer.stream_files([str(file) for file in self.files])
            self.held = dict(streamer.get_tensors())


def open_stored(files: StoredFiles, place: Place) -> Streamed:
    files.only("safetensors")
    return Streamed(files.directory)


ADAPTER = Saver(
    framework="Run:ai Model Streamer",
    distribution="runai-model-streamer",
    entry_point="runai_model_streamer.SafetensorsStreamer",
    open=None,
    open_stored=open_stored,
)
