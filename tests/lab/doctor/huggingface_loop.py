"""A training on a data set of HuggingFace, by PyTorch's loader, with a planted stall."""

import stall
import torch
from datasets import Dataset
from torch.utils.data import DataLoader

torch.set_num_threads(1)


def tokens(batch):
    return {"ids": [torch.full((16,), float(stall.element(index))) for index in batch["index"]]}


def main():
    data = Dataset.from_dict({"index": list(range(stall.count()))}).with_transform(tokens)
    loader = DataLoader(data, batch_size=stall.BATCH, num_workers=stall.WORKERS)
    for epoch in range(stall.epochs()[0]):
        stall.begin_epoch()
        for number, batch in enumerate(loader):
            stall.step(number)


if __name__ == "__main__":
    main()
