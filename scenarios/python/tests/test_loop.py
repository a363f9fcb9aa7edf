"""The timed loop by a clock of its own: what it measures, and when it ends."""

from __future__ import annotations

import pytest

from weighbridge_worker import loop
from weighbridge_worker.adapters import numpy as reference

SECOND = 1_000_000_000


class Slow(reference.NumPy):
    """Says which epochs it began; each costs so much with the clock stopped, and each batch so much with it running."""

    def __init__(self, pipeline, data, begin, batch):
        super().__init__(pipeline, data)
        self.cost, self.time, self.began = (begin, batch), 0, []

    def now(self):
        self.time += 1
        return self.time

    def begin(self, epoch):
        self.began.append(epoch)
        self.time += self.cost[0]
        return self.taking_time(super().begin(epoch))

    def taking_time(self, batches):
        for batch in batches:
            self.time += self.cost[1]
            yield batch


@pytest.fixture
def slow(images, monkeypatch):
    def made(begin, batch):
        loader = Slow(images.pipeline("Normalize"), images.data, begin, batch)
        monkeypatch.setattr(loop, "now", loader.now)
        return loader

    return made


def test_who_takes_too_long_to_begin_is_measured_for_less_time_and_not_forever(slow):
    loader = slow(5 * SECOND, 1_000)
    ran = loop.run(loader, 1, 4, SECOND, [])
    # The first beginning is before the first stamp: from the second on, the clock stands between two passes.
    assert ran.passes == 5 and 20 * SECOND <= ran.stopped_wall < 21 * SECOND
    assert ran.wall < SECOND // 1000 and len(ran.samples) == 20


def test_passes_end_when_the_clock_has_run_for_its_time(slow):
    loader = slow(SECOND, SECOND // 4)
    ran = loop.run(loader, 1, 4, 3 * SECOND, [])
    assert ran.passes == 3 and ran.wall >= 3 * SECOND


def test_what_may_have_been_made_while_the_clock_stood_for_a_copy_is_left_out(slow, monkeypatch):
    loader = slow(0, SECOND)
    stood = iter([SECOND, 0])
    monkeypatch.setattr(loop.Clock, "stood_at_work", lambda clock, unseen: next(stood))
    ran = loop.run(loader, 1, 3, SECOND, [0, 1])
    # Batch 0 was the warm-up, 1 and 3 were held, 2 is gone.
    assert (ran.passes, len(ran.samples), ran.warmup, ran.caught_up) == (1, 3, 1, 1)
    batches = list(reference.NumPy(loader.pipeline, loader.data).begin(0))
    assert [next(iter(batch.values())).tobytes() for batch in ran.held] == [
        next(iter(batches[place].values())).tobytes() for place in (1, 3)
    ]
    assert ran.elements == sum(len(next(iter(batches[place].values()))) for place in (1, 3, 4))


def test_an_epoch_that_ends_while_it_is_caught_up_with_is_begun_again(slow, monkeypatch):
    loader = slow(0, SECOND)
    monkeypatch.setattr(loop.Clock, "stood_at_work", lambda clock, unseen: 1000 * SECOND)
    ran = loop.run(loader, 1, 4, SECOND, [0])
    assert (ran.passes, len(ran.samples), ran.ran_out, loader.began) == (1, 4, True, [0, 0])


def test_another_epoch_than_the_first_is_gone_through_where_it_is_asked_for(slow):
    loader = slow(0, SECOND)
    loop.run(loader, 1, 4, 5 * SECOND, [], epoch=3)
    assert loader.began == [3, 3]
