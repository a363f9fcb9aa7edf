"""Leaves out the last, short batch."""

from weighbridge_worker.adapter import Adapter
from weighbridge_worker.adapters import numpy as honest


class Drops(honest.NumPy):
    def begin(self, epoch):
        for batch in super().begin(epoch):
            if len(next(iter(batch.values()))) == self.pipeline.batch_size:
                yield batch


ADAPTER = Adapter("NumPy", "numpy", "numpy.frombuffer", lambda pipeline, data, place: Drops(pipeline, data))
