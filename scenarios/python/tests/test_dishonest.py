"""Adapters that cheat, over real workers: what the harness sees of each, and nothing of the kind of the honest twin.

The verdicts are the harness's own. What is looked at here is that the worker hands over the evidence.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from weighbridge_worker.adapter import Place
from weighbridge_worker.adapters import numpy as reference

from .conftest import Made
from .harness import Worker
from .test_adapters import elements

SINS = Path(__file__).parent / "dishonest"
NAMES = ("Normalize", "RandomFlip")
BATCH = 4

SHORT, LONG = 200_000, 100_000_000
"""Nanoseconds that are measured: one pass or a few, and some dozens."""


class Seen:
    """What the harness gets to see of an adapter."""

    def __init__(self, sin: str, made: Made, place: Path, min_time: int) -> None:
        pipeline = made.pipeline(*NAMES)
        honest = reference.open(pipeline, made.data, Place(place, place))
        self.wanted = elements(honest.begin(0))
        worker = Worker(str(SINS / f"{sin}.py"))
        assert worker.hear()[0] == "hello"
        self.memory = [private(worker.process.pid)]
        said, self.opened = worker.open(made, place, made.spec(*NAMES))
        assert said == "opened", self.opened
        self.memory.append(private(worker.process.pid))
        self.dtypes = [kind.dtype for kind in pipeline.output]
        self.batches, self.failed, self.ran = [], None, None
        self.held: dict[int, list[bytes]] = {}
        """Elements that were copied, by pass."""
        said, message = worker.ask("verify", epoch=0)
        while said == "batch":
            self.batches.append(message)
            said, message = worker.ask("next")
        if said == "failed":
            self.failed = message["detail"]
        else:
            self.got = elements(worker.verify(0)) if self.readable() else []
            said, self.ran = worker.ask("run", warmup=1, batches=20, min_time=min_time)
            assert said == "ran", self.ran
            for held in self.ran["checked"] if self.readable() else []:
                self.held.setdefault(held["pass"], []).extend(elements([worker.read(held)]))
        worker.close()

    def readable(self) -> bool:
        return all(field["dtype"] == "f32" for batch in self.batches for field in batch["fields"])

    def evidence(self) -> set[str]:
        """What differs from honest work, in the harness's words."""
        if self.failed:
            return {"failed"}
        found = set()
        counted = sum(batch["elements"] for batch in self.batches)
        if counted != len(self.wanted):
            found.add("elements")
        if any(len(batch["fields"]) != len(self.dtypes) for batch in self.batches):
            found.add("fields")
        if not self.readable():
            found.add("dtype")
        elif not found and sorted(self.got) != sorted(self.wanted):
            found.add("digest")
        if self.readable() and not found:
            if not set(self.held.get(0, ())) <= set(self.wanted):
                found.add("first pass")
            later = [element for number, held in self.held.items() if number for element in held]
            if not set(later) <= set(self.wanted):
                found.add("later passes")
            # Places are drawn anew in each pass: of twenty they are not the same two by chance.
            if len(self.held) > 20 and len(set(later)) <= 2 * BATCH:
                found.add("again")
        everything = self.ran["usage"]["cpu"] + self.ran["stopped"]["cpu"]
        if self.ran["stopped"]["others"] > everything / 2:
            found.add("others")
        delivered = sum(
            np.prod(field["shape"]) * 4 * batch["elements"] for batch in self.batches for field in batch["fields"]
        )
        if self.memory[1] - self.memory[0] > 0.9 * delivered:
            found.add("memory")
        return found


def private(process: int) -> int:
    """Bytes of memory that a process has for itself."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_Dirty"))


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Images and what goes with them: an epoch of 39 MB."""
    place, random, n = tmp_path_factory.mktemp("two"), np.random.default_rng(5), 3001
    image = random.integers(0, 256, (n, 32, 32, 3), np.uint8)
    return Made(place, {"image": image, "row": random.standard_normal((n, 61), np.float32)})


@pytest.mark.parametrize(
    ("sin", "evidence"),
    [
        ("honest", set()),
        ("skips_a_transform", {"digest"}),
        ("same_batch_again", {"digest"}),
        ("lazy_handle", {"failed"}),
        ("forgets_to_synchronise", {"digest"}),
        ("drops_the_last_batch", {"elements"}),
        ("pads_and_counts", {"elements"}),
        ("swaps_channels", {"digest"}),
        ("one_field_of_two", {"fields"}),
        ("half_precision", {"dtype"}),
        ("prepares_in_set_up", {"memory"}),
        ("works_while_the_clock_stands", {"others"}),
        ("same_batch_again_from_the_second_pass", {"again"}),
        ("skips_a_transform_from_the_second_pass", {"later passes"}),
        ("honest_in_odd_passes", {"later passes"}),
    ],
)
def test_every_sin_leaves_its_evidence(sin, evidence, two, tmp_path):
    # Who is honest at first is seen in the passes after it; the honest twin of all is seen there as well.
    seen = Seen(sin, two, tmp_path, LONG if sin == "honest" or "pass" in sin else SHORT)
    assert seen.evidence() == evidence
    if "pass" in sin:
        assert len(seen.held) > 20, "every pass is looked at, and as many copies are kept as there is room for"
        honest = {number for number, held in seen.held.items() if set(held) <= set(seen.wanted)}
        assert 0 in honest
        if sin == "honest_in_odd_passes":
            assert {number % 2 for number in set(seen.held) - honest} == {0}
    if sin == "lazy_handle":
        assert "a lazy handle is not a batch" in seen.failed
    if sin == "half_precision":
        assert {field["dtype"] for batch in seen.batches for field in batch["fields"]} == {"float16"}


def test_every_sin_is_looked_at():
    files = {path.stem for path in SINS.glob("*.py")}
    mark = test_every_sin_leaves_its_evidence.pytestmark[0]
    assert files == {sin for sin, _ in mark.args[1]}
