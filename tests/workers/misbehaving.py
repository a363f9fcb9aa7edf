"""The tiny worker with one fault or one sin: the first argument says at the start, the pipeline says for one case."""

import collections
import os
import signal
import struct
import subprocess
import sys
import time

import tiny

FOREVER = ["sh", "-c", "sleep 987.25"]
TRACES = {"writes-a-trace": '{"traceEvents": []}', "writes-an-empty-trace": ""}
WORK = 500_000  # nanoseconds of work for a batch, where it is not done while the clock stands
NO_EPOCH = {
    **dict.fromkeys(["wall", "begin", "first", "elements", "bytes", "batches", "copied"], 1),
    "ended": True,
    "usage": tiny.told([0] * 5),
    "checked": [],
}
INVERTED = bytes(255 - byte for byte in range(256))


def at_start(fault, worker):
    if fault == "hangs-at-import":
        time.sleep(1000)
    if fault == "misses-a-library":
        worker.channel.send("failed", detail="Traceback\nModuleNotFoundError: No module named 'no_such'")
        sys.exit()
    if fault == "speaks-version-1":
        worker.channel.send(
            "hello", protocol=1, framework="", version="", module="", language="", **{"import": 0}
        )
    if fault == "exits-at-start":
        print("no licence was found", file=sys.stderr)
        sys.exit(3)
    if fault == "beats-while-it-imports":
        for _ in range(8):
            worker.channel.send("beat", doing="importing much")
            time.sleep(0.4)


class Queue:
    """A device that inverts, and works when it is waited for."""

    def __init__(self):
        self.pending = collections.deque()

    def enqueue(self, part):
        there = bytearray(len(part))
        self.pending.append((there, part))
        return there

    def wait(self):
        while self.pending:
            there, part = self.pending.popleft()
            there[:] = part.translate(INVERTED)


class Sinner(tiny.Loader):
    """Hands out what it should not."""

    def __init__(self, said, sin):
        super().__init__(said)
        self.sin, self.timed, self.works, self.device = sin, False, False, Queue()
        self.inverts = said["pipeline"]["transforms"] == ["Invert"]
        self.prepared = None
        if sin == "one-field-of-two":
            self.fields = self.fields[:1]
        if sin == "prepares-in-set-up":
            self.source = [bytes(field.map) for field in self.fields]
            self.prepared = [memoryview(source.translate(INVERTED)) for source in self.source]

    def audit(self):
        took = []
        for _ in range(2):
            start = tiny.now()
            self.device.wait()
            took.append(tiny.now() - start)
        return [{"waited": took[0], "again": took[1]}]

    def next(self):
        start = tiny.now()
        while self.works and tiny.now() < start + WORK:
            pass
        if self.prepared:
            start, self.at = self.at, min(self.at + self.size, self.end)
            rows = [field.row for field in self.fields]
            parts = [whole[start * row : self.at * row] for whole, row in zip(self.prepared, rows)]
            return (self.at - start, parts) if self.at > start else None
        if self.sin == "same-batch-again" and self.timed:
            self.at = self.first
        batch = super().next()
        if batch is None:
            return None
        elements, parts = batch
        if self.sin == "drops-the-last" and self.at == self.end and elements < self.size:
            return None
        if self.sin == "pads-and-counts" and elements < self.size:
            rows = [field.row for field in self.fields]
            parts = [part + bytes((self.size - elements) * row) for part, row in zip(parts, rows)]
            elements = self.size
        if self.sin == "swaps-channels":
            parts = [bytes(part[at ^ 1] for at in range(len(part))) for part in parts]
        if self.inverts and self.sin != "skips-a-transform":
            parts = [self.device.enqueue(part) for part in parts]
            if not (self.sin == "forgets-to-synchronise" and self.timed):
                self.device.wait()
        return elements, parts


class Misbehaving(tiny.Worker):
    fault = ""
    transforms = ["Invert"]

    def open(self, said):
        self.fault = said["pipeline"]["fault"]
        self.backend = "gpu" if self.fault == "runs-elsewhere" else "cpu"
        if self.fault == "floods-stderr":
            sys.stderr.write("x" * 79 + "\n")
            for _ in range(4000):
                sys.stderr.write("flood " * 500 + "\n")
        if self.fault == "prints":
            print("a progress bar: 100 %", flush=True)
            os.write(1, b"{}" * 100)
        if self.fault == "hangs-in-set-up":
            time.sleep(1000)
        if self.fault == "leaves-children":
            for session in (False, True):
                subprocess.Popen(FOREVER, start_new_session=session, close_fds=False)
        if self.fault == "leaves-shared-memory":
            with open(f"/dev/shm/wb_test_{said['pipeline']['name']}", "wb") as file:
                file.write(bytes(1 << 20))
        if self.fault == "declines":
            raise ValueError("unreachable")
        return Sinner(said, self.fault)

    def on_open(self, said):
        if said["pipeline"]["fault"] == "declines":
            return self.channel.send("declined", why="Blur: there is no operator for it")
        if "trace" in said and said["pipeline"]["fault"] in TRACES:
            with open(os.path.join(said["trace"]["folder"], "run.json"), "w") as file:
                file.write(TRACES[said["pipeline"]["fault"]])
        super().on_open(said)
        if self.fault == "says-more":
            self.channel.send("begun")

    def on_verify(self, said):
        if self.fault == "answers-another-thing":
            return self.channel.send("timed", **NO_EPOCH)
        if self.fault == "fails":
            raise RuntimeError("out of cheese")
        super().on_verify(said)

    def copied(self, batch, pass_number, whole):
        self.loader.device.wait()  # as every copy from a device does
        return super().copied(batch, pass_number, whole)

    def put(self, batch, offset=0):
        said, offset = super().put(batch, offset)
        if self.fault == "float16":
            said["fields"][0]["dtype"] = "f16"
        if self.fault == "lazy-handle":
            said["fields"][0]["offset"] = 1 << 40
        return said, offset

    def on_run(self, said):
        if self.fault == "hangs-in-a-batch":
            print("about to hang", file=sys.stderr, flush=True)
            time.sleep(1000)
        if self.fault == "says-garbage":
            self.channel.end.sendall(b"hello, I am no frame")
            time.sleep(1000)
        if self.fault == "stops-within-a-frame":
            self.channel.end.sendall(struct.pack("<I", 100) + b'{"ran"')
            time.sleep(1000)
        if self.fault == "forks-and-dies":
            if os.fork() == 0:
                os.setsid()
                os.execvp(FOREVER[0], FOREVER)
            os._exit(7)
        if self.fault == "is-killed":
            os.kill(os.getpid(), signal.SIGKILL)
        self.loader.timed = True
        send = self.channel.send
        if self.fault == "claims-time":
            self.channel.send = self.claiming(send)
        if self.fault == "works-while-stopped":
            self.channel.send = self.working(send)
        super().on_run(said)
        self.channel.send = send

    def on_epoch(self, said):
        # Where nobody stops the clock, all of the work is done between the requests.
        self.loader.works = self.fault == "works-while-stopped"
        super().on_epoch(said)
        self.loader.works = False

    def claiming(self, send):
        def changed(name, **message):
            if name == "ran":
                message["samples"] = [sample + 3_600_000_000_000 for sample in message["samples"]]
                message["wall"] = sum(message["samples"])
            send(name, **message)

        return changed

    def working(self, send):
        def changed(name, **message):
            if name == "ran":
                # Most of what was used, others used while the clock stood: no more than there was.
                passed = sum(message["ledger"].values())
                message["usage"]["cpu"] = passed * 3 // 10
                message["stopped"].update(cpu=passed * 4 // 10, others=passed * 39 // 100)
            send(name, **message)

        return changed


if __name__ == "__main__":
    worker = Misbehaving()
    at_start(sys.argv[1] if len(sys.argv) > 1 else "", worker)
    worker.hello()
    worker.serve()
