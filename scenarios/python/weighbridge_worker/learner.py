"""What one learner's file implements: it takes gradients through a pipeline, as its users would.

The steps of an open learning task are a loader whose batches are what they deliver, so that the loop that times loaders
times steps. Each is noted meanwhile, and held against the reference later. Which numbers are dropped and which windows
are kept are draws that all systems share: they are made here.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from .adapter import Declined, Executed, Loader, Place, System
from .data import Data
from .draws import Draw
from .exchange import Exchange
from .pipeline import Array, Batch, Kind, Pipeline
from .protocol import Broken, Message
from .spots import SECRET
from .streaming import Streaming
from .transforms import crop_corners, crop_window

now = time.perf_counter_ns

Form = Literal["module", "function"]

POSITION = 1 << 35
"""The position of the learnable step in the address of its draws."""
DROPPED_BELOW = 6554
"""A number is dropped if its 16 bits are below this."""
KEPT = np.float32(1.0 / 0.9)
"""What a number that is not dropped is multiplied with."""


class NoGradient(Exception):
    """A step was asked for before what comes before it."""


@dataclass(frozen=True)
class Parameters:
    """One number for each channel, of either sort; or the gradient to them."""

    scale: Array
    bias: Array

    @classmethod
    def start(cls, channels: int) -> Parameters:
        """Where an epoch begins that is timed."""
        return cls(np.full(channels, 1, np.float32), np.full(channels, 0.25, np.float32))

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Parameters:
        return cls(np.array(said["scale"], np.float32), np.array(said["bias"], np.float32))


@dataclass(frozen=True)
class Stage:
    """A transform before the learnable step."""

    name: Literal["Normalize", "RandomCrop"]
    position: int


@dataclass(frozen=True)
class Given:
    """What a step works on."""

    rows: Array
    """Elements, height, width, channels: a view of the data set."""
    kept: Array
    """Of the same shape: whether dropout lets a number pass."""
    corners: tuple[Array, ...]
    """Of each `RandomCrop`, in order: the top and the left of every element's window (elements x 2, `i32`)."""
    groups: tuple[int, ...]
    """How many elements each group has that the batch becomes."""


@dataclass(frozen=True)
class Task:
    """What is learned, and how."""

    pipeline: Pipeline
    form: Form
    rate: float
    work: tuple[str, ...]
    output: tuple[Kind, Kind]
    """What comes out, and the gradient to the rows."""
    data: Data

    @classmethod
    def from_dict(cls, said: Mapping[str, Any], pipeline: Pipeline, data: Data) -> Task:
        if unknown := set(said) - {"form", "rate", "work", "output"}:
            raise Broken(f"a learning task has no {', '.join(sorted(unknown))}")
        if said["form"] not in get_args(Form):
            raise Broken(f"there is no form `{said['form']}`")
        learned, gradient = (Kind.from_dict(one) for one in said["output"])
        return cls(pipeline, said["form"], said["rate"], tuple(said["work"]), (learned, gradient), data)

    def check(self) -> None:
        """Declines what no learner here has a gradient of, by name."""
        for ask in self.pipeline.asks:
            if not ask.startswith("rebatch"):
                raise Declined(f"no gradient through {ask}")
        if self.pipeline.workers:
            raise Declined(f"no gradient through batches that {self.pipeline.workers} workers make")
        if self.pipeline.access != "memory":
            raise Declined(f"no gradient through rows that are not in memory ({self.pipeline.access})")
        for name in self.pipeline.transforms:
            if name not in ("Normalize", "RandomCrop"):
                raise Declined(f"no gradient of {name}: only of Normalize and RandomCrop")
        if len(self.shape) != 3:
            raise Declined(f"it learns from rows with height, width and channels, and not of the shape {self.shape}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Height, width and channels."""
        return self.output[0].shape

    @property
    def channels(self) -> int:
        return self.shape[-1]

    @property
    def group(self) -> int:
        """Elements of a delivered batch."""
        return self.pipeline.rebatch or self.pipeline.batch_size

    @property
    def window(self) -> tuple[int, int]:
        """Rows and columns that `RandomCrop` keeps."""
        return crop_window(self.shape[0]), crop_window(self.shape[1])

    @property
    def stages(self) -> tuple[Stage, ...]:
        return tuple(Stage(name, position) for position, name in enumerate(self.pipeline.transforms))  # type: ignore[arg-type]

    @property
    def constants(self) -> tuple[Array, Array]:
        """Mean and scale of `Normalize`."""
        (source,) = self.data.sources
        assert source.mean is not None and source.scale is not None, "a field of f32 has constants"
        return source.mean, source.scale

    @property
    def lengths(self) -> list[int]:
        """How many elements batches have: that of all, and that of the last one where it is another."""
        size = min(self.pipeline.batch_size, self.pipeline.elements)
        last = self.pipeline.elements % self.pipeline.batch_size
        return [size, last] if last and last != size else [size]

    def given(self, number: int, epoch: int) -> Given:
        """What step `number` of an epoch works on."""
        pipeline = self.pipeline
        first = pipeline.first + number * pipeline.batch_size
        end = min(first + pipeline.batch_size, pipeline.end)
        (rows,) = self.data.arrays().values()
        elements, (height, width, _) = np.arange(first, end), self.shape

        def corners(stage: Stage) -> Array:
            draw = Draw(pipeline.seed, epoch, elements, stage.position)
            return np.stack(crop_corners(draw, height, width), 1).astype(np.int32)

        return Given(
            rows[first:end],
            self.kept(epoch, elements),
            tuple(corners(stage) for stage in self.stages if stage.name == "RandomCrop"),
            tuple(min(self.group, end - start) for start in range(first, end, self.group)),
        )

    def kept(self, epoch: int, elements: Array) -> Array:
        """Whether dropout lets a number pass: each takes 16 bits of a word, from the lowest on."""
        numbers = math.prod(self.shape)
        words = Draw(self.pipeline.seed, epoch, elements, POSITION).words(-(-numbers // 4))
        sixteen = words.astype("<u8", copy=False).view("<u2")[:, :numbers]
        return (sixteen >= DROPPED_BELOW).reshape(len(elements), *self.shape)


class Learning(ABC):
    """An open learning task. What a step delivers it has computed: nothing is computed for it later."""

    synchronised = "returns when ready"
    library: str | None = None
    """What computes below the framework, with its version, where that is another package."""

    def __init__(self, task: Task) -> None:
        self.task = task

    @abstractmethod
    def set(self, parameters: Parameters) -> None:
        """Takes over these parameters."""

    @abstractmethod
    def parameters(self) -> Parameters:
        """The parameters as they are."""

    @abstractmethod
    def step(self, given: Given) -> tuple[Array, Array, float]:
        """One whole step, complete with its changed parameters: what comes out, the gradient to the rows, the loss."""

    @abstractmethod
    def forward(self, given: Given) -> tuple[Array, float]:
        """The first part of a step: what comes out, and the loss of the batch. Keeps what the way back needs."""

    @abstractmethod
    def backward(self) -> tuple[Array, Parameters]:
        """The way back: the gradient to the rows and to the parameters. Keeps what a step down needs."""

    @abstractmethod
    def update(self) -> None:
        """A step of gradient descent with the gradient that was taken last."""

    def compilations(self) -> int | None:
        """As a loader's."""
        return None

    def where(self) -> str:
        """As a loader's: by the parameters."""
        return "cpu"

    def executed(self) -> Executed:
        return Executed(
            self.task.work,
            operators="native",
            library=self.library,
            ran_on=self.where(),
            synchronised=self.synchronised,
        )

    def close(self) -> None:  # noqa: B027 (there may be nothing to let go)
        """Lets everything go."""


@dataclass(frozen=True)
class NotedStep:
    """A step as it was left, while the clock ran: what was put off is done by then, or is not there."""

    loss: float
    scale: Array
    bias: Array
    place: int
    """A place in the gradient to the rows of the batch's first group, drawn when the step was over."""
    slope: float
    """The number there."""

    @classmethod
    def of(cls, learning: Learning, given: Given, slopes: Array, loss: float) -> NotedStep:
        after = learning.parameters()
        scale, bias = (np.array(numbers, np.float32) for numbers in (after.scale, after.bias))
        place = SECRET.getrandbits(32) % (slopes.size // len(slopes) * given.groups[0])
        return cls(float(loss), scale, bias, place, slopes.item(place))


class Steps(Loader):
    """The steps of an open learning task. A learner sees neither which epoch they are of nor what is noted of them."""

    renewed = True

    def __init__(self, learning: Learning, task: Task) -> None:
        self.learning, self.task = learning, task
        # What is not delivered in groups is as cheap as a slice, and the first group has the cost of its batch.
        self.chunk = -(-task.pipeline.batch_size // task.group)
        self.noted: list[tuple[int, list[NotedStep]]] = []
        """Each epoch that was begun, and its steps so far."""

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.learning.set(Parameters.start(self.task.channels))
        noted: list[NotedStep] = []
        self.noted.append((epoch, noted))
        return self._steps(epoch, noted)

    def _steps(self, epoch: int, noted: list[NotedStep]) -> Iterator[Batch]:
        names = [kind.name for kind in self.task.output]
        for number in range(self.task.pipeline.batches):
            given = self.task.given(number, epoch)
            out, slopes, loss = self.learning.step(given)
            noted.append(NotedStep.of(self.learning, given, slopes, loss))
            fields = dict(zip(names, (out, slopes), strict=True))
            start = 0
            for count in given.groups:
                yield {name: array[start : start + count] for name, array in fields.items()}
                start += count

    def told(self) -> dict[str, Array]:
        """What was noted, each as one element."""
        steps = [step for _, of_epoch in self.noted for step in of_epoch]
        return {
            "epochs": np.array([[epoch for epoch, _ in self.noted]], np.int64),
            "steps": np.array([[len(of_epoch) for _, of_epoch in self.noted]], np.int64),
            "places": np.array([[step.place for step in steps]], np.int64),
            "slopes": np.array([[step.slope for step in steps]], np.float32),
            "losses": np.array([[step.loss for step in steps]], np.float32),
            "scale": np.array([[step.scale for step in steps]], np.float32).reshape(1, -1),
            "bias": np.array([[step.bias for step in steps]], np.float32).reshape(1, -1),
        }

    def compilations(self) -> int | None:
        return self.learning.compilations()

    def where(self) -> str:
        return self.learning.where()

    def executed(self) -> Executed:
        return self.learning.executed()

    def close(self) -> None:
        self.learning.close()


@dataclass(frozen=True)
class Learner(System):
    """A system that learns. Its file ends with `ADAPTER = Learner(...)`."""

    open: Callable[[Task, Place], Learning]

    contract = "learner"


class Case(Streaming):
    """An open learning task, and the cursor over steps that are taken part by part."""

    loader: Steps

    def __init__(self, learner: Learner, said: Message) -> None:
        pipeline = Pipeline.from_dict(said["pipeline"], said.get("device", "cpu"))
        self.task = Task.from_dict(said["learning"], pipeline, Data(said["data"]))
        self.task.check()
        place = Place(Path(said["scratch"]), Path(said["converted"]))
        exchange = Exchange(said["exchange"])
        start = now()
        try:
            self.learning = learner.open(self.task, place)
            super().__init__(Steps(self.learning, self.task), exchange)
            before = self.loader.compilations()
            compiling = now()
            for number in {0, self.task.pipeline.batches - 1}:
                self.learning.set(Parameters.start(self.task.channels))
                self.learning.step(self.task.given(number, 0))
        except BaseException:
            exchange.close()
            raise
        took = None if before is None else now() - compiling
        costs = {"convert": None, "set_up": now() - start - (took or 0), "compile": took}
        self.opened = self.told(learner.entry_point, self.loader.executed(), costs)
        self.epoch, self.next = 0, 0
        self.has_batch = self.has_gradient = False

    def call(self, name: str, message: Message) -> tuple[str, Message]:
        match name:
            case "restart":
                self.restart(message["epoch"], Parameters.from_dict(message))
                return "answer", {}
            case "forward":
                return "batch", self.tensors(self.forward())
            case "backward":
                return "batch", self.tensors(self.backward())
            case "update":
                return "batch", self.tensors(self.update())
            case "step":
                self.restart(0, Parameters.from_dict(message))
                learned, slopes, _ = self.learning.step(self.task.given(0, 0))
                return "batch", self.tensors({"learned": learned, "slopes": slopes, **vars(self.learning.parameters())})
            case "noted":
                said, _ = self.exchange.put(self.loader.told())
                return "batch", said
            case "steps":
                return "answer", {"times": {"all": [self.steps(message["steps"])]}}
            case "step_phases":
                return "answer", {"times": self.phases(message["skip"], message["steps"])}
            case _:
                return super().call(name, message)

    def restart(self, epoch: int, parameters: Parameters) -> None:
        """Goes to before the first batch of an epoch, with these parameters."""
        self.learning.set(parameters)
        self.epoch, self.next = epoch, 0
        self.has_batch = self.has_gradient = False

    def forward(self) -> dict[str, Any]:
        if self.next == self.task.pipeline.batches:
            return {"elements": 0}
        learned, loss = self.learning.forward(self.task.given(self.next, self.epoch))
        self.next += 1
        self.has_batch, self.has_gradient = True, False
        return {"elements": len(learned), "loss": loss, "learned": learned}

    def backward(self) -> dict[str, Any]:
        if not self.has_batch:
            raise NoGradient("there is no batch to go back from: go forward first")
        slopes, gradient = self.learning.backward()
        self.has_batch, self.has_gradient = False, True  # a graph is gone through once
        return {"slopes": slopes, **vars(gradient)}

    def update(self) -> dict[str, Any]:
        if not self.has_gradient:
            raise NoGradient("there is no gradient to go down: go backward first")
        self.learning.update()
        self.has_gradient = False
        return vars(self.learning.parameters())

    def steps(self, count: int) -> int:
        """How long so many of the steps that are timed take, from the beginning, after as many that do not count."""
        took = 0
        for _ in range(2):
            self.restart(0, Parameters.start(self.task.channels))
            start = now()
            for number in range(count):
                self.learning.step(self.task.given(number, 0))
            took = now() - start
        return took

    def phases(self, skip: int, steps: int) -> dict[str, list[int]]:
        """The time of each step from the beginning, and of each of its parts, complete before the next one."""
        learning = self.learning
        for number in {0, self.task.pipeline.batches - 1}:  # what is compiled for parts alone, of either length
            learning.forward(self.task.given(number, 0))
            learning.backward()
            learning.update()
        self.restart(0, Parameters.start(self.task.channels))
        times: dict[str, list[int]] = {name: [] for name in ("step", "data", "forward", "backward", "update")}
        for number in range(skip + steps):
            stamps = [now()]
            given = self.task.given(number, 0)
            stamps.append(now())
            learning.forward(given)
            stamps.append(now())
            learning.backward()
            stamps.append(now())
            learning.update()
            stamps.append(now())
            if number >= skip:
                took = [stamps[-1] - stamps[0], *(end - start for start, end in pairwise(stamps))]
                for name, time_ in zip(times, took, strict=True):
                    times[name].append(time_)
        return times

    def tensors(self, arrays: Mapping[str, Any]) -> Message:
        """Hands over arrays, each as one element."""
        said, _ = self.exchange.put({name: np.asarray(array, np.float32)[np.newaxis] for name, array in arrays.items()})
        return said

    def close(self) -> None:
        try:
            super().close()
        finally:
            self.task.data.close()
