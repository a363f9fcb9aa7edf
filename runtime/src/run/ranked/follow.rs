//! The life of a rank other than 0: runs the repeats that it is asked for, one after the other.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::order::{RankAsk, RepeatAnswer, RepeatOrder};
use crate::bencher::Purpose;
use crate::json;
use crate::plan::{CaseId, Plan};
use crate::ranks::{LinkEnd, MeetingPlace, RankLink};
use crate::run::executor::{ChildExecutor, Executor, Turn};
use crate::run::protocol::RepeatRequest;
use crate::run::reference::References;
use crate::run::supervised_child::EndedRequest;
use crate::run::{Event, Outcome, Program, Repeat};

/// The interval at which it is looked whether the user has asked for an end.
const LOOK: Duration = Duration::from_millis(50);

/// The things that a rank needs beside what it is asked for.
pub(crate) struct FollowTask<'a> {
    pub(crate) plan: &'a Plan,
    /// The scratch directory of a repeat.
    pub(crate) scratch: &'a dyn Fn(&CaseId, u32) -> PathBuf,
    /// The place where its measuring processes meet those of others.
    pub(crate) place: MeetingPlace,
    /// The number of the surroundings that it is run in.
    pub(crate) surroundings: u32,
    /// True once the user has asked for an end.
    pub(crate) interrupted: &'a AtomicBool,
}

/// The end of a rank's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FollowEnd {
    /// All repeats have been run: in this turn rank 0 waits for what was found.
    Tell(u64),
    /// The run is over.
    Over(LinkEnd),
    /// The user has asked for an end here.
    Interrupted,
}

/// Runs what rank 0 asks for until it asks for no more, and tells `sink` of each repeat before rank 0 hears
/// of it.
///
/// # Errors
/// The first error of the sink.
pub(crate) fn follow<E>(
    task: &FollowTask<'_>,
    program: Program,
    link: &RankLink,
    sink: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<FollowEnd, E> {
    let stopped = link.stopped();
    let mut executor = ChildExecutor::new(program, task.plan, &stopped);
    let mut references: Option<References> = None;
    loop {
        if task.interrupted.load(Ordering::Relaxed) {
            return Ok(FollowEnd::Interrupted);
        }
        let turn = match link.next(LOOK) {
            Ok(Some(turn)) => turn,
            Ok(None) => continue,
            Err(end) => return Ok(FollowEnd::Over(end)),
        };
        let order = match json::read::<RankAsk>(turn.body.as_bytes()) {
            Ok(RankAsk::Repeat(order)) => order,
            Ok(RankAsk::Tell) => return Ok(FollowEnd::Tell(turn.turn)),
            Err(error) => {
                return Ok(FollowEnd::Over(LinkEnd::Lost(format!("it asked for nothing: {error}"))));
            }
        };
        let Some(case) = task.plan.cases.get(order.index).filter(|case| case.id == order.case) else {
            return Ok(FollowEnd::Over(LinkEnd::Lost("its plan is another".to_owned())));
        };
        stopped.store(false, Ordering::Release);
        if link.newest() != turn.turn {
            continue; // it has been broken off meanwhile
        }
        let references = references.get_or_insert_with(|| References::new(order.request.key));
        let request = request(task, turn.turn, case.scenario.collective, &order);
        let of_case = Turn {
            case: order.index,
            number: order.number,
            resident: order.resident,
            last: order.last,
            most: None, // whose time is over rank 0 says
        };
        let ended = executor.run(of_case, &request, &mut |_| {
            if task.interrupted.load(Ordering::Relaxed) {
                stopped.store(true, Ordering::Release);
            }
        });
        let _ = std::fs::remove_dir_all(&request.scratch); // there only if the scenario asked for it
        let why = match &ended.outcome {
            Some((Outcome::Failed(failure), _)) => Some(failure.to_string()),
            Some((Outcome::Skipped { why }, _)) => Some(why.to_string()),
            Some((Outcome::Measured { .. }, _)) => None,
            None => Some("it was broken off".to_owned()),
        };
        // Rank 0 that is gone is noticed when the next turn is waited for.
        let _ = link.ended(turn.turn, why);
        let EndedRequest { outcome, start, slot, tree, utilisation, stdout, stderr, .. } = ended;
        let Some((mut outcome, spots)) = outcome else { continue };
        if let Outcome::Measured { seen, evidence, .. } = &mut outcome
            && !seen.led
        {
            references.compare(task.plan, case, request.purpose, evidence, spots);
        }
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        let repeat = Repeat {
            number: order.number,
            purpose: request.purpose,
            slot: nanoseconds(slot),
            start: start.map(nanoseconds),
            tree,
            utilisation,
            surroundings: task.surroundings,
            outcome,
        };
        sink(Event::RepeatEnded { case: &case.id, repeat: &repeat, stdout: &stdout, stderr: &stderr })?;
        let _ = link.answer(turn.turn, json::write(&RepeatAnswer { repeat }).unwrap_or_default());
    }
}

/// The request as this rank runs it: in its own folder, within its own memory, among the others.
fn request(task: &FollowTask<'_>, turn: u64, collective: bool, order: &RepeatOrder) -> RepeatRequest {
    debug_assert!(order.request.purpose == Purpose::Verify || order.number > 0);
    RepeatRequest {
        scratch: (task.scratch)(&order.case, order.number),
        memory: order.request.memory.map(|_| task.plan.memory),
        meeting: Some(MeetingPlace { turn, collective, ..task.place.clone() }),
        ..order.request.clone()
    }
}
