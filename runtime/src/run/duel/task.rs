//! The order that a duel is given: two programs, and which of their cases meet.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::super::program::Program;
use super::{EndedRound, RoundId};
use crate::bencher::HashKey;
use crate::plan::{CaseId, Plan, PlannedCase};

/// The sides of one case.
#[derive(Clone, Debug)]
pub struct Pair<'a> {
    /// The case that is compared with, as its program calls it.
    pub baseline: CaseId,
    /// The case that is judged.
    pub candidate: &'a PlannedCase,
}

/// Two programs that have the same cases, or one program twice.
pub struct Duel<'a> {
    /// The baseline's program and the candidate's.
    pub programs: [Program; 2],
    /// Budget, deadline and memory of each repeat.
    pub plan: &'a Plan,
    /// The pairs that are measured, in this order.
    pub pairs: &'a [Pair<'a>],
    /// Rounds that an earlier part of the duel has finished: they are heard and not run again.
    pub finished: &'a HashMap<RoundId, EndedRound>,
    /// The scratch directory of one side in one round, by a number that is its own.
    pub scratch: &'a dyn Fn(&CaseId, u32) -> PathBuf,
    /// Hashes what both sides deliver: drawn for this duel, and kept nowhere.
    pub key: HashKey,
    /// The number of the epoch that streams go through: drawn for this duel.
    pub epoch: u64,
    /// The fewest iterations of a block: a planted slowdown repeats a share of them.
    pub least: u64,
    /// Draws the order within pairs, the order of starts, and the padding.
    pub seed: u64,
    /// The most time that the duel may take.
    pub budget: Option<Duration>,
    /// Set when the user asks for an end.
    pub interrupted: &'a AtomicBool,
}
