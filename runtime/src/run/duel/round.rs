//! A round of a duel, and the two sides that it measures.

use serde::{Deserialize, Serialize};

use super::super::{Failure, Repeat};
use crate::bencher::{PerIteration, SkipReason, Work};
use crate::metric::Block;

/// One side of a duel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The side that is compared with.
    Baseline,
    /// The side that is judged.
    Candidate,
}

/// The identity of a round of a duel. Rounds run in this order, those that confirm after all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RoundId {
    /// The index of the pair.
    pub pair: usize,
    /// True if it confirms a regression that was found before.
    pub confirming: bool,
    /// Its number among those: [`RoundId::VERIFYING`], and measured ones count from 1.
    pub number: u32,
}

impl RoundId {
    /// The number of the unmeasured round, in which both sides' work is held against each other.
    pub const VERIFYING: u32 = 0;
}

/// The result of one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DuelRound {
    /// The work of both sides in an unmeasured repeat.
    Verified {
        /// The baseline's work, and the candidate's.
        works: Box<[Option<Work>; 2]>,
        /// True if the candidate's elements are the baseline's, by the duel's key; `None` where one handed in
        /// none.
        same: Option<bool>,
    },
    /// A body, block by block.
    Blocks {
        /// The work of one iteration as the authors state it: of the baseline's, of the candidate's.
        work: [PerIteration; 2],
        /// Pairs of blocks, the baseline's first, whichever ran first.
        pairs: Vec<[Block; 2]>,
    },
    /// Whole repeats in the order baseline, candidate, candidate, baseline, or the other way round: of each
    /// side two.
    Repeats([Vec<Repeat>; 2]),
}

/// A round that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndedRound {
    /// The time that it took by the parent's clock, in nanoseconds, process starts and ends included.
    pub slot: u64,
    /// The layout of both sides' programs: 0 as they were built, others from 1 on as they were linked anew.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub layout: u32,
    /// The result, or the reason why there is none.
    pub outcome: Result<DuelRound, BrokenDuel>,
}

fn is_usual(layout: &u32) -> bool {
    *layout == 0
}

/// The reason why a duel of a case cannot go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BrokenDuel {
    /// The user asked for an end.
    Interrupted,
    /// A side failed.
    Failed(Side, Failure),
    /// A side said that it cannot run here.
    Skipped(Side, SkipReason),
}
