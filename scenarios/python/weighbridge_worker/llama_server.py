"""`python -m weighbridge_worker.llama_server TASK PORT`: a decoder behind the server of `llama-cpp-python`.

The model is written as a file in the format of GGUF, and this process becomes the server. Its threads are as many as it
takes by itself.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from . import gguf_file
from .data import Data
from .predictor import Task


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: python -m weighbridge_worker.llama_server TASK PORT")
    path, port = Path(sys.argv[1]), sys.argv[2]
    said = json.loads(path.read_text())
    task = Task.from_dict(said["prediction"], Data(said["weights"]))
    model = gguf_file.write(task, path.with_name("model.gguf"))
    flags = {
        "model": str(model),
        "host": "127.0.0.1",
        "port": port,
        "n_ctx": str(task.length),
        # Else a request ends the one before it in the middle.
        "interrupt_requests": "false",
        "verbose": "false",
    }
    server = [sys.executable, "-P", "-m", "llama_cpp.server"]
    os.execv(sys.executable, [*server, *(word for name, value in flags.items() for word in (f"--{name}", value))])


if __name__ == "__main__":
    main()
