"""Collectors: what they tell, and that nothing else fails where one of them does."""

from __future__ import annotations

import math

import pytest

from weighbridge_worker import tags
from weighbridge_worker.collectors import MOST, Collection, Collector, JaxMonitoring, TensorStore


class Fake(Collector):
    """Tells what it is given, and raises where it is told to."""

    def __init__(self, told=(), raises=""):
        self.told, self.raises, self.regions, self.ended = list(told), raises, 0, 0

    def start(self):
        self.regions += 1
        if self.raises == "start" or (self.raises == "second start" and self.regions == 2):
            raise RuntimeError("no counters today")

    def stop(self):
        if self.raises == "stop":
            raise KeyError("gone")
        return self.told

    def end(self):
        self.ended += 1


def collection(**collectors):
    """A collection of these, each by its name; what is no collector raises when it is made."""

    def make(what):
        if isinstance(what, Exception):
            raise what
        return what

    return Collection({name: ("sys", lambda what=what: make(what)) for name, what in collectors.items()})


def test_each_region_has_its_own_readings_and_what_each_collector_took():
    one, two = Fake([("0/a", 1, "s", "lower")]), Fake([("0/b", 2.5, "", None)])
    collected = collection(one=one, two=two)
    assert collected.begin(["one", "two", "none such"]) == {"collectors": ["one", "two"], "failed": {}}
    for _ in range(2):
        told = collected.told()
        assert {(metric["tag"], metric["value"]) for metric in told["metrics"]} == {("0/a", 1.0), ("0/b", 2.5)}
        assert set(told["cost"]) == {"one", "two"} and all(took >= 0 for took in told["cost"].values())
        assert told["failed"] == {}
    collected.end()
    assert one.ended == two.ended == 1 and collected.told()["metrics"] == []


@pytest.mark.parametrize("where", ["make", "start", "stop", "second start"])
def test_a_collector_that_raises_is_told_with_its_reason_and_the_others_go_on(where):
    bad = ValueError("never was") if where == "make" else Fake([("0/bad", 1, "", None)], raises=where)
    good = Fake([("0/good", 1, "", None)])
    collected = collection(bad=bad, good=good)
    begun = collected.begin(["bad", "good"])
    assert ("bad" in begun["failed"]) == (where in ("make", "start")), begun
    told = collected.told()
    assert ("bad" in told["failed"]) == (where in ("stop", "second start")), told
    assert [metric["tag"] for metric in collected.told()["metrics"]] == ["0/good"]


def test_what_is_no_finite_number_is_told_by_its_tag():
    odd = [("nan", math.nan), ("inf", math.inf), ("text", "many"), ("huge", 10**400), ("none", None), ("fine", 3)]
    collected = collection(one=Fake([(tag, value, "", None) for tag, value in odd]))
    collected.begin(["one"])
    told = collected.told()
    assert [metric["tag"] for metric in told["metrics"]] == ["fine"]
    assert set(told["failed"]) == {"nan", "inf", "text", "huge", "none"}


def test_a_library_that_was_not_imported_is_not_imported_for_it():
    collected = Collection({"one": ("no_library_of_this_name", Fake)})
    assert collected.begin(["one"]) == {"collectors": [], "failed": {}}


def test_events_have_the_tags_and_units_of_orbax_and_the_others_are_kept():
    heard = [
        ("/jax/orbax/write/blocking_duration_secs", 0.5, "s"),
        ("/jax/orbax/write/blocking_duration_secs", 0.25, "s"),
        ("/jax/orbax/write/gbytes_per_sec", 2.0, ""),
        ("/jax/checkpoint/read/gbytes", 1.5, ""),
        ("/jax/orbax/read/safetensors/bytes_read", 4096, ""),
        ("/jax/orbax/write/success", None, ""),
        ("/jax/orbax/write/success", None, ""),
        ("/jax/orbax/write/finalize_duration_secs", 0.125, "s"),
        *[("/jax/compilation_cache/cache_hits", None, "")] * 3,
        ("/jax/compilation_cache/cache_misses", None, ""),
    ]
    assert set(tags.of_jax(heard)) == {
        ("2_save_breakdown/blocking_s", 0.25, "s", "lower"),
        ("4_throughput/save_total_gbps", 2.0, "GiB/s", "higher"),
        ("5_inventory/load_total_gb", 1.5, "GiB", None),
        ("6_io/file_bytes_read_per_host", 4096, "B", None),
        ("9_other/orbax_write_success", 2, "", None),
        ("9_other/orbax_write_finalize_duration_secs", 0.125, "s", None),
        ("8_jax/cache_hits_count", 3, "", "higher"),
        ("8_jax/cache_misses_count", 1, "", "lower"),
        ("8_jax/cache_hit_rate", 0.75, "x", "higher"),
    }


def test_counters_are_told_by_their_difference_and_the_many_only_counted():
    before = {"/tensorstore/kvstore/file/read_value": 3, "/tensorstore/futures/live_value": 7}
    after = {
        "/tensorstore/kvstore/file/read_value": 5,
        "/tensorstore/kvstore/file/write_value": 4,
        "/tensorstore/kvstore/file/latency_ms_count": 0,
        "/tensorstore/futures/live_value": 8,
    }
    assert tags.of_tensorstore(before, after) == [
        ("6_tensorstore/changed_metric_count", 3, "", None),
        ("6_tensorstore/tensorstore_kvstore_file_read_value_diff", 2, "", None),
        ("6_tensorstore/tensorstore_kvstore_file_write_value_diff", 4, "", None),
    ]


def test_tensorstore_counts_what_it_wrote():
    tensorstore = pytest.importorskip("tensorstore", reason="TensorStore is not installed here")
    collector = TensorStore()
    collector.start()
    store = {"driver": "zarr3", "kvstore": {"driver": "memory", "path": "a/"}}
    tensorstore.open(store, create=True, dtype="int32", shape=[8]).result().write(list(range(8))).result()
    told = {tag: value for tag, value, _, _ in collector.stop()}
    assert told["6_tensorstore/changed_metric_count"] > 0, told
    assert told["6_tensorstore/tensorstore_cache_chunk_cache_writes_value_diff"] == 1, told


def test_jax_is_listened_to_and_let_go_and_a_flood_is_no_flood():
    monitoring = pytest.importorskip("jax.monitoring", reason="JAX is not installed here")
    collector = JaxMonitoring()
    monitoring.record_event_duration_secs("/jax/orbax/read/total_duration_secs", 0.5)
    monitoring.record_event("/jax/elsewhere/happened")
    assert collector.stop() == [("3_load_breakdown/total_s", 0.5, "s", "lower")]
    for _ in range(MOST + 1):
        monitoring.record_event("/jax/orbax/noise")
    with pytest.raises(OverflowError, match="more than 100000 events"):
        collector.stop()
    collector.end()
    monitoring.record_event("/jax/orbax/after")
    assert collector.stop is not None and not collector.heard


def test_every_known_tag_is_one_of_a_namespace_and_stands_for_one_event():
    assert len(set(tags.KNOWN.values())) == len(tags.KNOWN) == 47
    assert all(
        tag.split("/")[0] in "2_save_breakdown 3_load_breakdown 4_throughput 5_inventory 6_io 7_overhead 8_jax"
        for tag in tags.KNOWN.values()
    )


def test_the_tags_are_those_of_orbax():
    known = pytest.importorskip(
        "orbax.checkpoint._src.testing.benchmarks.core.jax_monitoring_tags", reason="Orbax is not installed here"
    )
    units = {"count": "", "bytes": "B"}
    told = {event: (tag, units.get(unit, unit)) for event, (tag, unit) in known.TAG_MAP.items()}
    told |= {event: (tag, "") for event, tag in known.EVENT_TAG_MAP.items()}
    assert {event: (tag, tags.unit_of(tag)) for event, tag in tags.KNOWN.items()} == told
    assert set(tags.JAX) == set(known.PREFIX_FILTER)
