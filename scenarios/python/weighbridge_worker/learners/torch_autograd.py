"""PyTorch: autograd over tensors on the host, operation by operation, as its tutorials write a step.

As modules: an `nn.Module` for each step, `loss.backward()` and `torch.optim.SGD`. As a function: tensors that are
given and given back, `torch.autograd.grad`, and the step down as its formula. The rows are a leaf of the graph that
asks for a gradient. Nothing is compiled: there is nothing to count.

Windows are cut element by element, padded and stacked.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..adapter import Place
from ..learner import KEPT, Given, Learner, Learning, Parameters, Task
from ..on_torch import backend_of_tensors, device_for, settle
from ..pipeline import Array


def normalise(x: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    return (x - mean) * scale


def crop(x: Tensor, corners: Array, window: tuple[int, int]) -> Tensor:
    """The window of each element in the upper left corner, and zeros around it."""
    (_, height, width, _), (rows, columns) = x.shape, window
    around = (0, 0, 0, width - columns, 0, height - rows)
    cut = zip(x.unbind(), corners.tolist(), strict=True)
    return torch.stack([F.pad(one[top : top + rows, left : left + columns], around) for one, (top, left) in cut])


def drop(x: Tensor, kept: Tensor) -> Tensor:
    return x * kept.to(x.dtype).mul_(float(KEPT))


def loss_over(out: Tensor, groups: Sequence[int]) -> Tensor:
    """The sum of the groups' losses, each half the mean square of its numbers."""
    return torch.stack([group.square().mean() / 2 for group in out.split(list(groups))]).sum()


class Normalise(nn.Module):
    def __init__(self, mean: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)

    def forward(self, x: Tensor) -> Tensor:
        return normalise(x, self.mean, self.scale)


class Crop(nn.Module):
    def __init__(self, number: int, window: tuple[int, int]) -> None:
        super().__init__()
        self.number, self.window = number, window

    def forward(self, x: Tensor, corners: Sequence[Array]) -> Tensor:
        return crop(x, corners[self.number], self.window)


class Affine(nn.Module):
    """Scale and bias for each channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.scale, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale + self.bias


class Dropout(nn.Module):
    def forward(self, x: Tensor, kept: Tensor) -> Tensor:
        return drop(x, kept)


class Learned(nn.Module):
    """The whole pipeline."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.transforms = nn.ModuleList()
        crops = 0
        for stage in task.stages:
            if stage.name == "Normalize":
                self.transforms.append(Normalise(*map(torch.from_numpy, task.constants)))
            else:
                self.transforms.append(Crop(crops, task.window))
                crops += 1
        self.affine, self.dropout = Affine(task.channels), Dropout()

    def forward(self, x: Tensor, kept: Tensor, corners: Sequence[Array]) -> Tensor:
        for transform in self.transforms:
            x = transform(x, corners) if isinstance(transform, Crop) else transform(x)
        return self.dropout(self.affine(x), kept)


class Autograd(Learning):
    """What both forms have: a step is its three parts."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.where_to = device_for(task.pipeline.device)
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")  # nobody writes to it

    def step(self, given: Given) -> tuple[Array, Array, float]:
        out = self.out_of(given)
        slopes = self.slopes_of()
        self.update()
        settle(self.where_to)
        return out.detach().cpu().numpy(), slopes.cpu().numpy(), self.loss.item()

    def out_of(self, given: Given) -> Tensor:
        """The way forward."""
        self.rows = self.there(given.rows).requires_grad_()
        out = self.through(self.rows, self.there(given.kept), given.corners)
        self.loss = loss_over(out, given.groups)
        return out

    def there(self, array: Array) -> Tensor:
        """An array of the host where it is learned."""
        return torch.from_numpy(array).to(self.where_to)

    def through(self, rows: Tensor, kept: Tensor, corners: Sequence[Array]) -> Tensor:
        raise NotImplementedError

    def slopes_of(self) -> Tensor:
        """The way back."""
        raise NotImplementedError

    def gradient(self) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def forward(self, given: Given) -> tuple[Array, float]:
        out = self.out_of(given)
        return out.detach().cpu().numpy(), self.loss.item()

    def backward(self) -> tuple[Array, Parameters]:
        slopes = self.slopes_of()
        scale, bias = self.gradient()
        settle(self.where_to)
        return slopes.cpu().numpy(), Parameters(scale.cpu().numpy(), bias.cpu().numpy())


class Modules(Autograd):
    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.model = Learned(task).to(self.where_to)
        self.optimiser = torch.optim.SGD(self.model.parameters(), task.rate)

    def set(self, parameters: Parameters) -> None:
        affine = self.model.affine
        with torch.no_grad():
            affine.scale.copy_(torch.from_numpy(parameters.scale))
            affine.bias.copy_(torch.from_numpy(parameters.bias))

    def parameters(self) -> Parameters:
        affine = self.model.affine
        return Parameters(*(one.detach().cpu().numpy().copy() for one in (affine.scale, affine.bias)))

    def where(self) -> str:
        return backend_of_tensors(self.model.parameters())

    def through(self, rows: Tensor, kept: Tensor, corners: Sequence[Array]) -> Tensor:
        return self.model(rows, kept, corners)

    def slopes_of(self) -> Tensor:
        self.optimiser.zero_grad()
        self.loss.backward()
        return self.rows.grad

    def gradient(self) -> tuple[Tensor, Tensor]:
        return self.model.affine.scale.grad, self.model.affine.bias.grad

    def update(self) -> None:
        self.optimiser.step()
        settle(self.where_to)


class Function(Autograd):
    def __init__(self, task: Task) -> None:
        super().__init__(task)
        normalises = any(stage.name == "Normalize" for stage in task.stages)
        self.constants = tuple(map(self.there, task.constants)) if normalises else ()

    def set(self, parameters: Parameters) -> None:
        scale, bias = (self.there(numbers.copy()) for numbers in (parameters.scale, parameters.bias))
        self.scale, self.bias = scale.requires_grad_(), bias.requires_grad_()

    def parameters(self) -> Parameters:
        return Parameters(self.scale.detach().cpu().numpy(), self.bias.detach().cpu().numpy())

    def where(self) -> str:
        return backend_of_tensors((self.scale, self.bias))

    def through(self, rows: Tensor, kept: Tensor, corners: Sequence[Array]) -> Tensor:
        x, left = rows, list(corners)
        for stage in self.task.stages:
            x = normalise(x, *self.constants) if stage.name == "Normalize" else crop(x, left.pop(0), self.task.window)
        return drop(x * self.scale + self.bias, kept)

    def slopes_of(self) -> Tensor:
        *self.slopes, of_rows = torch.autograd.grad(self.loss, (self.scale, self.bias, self.rows))
        return of_rows

    def gradient(self) -> tuple[Tensor, Tensor]:
        scale, bias = self.slopes
        return scale, bias

    def update(self) -> None:
        pairs = zip((self.scale, self.bias), self.slopes, strict=True)
        down = ((one - self.task.rate * slope).detach() for one, slope in pairs)
        self.scale, self.bias = (one.requires_grad_() for one in down)
        settle(self.where_to)


def open(task: Task, place: Place) -> Autograd:
    return Modules(task) if task.form == "module" else Function(task)


ADAPTER = Learner(
    framework="PyTorch autograd",
    distribution="torch",
    entry_point="torch.autograd.grad",
    open=open,
    platforms=("cpu", "gpu"),
)
