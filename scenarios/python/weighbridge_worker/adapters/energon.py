"""Megatron Energon: a prepared folder of tar shards, a task encoder, and a loader over the validation split.

Idiomatic: `get_savable_loader(get_val_dataset(path, task_encoder=...))`. Samples are crude (`CrudeWebdataset`): a
cooker leaves them the dictionaries that they are, the encoder's `batch` joins them and its `encode_batch` does the
steps. The validation split is finite and ordered, where the training split shuffles and never ends. Every hook is
`@stateless`: a stateful one would not be run again after a failure, and 100 failures end a run. The shards are written
by tarfile and prepared by energon's own `prepare_dataset`, once. A loader goes on where it was left: an epoch begins by
its own state from before the first batch (`restore_state_rank`), and with workers by new ones, which take no state once
they run.

Tried: samples as dataclasses (15 % slower); a new loader for every epoch (0.4 s each); workers, which cost half of the
speed here on two cores, and lose the order where there are two and more, as each has its part of the shards.

First example: `get_loader(get_val_dataset(path, batch_size=B, worker_config=..., task_encoder=...))` with the README's
`WorkerConfig(rank=0, world_size=1, num_workers=n)`, on the validation split. Elements are `.npy` files, which the page
"Data Decoding" names, and an `encode_sample` of a `DefaultTaskEncoder` does the steps (page "Task Encoder").

Cannot: cache, regroup; save a place with workers.
"""

from __future__ import annotations

import io
import pickle
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from megatron import energon
from megatron.energon.flavors.webdataset import BaseWebdatasetFactory

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data, Rows
from ..first_example import FirstExample
from ..pipeline import Array, Batch, Pipeline, Program

SHARDS = 4
"""As many as workers could want."""

FACTORY = "__module__: megatron.energon\n__class__: CrudeWebdataset\n"

FIRST_FACTORY = f"""sample_type:
  __module__: {__name__}
  __class__: Row
field_map:
  row: npy
"""

Member = Callable[[str, Array], tuple[str, bytes]]
"""How an element of a field lies in a shard: the ending of its file, and what is in it."""


def raw(name: str, row: Array) -> tuple[str, bytes]:
    return name, row.tobytes()


def npy(name: str, row: Array) -> tuple[str, bytes]:
    file = io.BytesIO()
    np.save(file, row)
    return "npy", file.getvalue()


def write(pipeline: Pipeline, data: Data, folder: Path, member: Member = raw, factory: str = FACTORY) -> None:
    """Tar shards, and what energon wants to know of them."""
    fields, total = data.arrays(), pipeline.elements
    names = []
    for shard in range(SHARDS):
        start, end = (pipeline.first + total * part // SHARDS for part in (shard, shard + 1))
        if start == end:
            continue
        names.append(f"{shard}.tar")
        with tarfile.open(folder / names[-1], "w", format=tarfile.USTAR_FORMAT) as tar:
            for index in range(start, end):
                for name, array in fields.items():
                    ending, content = member(name, array[index])
                    info = tarfile.TarInfo(f"{index:09}.{ending}")
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content))
    BaseWebdatasetFactory.prepare_dataset(folder, names, split_parts_ratio=[("val", 1.0)], shuffle_seed=None, workers=1)
    (folder / ".nv-meta/dataset.yaml").write_text(factory)


def as_it_is(sample: dict[str, Any]) -> dict[str, Any]:
    return {**sample}


class Encoder(energon.TaskEncoder):  # type: ignore[misc, type-arg]
    """Raw rows to batches with all steps done."""

    decoder, cookers = None, (energon.Cooker(energon.stateless(as_it_is)),)

    def __init__(self, program: Program, data: Data) -> None:
        super().__init__()
        self.program, self.data, self.epoch = program, data, 0

    @energon.stateless
    def batch(self, samples: list[dict[str, Any]]) -> Rows:
        indices = np.array([int(sample["__key__"].rpartition("/")[2]) for sample in samples])
        return Rows(self.data.joined(samples), indices, int(indices[0]))

    @energon.stateless
    def encode_batch(self, rows: Rows) -> dict[str, Any]:
        batch = self.program.batch(rows.fields, rows.indices, self.epoch, rows.first)
        return {name: torch.from_numpy(array) for name, array in batch.items()}


class Energon(Loader):
    def __init__(self, pipeline: Pipeline, data: Data, folder: Path) -> None:
        torch.set_num_threads(1)
        self.pipeline, self.data, self.folder = pipeline, data, folder
        self.encoder = Encoder(Program(pipeline, data.sources), data)
        self.done = 0
        self.loader: Any = self.made()
        self.beginning = self.place()
        self.iterator: Any = None

    def made(self) -> Any:
        config = energon.WorkerConfig(rank=0, world_size=1, num_workers=self.pipeline.workers)
        dataset = energon.get_val_dataset(
            self.folder,
            worker_config=config,
            batch_size=self.pipeline.batch_size,
            batch_drop_last=False,
            task_encoder=self.encoder,
        )
        return energon.get_savable_loader(dataset)

    def place(self) -> bytes:
        return pickle.dumps(self.loader.save_state_rank())

    def begin(self, epoch: int) -> Iterator[Batch]:
        return self.batches(epoch, 0, self.beginning)

    def batches(self, epoch: int, done: int, place: bytes) -> Iterator[Batch]:
        self.let_go()
        self.encoder.epoch, self.done = epoch, done
        if self.pipeline.workers:
            # Workers keep the epoch that they were started with, and take no place once they run.
            self.loader = self.made()
        self.loader.restore_state_rank(pickle.loads(place))
        self.iterator = iter(self.loader)
        return map(self.handed_out, self.iterator)

    def handed_out(self, batch: dict[str, torch.Tensor]) -> Batch:
        self.done += 1
        return {name: tensor.numpy() for name, tensor in batch.items()}

    def let_go(self) -> None:
        if self.iterator is not None:
            self.iterator.close()
        self.iterator = None

    def executed(self) -> Executed:
        workers = self.pipeline.workers
        return Executed(self.pipeline.work, workers=workers, order="kept" if workers < 2 else "lost")

    def save(self) -> bytes:
        if self.pipeline.workers:
            raise Declined("a place in an epoch of workers: each has its own, by parts of the elements")
        state = {"data": self.data.digest, "epoch": self.encoder.epoch, "done": self.done}
        return pickle.dumps({**state, "energon": self.place()})

    def restore(self, state: bytes) -> Iterator[Batch]:
        said = pickle.loads(state)
        if said["data"] != self.data.digest:
            raise ValueError("the place was saved over other data")
        if said["done"] == self.pipeline.batches:
            return iter(())  # the loader's own place is the beginning of the next epoch then
        return self.batches(said["epoch"], said["done"], said["energon"])

    def close(self) -> None:
        self.let_go()
        self.loader = None


@energon.edataclass
class Row(energon.Sample):  # type: ignore[misc]
    """An element of a first example."""

    row: Any


class RowEncoder(energon.DefaultTaskEncoder):  # type: ignore[misc]
    """All steps on each sample."""

    def __init__(self, steps: Callable[[Array], Array]) -> None:
        super().__init__()
        self.steps = steps

    @energon.stateless
    def encode_sample(self, sample: Row) -> Row:
        return Row.derive_from(sample, row=torch.from_numpy(self.steps(sample.row)))  # type: ignore[no-any-return]


class RowByRow(Energon):
    """The first example of the documentation: a loader over samples of a type, put together by energon."""

    save, restore = Loader.save, Loader.restore  # a loader that has a place is another one

    def __init__(self, pipeline: Pipeline, example: FirstExample, folder: Path) -> None:
        torch.set_num_threads(1)
        self.pipeline, self.example, self.folder = pipeline, example, folder
        self.encoder: Any = RowEncoder(example.steps)
        self.loader, self.iterator, self.is_left = self.made(), None, False

    def made(self) -> Any:
        config = energon.WorkerConfig(rank=0, world_size=1, num_workers=self.example.workers)
        size = self.example.batch_size
        return energon.get_loader(
            energon.get_val_dataset(self.folder, batch_size=size, worker_config=config, task_encoder=self.encoder)
        )

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.let_go()
        if self.is_left:
            self.loader = self.made()  # it would go on in the midst of the epoch
        self.is_left = True
        self.iterator = self.rows()
        return self.iterator  # type: ignore[no-any-return]

    def rows(self) -> Iterator[Batch]:
        for batch in self.loader:
            yield {self.example.name: batch.row.numpy()}
        self.is_left = False


def first_example(pipeline: Pipeline, data: Data, place: Place) -> Energon:
    example = FirstExample.of(pipeline, data)
    name = f"first-example-{pipeline.first}-{pipeline.end}"
    folder = place.converting(name, lambda folder: write(pipeline, data, folder, npy, FIRST_FACTORY))
    return RowByRow(pipeline, example, folder)


def open(pipeline: Pipeline, data: Data, place: Place) -> Energon:
    if pipeline.access == "file-eager":
        raise Declined("file-eager: shards are read as they are needed")
    asks = ((pipeline.mixture, "mixture"), (pipeline.cache, "cache"), (pipeline.rebatch, "rebatch"))
    for asked, what in asks:
        if asked:
            raise Declined(f"{what}: a validation split is gone through once")
    if pipeline.workers > 1 and (pipeline.mixing or pipeline.pads):
        raise Declined("mixing or padding with workers: they put other elements together in a batch")
    name = f"{pipeline.first}-{pipeline.end}"
    return Energon(pipeline, data, place.converting(name, lambda folder: write(pipeline, data, folder)))


ADAPTER = Adapter(
    framework="Energon",
    distribution="megatron-energon",
    entry_point="megatron.energon.get_val_dataset",
    open=open,
    first_example=first_example,
    no_store="its remotes are profiles of a storage client, and plain HTTP is none of them",
)
