"""Google Grain over ArrayRecord: a record for each row, and a source that looks up those of a batch at once."""

from __future__ import annotations

import tempfile
from typing import Any

import grain
from array_record.python.array_record_module import ArrayRecordWriter

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()


class Batches:
    def __init__(self, path: str) -> None:
        self.records = grain.sources.ArrayRecordDataSource([path])

    def __len__(self) -> int:
        return case.batches

    def __getitem__(self, number: Any) -> Array:
        start = int(number) * case.batch_size
        return case.decoded(self.records.__getitems__(range(start, min(start + case.batch_size, len(case.rows)))))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=case.files) as folder:
        writer = ArrayRecordWriter(f"{folder}/rows.array_record", "group_size:1,uncompressed")
        for row in case.rows:
            writer.write(row.tobytes())
        writer.close()
        batches = grain.MapDataset.source(Batches(f"{folder}/rows.array_record")).map(case.steps)
        options = grain.ReadOptions(num_threads=case.workers, prefetch_buffer_size=2 * case.workers)
        measure(case, lambda: batches.to_iter_dataset(options))
