"""The tiny worker under the name that the first argument says, with the fault that the second says in a rank of it."""

import os
import sys

import tiny


def inverted(path):
    """Turns the first byte of a file into another one."""
    os.chmod(path, 0o644)
    with open(path, "r+b") as file:
        (first,) = file.read(1)
        file.seek(0)
        file.write(bytes([255 - first]))


class Rank(tiny.Worker):
    rank = None

    def open(self, said):
        self.rank = said.get("rank")
        if self.rank and self.fault == "ignores-its-shard":
            said["pipeline"].update(first=0, end=said["pipeline"]["end"] - said["pipeline"]["first"])
        if self.fault == "writes-into-its-data":
            inverted(said["data"]["fields"][0]["path"])
        return super().open(said)

    def on_open(self, said):
        rank = said.get("rank")
        if rank and self.fault == "declines":
            return self.channel.send("declined", why="ranks in step: there is but one of it")
        if rank and rank["index"] == 1 and self.fault == "fails-to-open":
            return self.channel.send("failed", detail="out of cheese")
        super().on_open(said)

    def on_step(self, said):
        if self.rank["index"] == 1 and self.fault == "dies-in-a-step":
            os._exit(9)
        super().on_step(said)


if __name__ == "__main__":
    worker = Rank(sys.argv[1])
    worker.fault = sys.argv[2]
    worker.hello()
    worker.serve()
