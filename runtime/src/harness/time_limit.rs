//! The time that a run may take, and what becomes of what does not fit.

use std::time::Duration;

use super::Context;
use crate::bencher::{Purpose, SkipReason};
use crate::plan::{CaseId, Plan, Skip};
use crate::run::{Outcome, Repeat};

/// The time of a quick run: nobody waits longer for a look.
const QUICK: Duration = Duration::from_mins(1);

/// So many times the time of a run are enough at least, where something did not fit: what has not run yet is
/// guessed, and the guess was too small.
const MORE: f64 = 1.5;

/// The most time that a run may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeLimit {
    pub(super) time: Duration,
    /// True if what does not fit is left out, and named; else the run is broken off, and can be taken up
    /// again.
    pub(super) shares: bool,
}

impl TimeLimit {
    /// The limit that was asked for. What a quick run has without being asked begins where it has the
    /// machine, and is of scenarios alone: other harnesses run all that there is. `left` is what is left of
    /// the time that was typed.
    pub(super) fn of(context: &Context<'_>, left: Option<Duration>) -> Option<Self> {
        let Context { args, styled, .. } = context;
        let own = args.quick && !styled.expressions;
        let time = left.or_else(|| own.then_some(QUICK))?;
        Some(Self { time, shares: args.quick })
    }

    /// The plan as far as the time sufficed: a case without a figure is a skip, another has the repeats that
    /// it had. `needed` is about how long the whole of it takes.
    pub(super) fn cut(self, plan: &Plan, journal: &[(CaseId, Repeat)], needed: Duration) -> Plan {
        let mut plan = plan.clone();
        let why = || SkipReason::OutOfTime {
            had: rounded(self.time),
            needs: rounded(needed.max(self.time.mul_f64(MORE))),
        };
        for case in plan.cases.iter_mut().filter(|case| case.measured) {
            let own = || journal.iter().filter(|(id, _)| *id == case.id).map(|(_, repeat)| repeat);
            if !own().all(|repeat| matches!(repeat.outcome, Outcome::Measured { .. })) {
                continue; // that it failed says more
            }
            let done = own().filter(|repeat| repeat.purpose == Purpose::Measure).count() as u32;
            if done == 0 {
                case.measured = false;
                plan.skips.push(Skip { id: case.id.clone(), why: why() });
            }
            case.most = Some(done);
        }
        plan
    }
}

/// Whole seconds, and whole tens of them where that says enough: for people.
fn rounded(time: Duration) -> u64 {
    let seconds = time.as_secs_f64().ceil() as u64;
    if seconds < 100 { seconds } else { seconds.next_multiple_of(10) }
}
