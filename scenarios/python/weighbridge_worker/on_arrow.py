"""Fields as columns of Arrow: flat lists of a length, whose numbers lie one after the other.

Imports pyarrow, so adapters alone import this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa

from .data import Data
from .pipeline import Array, Batch, Source


def table(data: Data, first: int, end: int) -> pa.Table:
    """The elements from `first` to `end`, over the data's own memory."""
    columns = {}
    for source in data.sources:
        numbers = pa.array(data.arrays()[source.kind.name][first:end].reshape(-1))
        shape = source.kind.shape
        columns[source.kind.name] = pa.FixedSizeListArray.from_arrays(numbers, math.prod(shape)) if shape else numbers
    return pa.table(columns)


def numbers_of(column: pa.Array | pa.ChunkedArray) -> Array:
    """What a column holds, in place where it lies in one piece."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return (column.flatten() if hasattr(column, "flatten") else column).to_numpy(zero_copy_only=True)


def fields(batch: pa.RecordBatch | pa.Table, sources: Sequence[Source]) -> Batch:
    """The fields of a batch as arrays, read-only."""
    shapes = ((source.kind.name, source.kind.shape) for source in sources)
    return {name: numbers_of(batch.column(name)).reshape(batch.num_rows, *shape) for name, shape in shapes}
