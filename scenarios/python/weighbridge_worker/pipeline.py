"""What a loader is asked to do, as data, and the steps of it that a numpy function does.

A framework that maps a function over its batches hands each batch to `Program.elements`, which does the steps on
elements and needs to know which elements they are, and to `Program.finish`, which does what needs the whole batch: the
cut of `DynamicPad`, and mixing. `Program.batch` is both. A framework that maps over samples has `Program.sample` and
`Program.collate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import transforms
from .draws import Draw
from .transforms import STEPS, Circumstances, Function, Step

Array = npt.NDArray[Any]
Batch = dict[str, Array]
Indices = npt.NDArray[np.int64]

DTYPES = {"u8": np.uint8, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}

BF16 = "bf16"
"""The upper half of an `f32`, which numpy itself has no type for."""


def bf16() -> np.dtype[Any]:
    """The type of `ml_dtypes`, where there is one; else two bytes, which nothing can be computed with."""
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype("V2")
    return np.dtype(ml_dtypes.bfloat16)


def is_bf16(dtype: np.dtype[Any]) -> bool:
    """Whether an array of this type has numbers of `bf16`."""
    return dtype.kind == "V" and dtype.itemsize == 2


BLOCK = 1 << 18
"""Bytes of delivered elements that go through all steps together: what fits a second-level cache."""
WHOLE = 1 << 20
"""A batch of up to so many bytes goes through each step whole."""


CROP = 224
"""Pixels on a side of what `DecodeResizedCrop` makes."""


class Refused(Exception):
    """What cannot be asked of any loader."""


@dataclass(frozen=True)
class Kind:
    """A field: its name, type and the shape of one element."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def is_image(self) -> bool:
        return len(self.shape) == 3

    @property
    def is_picture(self) -> bool:
        """Whether libraries for images take it: rows, columns, and one or three channels."""
        return self.is_image and self.shape[2] in (1, 3)

    @property
    def is_integer(self) -> bool:
        return self.dtype in (np.int32, np.int64)

    @property
    def has_colours(self) -> bool:
        return self.is_image and self.dtype in (np.uint8, np.float32)

    def to_dict(self) -> dict[str, Any]:
        names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
        name = BF16 if is_bf16(self.dtype) else names[self.dtype]
        return {"name": self.name, "dtype": name, "shape": list(self.shape)}

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Kind:
        name = said["dtype"]
        return cls(said["name"], bf16() if name == BF16 else np.dtype(DTYPES[name]), tuple(said["shape"]))


@dataclass(frozen=True)
class Gate:
    """Lets a step be done for the elements alone whose draw at `decided_at` is in [start, below)."""

    position: int
    decided_at: int
    start: float
    below: float


@dataclass(frozen=True)
class Mixing:
    kind: str
    alpha: float


@dataclass(frozen=True)
class Store:
    """An object store that elements are read from."""

    url: str
    in_flight: int
    """Requests that are under way at once."""


@dataclass(frozen=True)
class Pipeline:
    """The specification, as `open` has it."""

    first: int
    end: int
    batch_size: int
    access: str
    workers: int
    seed: int
    transforms: tuple[str, ...]
    gates: tuple[Gate, ...]
    branches: tuple[tuple[str, ...], ...]
    merge: str
    mixing: Mixing | None
    mixture: tuple[float, ...]
    cache: bool
    rebatch: int | None
    asks: tuple[str, ...]
    work: tuple[str, ...]
    output: tuple[Kind, ...]
    device: str = "cpu"
    operators: str = "shared"
    """`own`: each system does the steps by operators and draws of its own."""
    python: str = "default"
    """`free_threaded`: by an interpreter without a global lock, so that workers may be threads."""
    setting: str = "best"
    """`default`: set up as the first example of its documentation has it, in place of what was found to be best."""
    store: Store | None = None
    """Where the elements lie with an access of `stored-files` or `stored-tar`."""
    mode: str | None = None
    """In which way the steps are run and no other: `eager`, `vectorised`, `compiled` or `fused`."""

    @classmethod
    def from_dict(cls, said: Mapping[str, Any], device: str = "cpu") -> Pipeline:
        def gate(one: Mapping[str, Any]) -> Gate:
            return Gate(one["position"], one["decided_at"], one["from"], one["below"])

        mixing, store = said.get("mixing"), said.get("store")
        return cls(
            first=said["first"],
            end=said["end"],
            batch_size=said["batch_size"],
            access=said["access"],
            workers=said["workers"],
            seed=said["seed"],
            transforms=tuple(said["transforms"]),
            gates=tuple(gate(one) for one in said.get("gates", ())),
            branches=tuple(tuple(branch) for branch in said.get("branches", ())),
            merge=said.get("merge", "mean"),
            mixing=Mixing(mixing["kind"].lower(), mixing["alpha"]) if mixing else None,
            mixture=tuple(said.get("mixture", ())),
            cache=said.get("cache", False),
            rebatch=said.get("rebatch"),
            asks=tuple(said.get("asks", ())),
            work=tuple(said["work"]),
            output=tuple(Kind.from_dict(one) for one in said["output"]),
            device=device,
            operators=said.get("operators", "shared"),
            python=said.get("python", "default"),
            setting=said.get("setting", "best"),
            store=Store(store["url"], store["in_flight"]) if store else None,
            mode=said.get("mode"),
        )

    @property
    def elements(self) -> int:
        """How many elements an epoch has."""
        return self.end - self.first

    @property
    def batches(self) -> int:
        """How many batches an epoch has, before any regrouping."""
        return -(-self.elements // self.batch_size)

    @property
    def decodes(self) -> bool:
        """Whether elements are encoded images."""
        return "DecodeResizedCrop" in self.transforms

    @property
    def all_steps(self) -> tuple[str, ...]:
        return self.transforms + tuple(name for branch in self.branches for name in branch)

    @property
    def is_random(self) -> bool:
        """Whether anything depends on the epoch."""
        drawn = any(STEPS[name].draws for name in self.all_steps)
        return drawn or bool(self.gates) or self.mixing is not None or bool(self.mixture)

    @property
    def pads(self) -> bool:
        return "DynamicPad" in self.all_steps

    def order(self, epoch: int, elements: int) -> Indices | None:
        """Which element stands at which place of an epoch, where it is mixed from parts of the data set."""
        if not self.mixture:
            return None
        sums = np.cumsum(np.array(self.mixture, np.float64))
        thrown = Draw(self.seed, epoch, np.arange(elements), 1 << 34).unit(0) * sums[-1]
        chosen = np.searchsorted(sums, thrown, side="right")
        # The sum of all may be rounded to just below a draw: then it is the last part that has a weight.
        chosen = np.minimum(chosen, max(part for part, weight in enumerate(self.mixture) if weight > 0))
        order, parts = np.empty(elements, np.int64), len(self.mixture)
        for part in range(parts):
            start, end = part * elements // parts, (part + 1) * elements // parts
            taken = np.flatnonzero(chosen == part)
            order[taken] = start + np.arange(len(taken)) % (end - start)
        return order


@dataclass(frozen=True)
class Source:
    """One field of the data set."""

    kind: Kind
    path: str
    mean: Array | None
    scale: Array | None

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Source:
        def constants(name: str) -> Array | None:
            return None if said.get(name) is None else np.array(said[name], np.float32)

        return cls(Kind.from_dict(said), said["path"], constants("mean"), constants("scale"))


@dataclass(frozen=True)
class Touch:
    """One transform that touches one field."""

    name: str
    position: int
    gate: Gate | None
    before: Kind
    after: Kind
    step: Step
    source: Source


@dataclass(eq=False)
class Way:
    """How one delivered field comes about: from a field of the data set, or from what another way had then."""

    source: Source
    now: Kind
    touches: list[Touch] = field(default_factory=list)
    start: tuple[Way, int] | None = None
    """The way, and how many of its touches, that this one starts from."""
    handed_on: set[int] = field(default_factory=set)
    """After how many touches another way starts from this one."""
    branches: list[list[Touch]] = field(default_factory=list)

    @property
    def padded(self) -> bool:
        touches = self.touches
        if self.start:
            touches = touches + self.start[0].touches[: self.start[1]]
        return any(touch.name == "DynamicPad" for touch in touches)

    def fork(self, now: Kind, touches: list[Touch], after: int) -> Way:
        """Another way that starts after so many touches of this one."""
        self.handed_on.add(after)
        return Way(self.source, now, touches, (self, after))


def effect(name: str, source: Kind, now: Kind) -> tuple[str, Kind] | None:
    """What a transform does to a field: it `becomes` or `adds` a field, or nothing."""
    floats = Kind(now.name, np.dtype(np.float32), now.shape)
    if name == "Normalize":
        return ("becomes", floats) if source.dtype in (np.uint8, np.float32) else None
    if name == "CastToFloat32":
        return "becomes", floats
    if name == "DecodeResizedCrop":
        encoded = now.dtype == np.uint8 and len(now.shape) == 1
        return ("becomes", Kind(now.name, now.dtype, (CROP, CROP, 3))) if encoded else None
    if name in ("CreateAttentionMask", "CausalMaskGeneration"):
        if not (now.is_integer and len(now.shape) == 1):
            return None
        (n,) = now.shape
        if name == "CreateAttentionMask":
            return "adds", Kind("attention_mask", floats.dtype, (n,))
        return "adds", Kind("causal_mask", floats.dtype, (n, n))
    if (
        name in ("RandomCrop", "RandomFlip", "RandomHorizontalFlip", "RandomResizedCrop", "AffineRotation")
        or name == "MultiScaleResize"
    ):
        wanted = now.is_image
    elif name in ("GaussianBlur", "RandomSolarize"):
        wanted = now.has_colours
    elif name in ("ColorJitter", "RandomGrayscale"):
        wanted = now.has_colours and now.shape[2] == 3
    elif name == "HashEmbeddingIndex":
        wanted = now.is_integer
    elif name == "DynamicPad":
        wanted = now.is_integer and len(now.shape) == 1
    else:
        wanted = now.dtype == np.float32
    return ("becomes", now) if wanted else None


Straight = tuple[str, str, list[tuple[Function, Circumstances, bool, bool]]]
"""A delivered field, the field that it comes from, and its steps: the function, what it needs to know, whether it may
write over what the step before has made, and whether it may write where the field is to be."""


def straight(ways: Sequence[Way]) -> list[Straight] | None:
    """The ways as lists of calls, where no step draws, is gated, looks at lengths, or shares what another has made."""
    plan: list[Straight] = []
    for way in ways:
        if way.start or way.handed_on or way.branches:
            return None
        steps = []
        for touch in way.touches:
            if touch.gate or touch.step.draws or touch.name == "DynamicPad":
                return None
            is_last = touch.step.pointwise and touch is way.touches[-1]
            about = Circumstances(None, touch.source.mean, touch.source.scale, None)
            steps.append((touch.step.run, about, touch.before == touch.after, is_last))
        plan.append((way.now.name, way.source.kind.name, steps))
    return plan


Maker = tuple[str, str, Callable[[Array], Array]]
"""A delivered field, the field that it comes from, and all its steps in one call, into memory of its own."""


def maker(steps: Sequence[tuple[Function, Circumstances, bool, bool]]) -> Callable[[Array], Array]:
    """All steps of a field in one call: what a person writes for one pipeline, without a look-up between steps."""
    if not steps:
        return lambda rows: np.array(rows, order="C")
    run, about, _, is_pointwise = steps[0]

    def one(rows: Array) -> Array:
        made = run(rows, about, None)
        return made if made is not rows else np.array(rows, order="C")

    def several(rows: Array) -> Array:
        made = rows
        for run, about, is_in_place, _ in steps:
            made = run(made, about, made if is_in_place and made is not rows else None)
        return np.ascontiguousarray(made) if made is not rows else np.array(rows, order="C")

    return one if len(steps) == 1 and is_pointwise else several


class Program:
    """The steps of a pipeline on batches of numpy arrays."""

    def __init__(self, pipeline: Pipeline, sources: Sequence[Source]) -> None:
        self.pipeline = pipeline
        self.sources = tuple(sources)
        self.ways = ways(pipeline, self.sources)
        made = tuple(way.now for way in self.ways)
        if made != pipeline.output:
            page = "scenarios/docs/transforms.md"
            raise Refused(f"the steps deliver {made}, but {pipeline.output} is asked for: {page} differs")
        self.row = max(1, sum(kind.size for kind in made))
        self.straight = straight(self.ways)
        self.lengths = next((source.kind.name for source in self.sources if source.kind.name == "length"), None)

    def makers(self) -> list[Maker] | None:
        """The delivered fields, where each is made by one call from one field, whatever the others are."""
        if self.straight is None or self.pipeline.mixing or self.row * self.pipeline.batch_size > WHOLE:
            return None
        return [(name, source, maker(steps)) for name, source, steps in self.straight]

    def batch(self, fields: Mapping[str, Array], indices: Indices, epoch: int, first: int) -> Batch:
        """All steps on a batch: fields of the data set in, fields of the output out, each in memory of its own.

        `indices` are the indices of the elements in the data set, `first` is the place of the first one in the epoch.
        """
        if self.straight is not None and not self.pipeline.mixing and self.row * len(indices) <= WHOLE:
            return self._run_straight(self.straight, fields, {})  # as below, without the calls in between
        lengths = fields[self.lengths] if self.lengths and self.pipeline.pads else None
        return self.finish(self.elements(fields, indices, epoch), lengths, epoch, first)

    def elements(self, fields: Mapping[str, Array], indices: Indices, epoch: int) -> Batch:
        """The steps on elements. Rows that `DynamicPad` pads are as long as in the data set still."""
        count = len(indices)
        if self.row * count <= WHOLE or count == 1:
            return self._run(fields, indices, epoch, {})
        # A batch beyond the cache goes through in blocks: what a step makes is still there for the next one, and the
        # memory of no step but the last is new.
        made = {way.now.name: np.empty((count, *way.now.shape), way.now.dtype) for way in self.ways}
        block = max(1, BLOCK // self.row)
        for start in range(0, count, block):
            part = slice(start, start + block)
            into = {name: array[part] for name, array in made.items()}
            done = self._run({name: array[part] for name, array in fields.items()}, indices[part], epoch, into)
            for name, array in done.items():
                if array is not into[name]:
                    np.copyto(into[name], array)
        return made

    def finish(self, batch: Batch, lengths: Array | None, epoch: int, first: int) -> Batch:
        """What needs the whole batch: rows end after the longest one, and elements are mixed with each other."""
        if lengths is not None:
            batch = self.padded(batch, lengths)
        if self.pipeline.mixing:
            self._mix(batch, epoch, first)
        return batch

    def padded(self, batch: Batch, lengths: Array) -> Batch:
        """Rows that `DynamicPad` pads end after the longest one."""
        for way in self.ways:
            if way.padded:
                rows, whole = batch[way.now.name], way.now.shape[0]
                n = min(-(-int(np.clip(lengths, 0, whole).max()) // 8) * 8, whole)
                batch[way.now.name] = np.ascontiguousarray(rows[:, :n])
        return batch

    def sample(self, fields: Mapping[str, Array], index: int, epoch: int) -> Batch:
        """The steps on one element: its fields, without a batch axis. The field `length` is needed by `collate`."""
        one = {name: np.asarray(array)[None] for name, array in fields.items()}
        made = self._run(one, np.array([index]), epoch, {})
        return {name: array[0] for name, array in made.items()}

    def collate(self, samples: Sequence[Mapping[str, Array]], lengths: Array | None, epoch: int, first: int) -> Batch:
        """Puts samples together."""
        batch = {way.now.name: np.stack([sample[way.now.name] for sample in samples]) for way in self.ways}
        return self.finish(batch, lengths, epoch, first)

    def _run(self, fields: Mapping[str, Array], indices: Indices, epoch: int, into: Mapping[str, Array]) -> Batch:
        if self.straight is not None:
            return self._run_straight(self.straight, fields, into)
        draws: dict[int, Draw] = {}

        def draw(position: int) -> Draw:
            if position not in draws:
                draws[position] = Draw(self.pipeline.seed, epoch, indices, position)
            return draws[position]

        lengths = fields[self.lengths] if self.lengths and self.pipeline.pads else None

        def through(x: Array, owned: bool, touches: list[Touch], last: Array | None) -> tuple[Array, bool]:
            for number, touch in enumerate(touches):
                about = Circumstances(None, touch.source.mean, touch.source.scale, lengths)
                if touch.gate:
                    unit = draw(touch.gate.decided_at).unit(1 << 32)
                    chosen = np.flatnonzero((touch.gate.start <= unit) & (unit < touch.gate.below))
                    if len(chosen):
                        if touch.step.draws:
                            about.draw = draw(touch.position).of(chosen)
                        some = x[chosen]
                        about.length = None if lengths is None else lengths[chosen]
                        some = touch.step.run(some, about, some if touch.before == touch.after else None)
                        if not owned:
                            x, owned = x.copy(), True
                        x[chosen] = some
                    continue
                if touch.step.draws:
                    about.draw = draw(touch.position)
                out = x if owned and touch.before == touch.after else None
                if touch.step.pointwise and last is not None and number == len(touches) - 1:
                    out = last
                y = touch.step.run(x, about, out)
                owned, x = owned or y is not x, y
            return x, owned

        made: Batch = {}
        starts: dict[tuple[int, int], Array] = {}
        for way in self.ways:
            target = into.get(way.now.name)
            x = starts[id(way.start[0]), way.start[1]] if way.start else fields[way.source.kind.name]
            owned, done = False, 0
            for place in sorted(way.handed_on):
                x, owned = through(x, owned, way.touches[done:place], None)
                starts[id(way), place] = x
                done, owned = place, False  # what others start from is not overwritten
            if way.branches:
                x, _ = through(x, owned, way.touches[done:], None)
                x = self._merge([through(x, False, branch, None)[0] for branch in way.branches], target)
            else:
                x, owned = through(x, owned, way.touches[done:], target)
                if not owned and target is None:
                    x = np.array(x, order="C")  # in memory of its own
            made[way.now.name] = np.ascontiguousarray(x)
        return made

    @staticmethod
    def _run_straight(plan: Sequence[Straight], fields: Mapping[str, Array], into: Mapping[str, Array]) -> Batch:
        """What `_run` does where nothing is drawn, chosen or shared: small batches feel each look-up between steps."""
        made: Batch = {}
        for name, source, steps in plan:
            x = given = fields[source]
            target = into.get(name) if into else None
            for run, about, is_in_place, is_last in steps:
                out = x if is_in_place and x is not given else None
                x = run(x, about, target if is_last and target is not None else out)
            if x is given and target is None:
                made[name] = np.array(x, order="C")  # in memory of its own
            else:
                made[name] = np.ascontiguousarray(x)
        return made

    @staticmethod
    def _merge(arrays: list[Array], out: Array | None) -> Array:
        total = np.add(arrays[0], arrays[1], out=out)
        for array in arrays[2:]:
            total += array
        total /= np.float32(len(arrays))
        return total

    def _mix(self, batch: Batch, epoch: int, first: int) -> None:
        mixing = self.pipeline.mixing
        assert mixing is not None, "asked for only where elements are mixed"
        share = transforms.beta(self.pipeline.seed, epoch, first, mixing.alpha)
        for way in self.ways:
            name = way.now.name
            if mixing.kind == "mixup" and way.now.dtype == np.float32:
                batch[name] = transforms.mix_up(batch[name], share)
            elif mixing.kind == "cutmix" and way.now.is_image:
                batch[name] = transforms.cut_mix(batch[name], share, self.pipeline.seed, epoch, first)


def ways(pipeline: Pipeline, sources: Sequence[Source]) -> list[Way]:
    """How each delivered field comes about, in order: those of the data set, then those that transforms add."""
    gates = {gate.position: gate for gate in pipeline.gates}
    found = [Way(source, source.kind) for source in sources]
    for position, name in enumerate(pipeline.transforms):
        added = []
        for way in found:
            what = effect(name, way.source.kind, way.now)
            if what is None:
                continue
            touch = Touch(name, position, gates.get(position), way.now, what[1], STEPS[name], way.source)
            if what[0] == "becomes":
                way.touches.append(touch)
                way.now = what[1]
            else:
                added.append(way.fork(what[1], [touch], len(way.touches)))
        found += added
    if not pipeline.branches:
        return found
    out: list[Way] = []
    for way in found:
        position = len(pipeline.transforms)
        branches: list[tuple[list[Touch], Kind]] = []
        for branch in pipeline.branches:
            now, touches = way.now, []
            for name in branch:
                what = effect(name, way.source.kind, now)
                if what is not None:
                    if what[0] == "adds":
                        raise Refused(f"{name} in a branch would add a field")
                    touches.append(Touch(name, position, None, now, what[1], STEPS[name], way.source))
                    now = what[1]
                position += 1
            branches.append((touches, now))
        out.append(way)
        if not any(touches for touches, _ in branches):
            continue  # no branch knows it: it is delivered once
        if pipeline.merge == "mean":
            way.branches = [touches for touches, _ in branches]
            way.now = branches[0][1]
            continue
        trunk = len(way.touches)
        for view, (touches, now) in enumerate(branches, 1):
            named = Kind(f"{now.name}_{view}", now.dtype, now.shape)
            if view == 1:
                way.touches, way.now = way.touches + touches, named
            else:
                out.append(way.fork(named, touches, trunk))
    return out
