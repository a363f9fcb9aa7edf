//! Duels: two sides of each case, measured in turns.
//!
//! `schedule.rs` goes through the rounds that a [`Referee`] asks for, `turns.rs` runs one of them in
//! processes.

mod round;
mod schedule;
mod task;
mod turns;

use super::{Event, RunEnding};

pub use round::{BrokenDuel, DuelRound, EndedRound, RoundId, Side};
pub use schedule::Referee;
#[cfg(test)]
pub(crate) use schedule::{RoundRunner, go};
pub use task::{Duel, DuelCase, DuelSettings, Pair, Relinked};

/// Measures the rounds that the referee asks for, and tells `sink` of everything. Setting the duel's
/// `interrupted` ends it: children are gone when this returns, finished rounds have been told.
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
