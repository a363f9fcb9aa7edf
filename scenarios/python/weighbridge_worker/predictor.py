"""What one predictor's file implements: it predicts call by call, as its users would.

An open model is a loader whose batches are its answers, so that the loop that times loaders times predictions. Inputs
are drawn for each call, and answers at drawn places are noted while the clock runs: no file of a predictor knows which.
"""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from .adapter import Declined, Executed, Loader, Place, System
from .data import Data
from .draws import GOLDEN, WORD, mixed, split
from .exchange import Exchange
from .pipeline import Array, Batch
from .protocol import Broken, Message
from .spots import SECRET
from .streaming import Streaming

now = time.perf_counter_ns

Layer = Mapping[str, Any]
"""A layer as the message has it: its `kind`, and what belongs to it."""

Tensors = dict[str, Array]
"""The numbers of each tensor by its name, in the order of the model and in the layout of the message."""

Precision = Literal["f32", "bf16"]
Mode = Literal["eager", "tracked", "compiled"]

ONE_OF, SAMPLES, KEPT = 8, 2, 64
"""One call of so many is noted, so many samples of it, and so many notes are kept: of more, each is as likely to be
among them."""


class Unfit(Exception):
    """An answer that is none."""


@dataclass(frozen=True)
class Generation:
    """A generation: after a prompt, each time the id of the greatest logit."""

    prompt: int
    tokens: int
    cached: bool
    """Whether keys and values of what came before are kept."""


@dataclass(frozen=True)
class Task:
    """What is predicted, and how."""

    model: Mapping[str, Any]
    """What enters it (`input`), and its `layers`."""
    decodes: bool
    """Whether the answer is that of the last place: of a decoder."""
    precision: Precision
    mode: Mode
    batch: int
    calls: int
    """Calls of an epoch."""
    generation: Generation | None
    work: tuple[str, ...]
    weights: Tensors
    device: str = "cpu"
    """Where it is predicted, in the words of `--platform`."""

    @classmethod
    def from_dict(cls, said: Mapping[str, Any], weights: Data, device: str = "cpu") -> Task:
        known = {"model", "decodes", "precision", "mode", "batch", "calls", "generation", "work"}
        if unknown := set(said) - known:
            raise Broken(f"a prediction has no {', '.join(sorted(unknown))}")
        if said["mode"] not in get_args(Mode) or said["precision"] not in get_args(Precision):
            raise Broken(f"there is no mode `{said['mode']}` with the precision `{said['precision']}`")
        generation = Generation(**said["generation"]) if said["generation"] else None
        numbers = {name: array[0] for name, array in weights.load().items()}
        return cls(**{**said, "generation": generation, "work": tuple(said["work"])}, weights=numbers, device=device)

    @property
    def layers(self) -> list[Layer]:
        return list(self.model["layers"])

    @property
    def length(self) -> int:
        """The ids of a sample of the model."""
        return int(self.model["input"]["length"])

    @property
    def takes_ids(self) -> bool:
        return self.model["input"]["kind"] == "ids"

    def drawn(self, epoch: int, call: int) -> Array:
        """The input of a call: each number comes of a draw that is split from the epoch, the call and its place."""
        said = self.model["input"]
        match said["kind"]:
            case "ids":
                shape: tuple[int, ...] = (self.generation.prompt if self.generation else said["length"],)
            case "grid":
                shape = (said["rows"], said["columns"], said["channels"])
            case "vector":
                shape = (said["width"],)
            case other:
                raise Broken(f"no model takes `{other}`")
        shape = (self.batch, *shape)
        steps = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        bits = mixed(steps + np.uint64(split(epoch, call) & WORD))
        if said["kind"] == "ids":
            return ((bits >> np.uint64(32)) * np.uint64(said["below"]) >> np.uint64(32)).astype(np.int32).reshape(shape)
        numbers = (bits >> np.uint64(40)).astype(np.int32) - (1 << 23)
        return (numbers.astype(np.float32) / np.float32(1 << 22)).reshape(shape)


@dataclass(frozen=True)
class Note:
    """The answer of a call to some of its samples, as it was when it was handed out."""

    epoch: int
    call: int
    first: int
    answer: Array


class Prediction(Loader):
    """An open model."""

    synchronised = "returns when ready"
    renewed = True
    library: str | None = None
    """What computes below the framework, with its version, where that is another package."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.inputs: list[Array] = []
        self.notes: list[Note] = []
        self.seen = 0
        self.prefilled = 0
        """When the first id of the last generation was known."""

    @abstractmethod
    def predict(self, inputs: Array) -> Array:
        """The logits of samples, complete, as an array of numpy. Of a decoder those of the last place; the ids may be
        fewer than the model has places."""

    def prefill(self, ids: Array) -> Array:
        """Forgets what came before, takes prompts and keeps their keys and values: the logits of the last places."""
        raise Declined("cache on: nothing is kept here")

    def decode(self, ids: Array) -> Array:
        """Takes one id more for each sample: the logits of its place."""
        raise Declined("cache on: nothing is kept here")

    @abstractmethod
    def settings(self) -> dict[str, str]:
        """What is really set, read from the framework's own objects: `precision` and `parameters`."""

    def environment(self) -> dict[str, str]:
        """What the framework computes with that no configuration says: threads, kinds of products."""
        return {}

    def call(self, given: Array) -> Array:
        """One whole call."""
        if self.task.generation is None:
            return self.checked(self.predict(given), len(given))
        return self.generate(given, self.task.generation)

    def checked(self, logits: Any, count: int) -> Array:
        """Logits that are there: another kind of array could be made when it is looked at."""
        if type(logits) is not np.ndarray or logits.dtype != np.float32 or logits.ndim != 2 or len(logits) != count:
            shape = getattr(logits, "shape", None)
            raise Unfit(f"a {type(logits).__module__}.{type(logits).__qualname__} of {shape} is no array of f32 logits")
        return logits

    def generate(self, prompt: Array, generation: Generation) -> Array:
        """Ids after prompts: those of the first sample, then those of the next."""
        ids = np.empty((len(prompt), generation.prompt + generation.tokens), np.int32)
        ids[:, : generation.prompt] = prompt
        for place in range(generation.prompt, ids.shape[1]):
            if not generation.cached:
                logits = self.predict(np.ascontiguousarray(ids[:, :place]))
            elif place == generation.prompt:
                logits = self.prefill(prompt)
            else:
                logits = self.decode(np.ascontiguousarray(ids[:, place - 1]))
            ids[:, place] = self.checked(logits, len(prompt)).argmax(-1)
            if place == generation.prompt:
                self.prefilled = now()
        return ids[:, generation.prompt :].reshape(-1)

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.inputs = [self.task.drawn(epoch, call) for call in range(self.task.calls)]
        count = len(self.inputs)
        return self._calls(epoch, set(SECRET.sample(range(count), max(1, count // ONE_OF))))

    def _calls(self, epoch: int, noted: set[int]) -> Iterator[Batch]:
        field = "token" if self.task.generation else "logits"
        for call, given in enumerate(self.inputs):
            answer = self.call(given)
            if call in noted:
                self.note(epoch, call, answer)  # while the clock runs: no answer is there before it is computed
            yield {field: answer}

    def note(self, epoch: int, call: int, answer: Array) -> None:
        count = min(SAMPLES, self.task.batch)
        first = SECRET.randrange(self.task.batch - count + 1)
        rows = answer.reshape(self.task.batch, -1)[first : first + count]
        note = Note(epoch, call, first, rows.copy())
        self.seen += 1
        if len(self.notes) < KEPT:
            self.notes.append(note)
        elif (place := SECRET.randrange(self.seen)) < KEPT:
            self.notes[place] = note

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
class Predictor(System):
    """A system that predicts. Its file ends with `ADAPTER = Predictor(...)`."""

    open: Callable[[Task, Place], Prediction]

    contract = "predictor"


def resident() -> int:
    """Bytes that this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Case(Streaming):
    """An open model."""

    loader: Prediction

    def __init__(self, predictor: Predictor, said: Message) -> None:
        before = resident()
        task = Task.from_dict(said["prediction"], Data(said["weights"]), said.get("device", "cpu"))
        place = Place(Path(said["scratch"]), Path(said["converted"]))
        exchange = Exchange(said["exchange"])
        start = now()
        try:
            super().__init__(predictor.open(task, place), exchange)
        except BaseException:
            exchange.close()
            raise
        costs = {"convert": place.convert, "set_up": now() - start - (place.convert or 0), "compile": place.compile}
        self.opened = self.told(predictor.entry_point, self.loader.executed(), costs)
        self.opened["settings"] = self.loader.settings()
        self.memory = [before, resident()]

    def call(self, name: str, message: Message) -> tuple[str, Message]:
        match name:
            case "call_times":
                return "answer", {"times": {"call": self.call_times(message["epoch"], message["calls"])}}
            case "step_phases":
                return "answer", {"times": self.phases(message["skip"], message["steps"])}
            case "opened_memory":
                return "batch", self.exchange.put({"resident": np.array([self.memory], np.int64)})[0]
            case "noted":
                return "batch", self.exchange.put(self.noted())[0]
            case _:
                return super().call(name, message)

    def call_times(self, epoch: int, calls: int) -> list[int]:
        """The time of each of the first calls of an epoch."""
        times, iterator = [], self.loader.begin(epoch)
        for _ in range(calls):
            start = now()
            next(iterator)
            times.append(now() - start)
        return times

    def phases(self, skip: int, calls: int) -> dict[str, list[int]]:
        """The time of each generation, until its first id and after it."""
        if self.loader.task.generation is None:
            raise Declined("phases: nothing is generated")
        times: dict[str, list[int]] = {"step": [], "prefill": [], "decode": []}
        iterator = self.loader.begin(1 + SECRET.randrange(1 << 31))
        for call in range(skip + calls):
            start = now()
            next(iterator)
            end = now()
            if call >= skip:
                times["step"].append(end - start)
                times["prefill"].append(self.loader.prefilled - start)
                times["decode"].append(end - self.loader.prefilled)
        return times

    def noted(self) -> Batch:
        """What was noted, as fields of one element."""
        notes = self.loader.notes
        numbers = {
            "epochs": [note.epoch for note in notes],
            "calls": [note.call for note in notes],
            "firsts": [note.first for note in notes],
            "samples": [len(note.answer) for note in notes],
        }
        fields = {name: np.array([each], np.int64) for name, each in numbers.items()}
        answers = [note.answer.reshape(-1) for note in notes] or [np.empty(0, np.float32)]
        if self.loader.task.generation:
            return {**fields, "token": np.concatenate(answers).astype(np.int64)[np.newaxis]}
        return {**fields, "logits": np.concatenate(answers).astype(np.float32)[np.newaxis]}


def told(precision: str, parameters: int) -> dict[str, str]:
    """Settings as the harness compares them."""
    return {"precision": precision, "parameters": str(parameters)}


def short(dtype: object) -> str:
    """The name of a type of numbers as the harness has it."""
    name = str(dtype).removeprefix("torch.")
    return {"float32": "f32", "bfloat16": "bf16"}.get(name, name)
