//! Running a plan: fresh processes, rounds, deadlines. Hands on a [`Repeat`] for every repeat that ended.
//!
//! The parent schedules (`schedule.rs`) and watches (`supervised_child.rs`); a child, which is the same
//! binary, measures (`child.rs`, `repeat.rs`); they speak `protocol.rs`. A failing case is data; the run goes
//! on. In a duel two programs are measured in turns (`duel.rs`).

mod absence;
mod child;
mod child_fault;
mod duel;
mod event;
mod executor;
mod outcome;
mod own_disk;
mod panic_text;
mod profiler;
mod program;
mod protocol;
mod ranked;
mod reference;
mod remaining_time;
mod repeat;
mod schedule;
mod stop;
mod supervised_child;
mod time_share;
mod utilisation;

pub use child::{ServedRequest, Serving, serve};
pub use child_fault::ChildFault;
pub use duel::{
    BrokenDuel, Duel, DuelCase, DuelRound, DuelSettings, EndedRound, Pair, Referee, Relinked, RoundId, Side,
    duel,
};
#[cfg(test)]
pub(crate) use duel::{RoundRunner, go};
pub use event::{Event, RunEnding};
pub use outcome::{Failure, How, Outcome, Repeat, TreeMemory};
pub use profiler::perf_can_record;
pub use program::Program;
pub use protocol::{CHILD_FLAG, DUEL_FLAG};
pub(crate) use ranked::{FollowEnd, FollowTask, RankLead, follow};
pub use schedule::RunTask;
pub(crate) use stop::half_width;
#[cfg(test)]
pub(crate) use utilisation::Utilisation;
pub use utilisation::UtilisationPoint;

use crate::plan::Isolation;

/// Runs the task, each repeat where the plan's isolation says, and tells `sink` of everything.
/// Setting the task's `interrupted` ends the run: children are gone when this returns, finished repeats have
/// been told.
///
/// # Errors
/// The first error of the sink; a failing case is none.
pub fn run<E>(
    task: &RunTask<'_>,
    program: Program,
    sink: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<RunEnding, E> {
    match task.plan.together.isolation {
        Isolation::None => schedule::go(task, &mut executor::InProcess::default(), sink),
        _ => {
            schedule::go(task, &mut executor::ChildExecutor::new(program, task.plan, task.interrupted), sink)
        }
    }
}

/// Runs the task on all ranks, as rank 0 of them.
///
/// # Errors
/// The first error of the sink; a failing case is none, nor is a rank that is lost.
pub(crate) fn run_on_ranks<E>(
    task: &RunTask<'_>,
    program: Program,
    lead: &RankLead<'_>,
    sink: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<RunEnding, E> {
    let own = executor::ChildExecutor::new(program, task.plan, task.interrupted);
    schedule::go(task, &mut ranked::LeadingExecutor::new(own, lead, task.plan), sink)
}
