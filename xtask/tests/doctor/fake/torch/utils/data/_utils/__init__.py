"""The parts of a loader."""

from . import fetch, worker  # noqa: F401
