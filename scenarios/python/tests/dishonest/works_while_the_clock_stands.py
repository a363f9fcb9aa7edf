"""Makes a whole epoch in a thread as soon as it is begun, and is not back before that is done."""

import threading

from weighbridge_worker.adapter import Adapter
from weighbridge_worker.adapters import numpy as honest


class Works(honest.NumPy):
    def begin(self, epoch):
        ready = []
        batches = super().begin(epoch)
        thread = threading.Thread(target=lambda: ready.extend(batches))
        thread.start()
        thread.join()
        return iter(ready)


ADAPTER = Adapter("NumPy", "numpy", "numpy.frombuffer", lambda pipeline, data, place: Works(pipeline, data))
