"""What one trainer's file implements: it trains a model step by step, as its users would.

An open training is a loader whose batches are its steps, so that the loop that times loaders times trainings.
"""

from __future__ import annotations

import math
import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from .adapter import Declined, Executed, Loader, Place, System
from .components import Components
from .data import Data
from .draws import split
from .exchange import Exchange
from .meeting import Meeting
from .pipeline import Array, Batch
from .profiles import Operators
from .protocol import Broken, Message
from .streaming import Streaming

now = time.perf_counter_ns

Layer = Mapping[str, Any]
"""A layer as the message has it: its `kind`, and what belongs to it."""

Tensors = dict[str, Array]
"""The numbers of each parameter by its name, in the order of the model and in the layout of the message."""


Precision = Literal["f32", "bf16"]
Mode = Literal["eager", "compiled", "autotuned", "xla"]


class NotFinite(Exception):
    """A loss that is no number."""


class Unfit(Exception):
    """Samples that no step of a training takes."""


class EndOfData(Exception):
    """More steps than there are samples for."""


Communication = Literal["apart", "overlapped", "sharded"]


@dataclass(frozen=True)
class Rank(Meeting):
    """Which of several processes that train one model, each on a share of every batch."""

    communication: Communication
    """Whether gradients are averaged by a call of its own after the way back, or while that goes on; or every rank has
    a shard of weights, gradients and the optimiser's state alone."""


@dataclass(frozen=True)
class Schedule:
    """How the rate changes: up by a line over `warmup` steps, from one part of `warmup + 1`, then down by half a wave
    of a cosine to `least` of it at the step `until`, and no further."""

    warmup: int
    until: int
    least: float

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Schedule | None:
        """`None` for a rate that never changes."""
        match dict(said):
            case {"kind": "constant"}:
                return None
            case {"kind": "cosine", **numbers}:
                return cls(**numbers)
            case other:
                raise Broken(f"there is no schedule {other}")

    def share(self, step: int) -> float:
        """What share of the rate a step, from 0, takes."""
        if step < self.warmup:
            return (step + 1) / (self.warmup + 1)
        gone = (min(step, self.until) - self.warmup) / (self.until - self.warmup)
        return self.least + (1 - self.least) * (1 + math.cos(math.pi * gone)) / 2

    @property
    def told(self) -> list[int]:
        """Steps whose rates are told: the first, the greatest, one on the way down, the least."""
        return [0, self.warmup, (self.warmup + self.until) // 2, self.until]


@dataclass(frozen=True)
class Task:
    """What is trained, and how."""

    model: Mapping[str, Any]
    """What enters it (`input`), and its `layers`."""
    optimiser: Mapping[str, Any]
    schedule: Schedule | None
    precision: Precision
    mode: Mode
    batch: int
    steps: int
    work: tuple[str, ...]
    data: Data
    weights: Tensors
    """What the training begins with."""
    samples: Batch = field(default_factory=dict)
    """All samples, in memory of this process: `input` and `label`."""
    rank: Rank | None = None
    """Who this process is, where it is one of several."""
    components: Components | None = None
    """The ways that its components are to be written in; as the system has them where nothing is said."""
    device: str = "cpu"
    """Where it is trained, in the words of `--platform`."""
    order: tuple[int, ...] | None = None
    """For each step of the epoch the place of its samples among those of all steps; as they lie where there is none."""

    @classmethod
    def from_dict(
        cls, said: Mapping[str, Any], data: Data, weights: Data, rank: Rank | None = None, device: str = "cpu"
    ) -> Task:
        known = {"model", "optimiser", "schedule", "precision", "mode", "batch", "steps", "work", "components"}
        if unknown := set(said) - known:
            raise Broken(f"a training has no {', '.join(sorted(unknown))}")
        if said["mode"] not in get_args(Mode) or said["precision"] not in get_args(Precision):
            raise Broken(f"there is no mode `{said['mode']}` with the precision `{said['precision']}`")
        start = {name: array[0] for name, array in weights.load().items()}
        if rank and said["batch"] % rank.of:
            raise Broken(f"{rank.of} ranks do not divide a batch of {said['batch']}")
        named = {**said, "work": tuple(said["work"]), "schedule": Schedule.from_dict(said["schedule"])}
        if "components" in said:
            named["components"] = Components.from_dict(said["components"])
        return cls(**named, data=data, weights=start, samples=data.load(), rank=rank, device=device)

    @property
    def share(self) -> int:
        """Samples of a step that this process takes."""
        return self.batch // self.rank.of if self.rank else self.batch

    def of_step(self, index: int) -> tuple[Array, Array]:
        """What enters the model in a step, and the labels: views of the samples."""
        place = index if self.order is None else self.order[index]
        begin = place * self.batch + (self.rank.index * self.share if self.rank else 0)
        at = slice(begin, begin + self.share)
        return self.samples["input"][at], self.samples["label"][at]

    def held_out(self) -> tuple[Array, Array]:
        """The samples that nothing is learned from."""
        at = slice(self.steps * self.batch, None)
        return self.samples["input"][at], self.samples["label"][at]


class Phases:
    """The clock of one step: when each of its phases has ended."""

    def __init__(self) -> None:
        self.took: dict[str, int] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """What is done in here is this phase, and complete at its end."""
        start = now()
        yield
        self.took[name] = now() - start

    def rest(self, step: int) -> None:
        """Notes what a step of this length has beside its phases, where that has a name."""


class Training(Loader):
    """An open training. Its file says in which phases a step of its mode can be told apart."""

    synchronised = "returns when ready"
    renewed = True
    library: str | None = None
    """What computes below the framework, with its version, where that is another package."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.done = 0
        """Steps of the epoch that was begun last."""
        self.noted: list[tuple[int, list[float]]] = []
        """Each epoch that was begun, and the losses of its steps so far."""

    @abstractmethod
    def reset(self) -> None:
        """Goes back to the weights of the beginning, and to an optimiser that has seen nothing."""

    @abstractmethod
    def step(self, index: int) -> float:
        """One whole step on the samples of this index, complete with its changed weights; the mean loss."""

    @abstractmethod
    def phases(self, index: int, clock: Phases) -> None:
        """The same step, phase by phase, each complete before the next one."""

    @abstractmethod
    def compute(self, index: int) -> tuple[float, Array, Tensors]:
        """Loss, logits and gradients of a step with the weights as they are, as the mode computes them."""

    def clock(self) -> Phases:
        """The clock of the phases of a step."""
        return Phases()

    def operators(self, run: Callable[[], None]) -> Operators:
        """What the framework's own profiler sees while `run` does steps."""
        raise Declined("operators: no profiler of this framework is read here")

    @abstractmethod
    def weights(self) -> Tensors:
        """The weights as they are."""

    @abstractmethod
    def settings(self) -> dict[str, str]:
        """What is really set, read from the framework's own objects."""

    def environment(self) -> dict[str, str]:
        """What the framework computes with that no configuration says: threads, kinds of products."""
        return {}

    def compiling(self) -> dict[str, int]:
        """What compiling has come to since this training was opened: `graph_breaks` and `recompilations`, as far as
        the framework counts them."""
        raise Declined("compiling: nothing is counted here")

    @abstractmethod
    def predict(self, inputs: Array) -> Array:
        """The logits of samples with the weights as they are, which it does not change."""

    def restart(self, epoch: int = 0) -> None:
        """Goes to before the first step of an epoch: 0 has the samples as they lie."""
        self.reset()
        self.task = replace(self.task, order=step_order(epoch, self.task.steps))
        self.done = 0

    def advance(self) -> float:
        """The next step of the epoch."""
        if self.done == self.task.steps:
            raise EndOfData(f"the data end after {self.done} steps")
        loss = self.step(self.done)
        if not math.isfinite(loss):
            raise NotFinite(f"the loss of step {self.done} is {loss}")
        self.done += 1
        return loss

    def feed(self, samples: Batch) -> float:
        """A whole step on samples that a loader has made, in place of those of the data."""

        def kinds(batch: Batch) -> list[tuple[Any, ...]]:
            return [(name, array.dtype, array.shape[1:]) for name, array in batch.items()]

        own = self.task
        if kinds(samples) != kinds(own.samples):
            raise Unfit("the samples that were handed over are not of the kind that this training takes")
        if any(len(array) != own.batch for array in samples.values()):
            raise Unfit(f"a step takes {own.batch} samples")
        self.task = replace(own, samples=samples, order=None)
        try:
            loss = self.step(0)
        finally:
            self.task = own
        if not math.isfinite(loss):
            raise NotFinite(f"the loss of step {self.done} is {loss}")
        self.done += 1
        return loss

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.restart(epoch)
        losses: list[float] = []
        self.noted.append((epoch, losses))
        return self._steps(losses)

    def _steps(self, losses: list[float]) -> Iterator[Batch]:
        while self.done < self.task.steps:
            losses.append(self.advance())  # while the clock runs: no loss is known before its step is done
            yield {"loss": np.full(self.task.share, losses[-1], np.float32)}

    def executed(self) -> Executed:
        return Executed(
            self.task.work,
            operators="native",
            library=self.library,
            environment=self.environment(),
            ran_on=self.where(),
            synchronised=self.synchronised,
            workers=len(os.sched_getaffinity(0)),  # products of matrices are on as many threads as there may be
        )


@dataclass(frozen=True)
class Trainer(System):
    """A system that trains. Its file ends with `ADAPTER = Trainer(...)`."""

    open: Callable[[Task, Place], Training]
    ranks: bool = False
    """Whether several processes train one model."""

    contract = "trainer"


class Case(Streaming):
    """An open training."""

    loader: Training

    def __init__(self, trainer: Trainer, said: Message) -> None:
        data, weights = Data(said["data"]), Data(said["weights"])
        rank = Rank(**said["rank"]) if "rank" in said else None
        if rank and not trainer.ranks:
            raise Declined(f"ranks {rank.of}: {trainer.framework} trains in one process here")
        task = Task.from_dict(said["training"], data, weights, rank, said.get("device", "cpu"))
        place = Place(Path(said["scratch"]), Path(said["converted"]))
        exchange = Exchange(said["exchange"])
        start = now()
        try:
            super().__init__(trainer.open(task, place), exchange)
        except BaseException:
            exchange.close()
            raise
        costs = {"convert": None, "set_up": now() - start, "compile": None}
        self.opened = self.told(trainer.entry_point, self.loader.executed(), costs)
        self.opened["settings"] = self.loader.settings()

    def call(self, name: str, message: Message) -> tuple[str, Message]:
        training = self.loader
        match name:
            case "step_phases":
                return "answer", {"times": self.phases(message["skip"], message["steps"])}
            case "train":
                if message["anew"]:
                    training.restart()
                losses = [training.advance() for _ in range(message["steps"])]
                return "batch", self.tensors({"loss": np.array(losses, np.float32)})
            case "feed":
                loss = training.feed(Data(message["samples"]).load())
                return "batch", self.tensors({"loss": np.array([loss], np.float32)})
            case "forward":
                for index in range(message["steps"]):
                    training.predict(training.task.of_step(index)[0])
                return "answer", {"times": {}}
            case "right":
                inputs, labels = training.task.held_out()
                right = np.count_nonzero(training.predict(inputs).argmax(-1) == labels)
                return "batch", self.tensors({"right": np.float32(right)})
            case "first":
                training.restart()
                loss, logits, gradients = training.compute(0)
                named = {f"gradient of {name}": gradient for name, gradient in gradients.items()}
                return "batch", self.tensors({"loss": np.float32(loss), "logits": logits, **named})
            case "compiling":
                return "answer", {"times": {what: [count] for what, count in training.compiling().items()}}
            case "operators":
                return "answer", {"times": self.operators(message["steps"])}
            case "noted":
                epochs, losses = zip(*training.noted, strict=True) if training.noted else ((), ())
                said, _ = self.exchange.put(
                    {
                        "epochs": np.array([epochs], np.int64),
                        "steps": np.array([[len(of_epoch) for of_epoch in losses]], np.int64),
                        "losses": np.array([[loss for of_epoch in losses for loss in of_epoch]], np.float32),
                    }
                )
                return "batch", said
            case "left":
                return "batch", self.tensors({"steps": np.float32(training.done), **training.weights()})
            case _:
                return super().call(name, message)

    def phases(self, skip: int, steps: int) -> dict[str, list[int]]:
        """The time of each step, and of each of its phases."""
        self.loader.restart()
        times: dict[str, list[int]] = {"step": []}
        for index in range(skip + steps):
            clock = self.loader.clock()
            start = now()
            self.loader.phases(index, clock)
            took = now() - start
            clock.rest(took)
            if index >= skip:
                times["step"].append(took)
                for name, phase in clock.took.items():
                    times.setdefault(name, []).append(phase)
        return times

    def operators(self, steps: int) -> Operators:
        """The time of so many steps, and of each operator in them."""
        took = [0, steps]

        def run() -> None:
            start = now()
            for _ in range(steps):
                self.loader.advance()
            took[0] = now() - start

        self.loader.restart()
        self.loader.advance()  # what is compiled or allocated once
        try:
            return {**self.loader.operators(run), "": took}
        except (RuntimeError, ImportError, OSError) as error:
            raise Declined(f"operators: the profiler says {error}") from error

    def tensors(self, arrays: Mapping[str, Array | np.float32]) -> Message:
        """Hands over arrays, each as one element."""
        said, _ = self.exchange.put({name: np.asarray(array, np.float32)[np.newaxis] for name, array in arrays.items()})
        return said


def step_order(epoch: int, steps: int) -> tuple[int, ...]:
    """For each step of an epoch the place of its samples: each epoch but 0 has an order of its own, by draws that are
    split from its number (Fisher and Yates)."""
    order = list(range(steps))
    for last in range(steps - 1, 0, -1) if epoch else ():
        other = split(epoch, steps - 1 - last) % (last + 1)
        order[last], order[other] = order[other], order[last]
    return tuple(order)


def told(
    optimiser: str, numbers: Mapping[str, float], rates: Mapping[int, float] | None = None, **others: object
) -> dict[str, str]:
    """Settings as the harness compares them; `rates` are those of the steps in `Schedule.told`."""
    named = {f"optimiser.{name}": repr(float(number)) for name, number in numbers.items()}
    of_steps = {f"optimiser.rate of step {step}": repr(float(rate)) for step, rate in (rates or {}).items()}
    return {"optimiser": optimiser, **named, **of_steps, **{name: str(other) for name, other in others.items()}}


def precision(weights: object, computed: object, tf32: bool = False) -> str:
    """What a model multiplies in, as the harness compares it, where its weights are of `f32`. `tf32` says that products
    of `f32` are of that."""

    def short(dtype: object) -> str:
        name = str(dtype).removeprefix("torch.")
        return {"float32": "f32", "bfloat16": "bf16"}.get(name, name)

    if tf32 and short(computed) == "f32":
        return "tf32"
    return short(computed) if short(weights) == "f32" else f"{short(computed)} with weights of {short(weights)}"
