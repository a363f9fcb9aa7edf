"""Leaves the last transform out, and says that it was done."""

from dataclasses import replace

from weighbridge_worker.adapter import Adapter
from weighbridge_worker.adapters import numpy as honest
from weighbridge_worker.pipeline import Program


class Skips(honest.NumPy):
    def __init__(self, pipeline, data):
        super().__init__(pipeline, data)
        self.program = Program(replace(pipeline, transforms=pipeline.transforms[:-1]), data.sources)


ADAPTER = Adapter("NumPy", "numpy", "numpy.frombuffer", lambda pipeline, data, place: Skips(pipeline, data))
