"""What one framework's file implements: it opens a pipeline, and iterates over its epochs as its users would.

`System` is what a file of any contract ends with; `Adapter` is that of a loader, and `checkpointer.Saver` that of a
checkpointer.
"""

from __future__ import annotations

import fcntl
import importlib
import importlib.metadata
import importlib.util
import shutil
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from .data import Data
from .device import HOST, Device
from .pipeline import Batch, Pipeline


class Declined(Exception):
    """What this system cannot do, by name and with the reason. Another pipeline under the same name would be worse."""


@dataclass
class Place:
    """Where an adapter may put things, and what it says about the cost of opening."""

    scratch: Path
    """Empty, and removed after the case."""
    converted: Path
    """Of this adapter and this data set, kept for the run."""
    ranks: int = 1
    """How many processes have a pipeline over the data at once, this one among them."""
    convert: int | None = None
    compile: int | None = None

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """What is done here, no other process of this adapter and data set does at the same time."""
        self.converted.mkdir(parents=True, exist_ok=True)
        with open(self.converted / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def converting(self, name: str, convert: Callable[[Path], None]) -> Path:
        """A folder of converted data: made once, and found again whole, also by processes that ask at the same time."""
        whole = self.converted / name
        start = time.perf_counter_ns()
        with self.locked(name):
            if not whole.exists():
                part = self.converted / f"{name}.part"
                shutil.rmtree(part, ignore_errors=True)  # of a process that was ended over it
                part.mkdir()
                convert(part)
                part.rename(whole)
                self.convert = (self.convert or 0) + time.perf_counter_ns() - start
            else:
                self.convert = self.convert or 0
        return whole


@dataclass(frozen=True)
class Executed:
    """What really happens, for the work report."""

    transforms: tuple[str, ...]
    operators: str = "shared numpy"
    """Whose operators do them: `native`, the framework's or a library's; `shared numpy`, functions of this package."""
    library: str | None = None
    """The library that they are of, with its version, where that is not the framework itself."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Facts of the framework that may differ between systems though their work is equal: threads, further versions."""
    ran_on: str = "cpu"
    synchronised: str = "on return"
    delivery: str = "owned"
    workers: int = 0
    order: str = "kept"


class Loader(ABC):
    """An open pipeline."""

    device: Device = HOST
    """Where its batches are when they are handed out."""

    @abstractmethod
    def begin(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch, each a dict of numpy arrays that are there when they are handed out; on a device a
        dict of arrays there, and nothing that was enqueued for them is pending.

        Work on batches starts with the first one that is asked for. What the framework's own threads or processes have
        under way for the epoch before is let go first.
        """

    @abstractmethod
    def executed(self) -> Executed: ...

    chunk = 1
    """How many batches it makes at a time, where most of them cost nothing and one much: passes have several such
    chunks, or what they measure would be batches that are there. With `whole_pass` how many a call has at best."""

    renewed = False
    """Whether each epoch that a run begins has a number of its own: what was done in one must not help in the next."""

    whole_pass = False
    """Whether it runs many batches in one call: `scan` is what is timed then, and `begin` goes to the beginning."""

    def prepare(self, batches: int) -> int:
        """Compiles for the next `scan` of so many batches, with the clock stopped. Gives what that took."""
        return 0

    def scan(self, batches: int) -> list[Batch]:
        """The next batches in one call: fewer at the end of the epoch, and none after it."""
        raise NotImplementedError("`whole_pass` and `scan` go together")

    def compilations(self) -> int | None:
        """How often the framework has compiled in this process so far; nothing where it compiles nothing, or does not
        tell."""
        return None

    def save(self) -> bytes:
        """The place in the epoch: how many batches were handed out, and what else the rest depends on."""
        raise Declined("it cannot save its place in an epoch")

    def restore(self, state: bytes) -> Iterator[Batch]:
        """The batches after the place that was saved, in another process too."""
        raise Declined("it cannot restore its place in an epoch")

    @property
    def can_save(self) -> bool:
        return type(self).save is not Loader.save

    def where(self) -> str:
        """The backend that its work is on, in the words of `--platform`: read from what the framework holds, and not
        from what it was asked for."""
        return self.device.backend

    def device_memory(self) -> dict[str, int]:
        """Bytes of the device: the most that the `framework` had, and what the `driver` says is taken now."""
        return {}

    def close(self) -> None:  # noqa: B027 (there may be nothing to let go)
        """Lets everything go: processes, threads, files outside `converted`, shared memory."""


def nothing() -> None:
    """What most adapters have to do at the end."""


@dataclass(frozen=True)
class System:
    """One framework: who it is, where it comes from, and what lives for as long as its worker."""

    framework: str
    """The exact name that the harness knows it by."""
    distribution: str
    """What the package is called where it is installed from: its version is looked up by it."""
    entry_point: str
    """The dotted name of what does the framework's work, which the adapter really calls."""
    start: Callable[[], None] = field(default=nothing, kw_only=True)
    """Starts what all cases need beside the import, such as a cluster: part of what importing costs."""
    platforms: tuple[str, ...] = field(default=("cpu",), kw_only=True)
    """Where it can deliver, in the words of `--platform`."""
    end: Callable[[], None] = field(default=nothing, kw_only=True)
    """Lets go what was kept for all cases, before the worker ends."""

    contract: ClassVar[str]
    """What it opens, in the words of `open`."""

    def import_own(self) -> None:
        """Imports what a case may need beside the framework: that is no part of opening one."""

    @property
    def version(self) -> str:
        return importlib.metadata.version(self.distribution)

    @property
    def module(self) -> str:
        """The file that the entry point comes from."""
        parent, name = resolve(self.entry_point)
        target = getattr(parent, name)
        homes = [getattr(target, "__module__", None), getattr(parent, "__module__", None)]
        for home in (*homes, getattr(parent, "__name__", None), self.entry_point.split(".")[0]):
            file = getattr(sys.modules.get(home or ""), "__file__", None)
            if file:
                return str(file)
        return "built in"


@dataclass(frozen=True)
class Adapter(System):
    """A loader. Its file ends with `ADAPTER = Adapter(...)`."""

    open: Callable[[Pipeline, Data, Place], Loader]
    own: str | None = None
    """The file in `own` with its operators, if it opens pipelines that ask for operators of its own."""
    first_example: Callable[[Pipeline, Data, Place], Loader] | None = None
    """Opens a pipeline as its users start: by the first example of its documentation. `None` where that is what `open`
    does."""
    stored: tuple[str, ...] = ()
    """What it reads from an object store over HTTP: `stored-files`, `stored-tar`."""
    no_store: str = "nobody has shown it an object store here"
    """Why it reads nothing else from one."""
    modes: tuple[str, ...] = ()
    """The ways to run a list of steps that can be asked for."""

    contract = "loader"

    def import_own(self) -> None:
        """Imports its operators and their library: where that is missing, a pipeline that asks for it finds out."""
        if self.own is not None:
            with suppress(ModuleNotFoundError):
                importlib.import_module(f"weighbridge_worker.own.{self.own}")


def resolve(dotted: str) -> tuple[Any, str]:
    """What holds the last name of a dotted one, and that name: modules first, then attributes."""
    parts = dotted.split(".")
    for length in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:length])
        try:
            found: Any = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and name.startswith(error.name):
                continue
            raise
        for part in parts[length:-1]:
            found = getattr(found, part)
        return found, parts[-1]
    raise ModuleNotFoundError(f"no module of `{dotted}` can be imported")


def load(name: str) -> System:
    """The adapter of this name (`grain`, `checkpointers.orbax`), or in this file."""
    if name.endswith(".py"):
        stem = "adapter_" + Path(name).stem
        spec = importlib.util.spec_from_file_location(stem, name)
        assert spec is not None and spec.loader is not None, "a path that ends with .py has a loader"
        module: ModuleType = importlib.util.module_from_spec(spec)
        sys.modules[stem] = module
        spec.loader.exec_module(module)
    else:
        folder = "" if "." in name else "adapters."
        module = importlib.import_module(f"weighbridge_worker.{folder}{name}")
    adapter = module.ADAPTER
    assert isinstance(adapter, System), f"{name} ends with an Adapter"
    return adapter


def plain_only(pipeline: Pipeline, *, but: tuple[str, ...] = ()) -> None:
    """Declines what is asked for beyond a list of transforms, but for what begins with one of these words."""
    for ask in pipeline.asks:
        if not ask.startswith(but):
            raise Declined(ask)
