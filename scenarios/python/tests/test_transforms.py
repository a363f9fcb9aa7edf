"""The transforms over batches against the page's slow oracle, and against the bytes that the Rust reference has."""

from __future__ import annotations

import numpy as np
import pytest
import transforms as oracle  # scenarios/python/oracle

from weighbridge_worker import transforms
from weighbridge_worker.draws import Draw
from weighbridge_worker.pipeline import Program

from .conftest import Made

GOLDEN = oracle.GOLDEN


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == np.ascontiguousarray(b).tobytes()


@pytest.fixture
def golden(tmp_path) -> Made:
    """The oracle's inputs, which the Rust tests wrote."""
    fields, constants = {}, {}
    for name, (dtype, shape) in oracle.FIELDS.items():
        fields[name] = np.fromfile(GOLDEN / f"input.{name}.bin", dtype).reshape((oracle.ELEMENTS, *shape))
        if dtype is np.float32:
            constants[name] = np.fromfile(GOLDEN / f"constants.{name}.bin", np.float32).reshape(2, -1)
    return Made(tmp_path, fields, constants)


@pytest.mark.parametrize("name", oracle.NAMES)
def test_every_transform_gives_the_bytes_that_the_rust_reference_is_held_to(golden, name):
    pipeline = golden.pipeline(name, batch_size=oracle.ELEMENTS)
    batch = Program(pipeline, golden.data.sources).batch(golden.fields, np.arange(oracle.ELEMENTS), 0, 0)
    made = b""
    for field, array in batch.items():
        if field not in golden.fields:
            made += array[:1].tobytes()
        elif not same(array, golden.fields[field]):
            made += array.tobytes()
    assert made == (GOLDEN / f"{name}.bin").read_bytes()


@pytest.mark.parametrize("name", oracle.NAMES)
@pytest.mark.parametrize("before", [(), ("CastToFloat32",)])
def test_batches_are_what_the_oracle_gives_one_by_one(mixed, name, before, monkeypatch):
    epoch = 3
    monkeypatch.setattr(oracle, "EPOCH", epoch)
    monkeypatch.setattr(oracle, "POSITION", len(before))
    pipeline = mixed.pipeline(*before, name)
    program = Program(pipeline, mixed.data.sources)
    indices = np.array([7, 0, 3, 10, 5, 5])
    fields = {field: array[indices] for field, array in mixed.fields.items()}
    batch = program.batch(fields, indices, epoch, 0)
    for source in mixed.data.sources:
        field, constants = source.kind.name, (source.mean, source.scale)
        for place, index in enumerate(indices):
            x = mixed.fields[field][index]
            if before:
                if name == "Normalize" and x.dtype == np.uint8:
                    x = x.astype(np.float32) / np.float32(255)
                    assert same(batch[field][place], x)
                    continue
                x = x.astype(np.float32)
                if name == "Normalize" and source.kind.dtype != np.float32:
                    continue  # the oracle knows types alone, and not what a field was
            length = np.clip(mixed.fields["length"][index], 0, 40)
            expected, added = oracle.apply(name, field, x, oracle.Draw(int(index)), constants, length)
            if name == "DynamicPad" and field == "tokens" and not before:
                expected = expected[: batch[field].shape[1]]
                longest = np.clip(mixed.fields["length"][indices], 0, 40).max()
                assert batch[field].shape[1] == -(-longest // 8) * 8
            assert same(batch[field][place], expected), (field, place)
            if added is not None:
                assert same(batch["attention_mask" if name.startswith("Create") else "causal_mask"][place], added)


def test_blocks_give_what_the_whole_batch_gives(mixed, monkeypatch):
    names = ("CausalMaskGeneration", "RandomFlip", "ColorJitter", "Normalize", "GaussianNoise", "Clip", "RandomCrop")
    program = Program(mixed.pipeline(*names), mixed.data.sources)
    indices = np.arange(mixed.elements)
    whole = program.batch(mixed.fields, indices, 1, 0)
    monkeypatch.setattr("weighbridge_worker.pipeline.WHOLE", 0)
    monkeypatch.setattr("weighbridge_worker.pipeline.BLOCK", 3 * program.row)
    blocks = program.batch(mixed.fields, indices, 1, 0)
    assert list(whole) == list(blocks)
    assert all(same(whole[name], blocks[name]) for name in whole)


def test_samples_put_together_are_the_batch(mixed):
    program = Program(
        mixed.pipeline("CreateAttentionMask", "DynamicPad", "ColorJitter", "Normalize"), mixed.data.sources
    )
    indices = np.array([3, 1, 9])
    fields = {field: array[indices] for field, array in mixed.fields.items()}
    batch = program.batch(fields, indices, 2, 0)
    samples = [
        program.sample({name: array[index] for name, array in mixed.fields.items()}, index, 2) for index in indices
    ]
    collated = program.collate(samples, mixed.fields["length"][indices], 2, 0)
    assert all(same(batch[name], collated[name]) for name in batch)
    assert batch["attention_mask"].shape[1] == 40, "made before the rows were padded"


def test_the_data_are_not_written_to(mixed):
    before = {name: array.copy() for name, array in mixed.fields.items()}
    for name in oracle.NAMES:
        for names in ((name,), ("CastToFloat32", name), (name, name)):
            program = (
                Program(mixed.pipeline(*names), mixed.data.sources) if names[0] not in ADDS or len(names) == 1 else None
            )
            if program is None:
                continue
            batch = program.batch(mixed.fields, np.arange(mixed.elements), 0, 0)
            for field, array in batch.items():
                assert not any(np.shares_memory(array, x) for x in mixed.fields.values()), (names, field)
    assert all(same(before[name], mixed.fields[name]) for name in before)


ADDS = ("CreateAttentionMask", "CausalMaskGeneration")


def test_the_edges_of_numbers():
    x = np.array([[0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1e-45, 2.0]], np.float32)
    about = transforms.Circumstances(None, None, None, None)
    clipped = transforms.clip(x, about, None)
    assert np.signbit(clipped[0, 1]) and np.isnan(clipped[0, 2]) and clipped[0, 3:].tolist() == [1, 0, 1, 0, 1]
    logged = transforms.log_transform(x, about, None)
    assert logged[0, 0] == 0 and np.isnan(logged[0, 2]) and logged[0, 3] == np.inf == logged[0, 4]
    for dtype in (np.int32, np.int64):
        least = np.array([[np.iinfo(dtype).min, -1, 10_000, 7]], dtype)
        hashed = transforms.hash_embedding_index(least, about, None)
        assert hashed.dtype == dtype and hashed[0].tolist() == [-int(least[0, 0]) % 10_000, 1, 0, 7]


def test_draws_below_a_bound_are_the_upper_half_of_the_product():
    draw = Draw(42, 5, np.arange(50), 3)
    for bound in (1, 7, 255, 10_000, (1 << 32) - 1):
        exact = [int(bits) * bound >> 64 for bits in draw.bits(9)]
        assert draw.below(9, bound).tolist() == exact
    bounds = np.arange(1, 51)
    assert draw.below(4, bounds).tolist() == [int(b) * int(m) >> 64 for b, m in zip(draw.bits(4), bounds, strict=True)]
