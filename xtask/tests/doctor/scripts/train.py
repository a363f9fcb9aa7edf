"""A training whose batches and steps wait, for as many milliseconds as two variables say."""

import os
import sys
import time

from torch import save
from torch.utils.data import DataLoader, Dataset

BATCH = float(os.environ.get("BATCH_MS", "20")) / 1000
STEP = float(os.environ.get("STEP_MS", "4")) / 1000


class Data(Dataset):
    def __len__(self):
        return int(os.environ.get("SAMPLES", "4000"))

    def __getitem__(self, index):
        if index % 4 == 0:
            time.sleep(BATCH)
        return index


loader = DataLoader(Data(), batch_size=4)
for epoch in range(int(os.environ.get("EPOCHS", "2"))):
    for batch in loader:
        time.sleep(STEP)
    save({"epoch": epoch}, "model.bin")
    print("epoch", epoch)
print("arguments", sys.argv[1:])
