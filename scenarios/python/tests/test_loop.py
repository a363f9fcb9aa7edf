"""The timed loop by a clock of its own: what it measures, and when it ends."""

from __future__ import annotations

import random
from itertools import islice

import numpy as np
import pytest

from weighbridge_worker import loop, spots
from weighbridge_worker.adapters import numpy as reference
from weighbridge_worker.device import HOST
from weighbridge_worker.exchange import Unready

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
        # By this clock nothing takes time that the processor's own could be held against.
        monkeypatch.setattr(loop.Clock, "stood_at_work", lambda clock, unseen: 0)
        return loader

    return made


def there(monkeypatch, *places):
    """What is drawn."""
    monkeypatch.setattr(spots, "drawn", lambda count, of: [place for place in places if place < of][:count])


def image(held):
    return held.batch["image"]


def whole_batches(loader):
    """The epoch as the reference delivers it."""
    return [batch["image"] for batch in reference.NumPy(loader.pipeline, loader.data).begin(0)]


def test_who_takes_too_long_to_begin_is_measured_for_less_time_and_not_forever(slow):
    loader = slow(5 * SECOND, 1_000)
    ran = loop.run(loader, 1, 4, SECOND)
    # The first beginning is before the first stamp: from the second on, the clock stands between two passes.
    assert ran.passes == 5 and 20 * SECOND <= ran.stopped_wall < 21 * SECOND
    assert ran.wall < SECOND // 1000 and len(ran.samples) == 20


def test_passes_end_when_the_clock_has_run_for_its_time(slow):
    loader = slow(SECOND, SECOND // 4)
    ran = loop.run(loader, 1, 4, 3 * SECOND)
    assert ran.passes == 3 and ran.wall >= 3 * SECOND


def test_what_may_have_been_made_while_the_clock_stood_for_a_copy_is_left_out(slow, monkeypatch):
    loader = slow(0, SECOND)
    stood = iter([SECOND, 0])
    monkeypatch.setattr(loop.Clock, "stood_at_work", lambda clock, unseen: next(stood))
    there(monkeypatch, 0, 1)
    ran = loop.run(loader, 1, 3, SECOND)
    # Batch 0 was the warm-up, 1 and 3 were copied, 2 is gone.
    assert (ran.passes, len(ran.samples), ran.warmup, ran.caught_up) == (1, 3, 1, 1)
    batches = whole_batches(loader)
    assert [image(held).tobytes() for held in ran.held] == [batches[place].tobytes() for place in (1, 3)]
    assert ran.elements == sum(len(batches[place]) for place in (1, 3, 4))


def test_an_epoch_that_ends_while_it_is_caught_up_with_is_begun_again(slow, monkeypatch):
    loader = slow(0, SECOND)
    monkeypatch.setattr(loop.Clock, "stood_at_work", lambda clock, unseen: 1000 * SECOND)
    there(monkeypatch, 0)
    ran = loop.run(loader, 1, 4, SECOND)
    assert (ran.passes, len(ran.samples), ran.ran_out, loader.began) == (1, 4, True, [0, 0])


def test_of_what_is_made_many_at_a_time_a_pass_is_copied_while_the_clock_runs_and_has_the_work_of_one_epoch(
    slow, monkeypatch
):
    loader = slow(0, SECOND)
    loader.chunk = 4
    epoch = len(whole_batches(loader))
    loader.began.clear()
    monkeypatch.setattr(loop.Clock, "stood_at_work", lambda clock, unseen: 1000 * SECOND)
    keep = loop.Run.keep

    def slowly(run, batch, place):
        loader.time += 7
        keep(run, batch, place)

    monkeypatch.setattr(loop.Run, "keep", slowly)
    there(monkeypatch, 0, 2)
    ran = loop.run(loader, 0, epoch - 2, SECOND, all_batches=epoch)
    assert (ran.passes, loader.began, ran.caught_up) == (1, [0, 0], 0)
    assert len(ran.samples) == epoch - 2 and ran.wall == sum(ran.samples) == ran.ledger["measured"]
    assert (ran.wall - (epoch - 2) * SECOND) // 7 == 2, "both copies are in it"
    assert [image(held).tobytes() for held in ran.held] == [whole_batches(loader)[at].tobytes() for at in (0, 2)]


def test_what_was_made_together_with_the_first_batch_of_all_is_left_out_with_it(slow):
    loader = slow(0, 0)
    epoch = loader.pipeline.batches
    loader.chunk = epoch

    def at_once(batches):
        loader.time += SECOND
        yield from batches

    loader.taking_time = at_once
    ran = loop.run(loader, 0, epoch - 1, 3 * SECOND, all_batches=epoch)
    # Three passes have the work of three epochs. The fourth beginning is that of the epoch which is left out.
    assert (ran.passes, ran.warmup, len(loader.began)) == (3, epoch, 4)
    assert ran.first == SECOND + 1 and min(ran.samples[:: epoch - 1]) > SECOND > max(ran.samples[1 : epoch - 1])


def test_where_a_pass_is_left_after_what_was_made_together_with_the_first_batch_the_epoch_goes_on(slow):
    loader = slow(0, SECOND)
    epoch = loader.pipeline.batches
    loader.chunk = 2
    ran = loop.run(loader, 0, epoch - 3, SECOND, all_batches=epoch)
    assert (ran.passes, ran.warmup, loader.began) == (1, 2, [0])


def test_an_epoch_that_ends_with_a_batch_that_is_copied_while_the_clock_runs_is_not_empty(slow, monkeypatch):
    loader = slow(0, SECOND)
    loader.chunk = 4
    epoch = len(whole_batches(loader))
    loader.began.clear()
    there(monkeypatch, 2 * epoch - 1)  # the last one of the second epoch
    ran = loop.run(loader, 0, 2 * epoch + 1, SECOND, all_batches=epoch)
    assert (len(ran.samples), len(ran.held), loader.began) == (2 * epoch + 1, 1, [0, 0, 0, 0])


def test_where_the_epoch_ends_within_a_pass_its_warm_up_is_left_out_again(slow):
    loader = slow(0, SECOND)
    batches = loader.pipeline.batches
    ran = loop.run(loader, 2, batches, SECOND, all_batches=batches)
    assert (len(ran.samples), ran.warmup, loader.began) == (batches, 4, [0, 0])


def test_another_epoch_than_the_first_is_gone_through_where_it_is_asked_for(slow):
    loader = slow(0, SECOND)
    loop.run(loader, 1, 4, 5 * SECOND, epoch=3)
    assert loader.began == [3, 3]


@pytest.mark.parametrize("batches", [1, 2, 4])
def test_passes_follow_each_other_and_the_epoch_is_begun_where_none_is_left_before_its_last_batch(slow, batches):
    loader = slow(0, SECOND)
    epoch = len(whole_batches(loader))
    loader.began.clear()
    # One of warm-up, then passes: the last batch may be a short one.
    passes = (epoch - 2) // batches
    ran = loop.run(loader, 1, batches, passes * batches * SECOND, all_batches=epoch)
    assert (ran.passes, len(loader.began), ran.ran_out) == (passes, 1, False)
    ran = loop.run(loader, 1, batches, (passes + 1) * batches * SECOND, all_batches=epoch)
    assert (ran.passes, len(ran.restarts), ran.ran_out, ran.warmup) == (passes + 1, 2, False, 2)


def test_what_was_made_between_two_passes_is_left_out_and_may_be_the_end_of_the_epoch(slow, monkeypatch):
    loader = slow(0, SECOND)
    epoch = len(whole_batches(loader))
    stood = iter([SECOND, 1000 * SECOND])
    monkeypatch.setattr(loop.Clock, "stood_at_work", lambda clock, unseen: next(stood, 0))
    there(monkeypatch, 0)
    ran = loop.run(loader, 1, 1, 3 * SECOND, all_batches=epoch)
    # One is gone after the first pass; after the second all are, and the epoch is begun for the third.
    assert (ran.passes, len(ran.restarts), ran.ran_out) == (3, 2, False)
    assert ran.caught_up == epoch - 3, "all but those of the warm-up and of two passes"


def test_every_pass_is_checked_the_first_by_four_whole_batches_and_any_later_by_a_part_of_one(slow):
    loader = slow(0, SECOND)
    ran = loop.run(loader, 1, 5, 200 * SECOND)
    assert ran.passes == 40
    assert [held.number for held in ran.held] == [0, 0, 0, 0, *range(1, 40)]
    batches = whole_batches(loader)
    assert all(any(np.array_equal(image(held), batch) for batch in batches) for held in ran.held)
    later = {image(held).tobytes() for held in ran.held[4:]}
    assert len(later) > 1, "not the same place in every pass"


def test_a_first_pass_of_few_batches_is_copied_whole(slow):
    ran = loop.run(slow(0, SECOND), 1, 2, SECOND)
    assert ran.passes == 1 and len(ran.held) == 2


def test_the_places_differ_from_run_to_run_whatever_the_seed_of_the_random_module(slow):
    seen = []
    for _ in range(2):
        random.seed(1)
        np.random.seed(1)
        ran = loop.run(slow(0, SECOND), 1, 5, 200 * SECOND)
        seen.append([image(held).tobytes() for held in ran.held])
    assert seen[0] != seen[1]


def test_copies_are_what_was_delivered_even_where_the_next_batch_overwrites_it(slow, monkeypatch):
    loader = slow(0, SECOND)
    batches = whole_batches(loader)
    one = np.zeros_like(batches[0])

    def begin(epoch):
        for batch in batches:
            loader.time += SECOND
            one[: len(batch)] = batch
            yield {"image": one[: len(batch)]}

    monkeypatch.setattr(loader, "begin", begin)
    there(monkeypatch, 1, 2)
    ran = loop.run(loader, 1, 4, 5 * SECOND)
    assert [held.number for held in ran.held] == [0, 0, 1]
    for held, place in zip(ran.held, (2, 3, 2), strict=True):
        assert np.array_equal(image(held), batches[place])
    timed = loop.epoch(loader, 0, 6)
    for held, place in zip(timed.held, (1, 2), strict=True):
        assert np.array_equal(image(held), batches[place])


def test_of_a_batch_up_to_eight_successive_elements_are_copied():
    whole = {"image": np.arange(23), "row": np.arange(46).reshape(23, 2)}
    firsts = set()
    for _ in range(200):
        held = spots.copied(HOST, whole, 1, whole=False)
        first = int(held.batch["image"][0])
        firsts.add(first)
        assert (held.of, list(held.batch["image"])) == (23, list(range(first, first + 8)))
        assert np.array_equal(held.batch["row"], whole["row"][first : first + 8])
    assert len(firsts) > 8 and max(firsts) <= 15


@pytest.mark.parametrize("elements", [1, 7, 8])
def test_a_batch_with_no_more_than_eight_elements_is_copied_whole(elements):
    held = spots.copied(HOST, {"image": np.arange(elements)}, 1, whole=False)
    assert held.of == elements and np.array_equal(held.batch["image"], np.arange(elements))


def test_a_mapping_that_could_show_other_arrays_the_second_time_is_no_batch():
    class Shows(dict):
        def items(self):
            return [("image", np.ones(4))]

    with pytest.raises(Unready, match="Shows and no dict"):
        spots.copied(HOST, Shows(image=np.zeros(4)), 0, whole=True)
    with pytest.raises(Unready, match="`image` has 3 elements in a batch of 4"):
        spots.copied(HOST, {"image": np.zeros(3), "row": np.zeros(4)}, 1, whole=False)


def test_copies_of_later_passes_fill_their_room_and_each_pass_is_as_likely_to_be_among_them(monkeypatch):
    monkeypatch.setattr(spots, "ROOM", 10 * spots.PAGE)
    passes = []
    for _ in range(100):
        copies = spots.Copies()
        for number in (0, 0, *range(1, 201)):
            copies.add(spots.CheckedBatch(number, 1, {"image": np.zeros(1)}))
        numbers = [held.number for held in copies.all()]
        assert numbers[:2] == [0, 0] and numbers == sorted(numbers) and len(numbers) == 12
        passes += numbers[2:]
    assert 80 < np.mean(passes) < 120


def test_however_large_a_copy_is_one_of_a_later_pass_is_kept(monkeypatch):
    monkeypatch.setattr(spots, "ROOM", 1)
    copies = spots.Copies()
    for number in range(4):
        copies.add(spots.CheckedBatch(number, 1, {"image": np.zeros(100)}))
    assert len(copies.all()) == 2


def test_the_ledger_adds_up_to_all_of_the_time_and_has_each_part_under_its_name(slow, monkeypatch):
    loader = slow(3 * SECOND, SECOND)
    stood = iter([2 * SECOND, 0])
    monkeypatch.setattr(loop.Clock, "stood_at_work", lambda clock, unseen: next(stood, 0))

    def hand_over(held):
        loader.time += 7 * SECOND
        return [{}] * len(held)

    ran = loop.run(loader, 1, 4, 12 * SECOND, hand_over=hand_over)
    assert (ran.passes, ran.caught_up, ran.ran_out) == (3, 2, True)
    assert sum(ran.ledger.values()) == loader.time - 1, "from the first look at the clock to the last"
    assert ran.ledger["measured"] == ran.wall == sum(ran.samples)
    assert ran.ledger["begin"] == sum(ran.restarts) and len(ran.restarts) == 4
    ticks = 1_000
    for entry, seconds in {"warm_up": 3, "caught_up": 2, "stopped": 0, "handed_over": 7}.items():
        assert 0 <= ran.ledger[entry] - seconds * SECOND < ticks, entry
    assert ran.cpu >= ran.usage.cpu


class InOneCall(Slow):
    """Many batches in a call, which are compiled for."""

    whole_pass = True

    def begin(self, epoch):
        self.iterator = super().begin(epoch)
        return self.iterator

    def prepare(self, batches):
        self.time += 5 * SECOND
        return 5 * SECOND

    def scan(self, batches):
        return list(islice(self.iterator, batches))


@pytest.fixture
def in_one_call(images, monkeypatch):
    loader = InOneCall(images.pipeline("Normalize"), images.data, 3 * SECOND, SECOND)
    monkeypatch.setattr(loop, "now", loader.now)
    return loader


def test_whole_passes_are_checked_and_accounted_for_as_well(in_one_call):
    # One batch of warm-up and five are the epoch.
    ran = loop.run(in_one_call, 1, 5, 500 * SECOND)
    assert ran.passes == 100 and [held.number for held in ran.held] == [0, 0, 0, 0, *range(1, 100)]
    batches = whole_batches(in_one_call)[1:]
    places = [next(at for at, batch in enumerate(batches) if np.array_equal(batch, image(held))) for held in ran.held]
    assert places[:4] == sorted(set(places[:4])) and len(set(places)) == 5
    assert sum(ran.ledger.values()) == in_one_call.time - 1 and ran.ledger["measured"] == ran.wall
    assert ran.ledger["stopped"] >= ran.compile == 1000 * SECOND


def test_a_whole_pass_beyond_the_end_of_the_epoch_is_checked_in_each_of_its_calls(in_one_call):
    seen = set()
    for _ in range(60):
        ran = loop.run(in_one_call, 1, 8, SECOND)
        assert ran.ran_out and ran.passes == 1 and len(ran.held) == 4
        seen |= {image(held).tobytes() for held in ran.held}
    # Five batches are after the warm-up; the first is reached in the second call alone.
    assert len(seen) == 6


def test_an_epoch_is_timed_from_before_it_is_begun_and_copies_are_made_while_the_clock_runs(slow, monkeypatch):
    loader = slow(3 * SECOND, SECOND)

    def copied(device, batch, number, *, whole, place=None):
        assert number is None and not whole
        loader.time += 2 * SECOND
        return spots.CheckedBatch(number, len(batch["image"]), batch)

    monkeypatch.setattr(spots, "copied", copied)
    timed = loop.epoch(loader, 0, 6)
    assert timed.ended and (timed.batches, timed.elements, len(timed.held)) == (6, 23, 4)
    ticks = 1_000
    for found, seconds in ((timed.wall, 17), (timed.begin, 3), (timed.first, 1), (timed.copied, 8)):
        assert 0 <= found - seconds * SECOND < ticks
    assert timed.usage.cpu > 0 and timed.said([])["checked"] == []


def test_an_epoch_stops_at_its_limit_but_not_before_the_least_that_is_asked_for(slow):
    loader = slow(SECOND, SECOND)
    for limit, least, batches in ((3, 0, 2), (3, 4, 4), (0, 0, 1), (6, 2, 5), (None, 0, 6), (None, 2, 6), (60, 0, 6)):
        timed = loop.epoch(loader, 0, 6, None if limit is None else limit * SECOND, least)
        assert (timed.batches, timed.ended) == (batches, batches == 6), (limit, least)
        assert timed.wall >= (1 + batches) * SECOND


def test_of_an_epoch_of_unknown_length_the_least_is_copied_from_and_nothing_where_nothing_is_said(slow):
    loader = slow(0, SECOND)
    batches = whole_batches(loader)
    timed = loop.epoch(loader, 0, 0, SECOND, 4)
    assert [any(np.array_equal(image(held), batch) for batch in batches[:4]) for held in timed.held] == [True] * 4
    timed = loop.epoch(loader, 0)
    assert timed.ended and timed.batches == 6 and timed.held == []


def test_an_epoch_in_one_call_is_compiled_for_outside_of_its_time(in_one_call):
    timed = loop.epoch(in_one_call, 0, 6, SECOND, 2)
    assert timed.ended and (timed.batches, timed.elements, len(timed.held), timed.first) == (6, 23, 4, 0)
    assert 0 <= timed.wall - 9 * SECOND < 1_000
