//! Two bench programs in turns: this process is the parent of both and the judge of what they send.

use anyhow::Result;
use weighbridge::data::{
    Comparison, DuelOrder, DuelProgram, EnvironmentChange, Policy, RelinkPrograms, judge_duel,
};

use crate::place::Place;
use crate::programs::BuiltProgram;
use crate::stop;

/// A duel between two bench programs.
pub(crate) struct Fight<'a> {
    pub(crate) candidate: &'a BuiltProgram,
    pub(crate) baseline: &'a BuiltProgram,
    /// The baseline, for people.
    pub(crate) name: String,
    /// The changes in how the two are built.
    pub(crate) changes: &'a [EnvironmentChange],
    /// The gate, with what was accepted since the baseline.
    pub(crate) policy: &'a Policy,
    /// Flags of bench programs.
    pub(crate) flags: &'a [String],
    /// Lines to be told before any row.
    pub(crate) notes: Vec<String>,
    /// Links both anew, for rounds that confirm.
    pub(crate) relink: Option<&'a RelinkPrograms<'a>>,
}

/// Measures both programs in turns, judges and stores. Progress goes to stderr.
///
/// # Errors
/// When there is no comparison: with the exit code that goes with it.
pub(crate) fn fight(fight: Fight<'_>, place: &Place) -> Result<Comparison> {
    let Fight { candidate, baseline, name, changes, policy, flags, notes, relink } = fight;
    let programs = [baseline, candidate].map(|of| DuelProgram { path: &of.path, directory: &of.directory });
    let (suite, data) = (candidate.suite.as_str(), place.layout.data());
    judge_duel(DuelOrder { suite, programs, name, flags, data, policy, changes, notes, relink })
        .map_err(|unjudged| stop::with(unjudged.exit, format!("{suite}: {unjudged}")))
}
