"""A loop over jax-dataloader's own loader, with a planted stall."""

import jax_dataloader
import numpy as np
import stall


class Data(jax_dataloader.Dataset):
    def __len__(self):
        return stall.count()

    def __getitem__(self, indices):
        return np.array([stall.element(int(index)) for index in np.atleast_1d(indices)])


def main():
    loader = jax_dataloader.DataLoader(Data(), "jax", batch_size=stall.BATCH)
    for epoch in range(stall.epochs()[0]):
        stall.begin_epoch()
        for number, batch in enumerate(loader):
            stall.step(number)


if __name__ == "__main__":
    main()
