//! The generators of Orbax's benchmarks: their options, and what does their work here.

use weighbridge::data::nearest;
use weighbridge::suite::{Mistake, Node};

/// A generator.
#[derive(Debug)]
pub(super) struct OrbaxGenerator {
    /// Its class.
    pub(super) class: &'static str,
    /// Its options, beside those that all have.
    own: &'static [&'static str],
    /// The counterpart that does its work here.
    pub(super) does: Counterpart,
}

/// The counterpart here of a generator: the scenario that does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counterpart {
    /// CKPT-1: a state that is saved and loaded. Without options zarr3 is on or off.
    RoundTrip {
        /// The value of `use_zarr3` where it is not said.
        zarr3: bool,
    },
    /// CKPT-2: a state that is loaded onto the suite's mesh from another.
    Reshard,
    /// CKPT-7: a load of a checkpoint that an option names, and whose digests may be captured or checked.
    Load {
        /// Who makes the checkpoint of a state that stands in.
        format: &'static str,
    },
    /// CKPT-3: a load for one replica, which others get a copy of. Its mesh has the axes `replica` and
    /// `model`.
    Broadcast,
    /// CKPT-6: a save that is cancelled; CKPT-1 where it is not.
    Cancel,
    /// CKPT-5: a training whose checkpoints a manager keeps. Its options are axes, with these values where
    /// they are not said.
    Manage {
        /// The operation that is timed beside the saves: `restore` or `delete`.
        beside: &'static str,
        /// `train_steps` where it is not said.
        train_steps: &'static str,
    },
    /// CKPT-5 with policies of what is saved and of what is kept.
    Policies,
    /// CKPT-8: the layer of arrays.
    Arrays,
    /// CKPT-4: a save of which replicas write shares. Its mesh has the axes `replica` and `model`.
    Replicas,
    /// No scenario yet: what is missing.
    Missing(&'static str),
}

const COMMON: [&str; 2] = ["enable_trace", "trace_every_repeat"];

/// The options of a save and a restore.
const ROUND_TRIP: [&str; 11] = [
    "async_enabled",
    "use_ocdbt",
    "use_zarr3",
    "use_compression",
    "save_concurrent_gb",
    "restore_concurrent_gb",
    "metric_tracemalloc_enabled",
    "use_load_and_broadcast",
    "use_replica_parallel",
    "enable_replica_parallel_separate_folder",
    "chunk_byte_size",
];

impl OrbaxGenerator {
    /// All its options.
    pub(super) fn options(&self) -> impl Iterator<Item = &'static str> {
        let inherited = if self.class_has_v1_options() { &ROUND_TRIP[..] } else { &[] };
        COMMON.into_iter().chain(inherited.iter().copied()).chain(self.own.iter().copied())
    }

    fn class_has_v1_options(&self) -> bool {
        ["Benchmark", "ReshardingBenchmark", "RestoreAndBroadcastBenchmark", "ReplicaParallelMultislice"]
            .contains(&self.class)
    }
}

/// The generator of a dotted path.
///
/// # Errors
/// When it is none of Orbax's, with the nearest.
pub(super) fn generator(node: &Node) -> Result<&'static OrbaxGenerator, Mistake> {
    let path = node.text("generator")?;
    let class = path.rsplit('.').next().unwrap_or(path);
    GENERATORS.iter().find(|generator| generator.class == class).ok_or_else(|| {
        let near = nearest(class, GENERATORS.iter().map(|generator| generator.class));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        Mistake::at(node.place, format!("`{class}` is no generator of Orbax's benchmarks{near}"))
    })
}

const fn generator_of(
    class: &'static str,
    own: &'static [&'static str],
    does: Counterpart,
) -> OrbaxGenerator {
    OrbaxGenerator { class, own, does }
}

const SEVERAL_HOSTS: Counterpart = Counterpart::Missing("local checkpoints of several hosts");

/// All of them, by class.
pub(super) const GENERATORS: &[OrbaxGenerator] = &[
    generator_of("Benchmark", &[], Counterpart::RoundTrip { zarr3: true }),
    generator_of(
        "PyTreeCheckpointBenchmark",
        &[
            "async_enabled",
            "use_ocdbt",
            "use_zarr3",
            "use_compression",
            "save_concurrent_gb",
            "restore_concurrent_gb",
            "metric_tracemalloc_enabled",
            "use_replica_parallel",
            "enable_replica_parallel_separate_folder",
            "use_colocated_python",
            "save_device_host_concurrent_gb",
        ],
        Counterpart::RoundTrip { zarr3: false },
    ),
    generator_of(
        "ReshardingBenchmark",
        &["reference_checkpoint_path", "reference_sharding_path"],
        Counterpart::Reshard,
    ),
    generator_of(
        "RestoreAndBroadcastBenchmark",
        &["reference_checkpoint_path", "reference_sharding_path"],
        Counterpart::Broadcast,
    ),
    generator_of(
        "ReplicaParallelMultislice",
        &["reference_checkpoint_path", "reference_sharding_path", "num_savings"],
        Counterpart::Replicas,
    ),
    generator_of(
        "SnapshotterBenchmark",
        &["num_scale_down_slices", "num_scale_up_slices", "num_savings"],
        Counterpart::Missing("snapshots in the memory of several slices"),
    ),
    generator_of(
        "ArrayHandlerBenchmark",
        &[
            "use_ocdbt",
            "use_zarr3",
            "use_colocated_python",
            "use_replica_parallel",
            "enable_replica_parallel_separate_folder",
            "use_metadata_store",
        ],
        Counterpart::Arrays,
    ),
    generator_of(
        "CheckpointManagerBenchmark",
        &["save_interval_steps", "max_to_keep", "train_steps"],
        Counterpart::Manage { beside: "restore", train_steps: "1" },
    ),
    // It keeps one checkpoint and saves each step, and takes no notice of its first two options.
    generator_of(
        "CheckpointManagerPerfBenchmark",
        &["use_ocdbt", "use_zarr3", "train_steps"],
        Counterpart::Manage { beside: "restore", train_steps: "20" },
    ),
    generator_of(
        "CheckpointPolicyBenchmark",
        &["num_checkpoints", "checkpoint_policies_options"],
        Counterpart::Policies,
    ),
    generator_of(
        "DeleterBenchmark",
        &["save_interval_steps", "max_to_keep", "train_steps", "num_deletion_threads"],
        Counterpart::Manage { beside: "delete", train_steps: "5" },
    ),
    generator_of(
        "EmergencyCheckpointManagerBenchmark",
        &[
            "persistent_save_interval_steps",
            "persistent_max_to_keep",
            "local_save_interval_steps",
            "local_max_to_keep",
            "replica_axis_index",
            "train_steps",
            "single_host_load_and_broadcast",
            "experimental_use_distributed_id_for_mesh_consistency",
            "experimental_orbax_use_distributed_process_id",
        ],
        SEVERAL_HOSTS,
    ),
    generator_of(
        "P2pCheckpointManagerBenchmark",
        &[
            "persistent_save_interval_steps",
            "persistent_max_to_keep",
            "local_save_interval_steps",
            "local_max_to_keep",
            "replica_axis_index",
            "train_steps",
        ],
        SEVERAL_HOSTS,
    ),
    generator_of(
        "SingleReplicaBenchmark",
        &[
            "replica_axis_index",
            "primary_replica_id",
            "use_replica_parallel",
            "broadcast_memory_limit_bytes",
            "broadcast_memory_scaling_factor",
            "use_colocated_python",
            "use_distributed_process_id",
        ],
        Counterpart::Missing("a save and a broadcast restore over a mesh whose replicas lie along any axis"),
    ),
    generator_of(
        "MultisliceBroadcastBenchmark",
        &["replica_axis_index"],
        Counterpart::Missing("a broadcast of arrays in memory, without a checkpoint"),
    ),
    generator_of(
        "MultihostDispatchersBenchmark",
        &["use_colocated", "device_count"],
        Counterpart::Missing("work that is dispatched to several hosts"),
    ),
    generator_of(
        "V0CheckpointerCancelBenchmark",
        &["cancel_delay_secs", "perform_cancellation"],
        Counterpart::Cancel,
    ),
    generator_of(
        "V1CheckpointerCancelBenchmark",
        &["cancel_delay_secs", "perform_cancellation"],
        Counterpart::Cancel,
    ),
    generator_of(
        "OrbaxLoadBenchmark",
        &[
            "checkpoint_path",
            "sharding_config_path",
            "capture_digests_path",
            "reference_digests_path",
            "use_load_and_broadcast",
            "use_colocated_python",
            "restore_concurrent_gb",
            "metric_tracemalloc_enabled",
        ],
        Counterpart::Load { format: "own" },
    ),
    generator_of(
        "SafetensorLoadBenchmark",
        &[
            "checkpoint_path",
            "sharding_config_path",
            "capture_digests_path",
            "reference_digests_path",
            "use_load_and_broadcast",
            "restore_concurrent_gb",
            "safetensors_max_over_read_ratio",
            "safetensors_read_chunk_mb",
            "metric_tracemalloc_enabled",
            "enable_xprof",
        ],
        Counterpart::Load { format: "safetensors" },
    ),
    generator_of(
        "PyTorchCheckpointBenchmark",
        &[
            "reference_checkpoint_path",
            "metric_tracemalloc_enabled",
            "enable_async_save",
            "save_thread_count",
            "save_per_thread_copy_ahead_mb",
            "cache_staged_state_dict",
            "enable_gcs_connector",
            "single_file_per_rank",
        ],
        Counterpart::Missing(
            "PyTorch's distributed checkpoint with its own options, of a checkpoint that lies somewhere",
        ),
    ),
];
