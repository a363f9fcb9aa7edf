"""What planted stalls are made of. The variable STALL names one; SIZE makes it larger."""

import logging
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

STALL = os.environ.get("STALL", "none")
SIZE = float(os.environ.get("SIZE", "1"))
WORKERS = int(os.environ.get("WORKERS", "0"))
BATCH = 8
FOLDER = tempfile.mkdtemp()


def spin(milliseconds):
    """Runs for so much time of a processor, whatever else the machine does."""
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        pass


def wait(milliseconds):
    time.sleep(milliseconds / 1000)


def _read(files):
    total = 0
    for number in range(files):
        path = os.path.join(FOLDER, "%d.bin" % (number % 8))
        if not os.path.exists(path):
            with open(path, "wb") as file:
                file.write(bytes(1000))
        with open(path, "rb") as file:
            total += len(file.read())
    return total


_pool = []


def element(index):
    """Makes one element, as slowly as the stall says."""
    if STALL in ("few-workers", "waits"):
        wait(3 * SIZE)
    elif STALL == "decode":
        spin(3 * SIZE)
    elif STALL == "disk":
        _read(1)
        wait(3 * SIZE)
    elif STALL == "small-files":
        _read(8)
        wait(3 * SIZE)
    elif STALL == "lock":
        if not _pool:
            _pool.append(ThreadPoolExecutor(4))
        list(_pool[0].map(spin, [SIZE] * 4))
    else:
        spin(0.05)
    return index


_log = logging.getLogger("training")


def _slow_handler():
    class Slow(logging.Handler):
        def emit(self, record):
            wait(12 * SIZE)

    _log.addHandler(Slow())
    _log.setLevel(logging.INFO)


if STALL == "logging":
    _slow_handler()


def step(number):
    """A step: some work, and what the stall adds."""
    spin(8)
    if STALL == "logging":
        _log.info("step %d", number)
    elif STALL == "fsync":
        with open(os.path.join(FOLDER, "log"), "a") as file:
            file.write("%d\n" % number)
            file.flush()
            wait(0)
            _sync(file)
    elif STALL == "step-wait":
        wait(12 * SIZE)


def _sync(file):
    wait(0)
    os.fsync(file.fileno())


def epochs():
    """The number of epochs, and the batches of each."""
    return (400, 6) if STALL == "epochs" else (400, 120)


def begin_epoch():
    if STALL == "epochs":
        wait(60 * SIZE)


def count():
    return epochs()[1] * BATCH
