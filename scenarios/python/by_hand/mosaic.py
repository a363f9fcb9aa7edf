"""MosaicML Streaming: samples written by `MDSWriter`, streamed by `StreamingDataset` into a `DataLoader`."""

from __future__ import annotations

import tempfile

import streaming
import torch

from .case import Case
from .timed import measure

case = Case.from_arguments()


def together(samples: list[dict[str, bytes]]) -> torch.Tensor:
    return torch.from_numpy(case.steps(case.decoded([sample["row"] for sample in samples])))


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=case.files) as folder:
        with streaming.MDSWriter(out=folder, columns={"row": "bytes"}, size_limit="64mb") as writer:
            for row in case.rows:
                writer.write({"row": row.tobytes()})
        dataset = streaming.StreamingDataset(
            local=folder, shuffle=False, batch_size=case.batch_size, predownload=len(case.rows)
        )
        loader = streaming.StreamingDataLoader(
            dataset,
            batch_size=case.batch_size,
            num_workers=case.workers,
            collate_fn=together,
            persistent_workers=case.workers > 0,
        )
        measure(case, lambda: loader)
