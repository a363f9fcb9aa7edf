"""TorchData: the data set of whole batches of PyTorch, and `StatefulDataLoader` in the place of `DataLoader`."""

from __future__ import annotations

import torch
import torch.utils.data
from torchdata.stateful_dataloader import StatefulDataLoader

from .case import Case
from .timed import measure

case = Case.from_arguments()


class Batches(torch.utils.data.Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return case.batches

    def __getitem__(self, number: int) -> torch.Tensor:
        return torch.from_numpy(case.steps(case.batch(number)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    loader = StatefulDataLoader(
        Batches(), batch_size=None, num_workers=case.workers, persistent_workers=case.workers > 0
    )
    measure(case, lambda: loader)
