"""LitData: samples written by `optimize`, streamed by `StreamingDataset` into `StreamingDataLoader`."""

from __future__ import annotations

import tempfile

import litdata
import torch

from .case import Case
from .timed import measure

case = Case.from_arguments()


def sample(index: int) -> dict[str, bytes]:
    return {"row": case.rows[index].tobytes()}


def together(samples: list[dict[str, bytes]]) -> torch.Tensor:
    return torch.from_numpy(case.steps(case.decoded([sample["row"] for sample in samples])))


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=case.files) as folder:
        once = {"num_workers": 1, "start_method": "fork", "verbose": False}
        litdata.optimize(sample, list(range(len(case.rows))), folder, chunk_bytes="64MB", **once)
        loader = litdata.StreamingDataLoader(
            litdata.StreamingDataset(folder, shuffle=False),
            batch_size=case.batch_size,
            num_workers=case.workers,
            collate_fn=together,
            persistent_workers=case.workers > 0,
        )
        measure(case, lambda: loader)
