"""A worker in plain Python, with the standard library alone, written from docs/worker-protocol.md and nothing else.

Its system is a loader that hands out slices of mapped files and transforms nothing.
"""

import base64
import json
import mmap
import os
import random
import resource
import socket
import struct
import sys
import time

now = time.monotonic_ns
secret = random.SystemRandom()  # which batches are copied, nobody can know before
ROOM = 64 << 20
SIZES = {"u8": 1, "i32": 4, "i64": 8, "f32": 4, "f64": 8}


class Channel:
    """Frames of JSON on what was standard input."""

    def __init__(self):
        self.end = socket.socket(fileno=os.dup(0))
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(2, 1)

    def send(self, name, **message):
        body = json.dumps({name: message}).encode()
        self.end.sendall(struct.pack("<I", len(body)) + body)

    def receive(self):
        head = self.exactly(4)
        if not head:
            return None, None
        ((name, message),) = json.loads(self.exactly(*struct.unpack("<I", head))).items()
        return name, message

    def exactly(self, count):
        got = b""
        while len(got) < count:
            part = self.end.recv(count - len(got))
            if not part:
                return b""
            got += part
        return got


class Field:
    def __init__(self, said):
        self.name, self.dtype, self.shape = said["name"], said["dtype"], said["shape"]
        self.row = SIZES[self.dtype]
        for side in self.shape:
            self.row *= side
        with open(said["path"], "rb") as file:
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class Loader:
    """The system: batches are lists of bytes, one for each field."""

    def __init__(self, said):
        self.fields = [Field(field) for field in said["data"]["fields"]]
        asked = said["pipeline"]
        self.first, self.end, self.size = asked["first"], asked["end"], asked["batch_size"]
        self.at = self.first

    def begin(self, epoch):
        self.at = self.first

    def audit(self):
        """What the device had still to do for the batch that was handed out last: there is no device."""
        return []

    def next(self):
        """The next batch and how many elements it has; nothing at the end of the epoch."""
        start, self.at = self.at, min(self.at + self.size, self.end)
        batch = [field.map[start * field.row : self.at * field.row] for field in self.fields]
        return (self.at - start, batch) if self.at > start else None


def usage():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return [
        int((used.ru_utime + used.ru_stime) * 1e9),
        used.ru_minflt,
        used.ru_majflt,
        used.ru_nvcsw,
        used.ru_nivcsw,
    ]


def told(used):
    """What was used, in the protocol's words: how long it waited for a processor is not known."""
    names = ["cpu", "minor_faults", "major_faults", "voluntary", "involuntary"]
    return {"wait": None, **dict(zip(names, used))}


def places(count, of):
    """So many different places; all of them where there are fewer."""
    return set(secret.sample(range(of), min(count, of)))


class Ledger:
    """Where the time goes: at any moment to one entry, so that none is left out."""

    def __init__(self):
        self.spent = dict.fromkeys(["begin", "warm_up", "caught_up", "measured", "stopped", "handed_over"], 0)
        self.entry, self.since = "stopped", now()

    def turn(self, entry, at):
        """From this stamp on to another entry. Gives the one before."""
        before, self.entry = self.entry, entry
        self.spent[before] += at - self.since
        self.since = at
        return before


class Copies:
    """What was copied: all of the first pass, and of later ones as much as there is room for, each as likely."""

    def __init__(self):
        self.first, self.later, self.seen, self.size = [], [], 0, 0

    def add(self, copy):
        said, (_, parts) = copy
        if said["pass"] == 0:
            return self.first.append(copy)
        self.seen += 1
        if self.size < ROOM:
            self.later.append(copy)
            self.size += max(4096, sum(map(len, parts)))
        elif (place := secret.randrange(self.seen)) < len(self.later):
            self.later[place] = copy


class Worker:
    """Answers what is asked."""

    backend = "cpu"
    transforms = []  # what it can do

    def __init__(self, framework="tiny"):
        self.channel, self.framework, self.loader = Channel(), framework, None

    def hello(self):
        self.channel.send("beat", doing="importing nothing")
        self.channel.send(
            "hello",
            protocol=3,
            framework=self.framework,
            version="1",
            module=os.path.abspath(__file__),
            language="Python " + sys.version.split()[0],
            **{"import": 0},
        )

    def serve(self):
        while True:
            name, message = self.channel.receive()
            if name is None:
                return
            try:
                getattr(self, "on_" + name)(message)
            except Exception as error:
                self.channel.send("failed", detail=repr(error))

    def open(self, said):
        return Loader(said)

    def on_open(self, said):
        transforms = said["pipeline"]["transforms"]
        asks = said["pipeline"]["asks"] + [name for name in transforms if name not in self.transforms]
        if said["device"] != "cpu":
            asks.append(f"platform {said['device']}")
        if asks:
            return self.channel.send("declined", why=f"{asks[0]}: it hands out what is there")
        start = now()
        self.exchange = said["exchange"]
        self.loader = self.open(said)
        self.channel.send(
            "opened",
            executed={
                "transforms": transforms,
                "ran_on": "cpu",
                "synchronised": "on return",
                "delivery": "owned",
                "workers": 0,
            },
            backend=self.backend,
            entry_point="tiny.Loader",
            order="kept",
            costs={"convert": None, "set_up": now() - start, "compile": None},
            processes=1,
            threads=1,
            can_save=True,
        )

    def put(self, batch, offset=0):
        """Writes a batch into the exchange file; what is said of it, and where it ends."""
        elements, parts = batch
        fields = []
        with open(self.exchange, "r+b") as file:
            for field, part in zip(self.loader.fields, parts):
                file.seek(offset)
                file.write(part)
                fields.append(
                    {"name": field.name, "dtype": field.dtype, "shape": field.shape, "offset": offset}
                )
                offset += len(part)
        return {"elements": elements, "fields": fields}, offset

    def on_verify(self, said):
        self.loader.begin(said["epoch"])
        while (batch := self.loader.next()) is not None:
            self.channel.send("batch", **self.put(batch)[0])
            asked, _ = self.channel.receive()
            assert asked == "next", asked
        self.channel.send("end")

    def begin(self, epoch):
        self.loader.begin(epoch)
        self.handed_out = 0

    def next(self):
        """The next batch; how many there were since the epoch was begun is counted here, and not by the system."""
        batch = self.loader.next()
        self.handed_out += batch is not None
        return batch

    def copied(self, batch, pass_number, whole):
        """A copy of a batch, or of a run of its elements, with what is said of it. The system is not asked."""
        elements, parts = batch
        count = elements if whole else min(8, elements)
        first = secret.randrange(elements - count + 1)
        rows = [field.row for field in self.loader.fields]
        copies = [bytes(part[first * row : (first + count) * row]) for part, row in zip(parts, rows)]
        return {"pass": pass_number, "at": self.handed_out - 1, "first": first, "of": elements}, (count, copies)

    def put_all(self, held):
        """Writes copies into the exchange file, one after the other."""
        offset, handed = 0, []
        for said, copy in held:
            batch, offset = self.put(copy, offset)
            handed.append({**said, **batch})
        return handed

    def on_run(self, said):
        ledger, began_with, copies = Ledger(), usage(), Copies()
        samples, restarts, audits = [], [], []
        elements = size = warmup = passes = stood = 0
        first, ran_out, stopped_at, ran_with = None, False, None, None
        used = [0] * 5

        def begin():
            start = now()
            before = ledger.turn("begin", start)
            self.begin(said["epoch"])
            end = now()
            ledger.turn(before, end)
            restarts.append(end - start)

        def turn(entry):
            """The clock stands no longer: batches are asked for."""
            nonlocal stood, stopped_at, ran_with
            ran_with = usage()
            stamp = now()
            ledger.turn(entry, stamp)
            if stopped_at is not None:
                stood, stopped_at = stood + stamp - stopped_at, None
            return stamp

        def stop(end):
            nonlocal stopped_at, used
            used = [sum + after - before for sum, after, before in zip(used, usage(), ran_with)]
            ledger.turn("stopped", end)
            stopped_at = end

        while True:
            begin()
            left_out = max(said["warmup"], 1 if first is None else 0)
            if left_out:
                turn("warm_up")
            while left_out:
                stamp = now()
                if self.next() is None:
                    ran_out = True
                    begin()
                    continue
                first = now() - stamp if first is None else first
                left_out, warmup = left_out - 1, warmup + 1
            copy_at = places(4 if passes == 0 else 1, said["batches"])
            done, last = 0, turn("measured")
            while done < said["batches"]:
                batch = self.next()
                if batch is None:
                    stop(last)
                    ran_out = True
                    begin()
                    last = turn("measured")
                    continue
                stamp = now()
                samples.append(stamp - last)
                last = stamp
                elements += batch[0]
                size += sum(map(len, batch[1]))
                if done in copy_at:
                    audits += self.loader.audit() if passes == 0 else []
                    stop(last)
                    copies.add(self.copied(batch, passes, whole=passes == 0))
                    last = turn("measured")
                done += 1
            stop(last)
            passes += 1
            if ledger.spent["measured"] >= said["min_time"]:
                break
        ledger.turn("handed_over", now())
        held = self.put_all(copies.first + copies.later)
        ledger.turn("stopped", now())
        self.channel.send("beat", doing="telling what was measured")  # whose account ends here
        self.channel.send(
            "ran",
            samples=samples,
            elements=elements,
            bytes=size,
            wall=ledger.spent["measured"],
            first=first,
            restarts=restarts,
            warmup=warmup,
            passes=passes,
            ran_out=ran_out,
            usage=told(used),
            stopped={"wall": stood, "cpu": None, "others": 0},
            processes=1,
            threads=1,
            audit=audits,
            ledger=ledger.spent,
            cpu={"all": usage()[0] - began_with[0]},
            checked=held,
        )

    def on_epoch(self, said):
        limit, least = said.get("limit"), said.get("least", 0)
        copy_at = places(4, said.get("batches", 0) or least)
        elements = size = batches = first = copied = 0
        ended, held = False, []
        before, start = usage(), now()
        self.begin(said["epoch"])
        begun = end = now()
        while limit is None or batches < max(least, 1) or end - start < limit:
            batch = self.next()
            if batch is None:
                ended = True
                break
            end = now()
            elements, size = elements + batch[0], size + sum(map(len, batch[1]))
            first = first or end - begun
            if batches in copy_at:  # the clock runs
                held.append(self.copied(batch, None, whole=False))
                stamp = now()
                copied, end = copied + stamp - end, stamp
            batches += 1
        self.channel.send(
            "timed",
            wall=end - start,
            begin=begun - start,
            first=first,
            elements=elements,
            bytes=size,
            batches=batches,
            ended=ended,
            copied=copied,
            usage=told([after - was for after, was in zip(usage(), before)]),
            checked=self.put_all(held),
        )

    def on_begin(self, said):
        self.loader.begin(said["epoch"])
        self.channel.send("begun")

    def on_advance(self, said):
        batch = self.loader.next()
        if batch is None:
            self.channel.send("end")
        else:
            self.channel.send("batch", **self.put(batch)[0])

    def on_step(self, said):
        index, of = said["band"]
        batch = self.loader.next()
        if batch is None:
            return self.channel.send("end")
        self.stepped, self.band = batch, []
        elements, parts = batch
        for field, part in zip(self.loader.fields, parts):
            length = field.row // of
            first = index * length
            rows = range(first, first + elements * field.row, field.row)
            self.band.append(b"".join(part[row : row + length] for row in rows) if of > 1 else part)
        self.channel.send("stepped", elements=elements, bytes=sum(map(len, self.band)))

    def on_fetch(self, said):
        self.channel.send("batch", **self.put(self.stepped)[0])

    def on_usage(self, said):
        self.channel.send("used", **told(usage()))

    def on_save(self, said):
        self.channel.send("saved", state=base64.b64encode(struct.pack("<Q", self.loader.at)).decode())

    def on_restore(self, said):
        (self.loader.at,) = struct.unpack("<Q", base64.b64decode(said["state"]))
        self.channel.send("restored")

    def on_close(self, said):
        start = now()
        self.loader = None
        self.channel.send("closed", tear_down=now() - start)


if __name__ == "__main__":
    worker = Worker()
    worker.hello()
    worker.serve()
