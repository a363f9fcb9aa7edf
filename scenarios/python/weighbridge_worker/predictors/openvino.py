"""OpenVINO: a file in the format of ONNX, which is written from the model and its weights, compiled for the processor.

Keys and values are what the graph hands out, and enter it again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino

from .. import onnx_file
from ..adapter import Declined, Place
from ..pipeline import Array
from ..predictor import Prediction, Predictor, Task, told


class OpenVino(Prediction):
    """A compiled model and one request to it."""

    def __init__(self, task: Task, place: Place) -> None:
        super().__init__(task)
        if task.mode != "compiled":
            raise Declined(f"mode {task.mode}: OpenVINO compiles what it reads")
        path = onnx_file.write(task, place.scratch / "model.onnx")
        # Unless it is told, it takes bf16 where a processor has products of those.
        precision = {"f32": "f32", "bf16": "bf16"}[task.precision]
        hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
        self.model = openvino.compile_model(str(path), "CPU", hints)
        self.request = self.model.create_infer_request()
        # An output has several names, among them one that the plugin gave it.
        named = {name: output for output in self.model.outputs for name in output.names}
        self.logits = named["logits"]
        self.after = {name.removesuffix(" after"): named[name] for name in named if name.endswith(" after")}
        self.kept: dict[str, Any] = {}
        self.before = 0

    def run(self, **inputs: Array) -> Array:
        made = self.request.infer({**inputs, **self.kept})
        self.kept = {name: made[output].copy() for name, output in self.after.items()}
        return np.asarray(made[self.logits])

    def grown(self, ids: Array) -> Array:
        """The same on ids behind those that came before."""
        end = self.before + ids.shape[1]
        places, seen = np.arange(self.before, end), np.arange(end)
        self.before = end
        return self.run(input=ids, places=places, seen=seen)

    def predict(self, inputs: Array) -> Array:
        if self.task.generation is None:
            return self.run(input=inputs)
        self.before = 0
        return self.grown(inputs)

    def prefill(self, ids: Array) -> Array:
        self.kept = {}
        for one in self.model.inputs:
            if one.any_name.startswith(("keys", "values")):
                batch, heads, _, size = one.partial_shape
                self.kept[one.any_name] = np.empty(
                    (batch.get_length(), heads.get_length(), 0, size.get_length()), np.float32
                )
        self.before = 0
        return self.grown(ids)

    def decode(self, ids: Array) -> Array:
        return self.grown(ids[:, np.newaxis])

    def settings(self) -> dict[str, str]:
        hint = str(self.model.get_property("INFERENCE_PRECISION_HINT").to_string())
        precision = {"f32": "f32", "bf16": "bf16"}.get(hint, hint)
        return told(precision, sum(array.size for array in self.task.weights.values()))

    def environment(self) -> dict[str, str]:
        return {"threads": str(self.model.get_property("INFERENCE_NUM_THREADS"))}


def open(task: Task, place: Place) -> OpenVino:
    return OpenVino(task, place)


ADAPTER = Predictor(framework="OpenVINO", distribution="openvino", entry_point="openvino.compile_model", open=open)
