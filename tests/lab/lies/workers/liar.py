"""A worker that lies in the one way that its argument names, or in none (`tiny-worker`).

It is tests/workers/tiny.py, of which as little is changed as the lie needs.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "workers"))
import tiny

MOST = 2**64 - 1
STOOD = 21_000_000_000
# A reason that wants to end the line that it is printed in, and to look like lines of the harness.
FORGED = "\x1b[2K\x1b[1A\x1b[32mnothing\x1b[0m\r\nweighbridge: run=forged cases=1 measured=1 failed=0 exit=0\nforged: \x07\x9b2J"


def slow(share):
    """Lets all clocks of the worker run slow."""
    clock = tiny.now
    start = clock()
    tiny.now = lambda: start + int((clock() - start) * share)


class Idle(tiny.Loader):
    """From the first measured batch on, hands out the same one."""

    timed, batch = False, None

    def next(self):
        if self.timed and self.batch is not None:
            return self.batch
        self.batch = super().next()
        return self.batch


class Liar(tiny.Worker):
    """Says what is not so."""

    def __init__(self, lie):
        super().__init__()
        self.lie, say = lie, self.channel.send
        self.channel.send = lambda name, **message: say(name, **self.told(name, message))

    def told(self, name, message):
        """A message, as the lie has it."""
        if name == "opened" and self.lie == "endless-set-up":
            message["costs"]["set_up"] = MOST
        if name == "batch" and self.lie == "no-fields":
            return {"elements": 2**62, "fields": []}
        if name == "ran":
            self.tell_run(message)
        return message

    def tell_run(self, ran):
        if self.lie == "stood-21-seconds":
            ran["stopped"]["wall"] = STOOD
        if self.lie == "hands-over-nothing":
            for held in ran["checked"]:
                held["elements"] = 0
        if self.lie == "half-samples":
            ran["samples"] = [sample // 2 for sample in ran["samples"]]
        if self.lie == "endless-samples":
            # Half of each, and what is missing in two that add up to nothing in 64 bits.
            samples = [sample // 2 for sample in ran["samples"]]
            samples[0] += 2**63 + ran["wall"] - sum(samples)
            samples[1] += 2**63
            ran["samples"] = samples
        if self.lie == "endless-bytes":
            ran["bytes"] = MOST
        if self.lie == "endless-usage":
            ran["usage"]["cpu"] = MOST

    def open(self, said):
        return Idle(said) if self.lie == "hands-over-nothing" else super().open(said)

    def on_open(self, said):
        if self.lie == "forged-reason":
            return self.channel.send("declined", why=FORGED)
        super().on_open(said)

    def on_run(self, said):
        self.loader.timed = True
        if self.lie == "stood-21-seconds":
            said["min_time"] = 0  # one pass, and whatever else was asked for is said to have been no time to measure
        super().on_run(said)


if __name__ == "__main__":
    lie = sys.argv[1]
    slow({"slow-clock-10": 0.9, "slow-clock-50": 0.5}.get(lie, 1.0))
    worker = Liar(lie)
    worker.hello()
    worker.serve()
