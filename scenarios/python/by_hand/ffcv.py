"""FFCV: arrays in one file by `DatasetWriter`, decoded into batches by a `Loader`'s compiled threads."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import ffcv.fields
import ffcv.fields.ndarray
import ffcv.loader
import ffcv.transforms
import ffcv.writer
import numpy as np

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()
IMAGES = case.name == "CV-1"
BY_TABLE = [ffcv.transforms.NormalizeImage(np.zeros(3), np.full(3, 255.0), np.float32)]


def epoch() -> Iterator[Array]:
    for (rows,) in loader:
        yield rows if IMAGES else case.steps(rows)


if __name__ == "__main__":
    with tempfile.NamedTemporaryFile(suffix=".beton") as file:
        field = ffcv.fields.NDArrayField(case.rows.dtype, case.rows.shape[1:])
        ffcv.writer.DatasetWriter(file.name, {"rows": field}, num_workers=1).from_indexed_dataset(case.rows[:, None])
        operations = [ffcv.fields.ndarray.NDArrayDecoder(), *(BY_TABLE if IMAGES else [])]
        how = {"batch_size": case.batch_size, "num_workers": max(case.workers, 1), "drop_last": False}
        loader = ffcv.loader.Loader(file.name, **how, os_cache=True, pipelines={"rows": operations})
        measure(case, epoch)
