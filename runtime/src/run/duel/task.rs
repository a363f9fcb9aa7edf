//! The order that a duel is given: two programs, and which of their cases meet.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::program::Program;
use super::{EndedRound, RoundId};
use crate::bencher::{Budget, HashKey, RunSettings};
use crate::plan::{CaseId, Plan, PlannedCase};
use crate::registry::Equivalence;

/// A case as far as a duel must know it: its program tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuelCase {
    /// The case's id.
    pub id: CaseId,
    /// Limits of each of its repeats.
    pub budget: Budget,
    /// The agreement that the work of both sides must show.
    pub equivalence: Equivalence,
    /// True if its adapter is resident: it guards its set-up itself.
    pub resident: bool,
}

impl DuelCase {
    /// A case of a plan.
    pub fn of(case: &PlannedCase) -> Self {
        Self {
            id: case.id.clone(),
            budget: case.budget,
            equivalence: case.equivalence(),
            resident: case.adapter.is_some_and(|adapter| adapter.resident),
        }
    }

    /// The same facts, of a case with this id.
    #[must_use]
    pub fn called(&self, id: &CaseId) -> Self {
        Self { id: id.clone(), ..self.clone() }
    }

    /// Tells whether the case has work that is compared, so that it needs a verifying round.
    pub fn is_verified(&self) -> bool {
        self.equivalence != Equivalence::None
    }
}

/// The sides of one case.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The case that is compared with, as its program calls it.
    pub baseline: DuelCase,
    /// The case that is judged.
    pub candidate: DuelCase,
}

/// Limits and settings of every repeat of a duel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuelSettings {
    /// The longest that a repeat may take.
    pub timeout: Duration,
    /// The memory that a repeat's processes may have, in bytes.
    pub memory: u64,
    /// Settings for every repeat.
    pub run: RunSettings,
}

impl DuelSettings {
    /// Those of a plan.
    pub fn of(plan: &Plan) -> Self {
        Self { timeout: plan.timeout(), memory: plan.memory, run: plan.run }
    }
}

/// Both sides' programs, linked anew in other layouts: as many of each.
pub type Relinked = [Vec<Program>; 2];

/// Two programs that have the same cases, or one program twice.
pub struct Duel<'a> {
    /// The baseline's program and the candidate's.
    pub programs: [Program; 2],
    /// Links both programs anew in other orders, if it can: rounds that confirm have their layouts in turns,
    /// so that where the linker has put a loop is no regression. Asked for once, before the first of them.
    pub relink: Option<&'a dyn Fn() -> Option<Relinked>>,
    /// Deadline, memory and settings of each repeat.
    pub settings: DuelSettings,
    /// The pairs that are measured, in this order.
    pub pairs: &'a [Pair],
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
