"""Encoded images in their forms, and what is declined where systems are to use operators of their own."""

from __future__ import annotations

import io
import tarfile
from types import SimpleNamespace

import numpy as np
import pytest

from weighbridge_worker.adapter import Declined, Place
from weighbridge_worker.own import BRIGHTNESS, missing, plain, stored

FILES = [b"\xff\xd8first\x00\x00\xff\xd9", b"\xff\xd8second and longer\xff\xd9", b"\xff\xd8x\xff\xd9"]
ROOM = 32


@pytest.fixture
def encoded(tmp_path):
    """Three images in rows of bytes, and pipelines over them."""
    rows = np.zeros((3, ROOM), np.uint8)
    for row, content in zip(rows, FILES, strict=True):
        row[: len(content)] = np.frombuffer(content, np.uint8)
    data = SimpleNamespace(arrays=lambda: {"image": rows}, names=("image",))
    place = Place(tmp_path, tmp_path / "converted")

    def pipeline(access, first=0, end=3):
        return SimpleNamespace(first=first, end=end, elements=end - first, access=access, decodes=True)

    return data, place, pipeline


def test_no_byte_of_an_image_is_lost_with_the_zeros_behind_its_end(encoded):
    data, _, _ = encoded
    assert [stored.image(data, index) for index in range(3)] == FILES


@pytest.mark.parametrize("access", ["memory", "files"])
def test_elements_are_found_by_their_places(encoded, access):
    data, place, pipeline = encoded
    elements = stored.Elements(pipeline(access, 1, 3), data, place)
    assert len(elements) == 2
    assert [elements[number]["image"].tobytes() for number in range(2)] == FILES[1:]


def test_shards_have_the_images_in_their_order_each_under_its_index(encoded):
    data, place, pipeline = encoded
    (shard,) = stored.shards(pipeline("tar"), data, place)
    with tarfile.open(fileobj=io.BytesIO(shard.read_bytes())) as tar:
        members = tar.getmembers()
        assert [member.name for member in members] == ["000000000.jpg", "000000001.jpg", "000000002.jpg"]
        assert [tar.extractfile(member).read() for member in members] == FILES


def test_a_full_shard_is_followed_by_another(encoded, monkeypatch):
    data, place, pipeline = encoded
    monkeypatch.setattr(stored, "SHARD", 20)
    assert len(stored.shards(pipeline("tar"), data, place)) == 3


@pytest.mark.parametrize(("parts", "shards"), [(1, [3]), (2, [1, 1, 1]), (3, [1, 1, 1]), (9, [1, 1, 1])])
def test_there_are_as_many_shards_as_workers_want_while_there_are_images(encoded, parts, shards):
    data, place, pipeline = encoded
    held = []
    for shard in stored.shards(pipeline("tar"), data, place, parts):
        with tarfile.open(shard) as tar:
            held.append(len(tar.getmembers()))
    assert held == shards


def test_a_form_that_has_no_places_is_declined(encoded):
    data, place, pipeline = encoded
    with pytest.raises(Declined, match="tar: elements are looked up"):
        stored.Elements(pipeline("tar"), data, place)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"asks": ["cache"], "cache": True}, "operators own: cache"),
        ({"mixing": {"kind": "cutmix", "alpha": 0.4}, "asks": ["CutMix (alpha 0.4)"]}, "none for cutmix"),
        ({"access": "file-streaming"}, "file-streaming, from memory alone"),
    ],
)
def test_what_no_library_has_an_operator_for_is_declined_by_name(images, other, why):
    with pytest.raises(Declined, match=why):
        plain(images.pipeline("Normalize", operators="own", **other))


def test_a_mix_is_no_ask_beyond_a_list_and_a_missing_operator_has_a_name(images):
    plain(images.pipeline("Normalize", mixing={"kind": "mixup", "alpha": 0.4}, asks=["MixUp (alpha 0.4)"]))
    touch = SimpleNamespace(name="LogTransform", before=images.kinds[0])
    assert "torchvision has none here for LogTransform of uint8 [8x8x3]" in str(missing(touch, "torchvision"))
    assert BRIGHTNESS[0] < 0 < BRIGHTNESS[1]
