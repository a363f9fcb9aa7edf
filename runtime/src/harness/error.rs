//! Why a bench target could not do what was asked, and the exit code that goes with it.

use std::time::Duration;

use super::Exit;
use super::usage::UsageError;
use crate::device::{NoDevice, Platform};
use crate::record::RunId;
use crate::{plan, ranks, registry, store};

/// The reason why a bench target could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum TargetError {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error(transparent)]
    Registry(#[from] registry::RegistryError),
    #[error(transparent)]
    Plan(#[from] plan::PlanError),
    #[error(transparent)]
    Store(#[from] store::StoreError),
    #[error(
        "nothing is registered: a bench target must say `use your_scenarios as _;` or the linker drops them"
    )]
    NothingRegistered,
    #[error("the benches of this target cannot be found: {0}")]
    Find(String),
    #[error("nothing selected: {0}")]
    NothingSelected(String),
    #[error("{0}")]
    NothingMatches(String),
    #[error(
        "this binary was built with debug assertions, so its figures would mean nothing: use `cargo bench`, \
         or pass --allow-debug to measure all the same"
    )]
    DebugAssertions,
    #[error("platform {requested} was asked for: {why}")]
    NoDevice { requested: Platform, why: NoDevice },
    #[error("platform {requested} was asked for, but the active backend is {active}")]
    Backend { requested: Platform, active: Platform },
    #[error("failed to read {file}: {source}")]
    Settings { file: String, source: std::io::Error },
    #[error("failed to read {file}: {source}")]
    SuiteFile { file: String, source: std::io::Error },
    #[error(
        "this program was built from {built}, and cargo runs it for {run}: two workspaces share a target \
         directory and have packages of one name, which cargo takes for the same; give each its own \
         (CARGO_TARGET_DIR)"
    )]
    OtherPackage { built: String, run: String },
    #[error("failed to find this program's own path: {0}")]
    Program(std::io::Error),
    #[error("failed to make a folder for temporary files: {0}")]
    Temporary(std::io::Error),
    #[error("run {run} cannot be resumed: {why}")]
    Resume { run: RunId, why: String },
    #[error("{program} is no bench program that can be measured beside this one: {why}")]
    Versus { program: String, why: String },
    #[error(
        "another run held the machine for the {} s of --budget: nothing was measured; --no-lock does not \
         wait for it",
        budget.as_secs_f64()
    )]
    Waited { budget: Duration },
    #[error(transparent)]
    Launch(#[from] ranks::LaunchError),
    #[error(transparent)]
    Rendezvous(#[from] ranks::NoRendezvous),
    #[error("ranks cannot meet {place}: {source}")]
    Meeting { place: String, source: std::io::Error },
    #[error(
        "ranks that never came: [{missing}] of {ranks}, within {} s {place}: nothing was measured. They have \
         not started, or cannot reach this machine: name a folder that all ranks see, or rank 0's \
         `host:port`, in WEIGHBRIDGE_RENDEZVOUS; --rank-patience waits for longer",
        patience.as_secs_f64()
    )]
    NeverCame { missing: String, ranks: usize, place: String, patience: Duration },
    #[error("a rank has left before anything was measured: {0}")]
    LeftEarly(String),
    #[error("ranks are no run together, and nothing was measured: {0}")]
    OtherRanks(String),
    #[error("rank 0 has ended the run: {0}")]
    EndedByFirst(String),
    #[error("interrupted")]
    Interrupted,
    #[error(
        "{holder} has held the machine for {} minutes: nothing was measured; --no-lock does not wait for \
         other runs",
        waited.as_secs() / 60
    )]
    Held { holder: String, waited: Duration },
    #[error("failed to install the handler of Ctrl-C: {0}")]
    Signal(#[from] ctrlc::Error),
}

impl TargetError {
    /// The exit code.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_)
            | Self::Registry(_)
            | Self::Plan(_)
            | Self::DebugAssertions
            | Self::SuiteFile { .. }
            | Self::Resume { .. }
            | Self::Versus { .. }
            | Self::Launch(_)
            | Self::OtherRanks(_)
            | Self::Store(store::StoreError::BadName(_) | store::StoreError::NoRun { .. }) => Exit::Usage,
            Self::NothingRegistered
            | Self::NothingSelected(_)
            | Self::NothingMatches(_)
            | Self::NoDevice { .. }
            | Self::Backend { .. }
            | Self::Waited { .. }
            | Self::Held { .. }
            | Self::OtherPackage { .. }
            | Self::NeverCame { .. }
            | Self::LeftEarly(_)
            | Self::Rendezvous(_)
            | Self::Store(store::StoreError::NoBaseline { .. }) => Exit::NothingToJudge,
            Self::Interrupted => Exit::Interrupted,
            Self::EndedByFirst(_) => Exit::Failed,
            Self::Settings { .. }
            | Self::Temporary(_)
            | Self::Find(_)
            | Self::Meeting { .. }
            | Self::Store(_)
            | Self::Program(_)
            | Self::Signal(_) => Exit::Unexpected,
        }
    }
}
