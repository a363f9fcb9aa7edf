//! Running a plan: fresh processes, rounds, deadlines. Hands on a [`Repeat`] for every repeat that ended.
//!
//! The parent schedules (`schedule.rs`) and watches (`supervised.rs`); a child, which is the same binary, measures
//! (`child.rs`, `repeat.rs`); they speak `protocol.rs`. A failing case is data; the run goes on. In a duel two programs
//! are measured in turns (`duel.rs`).

mod child;
mod duel;
mod event;
mod executor;
mod outcome;
mod panicked;
mod profiler;
mod program;
mod protocol;
mod reference;
mod remaining;
mod repeat;
mod schedule;
mod stop;
mod supervised;

pub use child::serve;
pub use duel::{Broken, Duel, EndedRound, Pair, Referee, Round, RoundId, Side, duel};
#[cfg(test)]
pub(crate) use duel::{Rounds, go};
pub use event::{Ending, Event};
pub use outcome::{Failure, How, Outcome, Repeat, TreeMemory};
pub use profiler::perf_can_record;
pub use program::Program;
pub use protocol::CHILD_FLAG;
pub use schedule::Task;
pub(crate) use stop::half_width;

use crate::plan::Isolation;

/// Runs the task, each repeat where the plan's isolation says, and tells `sink` of everything.
/// Setting the task's `interrupted` ends the run: children are gone when this returns, finished repeats have been told.
///
/// # Errors
/// The first error of the sink; a failing case is none.
pub fn run<E>(
    task: &Task<'_>,
    program: Program,
    sink: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<Ending, E> {
    match task.plan.isolation {
        Isolation::None => schedule::go(task, &mut executor::InProcess::default(), sink),
        _ => schedule::go(task, &mut executor::Processes::new(program, task.plan, task.interrupted), sink),
    }
}
