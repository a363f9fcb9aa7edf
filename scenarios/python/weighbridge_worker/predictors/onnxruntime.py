"""ONNX Runtime: a session over a file in the format of ONNX, which is written from the model and its weights.

`compiled` is a session with all optimisations of the graph, which is what it has unless it is told more, and `eager`
one with none. Keys and values stay in memory of the runtime between calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort

from .. import onnx_file
from ..adapter import Declined, Place
from ..pipeline import Array
from ..predictor import Prediction, Predictor, Task, told

LEVELS = {
    "eager": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "compiled": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


class OnnxRuntime(Prediction):
    """A session."""

    def __init__(self, task: Task, place: Place) -> None:
        super().__init__(task)
        if task.mode not in LEVELS:
            raise Declined(f"mode {task.mode}: a runtime of graphs has no way back")
        if task.precision != "f32":
            raise Declined(f"precision {task.precision}: its operators on a processor are of f32")
        path = onnx_file.write(task, place.scratch / "model.onnx")
        options = ort.SessionOptions()
        options.graph_optimization_level = LEVELS[task.mode]
        self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.outputs = [one.name for one in self.session.get_outputs()]
        self.entering = [one.name for one in self.session.get_inputs()]
        self.kept: dict[str, Any] = {}
        self.before = 0

    def run(self, **inputs: Array) -> Array:
        """Runs the graph, and keeps what it hands out beside the logits."""
        values = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in inputs.items()}
        logits, *kept = self.session.run_with_ort_values(self.outputs, {**values, **self.kept})
        self.kept = {name.removesuffix(" after"): one for name, one in zip(self.outputs[1:], kept, strict=True)}
        return logits.numpy()

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
        none = [one for one in self.session.get_inputs() if one.name.startswith(("keys", "values"))]
        empty = {one.name: np.empty((one.shape[0], one.shape[1], 0, one.shape[3]), np.float32) for one in none}
        self.kept = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in empty.items()}
        self.before = 0
        return self.grown(ids)

    def decode(self, ids: Array) -> Array:
        return self.grown(ids[:, np.newaxis])

    def settings(self) -> dict[str, str]:
        # A session does not tell the numbers that it holds: those of the file are told.
        types = {one.type for one in self.session.get_outputs()}
        precision = "f32" if types == {"tensor(float)"} else " ".join(sorted(types))
        return told(precision, sum(array.size for array in self.task.weights.values()))

    def environment(self) -> dict[str, str]:
        return {"providers": " ".join(self.session.get_providers())}


def open(task: Task, place: Place) -> OnnxRuntime:
    return OnnxRuntime(task, place)


ADAPTER = Predictor(
    framework="ONNX Runtime",
    distribution="onnxruntime",
    entry_point="onnxruntime.InferenceSession",
    open=open,
)
