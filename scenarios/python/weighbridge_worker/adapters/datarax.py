"""Datarax: a source and stages in one compiled pipeline of JAX, iterated batch by batch.

Idiomatic: `Pipeline(source=MemorySource(...), stages=[...], batch_size=B, rngs=...)`, where a stage is an
`nnx.Module` with `__call__(batch)`, and `for batch in pipeline`. Steps that JAX does bit for bit as the page has them
are JAX; a list with any other is one stage that calls back to numpy (`jax.pure_callback`). XLA makes a division by one
number a multiplication and fuses a product with a sum, which are other numbers: so the divisor is an array of the
batch's shape behind a barrier, and a barrier stands between the steps. The element's index is a field of the source;
the epoch is a variable.

By operators of its own: a stage of JAX's operations, mapped over the elements of a batch with a key each
(`own/on_jax.py`).

An epoch begins by the iterator's own `set_state`: the pipeline keeps its place over `iter()`, and a second one over a
pipeline that has ended is empty. The last batch is as long as the others and filled up from the beginning of the data
(10 048 rows of 10 000): what is delivered, and counted, are the rows that belong to the epoch.

On a device: JAX's own runs there, source and compiled stages, and batches stay there; a step of numpy is called back on
the host.

Cannot: workers; streaming from files that are not its own kind; regroup batches across steps (`RebatchNode` reshapes
one).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import datarax
import jax
import jax.numpy as jnp
import numpy as np
from datarax.pipeline.nodes.cache import CachingIterator
from datarax.sources import MemorySource, MemorySourceConfig
from flax import nnx

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..device import HOST
from ..on_jax import allow_wide, device_of
from ..own import on_jax
from ..own import plain as plain_list
from ..pipeline import Batch, Pipeline, Program, Touch

EXACT = (
    "Normalize",
    "CastToFloat32",
    "Scale",
    "Clip",
    "Add",
    "CheapTransform",
    "Multiply",
    "CreateAttentionMask",
    "CausalMaskGeneration",
)
"""What XLA does bit for bit as the page has it."""

INDEX = "element index"


class Steps(nnx.Module):
    """The steps as JAX's operations."""

    def __init__(self, program: Program) -> None:
        self.program = nnx.static(program)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        before: dict[tuple[int, int], Any] = {}
        for way in self.program.ways:
            x = before[id(way.start[0]), way.start[1]] if way.start else batch[way.source.kind.name]
            for number, touch in enumerate(way.touches):
                before[id(way), number] = x
                x = jax.lax.optimization_barrier(self.step(touch, x))
            before[id(way), len(way.touches)] = x
            made[way.now.name] = x
        return made

    def step(self, touch: Touch, x: Any) -> Any:
        match touch.name:
            case "Normalize" if touch.source.mean is None:
                divisor = jnp.full(x.shape, 255, jnp.float32)
                return x.astype(jnp.float32) / jax.lax.optimization_barrier(divisor)
            case "Normalize":
                return (x - touch.source.mean) * touch.source.scale
            case "CastToFloat32":
                return x.astype(jnp.float32)
            case "Scale":
                return x * jnp.float32(2)
            case "Clip":
                return jnp.where(x < 0, jnp.float32(0), jnp.where(x > 1, jnp.float32(1), x))
            case "Add" | "CheapTransform":
                return x + jnp.float32(0.1)
            case "Multiply":
                return x * jnp.float32(0.9)
            case "CreateAttentionMask":
                return (x != 0).astype(jnp.float32)
            case "CausalMaskGeneration":
                n = x.shape[1]
                return jnp.broadcast_to(jnp.tri(n, dtype=jnp.float32), (x.shape[0], n, n))
        raise AssertionError(f"{touch.name} is none of the exact ones")


class Callback(nnx.Module):
    """The steps as one numpy function."""

    def __init__(self, program: Program) -> None:
        self.program = nnx.static(program)
        self.epoch = nnx.Variable(jnp.int32(0))

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        indices = batch[INDEX]
        fields = {name: array for name, array in batch.items() if name != INDEX}
        shapes = {
            kind.name: jax.ShapeDtypeStruct((indices.shape[0], *kind.shape), kind.dtype)
            for kind in self.program.pipeline.output
        }
        return jax.pure_callback(self.steps, shapes, fields, indices, self.epoch[...])

    def steps(self, fields: Mapping[str, Any], indices: Any, epoch: Any) -> Batch:
        indices = np.asarray(indices)
        # What is filled up from the beginning of the data is no part of the batch.
        real = int((indices >= indices[0]).sum())
        given = {name: np.asarray(array)[:real] for name, array in fields.items()}
        made = self.program.elements(given, indices[:real], int(epoch))
        made = self.program.finish(made, None, int(epoch), int(indices[0]))
        if real == len(indices):
            return made
        return {name: np.resize(array, (len(indices), *array.shape[1:])) for name, array in made.items()}


class OwnSteps(nnx.Module):
    """The steps as JAX's operations, with draws of its own for each element."""

    def __init__(self, program: Program) -> None:
        self.program = nnx.static(program)
        self.epoch = nnx.Variable(jnp.int32(0))

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        pipeline, made = self.program.pipeline, {}
        key = jax.random.fold_in(jax.random.key(pipeline.seed), self.epoch[...])
        key = jax.random.fold_in(key, batch[INDEX][0])
        for way in self.program.ways:
            x = on_jax.through(way.touches, batch[way.source.kind.name], key)
            if pipeline.mixing:
                x = on_jax.mixed(x, jax.random.fold_in(key, len(way.touches)), pipeline.mixing)
            made[way.now.name] = x
        return made


class Datarax(Loader):
    """Batch by batch."""

    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        self.pipeline, self.data, self.device = pipeline, data, device_of(pipeline)
        self.program = Program(pipeline, data.sources)
        part = slice(pipeline.first, pipeline.end)
        fields = {name: array[part] for name, array in data.arrays().items()}
        indices = np.arange(pipeline.first, pipeline.end, dtype=np.int32)
        plain = not (pipeline.gates or pipeline.branches or pipeline.mixing)
        native = plain and all(name in EXACT for name in pipeline.transforms)
        if pipeline.operators == "own":
            plain_list(pipeline)
            self.stage: Any = OwnSteps(self.program)
        else:
            self.stage = Steps(self.program) if native else Callback(self.program)
        self.size = min(pipeline.batch_size, pipeline.elements)
        self.datarax: Any = datarax.Pipeline(
            source=MemorySource(MemorySourceConfig(), {**fields, INDEX: indices}),
            stages=[self.stage],
            batch_size=self.size,
            rngs=nnx.Rngs(0),
        )
        iterator = iter(self.datarax)
        self.beginning = iterator.get_state()
        self.iterator: Any = None
        self.cached: Any = None
        self.epoch = 0

    def begin(self, epoch: int) -> Iterator[Batch]:
        if self.pipeline.cache and epoch and self.cached is not None:
            return self.batches(self.cached, 0)  # its source stays open: what is not in the cache yet comes from there
        self.rewind(epoch)
        if self.pipeline.cache:
            self.cached = CachingIterator(self.iterator)
            return self.batches(self.cached, 0)
        return self.batches(self.iterator, 0)

    def rewind(self, epoch: int, position: int = 0) -> None:
        """Goes to before this element of an epoch."""
        self.close_iterator()
        if not isinstance(self.stage, Steps):
            self.stage.epoch[...] = jnp.int32(epoch)
        self.epoch, self.iterator = epoch, iter(self.datarax)
        self.iterator.set_state({**self.beginning, "position": np.int64(position)})

    def compile_last(self) -> None:
        """Compiles how a last batch is filled up (0.1 s with Datarax 0.1.17): it would be in the first epoch else."""
        whole = self.pipeline.elements // self.size * self.size
        if whole < self.pipeline.elements:
            self.rewind(self.epoch, whole)
            next(self.batches(self.iterator, whole))

    def batches(self, iterator: Iterator[Any], done: int) -> Iterator[Batch]:
        """Where they belong, and of the last one the rows that belong to the epoch."""
        for batch in iter(iterator):
            real = min(self.size, self.pipeline.elements - done)
            yield self.handed_out(jax.block_until_ready(batch), self.pipeline.first + done, real)
            done += real

    def handed_out(self, batch: Mapping[str, Any], first: int, real: int) -> Batch:
        if self.device is not HOST:
            arrays = {kind.name: batch[kind.name] for kind in self.pipeline.output}
            if real < self.size:
                arrays = {name: array[:real] for name, array in arrays.items()}
            return jax.block_until_ready(arrays)
        made = {kind.name: np.asarray(batch[kind.name])[:real] for kind in self.pipeline.output}
        if not self.pipeline.pads:
            return made
        # A compiled pipeline has one shape: rows are cut to the longest one of the batch behind it.
        lengths = self.data.arrays()["length"]
        return self.program.padded(made, lengths[first : first + real])

    def executed(self) -> Executed:
        native = not isinstance(self.stage, Callback)
        delivery = "view" if self.pipeline.cache else "owned"  # an array of JAX is seen from numpy, and not copied
        return Executed(
            self.pipeline.work,
            "native" if native else "shared numpy",
            on_jax.LIBRARY if native else None,
            ran_on=self.device.name if native else "cpu",
            synchronised="block_until_ready",
            delivery=delivery,
        )

    def save(self) -> bytes:
        if self.pipeline.cache:
            raise Declined("a place in an epoch of a cache: the batches of its first epoch are not part of it")
        state = self.iterator.get_state()
        said = {**state, "position": int(state["position"])}
        return json.dumps({"data": self.data.digest, "epoch": self.epoch, "datarax": said}).encode()

    def restore(self, state: bytes) -> Iterator[Batch]:
        said = json.loads(state)
        if said["data"] != self.data.digest:
            raise ValueError("the place was saved over other data")
        self.begin(said["epoch"])
        self.iterator.set_state(said["datarax"])
        return self.batches(self.iterator, min(said["datarax"]["position"], self.pipeline.elements))

    def close_iterator(self) -> None:
        if self.iterator is not None:
            self.iterator.close()
        self.iterator = None

    def close(self) -> None:
        self.close_iterator()
        self.datarax = self.cached = None


def supported(pipeline: Pipeline, data: Data) -> None:
    """Declines what Datarax cannot do."""
    if pipeline.workers:
        raise Declined(f"{pipeline.workers} workers: a compiled pipeline has none")
    if pipeline.access != "memory":
        raise Declined(f"{pipeline.access}: the source holds arrays on the device")
    if pipeline.mixture:
        raise Declined("mixture: its MixedSource draws from a generator of its own")
    if pipeline.rebatch:
        raise Declined("rebatch: RebatchNode reshapes one batch, and none goes over to the next")
    if pipeline.pads and pipeline.device != "cpu":
        raise Declined("DynamicPad on a device: rows are cut behind the compiled pipeline, on the host")
    allow_wide(source.kind.dtype for source in data.sources)


def start() -> None:
    """Starts JAX's runtime, which the first array does otherwise."""
    jax.block_until_ready(jnp.zeros(1) + 1)


def open(pipeline: Pipeline, data: Data, place: Place) -> Datarax:
    supported(pipeline, data)
    loader = Datarax(pipeline, data)
    began = time.perf_counter_ns()
    next(loader.begin(0))
    loader.compile_last()
    place.compile = time.perf_counter_ns() - began
    return loader


ADAPTER = Adapter(
    framework="Datarax",
    distribution="datarax",
    entry_point="datarax.Pipeline",
    open=open,
    start=start,
    own="on_jax",
    platforms=("cpu", "gpu"),
)
