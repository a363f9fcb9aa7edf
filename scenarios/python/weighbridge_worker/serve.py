"""The conversation: one message after the other, answered in turn."""

from __future__ import annotations

import base64
import gc
import platform
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from . import PROTOCOL, checkpointer, learner, loop, predictor, stored, trainer
from .adapter import Adapter, Declined, Place, System, load
from .beat import Heart
from .collectors import Collection
from .data import Data
from .device import HOST
from .exchange import Exchange
from .pipeline import Batch, Pipeline
from .protocol import Broken, Channel, Message
from .streaming import Streaming
from .traces import Tracing
from .usage import Tree

now = time.perf_counter_ns


def hello(channel: Channel, heart: Heart, name: str) -> System | None:
    """Imports the adapter and with it the framework, and says which one it is; or why it cannot be."""
    start = now()
    try:
        with heart.beating(f"importing {name}"):
            adapter = load(name)
            adapter.import_own()
            adapter.start()
            took = now() - start
            message = {
                "protocol": PROTOCOL,
                "framework": adapter.framework,
                "version": adapter.version,
                "module": adapter.module,
                "language": f"Python {platform.python_version()}",
                "import": took,
            }
    except BaseException:
        channel.send("failed", {"detail": traceback.format_exc()})
        return None
    channel.send("hello", message)
    return adapter


class Case(Streaming):
    """An open pipeline."""

    def __init__(self, adapter: Adapter, said: Message) -> None:
        self.pipeline = Pipeline.from_dict(said["pipeline"], said.get("device", "cpu"))
        if self.pipeline.operators == "own" and adapter.own is None:
            raise Declined(f"operators own: {adapter.framework} has none, its users map functions of theirs")
        if self.pipeline.decodes and self.pipeline.operators != "own":
            raise Declined("encoded images: they are decoded by decoders of one's own alone")
        if (mode := self.pipeline.mode) and mode not in adapter.modes:
            ways = ", ".join(adapter.modes) or "its own alone"
            raise Declined(f"mode {mode}: {adapter.framework} runs steps here in these ways: {ways}")
        access = self.pipeline.access
        if self.pipeline.store is not None and access not in adapter.stored:
            raise Declined(f"{access}: {adapter.no_store}")
        opens = adapter.open
        if self.pipeline.setting == "default":
            if adapter.first_example is None:
                raise Declined(f"setting default: {adapter.framework} is measured as its users start with it")
            opens = adapter.first_example
        self.data = Data(said["data"])
        exchange = Exchange(said["exchange"])
        rank = said.get("rank")
        place = Place(Path(said["scratch"]), Path(said["converted"]), rank["of"] if rank else 1)
        start = now()
        try:
            super().__init__(opens(self.pipeline, self.data, place), exchange)
        except BaseException:
            exchange.close()
            raise
        if rank and (why := self.out_of_step()):
            self.close()
            raise Declined(why)
        set_up = now() - start - (place.convert or 0) - (place.compile or 0)
        costs = {"convert": place.convert, "set_up": max(set_up, 0), "compile": place.compile}
        self.opened = self.told(adapter.entry_point, self.loader.executed(), costs)

    def out_of_step(self) -> str | None:
        """Why its batches cannot be made one by one in step with others."""
        if self.loader.whole_pass:
            return "ranks in step: it runs a whole pass in one call, and a step is one batch"
        if self.loader.device is not HOST:
            return f"ranks in step: on {self.loader.device.name} nothing shows yet that a step's batch is complete"
        return None

    def close(self) -> None:
        try:
            super().close()
        finally:
            self.data.close()


def opened(adapter: System, message: Message) -> Streaming | checkpointer.Case | stored.StoredCase:
    """A case of the contract that the adapter has."""
    if isinstance(adapter, Adapter):
        return Case(adapter, message)
    if isinstance(adapter, checkpointer.Saver):
        if "stored" in message:
            return stored.StoredCase(adapter, message)
        return checkpointer.Case(adapter, message)
    if isinstance(adapter, trainer.Trainer):
        return trainer.Case(adapter, message)
    if isinstance(adapter, predictor.Predictor):
        return predictor.Case(adapter, message)
    if isinstance(adapter, learner.Learner):
        return learner.Case(adapter, message)
    raise Broken(f"{adapter.framework} has a contract that nobody serves")


class Server:
    """Answers what is asked until the harness goes."""

    def __init__(self, channel: Channel, heart: Heart, adapter: System) -> None:
        self.channel, self.heart, self.adapter = channel, heart, adapter
        self.case: Streaming | checkpointer.Case | stored.StoredCase | None = None
        self.collection = Collection()
        self.tracing = Tracing(None, adapter.framework)

    def serve(self) -> None:
        while (heard := self.channel.receive()) is not None:
            name, message = heard
            answer = getattr(self, f"on_{name}", None)
            if answer is None:
                raise Broken(f"`{name}` is no message of version {PROTOCOL}")
            try:
                said, reply = answer(message)
            except Declined as why:
                said, reply = "declined", {"why": str(why)}
            except (Broken, ConnectionError, KeyboardInterrupt, SystemExit):
                raise
            except BaseException:  # what PyTorch's checkpoints raise is no `Exception`
                said, reply = "failed", {"detail": traceback.format_exc()}
            self.channel.send(said, reply)

    def on_open(self, message: Message) -> tuple[str, Message]:
        if self.case is not None:
            raise Broken("a pipeline is open: one at a time")
        if (contract := message.get("contract")) != self.adapter.contract:
            raise Declined(f"the contract `{contract}`: {self.adapter.framework} is a {self.adapter.contract}")
        device = message.get("device", "cpu")
        if device not in self.adapter.platforms:
            raise Declined(
                f"platform {device}: {self.adapter.framework} has no device path here, it delivers on the host"
            )
        self.tracing = Tracing(message.get("trace"), self.adapter.framework)
        with self.heart.beating("opening"):
            self.case = opened(self.adapter, message)
        return "opened", self.case.opened

    def on_verify(self, message: Message) -> tuple[str, Message]:
        case = self._open()

        def hand_over(batch: Batch) -> None:
            said, _ = case.exchange.put(batch)
            self.channel.send("batch", said)
            self._expect("next")

        loop.each(case.loader, message["epoch"], hand_over)
        return "end", {}

    def on_run(self, message: Message) -> tuple[str, Message]:
        case = self._open()
        limits = (message["warmup"], message["batches"], message["min_time"])
        epoch, of = message.get("epoch", 0), message.get("all", 0)
        with self.tracing.over("run"):
            measured = loop.run(case.loader, *limits, epoch, case.hand_over, of)
        self.channel.send("beat", {"doing": "telling what was measured"})  # whose account ends here
        return "ran", measured.said()

    def on_epoch(self, message: Message) -> tuple[str, Message]:
        case = self._open()
        most = (message.get("batches", 0), message.get("limit"), message.get("least", 0))
        timed = loop.epoch(case.loader, message["epoch"], *most)
        return "timed", timed.said(case.hand_over(timed.held))

    def on_begin(self, message: Message) -> tuple[str, Message]:
        case = self._open()
        case.iterator = case.loader.begin(message["epoch"])
        return "begun", {}

    def on_advance(self, message: Message) -> tuple[str, Message]:
        case = self._open()
        batch = next(self._begun(), None)
        if batch is None:
            return "end", {}
        case.loader.device.weigh(batch)
        said, _ = case.exchange.put(case.loader.device.on_host(batch))
        return "batch", said

    def on_step(self, message: Message) -> tuple[str, Message]:
        index, of = message["band"]
        made = self._open().step(index, of)
        return ("end", {}) if made is None else ("stepped", {"elements": made[0], "bytes": made[1]})

    def on_fetch(self, message: Message) -> tuple[str, Message]:
        case = self._open()
        if case.stepped is None:
            raise Broken("no batch was made in step")
        said, _ = case.exchange.put(case.loader.device.on_host(case.stepped))
        return "batch", said

    def on_usage(self, message: Message) -> tuple[str, Message]:
        case = self._open()
        case.tree = case.tree or Tree()
        return "used", asdict(case.tree.look())

    def on_save(self, message: Message) -> tuple[str, Message]:
        self._begun()
        return "saved", {"state": base64.b64encode(self._open().loader.save()).decode()}

    def on_restore(self, message: Message) -> tuple[str, Message]:
        case = self._open()
        case.iterator = case.loader.restore(base64.b64decode(message["state"], validate=True))
        return "restored", {}

    def on_call(self, message: Message) -> tuple[str, Message]:
        if self.case is None:
            raise Broken("nothing is open")
        match message["name"]:
            case "collect":
                return "answer", self.collection.begin(message["collectors"])
            case "collected":
                return "answer", self.collection.told()
            case name:
                with self.tracing.over(name):
                    return self.case.call(name, message)

    def on_close(self, message: Message) -> tuple[str, Message]:
        case, self.case = self.case, None
        self.collection.end()
        start = now()
        if case is not None:
            with self.heart.beating("closing"):
                case.close()
        took, case = now() - start, None
        gc.collect()  # frameworks hold data in cycles: the next pipeline would lie beside them
        return "closed", {"tear_down": took}

    def _open(self) -> Streaming:
        if not isinstance(self.case, Streaming):
            raise Broken("no pipeline is open")
        return self.case

    def _begun(self) -> Iterator[Batch]:
        iterator = self._open().iterator
        if iterator is None:
            raise Broken("no epoch is begun")
        return iterator

    def _expect(self, wanted: str) -> None:
        heard = self.channel.receive()
        if heard is None:
            raise ConnectionError("the harness has gone")
        if heard[0] != wanted:
            raise Broken(f"`{heard[0]}` where `{wanted}` is due")
