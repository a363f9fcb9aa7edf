"""Trains a small network on a folder of photographs, as tutorials of PyTorch do; the photographs are made first."""

import os
import sys
import tempfile

import numpy
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def make(folder):
    draw = numpy.random.default_rng(1)
    for kind in ("cat", "dog"):
        os.makedirs(os.path.join(folder, kind))
        for number in range(60):
            small = draw.integers(0, 255, (24, 32, 3), dtype=numpy.uint8)
            Image.fromarray(small).resize((1024, 768)).save(os.path.join(folder, kind, "%d.jpg" % number))


def main():
    workers = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    folder = tempfile.mkdtemp()
    make(folder)
    steps = transforms.Compose(
        [transforms.RandomResizedCrop(64), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
    )
    data = datasets.ImageFolder(folder, steps)
    loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=workers)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(200):
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        torch.save(model.state_dict(), "model.pt")
        print("epoch", epoch, "loss", loss.item())


if __name__ == "__main__":
    main()
