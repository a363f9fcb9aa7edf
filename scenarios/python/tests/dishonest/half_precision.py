"""Hands out `float16`, which is half of the bytes."""

import numpy as np

from weighbridge_worker.adapter import Adapter
from weighbridge_worker.adapters import numpy as honest


class Half(honest.NumPy):
    def begin(self, epoch):
        for batch in super().begin(epoch):
            yield {name: array.astype(np.float16) for name, array in batch.items()}


ADAPTER = Adapter("NumPy", "numpy", "numpy.frombuffer", lambda pipeline, data, place: Half(pipeline, data))
