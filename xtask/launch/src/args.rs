//! The command line of `launch`, as it is typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Arguments of `launch`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: launch --engine slurm --nodes 4 --shared /scratch/me --time 00:30:00 -- --quick",
    subcommand_precedence_over_arg = true
)]
pub struct LaunchArgs {
    /// The engine that starts the ranks.
    #[arg(long, value_enum, default_value_t = EngineKind::Local)]
    pub engine: EngineKind,
    /// The number of hosts [default: 1].
    #[arg(long, short = 'N', value_name = "COUNT")]
    pub nodes: Option<u32>,
    /// The number of ranks over all hosts [default: one for each host].
    #[arg(long, short = 'n', value_name = "COUNT")]
    pub ranks: Option<u32>,
    /// A folder that all hosts see under the same path: what runs lies there, and what came of it.
    #[arg(long, value_name = "DIR")]
    pub shared: Option<PathBuf>,
    /// The bench target, where there are several: `<package>/<target>` or its last part.
    #[arg(long, value_name = "TARGET", conflicts_with = "program")]
    pub suite: Option<String>,
    /// A bench program that was built earlier, instead of one of this workspace.
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// Another bench program that was built earlier: both are measured in turns on every rank, in the same
    /// allocation, and this one is the baseline.
    #[arg(long, value_name = "PATH", requires = "program")]
    pub versus: Option<PathBuf>,
    /// A file or folder that travels with the program, such as that of a worker. Repeat for more.
    #[arg(long = "with", value_name = "PATH")]
    pub with: Vec<PathBuf>,
    /// A variable that all ranks get. Repeat for more.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// The stages: `two-pass` runs the gate set and validates it before the rest is paid for.
    #[arg(long, value_enum, default_value_t = LaunchMode::Full)]
    pub mode: LaunchMode,
    /// The set that stands for the gate in `two-pass` and `subset`.
    #[arg(long, value_name = "SET", default_value = "gate")]
    pub gate_set: String,
    /// The account that pays.
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    /// The partition or queue.
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// The longest that the job may run, as `HH:MM:SS`, `MM:SS` or minutes.
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Devices that each host must reserve: `1`, or with their kind `A100:1`.
    #[arg(long, value_name = "GPUS")]
    pub gpus: Option<String>,
    /// A host that must not be taken. Repeat for more.
    #[arg(long, value_name = "NODE")]
    pub exclude: Vec<String>,
    /// A line of the engine's own, verbatim: of its job file, or an argument of its command. Repeat for more.
    #[arg(long, value_name = "LINE", allow_hyphen_values = true)]
    pub extra: Vec<String>,
    /// The image of a container, for `kubernetes` and `sky`.
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// The claim of a volume that is mounted at the shared folder, for `kubernetes`.
    #[arg(long, value_name = "NAME")]
    pub claim: Option<String>,
    /// The cloud, with its region behind a slash, for `sky`.
    #[arg(long, value_name = "INFRA")]
    pub infra: Option<String>,
    /// Take hosts that may be taken away again, for `sky`.
    #[arg(long, conflicts_with = "no_spot_fallback")]
    pub spot: bool,
    /// Do not fall back to such hosts when no others come, for `sky`.
    #[arg(long)]
    pub no_spot_fallback: bool,
    /// Seconds from submission to the first rank; once over, the job is looked for, and waited for once more.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    pub launch_timeout: u64,
    /// Seconds without a new line of any rank, after which the job is ended.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    pub stall_timeout: u64,
    /// Seconds that ranks wait for one that does not come, or is silent.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub rank_patience: u64,
    /// Seconds after which ranks end themselves when this command is gone.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub orphan_timeout: u64,
    /// Seconds between two signs of life of a rank.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub heartbeat: u64,
    /// The policy for a host that is slower, fuller or set to another time than the others.
    #[arg(long, value_enum, default_value_t = PreflightPolicy::Refuse)]
    pub preflight: PreflightPolicy,
    /// Show the job file and the digest of the plan, let the engine check it, and submit nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Leave the job, its hosts and the copies of programs as they are at the end.
    #[arg(long)]
    pub keep: bool,
    /// Go on with a launch that was broken off, by its id: what is missing is measured.
    #[arg(long, value_name = "LAUNCH")]
    pub resume: Option<String>,
    /// Measure in turns with another revision, both in the same allocation.
    #[command(subcommand)]
    pub compare: Option<CompareAction>,
    /// Arguments of the bench program.
    #[arg(last = true, value_name = "BENCH ARGS")]
    pub bench_args: Vec<String>,
}

/// A comparison that runs in the allocation.
#[derive(Clone, Debug, Subcommand)]
pub enum CompareAction {
    /// Build another revision, and measure both programs in turns on every rank.
    CompareBaseline {
        /// The revision.
        #[arg(long, value_name = "REV")]
        rebuild: String,
        /// Arguments of both bench programs.
        #[arg(last = true, value_name = "BENCH ARGS")]
        bench_args: Vec<String>,
    },
}

/// An engine that starts processes on hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineKind {
    /// Processes of this machine.
    Local,
    /// `sbatch` and `srun`.
    Slurm,
    /// torchrun, on this machine.
    Torchrun,
    /// Open MPI's or MPICH's mpirun.
    Mpirun,
    /// A job of a Ray cluster.
    Ray,
    /// An Indexed Job.
    Kubernetes,
    /// `SkyPilot`.
    Sky,
}

impl EngineKind {
    /// The name, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Slurm => "slurm",
            Self::Torchrun => "torchrun",
            Self::Mpirun => "mpirun",
            Self::Ray => "ray",
            Self::Kubernetes => "kubernetes",
            Self::Sky => "sky",
        }
    }
}

/// The stages of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LaunchMode {
    /// The gate set, and what is asked for once that is validated.
    TwoPass,
    /// The gate set alone.
    Subset,
    /// All that is asked for, at once.
    Full,
}

/// The policy for a host that is not like the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PreflightPolicy {
    /// Measure nothing.
    Refuse,
    /// Say so, and measure.
    Warn,
    /// Do not look.
    Off,
}
