"""WebDataset: tar shards by `ShardWriter`, read by `WebDataset(...).batched(...).map(...)`; with workers through
`WebLoader`, which gives each its shards.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable

import webdataset as wds

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()
SHARDS = 4


def epochs(folder: str) -> Iterable[Array]:
    with wds.ShardWriter(f"{folder}/%05d.tar", maxcount=-(-len(case.rows) // SHARDS), verbose=0) as shards:
        for index, row in enumerate(case.rows):
            shards.write({"__key__": f"{index:09}", "row": row.tobytes()})
    dataset = wds.WebDataset(f"{folder}/{{00000..{SHARDS - 1:05}}}.tar", shardshuffle=False)
    batches = dataset.batched(case.batch_size, collation_fn=lambda samples: case.decoded([s["row"] for s in samples]))
    batches = batches.map(case.steps)
    if case.workers:
        return wds.WebLoader(batches, batch_size=None, num_workers=case.workers, persistent_workers=True)
    return batches


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=case.files) as folder:
        batches = epochs(folder)
        measure(case, lambda: batches)
