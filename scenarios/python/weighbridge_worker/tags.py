"""What collectors call what they find: tags with units, in the namespaces of Orbax's own benchmarks.

Of a tag that is told several times in a region the last value counts, as there.
"""

from __future__ import annotations

from collections.abc import Iterable

Reading = tuple[str, float, str, str | None]
"""A tag, its value, its unit, and which way it is better: `lower`, `higher` or neither."""

Heard = list[tuple[str, float | None, str]]
"""Events of `jax.monitoring` below `JAX`, in order, each with its value, if any, and the unit of its kind."""

TENSORSTORE = ("/tensorstore", "/mallocz", "/tcmalloc/")
"""Where the counters are that are compared."""

TOLD = (
    "/tensorstore/kvstore/",
    "/tensorstore/cache/",
    "/tcmalloc/current_allocated_bytes",
    "/tcmalloc/peak_memory_usage",
)
"""Those of them that are told one by one: the others are many, and only how many changed is told."""

JAX = ("/jax/orbax/", "/jax/checkpoint/", "/jax/compilation_cache/")
"""What the events are called that are listened to."""


def table(*rows: str) -> dict[str, str]:
    """Tags by the events that they stand for, from rows of both."""
    return dict(row.split() for row in rows)


SAVE = "2_save_breakdown/"
LOAD = "3_load_breakdown/"
RATE = "4_throughput/"
SIZE = "5_inventory/"
IO = "6_io/"
OVERHEAD = "7_overhead/"
COMPILED = "8_jax/"
OTHER = "9_other/"

TAGS: dict[str, dict[str, str]] = {
    SAVE: table(
        "/jax/orbax/write/blocking_duration_secs                      blocking_s",
        "/jax/checkpoint/write/async/blocking_duration_secs           blocking_async_s",
        "/jax/orbax/write/total_duration_secs                         total_s",
        "/jax/checkpoint/write/async/total_duration_secs              total_async_s",
        "/jax/orbax/write/directory_creation_secs                     directory_creation_s",
        "/jax/orbax/write/async_directory_creation_secs               async_directory_creation_s",
        "/jax/orbax/write/blocking_directory_creation_secs            blocking_directory_creation_s",
        "/jax/orbax/write/background_directory_creation_secs          background_directory_creation_s",
        "/jax/orbax/write/checkpoint_start_sync_duration_secs         checkpoint_start_sync_s",
        "/jax/orbax/write/blocking_sync_item_duration_secs            blocking_sync_item_s",
        "/jax/orbax/write/background_item_finalize_secs               background_item_finalize_s",
        "/jax/checkpoint/write/async/metadata_write_duration_secs     metadata_write_s",
        "/jax/checkpoint/write/async/commit_duration_sec              commit_s",
        "/jax/checkpoint/write/async/thread_duration_sec              thread_duration_s",
        "/jax/checkpoint/write/async/commit_future_count              commit_future_count",
        "/jax/checkpoint/write/duration_since_last_checkpoint_secs    duration_since_last_save_s",
        "/jax/checkpoint/write/async/ocdbt_merge_duration_secs        ocdbt_merge_s",
    ),
    LOAD: table(
        "/jax/orbax/read/blocking_duration_secs                                   blocking_s",
        "/jax/orbax/read/async/blocking_duration_secs                             blocking_async_s",
        "/jax/orbax/read/total_duration_secs                                      total_s",
        "/jax/orbax/read/async/total_duration_secs                                total_async_s",
        "/jax/orbax/read/worker/total_duration_secs                               worker_io_s",
        "/jax/checkpoint/read/primary_replica_deserialization_duration_secs       primary_deserialization_s",
        "/jax/checkpoint/read/broadcast_duration_secs                             broadcast_s",
    ),
    RATE: table(
        "/jax/orbax/write/blocking_gbytes_per_sec                                 save_blocking_gbps",
        "/jax/orbax/write/gbytes_per_sec                                          save_total_gbps",
        "/jax/orbax/read/worker/io/requested/throughput/gbytes_per_sec            load_per_host_gbps",
        "/jax/checkpoint/read/gbytes_per_sec                                      load_total_gbps",
    ),
    SIZE: table(
        "/jax/orbax/write/gbytes                          save_total_gb",
        "/jax/orbax/write/compressed_gbytes               save_compressed_gb",
        "/jax/orbax/write/replicated_array_gb             replicated_array_gb",
        "/jax/orbax/write/sharded_array_gb                sharded_array_gb",
        "/jax/orbax/read/worker/io/requested/gbytes       load_requested_gb",
        "/jax/checkpoint/read/gbytes                      load_total_gb",
    ),
    IO: table(
        "/jax/orbax/read/safetensors/bytes_read           file_bytes_read_per_host",
        "/jax/orbax/read/safetensors/num_reads            file_reads_per_host_count",
        "/jax/orbax/read/safetensors/storage_reads        storage_reads_per_host_count",
    ),
    OVERHEAD: table(
        "/jax/checkpoint/sync_global_devices_duration_sec                         sync_global_devices_s",
        "/jax/orbax/checkpoint_manager/threaded_checkpoint_deleter/duration       delete_threaded_s",
        "/jax/orbax/checkpoint_manager/standard_checkpoint_deleter/duration       delete_standard_s",
    ),
    COMPILED: table(
        "/jax/compilation_cache/cache_retrieval_time_sec      cache_retrieval_s",
        "/jax/compilation_cache/compile_time_saved_sec        compile_time_saved_s",
        "/jax/compilation_cache/cache_hits                    cache_hits_count",
        "/jax/compilation_cache/cache_misses                  cache_misses_count",
        "/jax/compilation_cache/compile_requests_use_cache    compile_requests_use_cache_count",
        "/jax/compilation_cache/tasks_using_cache             tasks_using_cache_count",
        "/jax/compilation_cache/task_disabled_cache           task_disabled_cache_count",
    ),
}
"""The tags of each namespace by the events that they stand for."""

KNOWN = {event: namespace + tag for namespace, tags in TAGS.items() for event, tag in tags.items()}

HIGHER = {f"{COMPILED}compile_time_saved_s", f"{COMPILED}cache_hits_count", f"{COMPILED}cache_hit_rate"}
"""Tags of which more is better, beside rates."""

LOWER = {f"{COMPILED}cache_misses_count"}
"""Tags of which less is better, beside times."""

NEITHER = {f"{SAVE}duration_since_last_save_s"}
"""Times that are no cost."""


def of_jax(heard: Heard) -> list[Reading]:
    """What was heard, by tags. What no tag stands for is kept as well, under its own name."""
    told: dict[str, Reading] = {}
    counts: dict[str, int] = {}
    for event, value, unit in heard:
        counts[event] = counts.get(event, 0) + 1
        number = counts[event] if value is None else value
        if tag := KNOWN.get(event):
            told[tag] = (tag, number, unit_of(tag), better(tag))
        else:
            tag = OTHER + event.removeprefix("/jax/").replace("/", "_")
            told[tag] = (tag, number, unit, None)
    hits, misses = (counts.get(f"/jax/compilation_cache/cache_{what}", 0) for what in ("hits", "misses"))
    if hits + misses:
        rate = f"{COMPILED}cache_hit_rate"
        told[rate] = (rate, hits / (hits + misses), "x", "higher")
    return list(told.values())


def unit_of(tag: str) -> str:
    """The unit that a known tag says by its name."""
    if tag == f"{IO}file_bytes_read_per_host":
        return "B"
    units = {"_s": "s", "_gbps": "GiB/s", "_gb": "GiB"}
    return next((unit for end, unit in units.items() if tag.endswith(end)), "")


def better(tag: str) -> str | None:
    """Which way a known tag is better."""
    if tag in NEITHER:
        return None
    if tag in HIGHER or tag.startswith(RATE):
        return "higher"
    return "lower" if tag in LOWER or unit_of(tag) == "s" else None


def of_tensorstore(before: dict[str, float], after: dict[str, float]) -> list[Reading]:
    """What has changed, counter by counter, and how many have."""
    names: Iterable[str] = sorted({*before, *after})
    changes = {name: after.get(name, 0) - before.get(name, 0) for name in names}
    changed = {name: change for name, change in changes.items() if change}
    metrics = {name.rpartition("_")[0] for name in changed}
    told: list[Reading] = [("6_tensorstore/changed_metric_count", len(metrics), "", None)]
    for name, change in changed.items():
        if name.startswith(TOLD):
            told.append((f"6_tensorstore/{name.strip('/').replace('/', '_')}_diff", change, "", None))
    return told
