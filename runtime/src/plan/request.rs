//! What the plan is asked for.

use serde::{Deserialize, Serialize};

use super::{Param, Profile};
use crate::device::Platform;
use crate::metric::Mode;

/// What was asked for, after it was understood.
#[derive(Clone, Debug)]
pub struct Request {
    /// The budget.
    pub profile: Profile,
    /// How narrow the interval is to be, as a share; without it the profile's repeats are run.
    pub target: Option<f64>,
    /// Positional filters; a case needs one of them, if there are any.
    pub filters: Vec<String>,
    /// Whether filters must match whole names.
    pub exact: bool,
    /// Filters of cases that are not to run.
    pub skip: Vec<String>,
    /// Scenarios named one by one.
    pub scenarios: Vec<String>,
    /// Adapters named one by one.
    pub adapters: Vec<String>,
    /// A named set; must exist.
    pub set: Option<String>,
    /// Whether the profile's own set holds when nothing else is named.
    pub profile_set: bool,
    /// Values that replace those of axes.
    pub params: Vec<Param>,
    /// The seed of order, data and draws.
    pub seed: u64,
    /// In which order cases run within a round.
    pub order: CaseOrder,
    /// How repeats are isolated.
    pub isolation: Isolation,
    /// Where they run.
    pub platform: Platform,
    /// How bodies are timed on a device, whatever their scenarios say.
    pub mode: Option<Mode>,
    /// Memory to be had on this machine, in bytes: the smaller of free memory and container limit.
    pub available_memory: u64,
    /// Whether each case runs once, on as little as possible.
    pub smoke: bool,
    /// Whether it is for a profiler: bodies run, and nothing of the harness's own beside them.
    pub profiled: bool,
    /// Whether work is verified: an unmeasured repeat of each case that has work to compare.
    pub verify: bool,
}

/// In which order cases run within a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseOrder {
    /// Drawn anew for each round from the run's seed, so that drift of the machine falls on all alike.
    Shuffled,
    /// As listed, for debugging.
    Declared,
}

/// What shares a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Nothing: a fresh process for every repeat.
    Repeat,
    /// The repeats of one case.
    Case,
    /// All repeats of the run.
    Run,
    /// Everything, the harness too.
    None,
}

impl CaseOrder {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shuffled => "shuffled",
            Self::Declared => "declared",
        }
    }
}

impl Isolation {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Case => "case",
            Self::Run => "run",
            Self::None => "none",
        }
    }
}
