//! What the plan is asked for.

use serde::{Deserialize, Serialize};

use super::filter::Matching;
use super::{Param, Profile};
use crate::bencher::RunSettings;

/// The request of a run, after it was understood.
#[derive(Clone, Debug)]
pub struct Request {
    /// The budget.
    pub profile: Profile,
    /// Settings for every repeat.
    pub run: RunSettings,
    /// Settings for all repeats together.
    pub together: PlanSettings,
    /// Positional filters; a case needs one of them, if there are any.
    pub filters: Vec<String>,
    /// True if filters must match whole names.
    pub exact: bool,
    /// True if filters are regular expressions, as in other harnesses.
    pub expressions: bool,
    /// Filters of cases that are not to run.
    pub skip: Vec<String>,
    /// Scenarios named one by one.
    pub scenarios: Vec<String>,
    /// Adapters named one by one.
    pub adapters: Vec<String>,
    /// A named set; must exist.
    pub set: Option<String>,
    /// True if the profile's own set holds when nothing else is named.
    pub profile_set: bool,
    /// Values that replace those of axes.
    pub params: Vec<Param>,
    /// Memory to be had on this machine, in bytes: the smaller of free memory and container limit.
    pub available_memory: u64,
    /// True if each case runs once, on as little as possible.
    pub smoke: bool,
    /// True if work is verified: an unmeasured repeat of each case that has work to compare.
    pub verify: bool,
}

impl Request {
    /// The way in which its filters match.
    pub(super) fn matching(&self) -> Matching {
        match (self.exact, self.expressions) {
            (true, _) => Matching::Whole,
            (false, true) => Matching::Expressions,
            (false, false) => Matching::Parts,
        }
    }
}

/// The settings for all repeats together, by whoever runs: one value, handed on from the command line to the
/// plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlanSettings {
    /// The order of cases within a round.
    pub order: CaseOrder,
    /// The way in which repeats are isolated.
    pub isolation: Isolation,
    /// Half the width that the interval is to have at most, as a share of the median. Then the plan's repeats
    /// are the least, and [`Plan::MOST_REPEATS`](super::Plan::MOST_REPEATS) the most.
    pub target: Option<f64>,
}

/// Order of cases within a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseOrder {
    /// Drawn anew for each round from the run's seed, so that drift of the machine falls on all alike.
    #[default]
    Shuffled,
    /// As listed, for debugging.
    Declared,
}

/// The units that share a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Nothing: a fresh process for every repeat.
    #[default]
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
