//! How a worker is started: its program, its arguments, its environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process;

/// The way in which a worker is started.
///
/// Beside the variables that are set here it gets those that every worker has: one thread for each numerical
/// library, a temporary folder of its own, no network for libraries that ask.
#[derive(Clone, Debug)]
pub struct Command {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: Vec<(OsString, OsString)>,
}

impl Command {
    /// This program, without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), variables: Vec::new() }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets a variable. An empty value is a value: it hides what the harness was started with.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// So many threads for each numerical library, where a worker has one otherwise: for what is measured as
    /// it is by itself, on the whole machine.
    #[must_use]
    pub fn threads(self, count: usize) -> Self {
        THREADS.iter().fold(self, |command, name| command.env(name, count.to_string()))
    }

    /// The same program with the arguments and the environment of a worker on the host, and without a socket:
    /// for what a worker's figures are held against.
    pub fn to_process(&self) -> process::Command {
        self.process(HOST_ALONE)
    }

    /// Builds the command of a worker: the variables that every worker finds and these, under its own.
    pub(super) fn process(&self, also: &[(&str, &str)]) -> process::Command {
        let mut process = process::Command::new(&self.program);
        for name in HIDDEN {
            process.env_remove(name);
        }
        // One thread for each library: teams of threads that spin while they wait cost a small machine 40
        // times the time.
        process.args(&self.arguments).envs(THREADS.iter().map(|name| (name, "1")));
        process.envs(VARIABLES.iter().chain(also).copied());
        process.envs(self.variables.iter().map(|(name, value)| (name, value)));
        process
    }
}

/// The number of threads numerical libraries have.
const THREADS: &[&str] = &[
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
];

/// Variables in the environment of every worker, whatever the harness was started with.
const VARIABLES: &[(&str, &str)] = &[
    ("WEIGHBRIDGE_WORKER", "1"),
    // No network, no telemetry.
    ("HF_HUB_OFFLINE", "1"),
    ("HF_DATASETS_OFFLINE", "1"),
    ("TRANSFORMERS_OFFLINE", "1"),
    ("HF_HUB_DISABLE_TELEMETRY", "1"),
    ("WANDB_MODE", "offline"),
    ("DO_NOT_TRACK", "1"),
    ("PIP_NO_INDEX", "1"),
];

/// Variables of every worker where the platform is the host: no GPU for libraries that take one unasked.
pub(super) const HOST_ALONE: &[(&str, &str)] = &[("CUDA_VISIBLE_DEVICES", ""), ("JAX_PLATFORMS", "cpu")];

/// Variables that no worker finds.
const HIDDEN: &[&str] = &["RAY_ADDRESS", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONPATH", "VIRTUAL_ENV"];
