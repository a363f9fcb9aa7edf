"""HuggingFace Datasets: a table on disk of flat lists of a length, read as Arrow, whose numbers numpy sees in
place.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import Any

import datasets
import pyarrow as pa

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()
WIDTH = case.rows[0].size


def table() -> datasets.Dataset:
    lists = pa.FixedSizeListArray.from_arrays(pa.array(case.rows.reshape(-1)), WIDTH)
    return datasets.Dataset(pa.table({"rows": lists}))


def done(batch: Any) -> Array:
    lists = batch["rows"].combine_chunks()
    return case.steps(lists.flatten().to_numpy().reshape(-1, *case.rows.shape[1:]))


if __name__ == "__main__":
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as folder:
        table().save_to_disk(folder)
        dataset = datasets.load_from_disk(folder).with_format("arrow")

        def epoch() -> Iterable[Array]:
            return map(done, dataset.iter(batch_size=case.batch_size))

        measure(case, epoch)
