"""Orbax over JAX arrays on the processor: `StandardCheckpointer` with its own defaults (OCDBT, zarr3 off, zstd of
TensorStore), or `PyTreeCheckpointHandler` where an option is set, as Orbax's benchmarks have it.

Blocking, a `Checkpointer` of the handler is used, which its documentation has for that. In the background it is the
asynchronous one: `save` copies, and `wait_until_finished` is what `wait` waits for. `restore` gets the abstract state,
as the documentation asks for: shapes, types and shardings.

A manager is Orbax's `CheckpointManager`, with its own defaults but for what is asked for. As in the training loop of
Orbax's documentation a checkpoint has several items: the state, JSON with the number of the step, and the state of
numpy's generator.

On several ranks each process has one device, and Orbax its own barriers between them by `jax.distributed`.

On a mesh the arrays lie on simulated devices of this process: as many as the larger mesh has, where a state is loaded
onto another mesh than it is saved from.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from etils import epath
from jax.extend.backend import clear_backends
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from orbax.checkpoint import checkpoint_managers as policies
from orbax.checkpoint import type_handlers
from orbax.checkpoint import v1 as ocp_v1
from orbax.checkpoint._src.metadata import array_metadata_store

from ..adapter import Declined, Place
from ..checkpointer import TRAINED, Checkpoints, Leaf, Manager, Placement, Retention, SaveOptions, Saver, State, turned
from ..on_jax import allow_wide
from ..pipeline import Array
from ..stored import Header, Stored, StoredFiles, Tensor, flat_key, tensor


def simulate(devices: int) -> None:
    """Has this process see so many devices. No array of an earlier case is there any more."""
    if jax.device_count() != devices:
        clear_backends()
        jax.config.update("jax_num_cpu_devices", devices)


def shardings(state: State, placement: Placement) -> dict[str, jax.sharding.Sharding]:
    """Where each array lies: what is not cut lies on every device of the mesh."""
    if not placement.mesh:
        return dict.fromkeys(state, SingleDeviceSharding(jax.devices()[0]))
    sizes = dict(placement.mesh)
    mesh = Mesh(np.array(jax.devices()[: placement.devices]).reshape(tuple(sizes.values())), tuple(sizes))
    return {name: NamedSharding(mesh, spec(cuts)) for name, cuts in zip(state, placement.shardings, strict=True)}


def spec(cuts: tuple[tuple[str, ...], ...]) -> PartitionSpec:
    """How an array is cut, as JAX says it: no axis, one, or several for each dimension."""
    return PartitionSpec(*(None if not axes else axes[0] if len(axes) == 1 else axes for axes in cuts))


def part_of_rank(array: Array, sharding: jax.sharding.Sharding) -> jax.Array:
    """An array of all ranks, of which this one has what lies on its device."""
    return jax.make_array_from_callback(array.shape, sharding, lambda at: np.array(array[at]))


def changed(array: jax.Array, bits: int) -> jax.Array:
    """An array with low bits of every number turned over, which lies where the first one does."""

    def part(shard: jax.Shard) -> jax.Array:
        numbers = np.array(shard.data)
        turned(numbers, bits)
        return jax.device_put(numbers, shard.device)

    parts = [part(shard) for shard in array.addressable_shards]
    return jax.make_array_from_single_device_arrays(array.shape, array.sharding, parts)


OF_REPLICAS = ("use_replica_parallel", "enable_replica_parallel_separate_folder")
"""Options of the handler of arrays, which the layers above do not have."""


class Orbax(Checkpoints):
    """A directory of Orbax's own layout."""

    def __init__(self, state: State, options: SaveOptions) -> None:
        onto = options.placement if options.onto is None else options.onto
        if options.rank:
            options.rank.by_jax()
        else:
            simulate(max(options.placement.devices, onto.devices))
        allow_wide(array.dtype for array in state.values())
        lying = shardings(state, options.placement)
        put = part_of_rank if options.rank else jax.device_put
        # `jnp.asarray` of a numpy array may be a view of it; the arrays of a training step are JAX's own.
        self.state = {name: put(np.array(array), lying[name]) for name, array in state.items()}
        jax.block_until_ready(self.state)
        self.abstract = {
            name: jax.ShapeDtypeStruct(self.state[name].shape, self.state[name].dtype, sharding=sharding)
            for name, sharding in shardings(state, onto).items()
        }
        self.in_background = options.saving == "background"
        self.held: dict[str, jax.Array] = {}
        self.held_leaves: dict[str, Leaf] = {}
        self.said: Mapping[str, Any] = {}
        self.save_args: Any
        self.restore_args: Any
        self.options = options
        self.prepare()

    def prepare(self) -> None:
        """Makes what saves and loads."""
        if self.options.system or self.options.leaves:  # the handler that is standard takes no text
            handler = self.tree_handler()
        else:
            handler = ocp.StandardCheckpointHandler()
            self.save_args = ocp.args.StandardSave(dict(self.state))
            self.restore_args = ocp.args.StandardRestore(self.abstract)
        self.checkpointer: Any = ocp.AsyncCheckpointer(handler) if self.in_background else ocp.Checkpointer(handler)

    def tree_handler(self) -> Any:
        """The handler of trees, and the arguments that it takes."""
        told = dict(self.options.system)
        chunk = told.pop("chunk_byte_size", None)
        if of_replicas := {name: told.pop(name) for name in OF_REPLICAS if name in told}:
            # As the handler of trees has it itself, but for these.
            arrays = type_handlers.ArrayHandler(array_metadata_store=array_metadata_store.Store(), **of_replicas)
            told["type_handler_registry"] = type_handlers.create_type_handler_registry((jax.Array, arrays))
        leaves = self.options.leaves
        tree, abstract = {**self.state, **leaves}, {**self.abstract, **leaves}
        self.each = None if chunk is None else dict.fromkeys(tree, ocp.SaveArgs(chunk_byte_size=chunk))
        self.save_args = ocp.args.PyTreeSave(tree, save_args=self.each)
        restore_args = ocp.checkpoint_utils.construct_restore_args(abstract)
        self.restore_args = ocp.args.PyTreeRestore(abstract, restore_args=restore_args)
        return ocp.PyTreeCheckpointHandler(**told)

    def change(self, bits: Mapping[str, int]) -> None:
        # As a training step has it, what changes is another array: one that is being saved stays as it is.
        for name, turning in bits.items():
            self.state[name] = changed(self.state[name], turning)
        jax.block_until_ready(self.state)
        self.tell_state()

    def tell_state(self) -> None:
        """Tells the handler which arrays there are to save."""
        if isinstance(self.save_args, ocp.args.StandardSave):
            self.save_args = ocp.args.StandardSave(dict(self.state))
        else:
            self.save_args = ocp.args.PyTreeSave({**self.state, **self.options.leaves}, save_args=self.each)

    def save(self, directory: Path, durable: bool) -> None:
        self.checkpointer.save(directory, args=self.save_args)

    def wait(self) -> None:
        if self.in_background:
            self.checkpointer.wait_until_finished()

    def cancel(self) -> None:
        if not self.in_background:
            raise Declined("cancelling a save: it returns when the save is complete")
        self.checkpointer.cancel()

    def load(self, directory: Path) -> None:
        self.held = jax.block_until_ready(self.checkpointer.restore(directory, args=self.restore_args))
        self.held_leaves = {name: self.held.pop(name) for name in self.options.leaves}  # type: ignore[misc]

    def loaded_leaf(self, name: str) -> Leaf:
        return self.held_leaves[name]

    def metadata(self, directory: Path) -> Mapping[str, Any]:
        """What a checkpoint says of each array."""
        found = self.checkpointer.metadata(directory).item_metadata
        if found is None:
            raise FileNotFoundError(f"{directory}: there are no metadata of arrays")
        return found.tree

    def read_metadata(self, directory: Path) -> None:
        self.said = self.metadata(directory)

    def described(self) -> list[Header]:
        headers = []
        for name, array in self.state.items():
            said = self.said[name]
            lies = None if said.sharding is None else said.sharding.to_jax_sharding()
            if lies != array.sharding:
                raise ValueError(f"`{name}` was saved with {array.sharding}, and its metadata say {lies}")
            headers.append(Header(flat_key(name), np.dtype(said.dtype).str, tuple(said.shape)))
        return headers

    def loaded(self, name: str) -> Array:
        return np.asarray(self.held[name])

    def part(self, name: str, device: int) -> Array:
        if rank := self.options.rank:
            if device != rank.index:
                raise LookupError(f"device {device} is that of another rank than {rank.index}")
            (shard,) = self.held[name].addressable_shards
            return np.asarray(shard.data)
        shards = {shard.device.id: shard.data for shard in self.held[name].addressable_shards}
        if device not in shards:
            raise LookupError(f"device {device} has no part of `{name}`: it lies on {sorted(shards)}")
        return np.asarray(shards[device])

    def release(self) -> None:
        for array in self.held.values():
            array.delete()
        self.held, self.held_leaves = {}, {}

    def mark(self) -> None:
        def marked(array: jax.Array) -> jax.Array:
            parts = [
                jax.device_put(
                    np.full(shard.data.nbytes, shard.device.id + 1, np.uint8)
                    .view(array.dtype)
                    .reshape(shard.data.shape),
                    shard.device,
                )
                for shard in array.addressable_shards
            ]
            return jax.make_array_from_single_device_arrays(array.shape, array.sharding, parts)

        state = {name: marked(array) for name, array in self.state.items()}
        self.close()
        self.state = jax.block_until_ready(state)
        self.prepare()

    def manager(self, retention: Retention) -> Training:
        return Training(self, retention)

    def close(self) -> None:
        self.checkpointer.close()
        for array in self.state.values():
            array.delete()  # the next case may be of other devices
        if self.options.rank:
            jax.distributed.shutdown()


@partial(jax.jit, donate_argnums=0)
def train(state: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """A training step, which changes the state where it lies."""
    return {name: array * TRAINED for name, array in state.items()}


class LayerOfOrbax(Orbax):
    """A layer below the checkpointer: it writes into the directory that the caller names, and gives no name at the end.

    `start` begins a save and gives futures; `finish` is what comes when they are done.
    """

    futures: Sequence[Any] = ()
    saving_in: Path | None = None

    async def start(self, directory: epath.Path) -> Sequence[Any]:
        raise NotImplementedError

    def finish(self, directory: epath.Path) -> None:
        raise NotImplementedError

    def save(self, directory: Path, durable: bool) -> None:
        directory.mkdir()
        self.futures, self.saving_in = asyncio.run(self.start(epath.Path(directory))), directory
        if not self.in_background:
            self.wait()

    def wait(self) -> None:
        for future in self.futures:
            future.result()
        if self.saving_in is not None:
            self.finish(epath.Path(self.saving_in))
        self.futures, self.saving_in = (), None

    def cancel(self) -> None:
        raise Declined("cancelling a save: this layer has no call for it")

    def manager(self, retention: Retention) -> Training:
        raise Declined("a manager of checkpoints: this layer has none")


class Tree(LayerOfOrbax):
    """`PyTreeCheckpointHandler`, as a `Checkpointer` calls it."""

    def prepare(self) -> None:
        self.checkpointer = self.tree_handler()

    async def start(self, directory: epath.Path) -> Sequence[Any]:
        return await self.checkpointer.async_save(directory, args=self.save_args) or ()

    def finish(self, directory: epath.Path) -> None:
        self.checkpointer.finalize(directory)

    def metadata(self, directory: Path) -> Mapping[str, Any]:
        return self.checkpointer.metadata(epath.Path(directory)).tree

    def load(self, directory: Path) -> None:
        self.held = jax.block_until_ready(self.checkpointer.restore(epath.Path(directory), args=self.restore_args))


class Arrays(LayerOfOrbax):
    """`ArrayHandler`, as Orbax's own benchmark of it calls it: what it writes for one process is merged after it."""

    def prepare(self) -> None:
        told = dict(self.options.system)
        of_replicas = {name: told.pop(name) for name in OF_REPLICAS if name in told}
        self.use_ocdbt = told.pop("use_ocdbt", True)
        self.chunk = told.pop("chunk_byte_size", None)
        self.told = {name: told.pop(name) for name in ("use_zarr3", "use_compression") if name in told}
        if told:
            raise Declined(f"arrays alone with {', '.join(told)}: that is an option of the layers above")
        store = array_metadata_store.Store() if self.options.layer == "arrays with metadata" else None
        self.handler = type_handlers.ArrayHandler(array_metadata_store=store, **of_replicas)
        self.context = type_handlers.get_ts_context(use_ocdbt=self.use_ocdbt)

    def infos(self, directory: epath.Path) -> list[Any]:
        """What the layers above say of each array."""
        return [
            type_handlers.ParamInfo(
                name=name,
                parent_dir=directory,
                is_ocdbt_checkpoint=self.use_ocdbt,
                ts_context=self.context,
                value_typestr="jax.Array",
                **self.told,
            )
            for name in self.state
        ]

    def tell_state(self) -> None:
        pass

    async def start(self, directory: epath.Path) -> Sequence[Any]:
        each = [type_handlers.SaveArgs(chunk_byte_size=self.chunk) for _ in self.state]
        return await self.handler.serialize(list(self.state.values()), self.infos(directory), args=each)

    def finish(self, directory: epath.Path) -> None:
        if self.use_ocdbt:
            use_zarr3 = self.told.get("use_zarr3", False)
            merging = type_handlers.merge_ocdbt_per_process_files(
                directory, ts_context=self.context, use_zarr3=use_zarr3
            )
            asyncio.run(merging)

    def metadata(self, directory: Path) -> Mapping[str, Any]:
        said = asyncio.run(self.handler.metadata(self.infos(epath.Path(directory))))
        return dict(zip(self.state, said, strict=True))

    def load(self, directory: Path) -> None:
        each = [
            type_handlers.ArrayRestoreArgs(sharding=array.sharding, global_shape=array.shape, dtype=array.dtype)
            for array in self.abstract.values()
        ]
        held = asyncio.run(self.handler.deserialize(self.infos(epath.Path(directory)), args=each))
        self.held = dict(zip(self.state, jax.block_until_ready(held), strict=True))

    def close(self) -> None:
        for array in self.state.values():
            array.delete()


SAVE_POLICIES: Mapping[str, Callable[[Any], Any]] = {
    "interval": lambda steps: policies.FixedIntervalPolicy(interval=steps),
    "steps": lambda steps: policies.SpecificStepsPolicy(steps=steps),
    "continuous": lambda seconds: policies.ContinuousCheckpointingPolicy(minimum_interval_secs=seconds),
    "initial": lambda _: policies.InitialSavePolicy(),
    "preemption": lambda _: policies.PreemptionCheckpointingPolicy(),
}

KEEP_POLICIES: Mapping[str, Callable[[Any], Any]] = {
    "latest": lambda number: policies.LatestN(n=number),
    "interval": lambda steps: policies.EveryNSteps(interval_steps=steps),
    "seconds": lambda seconds: policies.EveryNSeconds(interval_secs=seconds),
    "steps": lambda steps: policies.CustomSteps(steps=steps),
}


def manager_options(retention: Retention, in_background: bool) -> Any:
    """A policy takes the place of the number that it stands for: Orbax refuses both."""
    told: dict[str, Any] = {}
    if retention.save_policies:
        each = [SAVE_POLICIES[policy.name](policy.value) for policy in retention.save_policies]
        told["save_decision_policy"] = policies.AnySavePolicy(each)
    else:
        told["save_interval_steps"] = retention.save_interval_steps
    if retention.keep_policies:
        each = [KEEP_POLICIES[policy.name](policy.value) for policy in retention.keep_policies]
        told["preservation_policy"] = policies.AnyPreservationPolicy(each)
    else:
        told["max_to_keep"] = retention.max_to_keep
    return ocp.CheckpointManagerOptions(
        num_deletion_threads=retention.num_deletion_threads, enable_async_checkpointing=in_background, **told
    )


class Training(Manager):
    """A `CheckpointManager` of Orbax for each training."""

    def __init__(self, checkpoints: Orbax, retention: Retention) -> None:
        self.checkpoints, self.retention = checkpoints, retention
        self.state: dict[str, jax.Array] = {}
        self.manager: Any = None
        self.held: Any = None

    def begin(self, directory: Path) -> None:
        self.close()
        self.manager = ocp.CheckpointManager(
            directory, options=manager_options(self.retention, self.checkpoints.in_background)
        )
        self.state = {name: jnp.copy(array) for name, array in self.checkpoints.state.items()}
        jax.block_until_ready(self.state)

    def train(self) -> None:
        self.state = jax.block_until_ready(train(self.state))

    def offer(self, step: int) -> None:
        args = ocp.args.Composite(
            pytree=ocp.args.StandardSave(self.state),
            json_item=ocp.args.JsonSave({"step": step}),
            np_random_key=ocp.args.NumpyRandomKeySave(np.random.get_state()),
        )
        self.manager.save(step, args=args)

    def settle(self) -> None:
        self.manager.wait_until_finished()

    def delete(self, step: int) -> None:
        self.manager.delete(step)

    def kept(self) -> list[int]:
        return sorted(self.manager.all_steps())

    def restore(self, step: int | None) -> None:
        args = ocp.args.Composite(
            pytree=ocp.args.StandardRestore(self.checkpoints.abstract),
            json_item=ocp.args.JsonRestore(),
            np_random_key=ocp.args.NumpyRandomKeyRestore(),
        )
        held = self.manager.restore(self.manager.latest_step() if step is None else step, args=args)
        jax.block_until_ready(held["pytree"])
        self.held = held

    def position(self) -> int:
        return int(self.held["json_item"]["step"])

    def loaded(self, name: str) -> Array:
        return np.asarray(self.held["pytree"][name])

    def release(self) -> None:
        if self.held is not None:
            for array in self.held["pytree"].values():
                array.delete()
        self.held = None

    def close(self) -> None:
        self.release()
        if self.manager is not None:
            self.manager.close()
        for array in self.state.values():
            array.delete()
        self.state = {}


def lying(array: jax.Array) -> Array:
    """The bytes of an array of one device where they lie. JAX keeps copies of what it has shown before."""
    memory = (ctypes.c_uint8 * array.nbytes).from_address(array.unsafe_buffer_pointer())
    return np.frombuffer(memory, np.uint8)


class StoredOrbax(Stored):
    """A checkpoint that lies somewhere, by `load` of Orbax's version 1, as its benchmarks of loads have it.

    The abstract state is what the metadata say. Without a mesh each array lies on one device.
    """

    def __init__(self, files: StoredFiles) -> None:
        layout = ocp_v1.options.CheckpointLayout
        told: dict[str, Any] = {}
        if files.format == "safetensors":
            told["checkpoint_layout"] = layout.SAFETENSORS
            chunk = files.system.get("safetensors_read_chunk_mb")
            told["safetensors_options"] = ocp_v1.options.SafetensorsOptions(
                max_over_read_ratio=files.system.get("safetensors_max_over_read_ratio"),
                read_chunk_bytes=None if chunk is None else chunk * 2**20,
            )
        self.context = ocp_v1.Context(**told)
        if (limit := files.system.get("restore_concurrent_gb")) is not None:
            self.context.memory.read_concurrent_bytes = limit * 2**30
        self.directory = files.directory
        with ocp_v1.Context(context=self.context):
            metadata = ocp_v1.metadata(self.directory).metadata
        leaves, self.tree = jax.tree_util.tree_flatten_with_path(metadata)
        keys = [jax.tree_util.keystr(path) for path, _ in leaves]
        for key, (_, leaf) in zip(keys, leaves, strict=True):
            if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
                raise Declined(f"a checkpoint with more than arrays: {key} is {leaf!r}")
        self.leaves = [leaf for _, leaf in leaves]
        allow_wide(np.dtype(leaf.dtype) for leaf in self.leaves)
        self.order = sorted(range(len(keys)), key=keys.__getitem__)
        self.headers = [
            Header(keys[at], np.dtype(self.leaves[at].dtype).str, tuple(self.leaves[at].shape)) for at in self.order
        ]
        self.held: list[Any] = []
        simulate(1)
        self.lie([SingleDeviceSharding(jax.devices()[0])] * len(keys))

    def lie(self, shardings: list[jax.sharding.Sharding]) -> None:
        """Where each array is to lie, in the order of the headers."""
        abstract: list[Any] = [None] * len(self.leaves)
        for at, sharding in zip(self.order, shardings, strict=True):
            leaf = self.leaves[at]
            abstract[at] = jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)
        self.abstract = jax.tree_util.tree_unflatten(self.tree, abstract)

    def place(self, onto: Placement) -> None:
        simulate(onto.devices)
        sizes = dict(onto.mesh)
        mesh = Mesh(np.array(jax.devices()[: onto.devices]).reshape(tuple(sizes.values())), tuple(sizes))
        self.lie([NamedSharding(mesh, spec(cuts)) for cuts in onto.shardings])

    def share(self, once: bool) -> None:
        self.context.array.loading.use_load_and_broadcast = once

    def load(self) -> None:
        with ocp_v1.Context(context=self.context):
            loaded = ocp_v1.load(self.directory, abstract_state=self.abstract)
        self.held = jax.tree_util.tree_leaves(jax.block_until_ready(loaded))

    def loaded(self, at: int) -> Tensor:
        return tensor(self.headers[at].key, np.asarray(self.held[self.order[at]]))

    def part(self, at: int, device: int) -> Tensor:
        array = self.held[self.order[at]]
        shards = {shard.device.id: shard.data for shard in array.addressable_shards}
        if device not in shards:
            raise LookupError(f"device {device} has no part of {self.headers[at].key}: it lies on {sorted(shards)}")
        return tensor(
            self.headers[at].key, lying(shards[device]).view(shards[device].dtype).reshape(shards[device].shape)
        )

    def fill(self, at: int, device: int, byte: int) -> None:
        shards = {shard.device.id: shard.data for shard in self.held[self.order[at]].addressable_shards}
        lying(shards[device]).fill(byte)

    def release(self) -> None:
        for array in self.held:
            array.delete()
        self.held = []

    def close(self) -> None:
        self.release()


def open_stored(files: StoredFiles, place: Place) -> StoredOrbax:
    files.only("orbax", "safetensors")
    return StoredOrbax(files)


LAYERS = {"checkpointer": Orbax, "tree": Tree, "arrays": Arrays, "arrays with metadata": Arrays}


def open(state: State, options: SaveOptions, place: Place) -> Orbax:
    if options.compression:
        told = {**options.system, "use_compression": options.compression == "zstd"}
        options = replace(options, system=told)
    return LAYERS[options.layer](state, options)


ADAPTER = Saver(
    framework="Orbax",
    distribution="orbax-checkpoint",
    entry_point="orbax.checkpoint.StandardCheckpointer",
    open=open,
    reshards=True,
    ranks=True,
    replicates=True,
    compressions=("none", "zstd"),
    layers=("tree", "arrays", "arrays with metadata"),
    leaves=True,
    open_stored=open_stored,
    stored_entry_point="orbax.checkpoint.v1.load",
)
