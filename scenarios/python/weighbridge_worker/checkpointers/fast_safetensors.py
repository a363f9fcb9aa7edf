"""fastsafetensors: safetensors of others, read file by file into one run of memory, of which tensors are views.

`copy_files_to_device` onto the processor without GPUDirect (`nogds`), as its documentation has it where there is none.
Its tensors hold the memory that they lie in, so the buffer may be closed and nothing is copied here.

Cannot: save, or load onto devices that are not there.
"""

from __future__ import annotations

from fastsafetensors import SafeTensorsFileLoader, SingleGroup

from ..adapter import Place
from ..checkpointer import Saver
from ..stored import StoredFiles
from .safetensors import StoredSafetensors


class Fast(StoredSafetensors):
    """Files that lie somewhere, one or several."""

    def load(self) -> None:
        loader = SafeTensorsFileLoader(SingleGroup(), device="cpu", nogds=True)
        try:
            loader.add_filenames({0: [str(file) for file in self.files]})
            buffer = loader.copy_files_to_device()
            self.held = {name: buffer.get_tensor(name) for name in loader.get_keys()}
            buffer.close()
        finally:
            loader.close()


def open_stored(files: StoredFiles, place: Place) -> Fast:
    files.only("safetensors")
    return Fast(files.directory)


ADAPTER = Saver(
    framework="fastsafetensors",
    distribution="fastsafetensors",
    entry_point="fastsafetensors.SafeTensorsFileLoader",
    open=None,
    open_stored=open_stored,
)
