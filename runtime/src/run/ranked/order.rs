//! What rank 0 asks of the others, and what they answer.

use serde::{Deserialize, Serialize};

use crate::plan::CaseId;
use crate::run::Repeat;
use crate::run::protocol::RepeatRequest;

/// A request of rank 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum RankAsk {
    /// Run this repeat.
    Repeat(Box<RepeatOrder>),
    /// All repeats have been run: tell what was found in your own.
    Tell,
}

/// A repeat that all ranks run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RepeatOrder {
    /// The case, which is at this place in the plan of all.
    pub(super) case: CaseId,
    pub(super) index: usize,
    pub(super) number: u32,
    /// As the turn of a case has it.
    pub(super) resident: bool,
    pub(super) last: bool,
    pub(super) request: RepeatRequest,
}

/// The answer to a repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RepeatAnswer {
    pub(super) repeat: Repeat,
}
