"""Trains a bag of words on a data set of HuggingFace that is tokenised while it is read."""

import sys

import torch
from datasets import Dataset
from torch import nn
from torch.utils.data import DataLoader

WORDS = "the loader waits for a disk and the step waits for the loader until somebody adds a worker".split()


def tokenise(batch):
    ids = []
    for text in batch["text"]:
        letters = [hash(text[at : at + 3]) % 5000 for at in range(len(text) - 2)]
        ids.append(torch.tensor(letters[:512]))
    return {"ids": ids, "label": batch["label"]}


def main():
    workers = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    texts = [" ".join(WORDS[(number * step) % len(WORDS)] for step in range(400)) for number in range(2000)]
    data = Dataset.from_dict({"text": texts, "label": [number % 2 for number in range(2000)]})
    loader = DataLoader(data.with_transform(tokenise), batch_size=32, shuffle=True, num_workers=workers)
    model = nn.Sequential(nn.EmbeddingBag(5000, 16), nn.Linear(16, 2))
    optimiser = torch.optim.Adam(model.parameters())
    for epoch in range(100):
        for batch in loader:
            loss = nn.functional.cross_entropy(model(batch["ids"]), batch["label"])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        print("epoch", epoch, "loss", loss.item())


if __name__ == "__main__":
    main()
