//! What launchers tell their processes: one row for each, the innermost first.

/// The variables of a launcher.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launcher {
    /// Its name, as messages and records have it.
    pub(super) name: &'static str,
    /// The rank of the process.
    pub(super) rank: &'static str,
    /// The number of ranks: the first of these that is set.
    pub(super) size: &'static [&'static str],
    /// The rank among those of the same machine.
    pub(super) local: LocalRank,
    /// Variables that it sets beside them.
    pub(super) also: &'static [&'static str],
    /// Variables that tell one launch from another: the values of all that are set.
    pub(super) id: &'static [&'static str],
    /// The variables of which so many show that this launcher is meant: then the whole set must be there.
    pub(super) meant: (&'static [&'static str], usize),
}

/// The way in which a launcher tells the rank among those of the same machine.
#[derive(Clone, Copy, Debug)]
pub(super) enum LocalRank {
    /// In a variable that belongs to its set.
    Told(&'static str),
    /// In a variable that only some of its versions set.
    Perhaps(&'static str),
    /// It starts one process on each machine.
    First,
    /// Not at all.
    Untold,
}

/// The number of ranks, as our own launcher sets it and as a cluster's job may state it.
pub(super) const RANKS: &str = "WEIGHBRIDGE_RANKS";
/// The id of the launch, whoever launched.
pub(super) const LAUNCH: &str = "WEIGHBRIDGE_LAUNCH";
/// The place where ranks meet.
pub(super) const RENDEZVOUS: &str = "WEIGHBRIDGE_RENDEZVOUS";
/// Our own rank.
pub(super) const RANK: &str = "WEIGHBRIDGE_RANK";
/// Our own rank on a machine.
pub(super) const LOCAL_RANK: &str = "WEIGHBRIDGE_LOCAL_RANK";

/// Every launcher, the innermost first: `mpirun` in a step of Slurm sets its own variables beside those of
/// the step, and only its own are of this process.
pub(super) const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "weighbridge",
        rank: RANK,
        size: &[RANKS],
        local: LocalRank::Told(LOCAL_RANK),
        also: &[LAUNCH],
        id: &[],
        meant: (&[RANK], 1),
    },
    Launcher {
        name: "torchrun",
        rank: "RANK",
        size: &["WORLD_SIZE"],
        local: LocalRank::Told("LOCAL_RANK"),
        also: &["MASTER_ADDR", "MASTER_PORT"],
        id: &["TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"],
        // One of these names alone may be anybody's.
        meant: (&["RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"], 3),
    },
    Launcher {
        name: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        size: &["OMPI_COMM_WORLD_SIZE"],
        local: LocalRank::Told("OMPI_COMM_WORLD_LOCAL_RANK"),
        also: &[],
        id: &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"],
        meant: (&["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"], 1),
    },
    Launcher {
        name: "MPICH",
        rank: "PMI_RANK",
        size: &["PMI_SIZE"],
        // Slurm's own PMI sets the other two alone.
        local: LocalRank::Perhaps("MPI_LOCALRANKID"),
        also: &[],
        id: &["PMI_JOBID", "HYDI_CONTROL_FD", "SLURM_JOB_ID", "SLURM_STEP_ID"],
        meant: (&["PMI_RANK", "PMI_SIZE"], 1),
    },
    Launcher {
        name: "Slurm",
        rank: "SLURM_PROCID",
        // The number of tasks of the allocation is another one.
        size: &["SLURM_STEP_NUM_TASKS"],
        local: LocalRank::Told("SLURM_LOCALID"),
        also: &["SLURM_STEP_ID"],
        id: &["SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"],
        // A batch script is no step: `SLURM_PROCID` is 0 there, and nobody else runs.
        meant: (&["SLURM_STEP_ID"], 1),
    },
    Launcher {
        name: "JAX",
        rank: "JAX_PROCESS_ID",
        size: &["JAX_NUM_PROCESSES", "JAX_PROCESS_COUNT"],
        local: LocalRank::Untold,
        also: &["JAX_COORDINATOR_ADDRESS"],
        id: &["JAX_COORDINATOR_ADDRESS"],
        meant: (&["JAX_PROCESS_ID", "JAX_NUM_PROCESSES", "JAX_PROCESS_COUNT"], 1),
    },
    Launcher {
        name: "SkyPilot",
        rank: "SKYPILOT_NODE_RANK",
        size: &["SKYPILOT_NUM_NODES"],
        local: LocalRank::First,
        also: &["SKYPILOT_NODE_IPS"],
        id: &["SKYPILOT_TASK_ID"],
        meant: (&["SKYPILOT_NODE_RANK", "SKYPILOT_NUM_NODES"], 1),
    },
    Launcher {
        name: "Kubernetes",
        rank: "JOB_COMPLETION_INDEX",
        size: &[RANKS],
        local: LocalRank::First,
        also: &[LAUNCH],
        id: &[],
        // An indexed job may as well be many runs of one process each: the number of ranks says that it is
        // not.
        meant: (&["JOB_COMPLETION_INDEX", RANKS], 2),
    },
];

/// Variables that differ from launch to launch and change nothing of what is measured.
pub(super) const OF_LAUNCH: &[&str] = &[
    RANK,
    RANKS,
    LOCAL_RANK,
    LAUNCH,
    RENDEZVOUS,
    "JAX_PROCESS_ID",
    "JAX_NUM_PROCESSES",
    "JAX_PROCESS_COUNT",
    "JAX_COORDINATOR_ADDRESS",
];
