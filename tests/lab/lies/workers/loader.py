"""A loader in a worker that makes its epochs otherwise than they are asked for, in the one way that `LIE` names.

It is the project's own for NumPy, changed as little as the lie needs.
"""

import os
import time
from dataclasses import replace

from weighbridge_worker.adapters import numpy as honest

LIE = os.environ["LIE"]


class WithTheFirst(honest.NumPy):
    """All batches of an epoch are made with its first one."""

    def batches(self, epoch, skip):
        made = super().batches(epoch, skip)

        def there():
            yield from list(made)

        return there()


class WithTheSecond(honest.NumPy):
    """All batches of an epoch but its first one are made with its second one."""

    def batches(self, epoch, skip):
        made = super().batches(epoch, skip)

        def there():
            yield next(made)
            yield from list(made)

        return there()


class Compiles(honest.NumPy):
    """Honest, and every epoch begins with a start that takes 20 ms of a processor, whatever it holds."""

    def batches(self, epoch, skip):
        made = super().batches(epoch, skip)

        def there():
            until = time.thread_time_ns() + 20_000_000
            while time.thread_time_ns() < until:
                pass
            yield from made

        return there()


WAYS = {
    "made-with-the-first-in-a-worker": WithTheFirst,
    "made-with-the-second-in-a-worker": WithTheSecond,
    "compiles-each-epoch-in-a-worker": Compiles,
    "numpy-in-a-worker": honest.NumPy,
}

ADAPTER = replace(honest.ADAPTER, open=lambda pipeline, data, place: WAYS[LIE](pipeline, data))
