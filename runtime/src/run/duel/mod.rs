//! Duels: two sides of each case, measured in turns.
//!
//! `schedule.rs` goes through the rounds that a [`Referee`] asks for, `turns.rs` runs one of them in processes.

mod schedule;
mod turns;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::program::Program;
use super::{Event, Failure, Repeat, RunEnding};
use crate::bencher::{HashKey, PerIteration, Work};
use crate::metric::Block;
use crate::plan::{CaseId, Plan, PlannedCase};

pub use schedule::Referee;
#[cfg(test)]
pub(crate) use schedule::{RoundRunner, go};

/// One side of a duel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// What is compared with.
    Baseline,
    /// What is judged.
    Candidate,
}

/// The sides of one case.
#[derive(Clone, Debug)]
pub struct Pair<'a> {
    /// What is compared with, as its program calls it.
    pub baseline: CaseId,
    /// What is judged.
    pub candidate: &'a PlannedCase,
}

/// Two programs that have the same cases, or one program twice.
pub struct Duel<'a> {
    /// The baseline's program and the candidate's.
    pub programs: [Program; 2],
    /// Budget, deadline and memory of each repeat.
    pub plan: &'a Plan,
    /// What is measured, in this order.
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

/// Which round of a duel one is. Rounds run in this order, those that confirm after all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RoundId {
    /// The index of the pair.
    pub pair: usize,
    /// Whether it confirms a regression that was found before.
    pub confirming: bool,
    /// Its number among those: [`RoundId::VERIFYING`], and measured ones count from 1.
    pub number: u32,
}

impl RoundId {
    /// The number of the unmeasured round, in which both sides' work is held against each other.
    pub const VERIFYING: u32 = 0;
}

/// What one round gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DuelRound {
    /// What both sides did in an unmeasured repeat.
    Verified {
        /// The baseline's work, and the candidate's.
        works: Box<[Option<Work>; 2]>,
        /// Whether the candidate's elements are the baseline's, by the duel's key; `None` where one handed in none.
        same: Option<bool>,
    },
    /// A body, block by block.
    Blocks {
        /// What the authors state of one iteration: of the baseline's, of the candidate's.
        work: [PerIteration; 2],
        /// Pairs of blocks, the baseline's first, whichever ran first.
        pairs: Vec<[Block; 2]>,
    },
    /// Whole repeats in the order baseline, candidate, candidate, baseline, or the other way round: of each side two.
    Repeats([Vec<Repeat>; 2]),
}

/// A round that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndedRound {
    /// How long it took by the parent's clock, in nanoseconds, process starts and ends included.
    pub slot: u64,
    /// What it gave, or why it gave nothing.
    pub outcome: Result<DuelRound, BrokenDuel>,
}

/// Why a duel of a case cannot go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BrokenDuel {
    /// The user asked for an end.
    Interrupted,
    /// A side failed.
    Failed(Side, Failure),
    /// A side said that it cannot run here.
    Skipped(Side, String),
}

/// Measures the rounds that the referee asks for, and tells `sink` of everything. Setting the duel's `interrupted` ends it:
/// children are gone when this returns, finished rounds have been told.
///
/// # Errors
/// The first error of the sink; a side that fails is none.
pub fn duel<E>(
    task: &Duel<'_>,
    referee: &mut dyn Referee,
    sink: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<RunEnding, E> {
    schedule::go(task, &mut turns::InTurns::new(task), referee, sink)
}
