"""A training by PyTorch, with a planted stall."""

import os

import stall
import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


class Data(Dataset):
    def __len__(self):
        return stall.count()

    def __getitem__(self, index):
        return torch.full((16,), float(stall.element(index)))


class Epochs(DataLoader):
    """A loader that lists its samples anew for each epoch."""

    def __iter__(self):
        stall.begin_epoch()
        return super().__iter__()


def main():
    kind = Epochs if stall.STALL == "epochs" else DataLoader
    loader = kind(Data(), batch_size=stall.BATCH, num_workers=stall.WORKERS)
    other = DataLoader(Data(), batch_size=stall.BATCH)
    model = torch.nn.Linear(16, 1)
    for epoch in range(stall.epochs()[0]):
        for number, batch in enumerate(loader):
            loss = model(batch).mean()
            loss.backward()
            stall.step(number)
            if stall.STALL == "save" and number % 2 == 0:
                torch.save([torch.zeros(int(4e6 * stall.SIZE)), model.state_dict()], os.path.join(stall.FOLDER, "model.pt"))
            if stall.STALL == "validation" and number % 30 == 29:
                for batch in other:
                    stall.spin(3 * stall.SIZE)


if __name__ == "__main__":
    main()
