"""The file that content is handed over in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .pipeline import Batch, Kind


class Unready(Exception):
    """What was handed out as a batch is none."""


def weigh(batch: Mapping[str, Any]) -> tuple[int, int]:
    """Elements and bytes of a batch. Refuses what is no array yet: a handle, or what is on its way."""
    elements = size = 0
    for name, array in batch.items():
        if type(array) is not np.ndarray:
            raise Unready(
                f"the field `{name}` of a batch is a {type(array).__module__}.{type(array).__qualname__} and no numpy "
                "array: a lazy handle is not a batch"
            )
        elements = len(array)
        size += array.nbytes
    return elements, size


class Exchange:
    """Writes batches where the harness reads them."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def put(self, batch: Batch, offset: int = 0) -> tuple[dict[str, Any], int]:
        """Writes a batch from `offset` on: what is said of it, and where the next may begin."""
        elements, _ = weigh(batch)
        fields = []
        for name, array in batch.items():
            if len(array) != elements:
                raise Unready(f"the field `{name}` has {len(array)} elements in a batch of {elements}")
            kind = described(name, array)
            data = memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
            start = offset
            while data:
                written = os.pwrite(self._file, data, offset)
                offset, data = offset + written, data[written:]
            fields.append({**kind, "offset": start})
        return {"elements": elements, "fields": fields}, offset

    def close(self) -> None:
        os.close(self._file)


def described(name: str, array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Name, type and shape of a field as it is said; a type that the protocol has no word for is said by numpy's."""
    try:
        return Kind(name, array.dtype, array.shape[1:]).to_dict()
    except KeyError:
        return {"name": name, "dtype": array.dtype.name, "shape": list(array.shape[1:])}
