"""HuggingFace Datasets: a table on disk of flat lists of a length, read as Arrow, whose numbers numpy sees in place.
With workers it is given to a `DataLoader`, whose sampler asks for slices.
"""

from __future__ import annotations

import tempfile
from typing import Any

import datasets
import pyarrow as pa
import torch

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()
WIDTH, SIZE = case.rows[0].size, case.batch_size
SLICES = [slice(at, at + SIZE) for at in range(0, len(case.rows), SIZE)]


def done(batch: Any) -> Array:
    lists = batch["rows"].combine_chunks()
    return case.steps(lists.flatten().to_numpy().reshape(-1, *case.rows.shape[1:]))


if __name__ == "__main__":
    torch.set_num_threads(1)
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory(dir=case.files) as folder:
        lists = pa.FixedSizeListArray.from_arrays(pa.array(case.rows.reshape(-1)), WIDTH)
        datasets.Dataset(pa.table({"rows": lists})).save_to_disk(folder)
        dataset = datasets.load_from_disk(folder).with_format("arrow")
        if case.workers:
            asked = {"sampler": SLICES, "batch_size": None, "collate_fn": lambda batch: torch.from_numpy(done(batch))}
            processes = {"num_workers": case.workers, "persistent_workers": True}
            loader = torch.utils.data.DataLoader(dataset, **asked, **processes)
            measure(case, lambda: loader)
        else:
            measure(case, lambda: map(done, dataset.iter(batch_size=SIZE)))
