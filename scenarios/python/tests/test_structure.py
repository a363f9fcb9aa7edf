"""Branches, gates, mixing, mixtures, caches, regrouping, against what the page says, slowly."""

from __future__ import annotations

import math

import numpy as np
import pytest
import transforms as oracle

from weighbridge_worker import transforms
from weighbridge_worker.adapter import Place
from weighbridge_worker.adapters import numpy as adapter
from weighbridge_worker.pipeline import Program, Refused

F = np.float32


def epoch(made, number=0, loader=None, **spec):
    transforms_ = spec.pop("transforms", ("Normalize",))
    loader = loader or adapter.open(made.pipeline(*transforms_, **spec), made.data, Place(made.place, made.place))
    return [{name: array.copy() for name, array in batch.items()} for batch in loader.begin(number)]


def joined(batches, name="image"):
    return np.concatenate([batch[name] for batch in batches])


def at(position, element, number, seed=42, epoch=0):
    key = oracle.split(oracle.split(oracle.split(seed, epoch), element), position)
    return oracle.split(key, number)


def unit(*address, **other):
    return (at(*address, **other) >> 11) * 2.0**-53


def test_an_epoch_has_every_element_once_and_a_short_last_batch(images):
    batches = epoch(images)
    assert [len(batch["image"]) for batch in batches] == [4, 4, 4, 4, 4, 3]
    assert np.array_equal(joined(batches), images.fields["image"].astype(F) / F(255))
    part = epoch(images, first=5, end=14)
    assert np.array_equal(joined(part), joined(batches)[5:14])


def test_a_gate_lets_the_elements_through_whose_draw_says_so(images):
    gates = [
        {"position": 1, "decided_at": 1, "from": 0.0, "below": 0.5},
        {"position": 2, "decided_at": 1, "from": 0.5, "below": 1.0},
    ]
    plain, got = (
        joined(epoch(images)),
        joined(epoch(images, 0, transforms=("Normalize", "Scale", "Multiply"), gates=gates)),
    )
    for element in range(23):
        factor = F(2) if unit(1, element, 1 << 32) < 0.5 else F(0.9)
        assert np.array_equal(got[element], plain[element] * factor)


def test_branches_start_from_the_same_field_and_positions_go_on(images, monkeypatch):
    branches = [["RandomBrightness", "Clip"], ["GaussianNoise"], ["RandomBrightness"]]
    plain = joined(epoch(images))

    def way(names, position, element):
        x = plain[element]
        for name in names:
            monkeypatch.setattr(oracle, "POSITION", position)
            x, _ = oracle.apply(name, "image", x, oracle.Draw(element), None, None)
            position += 1
        return x

    mean = joined(epoch(images, branches=branches))
    views = epoch(images, branches=branches, merge="views")
    for element in range(23):
        one, two, three = way(branches[0], 1, element), way(branches[1], 3, element), way(branches[2], 4, element)
        assert np.array_equal(mean[element], ((one + two) + three) / F(3))
        for number, expected in enumerate((one, two, three), 1):
            assert np.array_equal(joined(views, f"image_{number}")[element], expected)


def beta(first, alpha, epoch=0):
    def power(n):
        v = unit(1 << 33, first, n, epoch=epoch) + 2.0**-54
        assert abs(transforms.ln64(v) - math.log(v)) <= 4e-16 * max(1, abs(math.log(v)) * 4)
        return oracle.exp(transforms.ln64(v) / alpha)

    for k in range(64):
        x, y = power(2 * k), power(2 * k + 1)
        if 0 < x + y <= 1:
            return x / (x + y)
    return 0.5


@pytest.mark.parametrize("kind", ["mixup", "cutmix"])
@pytest.mark.parametrize("number", [0, 2])
def test_mixing_takes_the_partner_from_the_other_end(images, kind, number):
    plain = epoch(images, number)
    mixed = epoch(images, number, mixing={"kind": kind, "alpha": 0.4})
    first, changed = 0, 0
    for before, after in zip(plain, mixed, strict=True):
        x, y = before["image"], after["image"]
        share, n = beta(first, 0.4, number), len(x)
        if kind == "mixup":
            a = F(share)
            expected = np.stack([a * x[i] + (F(1) - a) * x[n - 1 - i] for i in range(n)])
        else:
            side, expected = math.floor(8 * math.sqrt(1 - share)), x.copy()
            top, left = ((at(1 << 33, first, place, epoch=number) * 8 >> 64) - side // 2 for place in (128, 129))
            for i in range(n):
                for row in range(max(top, 0), min(top + side, 8)):
                    for column in range(max(left, 0), min(left + side, 8)):
                        expected[i, row, column] = x[n - 1 - i, row, column]
        assert np.array_equal(y, expected)
        changed += not np.array_equal(x, y)
        first += n
    assert changed > 3


def test_a_mixture_takes_the_elements_of_its_parts_in_order_by_their_weights(images):
    weights = [3.0, 1.0, 0.0]
    plain, got = joined(epoch(images)), joined(epoch(images, 1, mixture=weights))
    next_of = [0, 0, 0]
    for place in range(23):
        thrown, total, chosen = unit(1 << 34, place, 0, epoch=1) * 4.0, 0.0, 2
        for part, weight in enumerate(weights):
            total += weight
            if thrown < total:
                chosen = part
                break
        start, end = chosen * 23 // 3, (chosen + 1) * 23 // 3
        assert np.array_equal(got[place], plain[start + next_of[chosen] % (end - start)])
        next_of[chosen] += 1
    assert next_of[0] > next_of[1] > 0 == next_of[2]


def test_a_cache_delivers_the_batches_of_the_first_epoch_again(images):
    names = ("Normalize", "GaussianNoise")
    fresh = joined(epoch(images, 0, transforms=names))
    loader = adapter.open(images.pipeline(*names, cache=True), images.data, Place(images.place, images.place))
    assert np.array_equal(joined(epoch(images, 0, loader)), fresh)
    later = epoch(images, 1, loader)
    assert np.array_equal(joined(later), fresh)
    later[0]["image"][:] = 0
    assert np.array_equal(joined(epoch(images, 2, loader)), fresh), "what a consumer does to a batch stays with it"


@pytest.mark.parametrize("size", [1, 3, 4, 7, 23, 50])
def test_regrouping_loses_no_element(images, size):
    batches = epoch(images, rebatch=size)
    assert [len(batch["image"]) for batch in batches] == [min(size, 23 - start) for start in range(0, 23, size)]
    assert np.array_equal(joined(batches), joined(epoch(images)))


@pytest.mark.parametrize("rebatch", [None, 3])
def test_a_place_that_was_saved_is_gone_on_from_in_another_loader(images, rebatch):
    spec = images.pipeline("Normalize", "RandomFlip", rebatch=rebatch)
    here = Place(images.place, images.place)
    loader = adapter.open(spec, images.data, here)
    batches = loader.begin(5)
    for _ in range(2):
        next(batches)
    state, rest = loader.save(), [batch["image"].copy() for batch in batches]
    other = adapter.open(spec, images.data, here)
    assert all(np.array_equal(a, b["image"]) for a, b in zip(rest, other.restore(state), strict=True))


@pytest.mark.parametrize("access", ["memory", "file-eager", "file-streaming"])
@pytest.mark.parametrize("mixture", [[], [1.0, 2.0]])
def test_where_rows_are_taken_from_makes_no_difference(mixed, access, mixture):
    batches = epoch(mixed, 1, access=access, mixture=mixture)
    expected = epoch(mixed, 1, mixture=mixture)
    assert all(np.array_equal(a[name], b[name]) for a, b in zip(batches, expected, strict=True) for name in a)


def test_steps_that_deliver_something_else_than_what_is_asked_for_are_refused(images):
    said = images.spec("Normalize")
    said["output"][0]["shape"] = [8, 8, 1]
    with pytest.raises(Refused, match="is asked for"):
        Program(type(images.pipeline()).from_dict(said), images.data.sources)


@pytest.mark.parametrize(
    "names", [(), ("Normalize",), ("Normalize", "CastToFloat32", "Scale", "Clip", "Add", "Multiply")]
)
@pytest.mark.parametrize("first", [0, 5])
def test_plain_steps_make_as_a_list_of_calls_what_they_make_step_by_step(mixed, names, first):
    pipeline = mixed.pipeline(*names, first=first)
    plain, general = (Program(pipeline, mixed.data.sources) for _ in range(2))
    assert plain.straight is not None
    general.straight = None
    fields = {name: array[first:] for name, array in mixed.fields.items()}
    given = {name: array.copy() for name, array in fields.items()}
    indices = np.arange(first, mixed.elements)
    made, expected = (program.batch(fields, indices, 0, first) for program in (plain, general))
    assert list(made) == list(expected)
    for name, array in made.items():
        assert array.dtype == expected[name].dtype and np.array_equal(array, expected[name])
        assert array.flags.c_contiguous and array.flags.writeable and not np.shares_memory(array, fields[name])
    assert all(np.array_equal(fields[name], given[name]) for name in fields)


@pytest.mark.parametrize(
    "other",
    [
        {"transforms": ("Normalize", "RandomBrightness")},
        {"transforms": ("CreateAttentionMask",)},
        {"transforms": ("DynamicPad",)},
        {"transforms": ("Normalize",), "branches": [["Clip"], ["Scale"]]},
        {
            "transforms": ("Normalize", "Scale"),
            "gates": [{"position": 1, "decided_at": 1, "from": 0.0, "below": 0.5}],
        },
    ],
)
def test_steps_that_draw_choose_or_share_are_no_list_of_calls(mixed, other):
    pipeline = mixed.pipeline(*other.pop("transforms"), **other)
    assert Program(pipeline, mixed.data.sources).straight is None
