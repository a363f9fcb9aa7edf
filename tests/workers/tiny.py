"""A worker in plain Python, with the standard library alone, written from docs/worker-protocol.md and nothing else.

Its system is a loader that hands out slices of mapped files and transforms nothing.
"""

import base64
import json
import mmap
import os
import resource
import socket
import struct
import sys
import time

now = time.monotonic_ns
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
            protocol=1,
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

    def on_run(self, said):
        samples, restarts, held, audits = [], [], [], []
        elements = size = warmup = passes = wall = stood = 0
        first, ran_out, stopped_at = None, False, None
        used = [0] * 5

        def begin():
            start = now()
            self.loader.begin(said["epoch"])
            restarts.append(now() - start)

        def start():
            nonlocal stood
            self.before = usage()
            stamp = now()
            if stopped_at is not None:
                stood += stamp - stopped_at
            return stamp

        def stop(end, since):
            nonlocal wall, stopped_at, used
            used = [sum + after - before for sum, after, before in zip(used, usage(), self.before)]
            wall, stopped_at = wall + end - since, end

        while True:
            begin()
            if stopped_at is not None:  # the warm-up is no time that the clock stands
                stood, stopped_at = stood + now() - stopped_at, None
            left_out = max(said["warmup"], 1 if first is None else 0)
            while left_out:
                stamp = now()
                if self.loader.next() is None:
                    ran_out = True
                    begin()
                    continue
                first = now() - stamp if first is None else first
                left_out, warmup = left_out - 1, warmup + 1
            done, since = 0, start()
            last = since
            while done < said["batches"]:
                batch = self.loader.next()
                if batch is None:
                    stop(last, since)
                    ran_out = True
                    begin()
                    since = last = start()
                    continue
                stamp = now()
                samples.append(stamp - last)
                last = stamp
                elements += batch[0]
                size += sum(map(len, batch[1]))
                if passes == 0 and done in said["hold"]:
                    audits += self.loader.audit()
                    stop(last, since)
                    held.append(batch)
                    since = last = start()
                done += 1
            stop(last, since)
            passes += 1
            if wall >= said["min_time"]:
                break
        offset, handed = 0, []
        for batch in held:
            one, offset = self.put(batch, offset)
            handed.append(one)
        self.channel.send(
            "ran",
            samples=samples,
            elements=elements,
            bytes=size,
            wall=wall,
            first=first,
            restarts=restarts,
            warmup=warmup,
            passes=passes,
            ran_out=ran_out,
            usage={
                "cpu": used[0],
                "wait": None,
                "minor_faults": used[1],
                "major_faults": used[2],
                "voluntary": used[3],
                "involuntary": used[4],
            },
            stopped={"wall": stood, "cpu": None, "others": 0},
            processes=1,
            threads=1,
            audit=audits,
            held=handed,
        )

    def on_epoch(self, said):
        self.loader.begin(said["epoch"])
        elements = size = batches = first = 0
        start = now()
        while (batch := self.loader.next()) is not None:
            elements, size, batches = elements + batch[0], size + sum(map(len, batch[1])), batches + 1
            first = first or now() - start
        wall = now() - start
        self.channel.send("timed", wall=wall, first=first, elements=elements, bytes=size, batches=batches)

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
        names = ["cpu", "minor_faults", "major_faults", "voluntary", "involuntary"]
        self.channel.send("used", wait=None, **dict(zip(names, usage())))

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
