//! How a worker is started: its program, its arguments, its environment.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process;

use crate::process::{is_secret_name, without_secrets};

/// The way in which a worker is started.
///
/// Beside the variables that are set here it gets those that every worker has: one thread for each numerical
/// library, a temporary folder of its own, no network for libraries that ask. Of the harness's own it gets
/// all but secrets: see [`Command::hand_on`].
#[derive(Clone, Debug)]
pub struct Command {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: Vec<(OsString, OsString)>,
    /// Variables that it gets though they hold secrets.
    handed_on: Vec<OsString>,
}

impl Command {
    /// This program, without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), variables: Vec::new(), handed_on: Vec::new() }
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

    /// Hands a variable of the harness on though it holds a secret: the key of a store that the system reads
    /// from. A worker gets none else that looks like one, such as `GITHUB_TOKEN`, but those that the user
    /// names in `WEIGHBRIDGE_WORKER_ENV`.
    #[must_use]
    pub fn hand_on(mut self, name: impl Into<OsString>) -> Self {
        self.handed_on.push(name.into());
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
        let named = std::env::var(HANDED_ON).unwrap_or_default();
        for name in self.secrets(std::env::vars_os(), &named) {
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

impl Command {
    /// Those of these variables that hold secrets which nobody hands on. `named` has the user's names of
    /// those that are, with commas between.
    fn secrets(&self, all: impl Iterator<Item = (OsString, OsString)>, named: &str) -> Vec<OsString> {
        let is_named = |name: &OsStr| named.split(',').any(|of_user| name == of_user.trim());
        let is_handed_on = |name: &OsStr| self.handed_on.iter().any(|own| own == name) || is_named(name);
        all.filter(|(name, value)| is_secret(name, value) && !is_handed_on(name))
            .map(|(name, _)| name)
            .collect()
    }
}

/// Tells whether a variable holds a secret, by its name or by the look of its value.
fn is_secret(name: &OsStr, value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    is_secret_name(&name.to_string_lossy()) || without_secrets(&value) != value
}

/// The variable in which the user names variables that every worker gets though they hold secrets.
const HANDED_ON: &str = "WEIGHBRIDGE_WORKER_ENV";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_gets_no_secret_but_those_that_its_adapter_or_the_user_names() {
        let all = [
            ("PATH", "/usr/bin"),
            ("AWS_REGION", "eu-central-1"),
            ("AWS_SECRET_ACCESS_KEY", "abc"),
            ("GITHUB_TOKEN", "abc"),
            ("HF_TOKEN", "abc"),
            ("HARMLESS", "https://me:abc@host/x"),
            ("http_proxy", "http://proxy:80"),
            ("TOKENIZERS_PARALLELISM", "false"),
        ];
        let all = || all.into_iter().map(|(name, value)| (name.into(), value.into()));
        let none = Command::new("worker");
        let secrets = ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HF_TOKEN", "HARMLESS"];
        assert_eq!(none.secrets(all(), ""), secrets);
        let keys = Command::new("worker").hand_on("AWS_SECRET_ACCESS_KEY");
        assert_eq!(keys.secrets(all(), "HF_TOKEN, HARMLESS"), ["GITHUB_TOKEN"]);
    }
}
