"""Hands out blue, green, red."""

import numpy as np

from weighbridge_worker.adapter import Adapter
from weighbridge_worker.adapters import numpy as honest


class Swaps(honest.NumPy):
    def begin(self, epoch):
        for batch in super().begin(epoch):
            yield {name: np.ascontiguousarray(array[..., ::-1]) for name, array in batch.items()}


ADAPTER = Adapter("NumPy", "numpy", "numpy.frombuffer", lambda pipeline, data, place: Swaps(pipeline, data))
