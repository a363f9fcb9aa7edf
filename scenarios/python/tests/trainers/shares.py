"""The same linear map on one of several ranks, which takes its share and never meets the others."""

from tests.trainers.plain import Plain
from weighbridge_worker.trainer import Trainer

ADAPTER = Trainer(
    framework="Shares",
    distribution="numpy",
    entry_point="numpy.dot",
    open=lambda task, place: Plain(task),
    ranks=True,
)
