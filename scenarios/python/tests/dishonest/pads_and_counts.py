"""Fills the last batch up with rows from the beginning, and counts them."""

import numpy as np

from weighbridge_worker.adapter import Adapter
from weighbridge_worker.adapters import numpy as honest


class Pads(honest.NumPy):
    def begin(self, epoch):
        size = self.pipeline.batch_size
        for batch in super().begin(epoch):
            yield {name: np.resize(array, (size, *array.shape[1:])) for name, array in batch.items()}


ADAPTER = Adapter("NumPy", "numpy", "numpy.frombuffer", lambda pipeline, data, place: Pads(pipeline, data))
