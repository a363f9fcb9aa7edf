"""The honest twin of all others: numpy as it is, from a file."""

from weighbridge_worker.adapters.numpy import ADAPTER

__all__ = ["ADAPTER"]
