"""The learnable step after `Normalize` and `RandomCrop`, with its gradients written by hand in numpy."""

import numpy as np

from weighbridge_worker.learner import KEPT, Learner, Learning, Parameters


class Plain(Learning):
    compiled = 0

    def set(self, parameters):
        self.scale, self.bias = parameters.scale.copy(), parameters.bias.copy()

    def parameters(self):
        return Parameters(self.scale, self.bias)

    def compilations(self):
        return self.compiled

    def through(self, given):
        x, corners = given.rows, list(given.corners)
        for stage in self.task.stages:
            if stage.name == "Normalize":
                mean, scale = self.task.constants
                x = (x - mean) * scale
                continue
            (rows, columns), y = self.task.window, np.zeros_like(x)
            for element, (top, left) in enumerate(corners.pop(0)):
                y[element, :rows, :columns] = x[element, top : top + rows, left : left + columns]
            x = y
        return x

    def forward(self, given):
        self.given, self.before = given, self.through(given)
        self.out = (self.before * self.scale + self.bias) * (given.kept * KEPT)
        ends = np.cumsum(given.groups)[:-1]
        return self.out, float(
            sum(np.mean(np.square(group, dtype=np.float64)) / 2 for group in np.split(self.out, ends))
        )

    def backward(self):
        given = self.given
        shares = [np.full((count, 1, 1, 1), 1 / (count * self.out[0].size)) for count in given.groups]
        slopes = (self.out * np.concatenate(shares)).astype(np.float32) * (given.kept * KEPT)
        self.slopes = Parameters((slopes * self.before).sum((0, 1, 2)), slopes.sum((0, 1, 2)))
        slopes, corners = slopes * self.scale, list(given.corners)
        for stage in reversed(self.task.stages):
            if stage.name == "Normalize":
                slopes = slopes * self.task.constants[1]
                continue
            (rows, columns), y = self.task.window, np.zeros_like(slopes)
            for element, (top, left) in enumerate(corners.pop()):
                y[element, top : top + rows, left : left + columns] = slopes[element, :rows, :columns]
            slopes = y
        return slopes, self.slopes

    def update(self):
        rate = np.float32(self.task.rate)
        self.scale, self.bias = self.scale - rate * self.slopes.scale, self.bias - rate * self.slopes.bias

    def step(self, given):
        out, loss = self.forward(given)
        slopes, _ = self.backward()
        self.update()
        return out, slopes, loss


ADAPTER = Learner(
    framework="Plain", distribution="numpy", entry_point="numpy.dot", open=lambda task, place: Plain(task)
)
