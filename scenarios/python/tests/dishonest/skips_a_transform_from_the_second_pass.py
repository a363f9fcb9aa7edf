"""Does all transforms for as long as it thinks that it is looked at, and then leaves the last one out."""

from dataclasses import replace

from weighbridge_worker.adapter import Adapter
from weighbridge_worker.adapters import numpy as honest
from weighbridge_worker.pipeline import Program

HONEST = 3
"""Two epochs that are verified, and the first pass that is measured."""


class Skips(honest.NumPy):
    begun = 0

    def begin(self, epoch):
        self.begun += 1
        if self.begun > HONEST:
            less = replace(self.pipeline, transforms=self.pipeline.transforms[:-1])
            self.program = Program(less, self.data.sources)
        return super().begin(epoch)


ADAPTER = Adapter("NumPy", "numpy", "numpy.frombuffer", lambda pipeline, data, place: Skips(pipeline, data))
