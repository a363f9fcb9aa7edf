"""Hands out arrays that a thread fills when it comes to it."""

import threading

import numpy as np

from weighbridge_worker.adapter import Adapter
from weighbridge_worker.adapters import numpy as honest


class Forgets(honest.NumPy):
    def begin(self, epoch):
        for batch in super().begin(epoch):
            promised = {name: np.zeros_like(array) for name, array in batch.items()}

            def fill(promised=promised, batch=batch):
                for name, array in batch.items():
                    np.copyto(promised[name], array)

            # A device's queue, as slow as it may be: it comes to a batch when the next one is asked for.
            later = threading.Thread(target=fill)
            yield promised
            later.start()


ADAPTER = Adapter("NumPy", "numpy", "numpy.frombuffer", lambda pipeline, data, place: Forgets(pipeline, data))
