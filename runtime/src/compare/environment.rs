//! What changed around the code: told before any conclusion.

use serde::{Deserialize, Serialize};

use crate::record::{Baseline, Difference, RunManifest};

/// Something around the code that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentChange {
    /// Of which kind.
    pub kind: FactKind,
    /// The fact that differs, with the run's value here and the baseline's there.
    pub difference: Difference,
}

/// Kinds of facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactKind {
    /// Of the machine.
    Machine,
    /// Of how the process was started: its priority, limits, cgroup.
    Process,
    /// An environment variable.
    Variable,
    /// Of the run: profile, seed.
    Run,
    /// Of the software, commit included.
    Software,
}

/// Everything that is not as it was, what changes timings most first.
pub(super) fn changes(baseline: &Baseline, run: &RunManifest) -> Vec<EnvironmentChange> {
    let found = run.environment.differences(&baseline.environment);
    let asked = [
        ("profile", run.profile.clone(), baseline.profile.clone()),
        ("seed", run.seed.to_string(), baseline.seed.to_string()),
    ];
    let asked = asked.into_iter().filter(|(_, here, there)| here != there).map(|(what, here, there)| {
        Difference { what: what.to_owned(), here: Some(here), there: Some(there) }
    });
    let kinds = [
        (FactKind::Machine, found.machine),
        (FactKind::Process, found.process),
        (FactKind::Variable, found.variables),
        (FactKind::Run, asked.collect()),
        (FactKind::Software, found.software),
    ];
    let tell = |(kind, differences): (FactKind, Vec<Difference>)| {
        differences.into_iter().map(move |difference| EnvironmentChange { kind, difference })
    };
    kinds.into_iter().flat_map(tell).collect()
}
