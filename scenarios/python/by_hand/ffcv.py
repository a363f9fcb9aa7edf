"""FFCV: arrays in one file by `DatasetWriter`, decoded into batches by a `Loader`'s compiled threads."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import ffcv.fields
import ffcv.fields.ndarray
import ffcv.loader
import ffcv.writer

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()


def epoch() -> Iterator[Array]:
    for (rows,) in loader:
        yield case.steps(rows)


if __name__ == "__main__":
    with tempfile.NamedTemporaryFile(suffix=".beton", dir=case.files) as file:
        field = ffcv.fields.NDArrayField(case.rows.dtype, case.rows.shape[1:])
        ffcv.writer.DatasetWriter(file.name, {"rows": field}, num_workers=1).from_indexed_dataset(case.rows[:, None])
        operations = [ffcv.fields.ndarray.NDArrayDecoder()]
        how = {"batch_size": case.batch_size, "num_workers": max(case.workers, 1), "drop_last": False}
        loader = ffcv.loader.Loader(file.name, **how, os_cache=True, pipelines={"rows": operations})
        measure(case, epoch)
