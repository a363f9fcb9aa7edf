//! What a run says while it goes on. Live view, journal and tests all hear the same.

use std::time::Duration;

use super::{EndedRound, Repeat, RoundId};
use crate::plan::{CaseId, Plan};

/// Something that happened in a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// The run begins.
    Started {
        /// The plan.
        plan: &'a Plan,
        /// Repeats that will run.
        repeats: usize,
    },
    /// A repeat begins.
    RepeatStarted {
        /// The case.
        case: &'a CaseId,
        /// Its number; 0 is the verifying one.
        number: u32,
        /// Repeats that have ended so far.
        finished: usize,
        /// About how long the rest will take, this one included.
        remaining: Duration,
    },
    /// A repeat has been running for some seconds, and still is.
    RepeatGoesOn {
        /// The case.
        case: &'a CaseId,
        /// Its number; 0 is the verifying one.
        number: u32,
        /// Repeats that have ended so far.
        finished: usize,
        /// The time that it has been running.
        passed: Duration,
        /// About how long the rest will take, what is left of this one included.
        remaining: Duration,
    },
    /// A repeat came to nothing, since the machine slept or this process was stopped: it is run again.
    Away {
        /// The case.
        case: &'a CaseId,
        /// The time away.
        away: Duration,
    },
    /// The harness's own disk was full: the case is left for when the run is taken up again.
    NoRoom {
        /// The case.
        case: &'a CaseId,
        /// The reason.
        why: &'a str,
    },
    /// A repeat has ended.
    RepeatEnded {
        /// The case.
        case: &'a CaseId,
        /// The repeat, ended.
        repeat: &'a Repeat,
        /// The stdout of its process: both ends of it, if it was much.
        stdout: &'a [u8],
        /// The stderr of its process.
        stderr: &'a [u8],
    },
    /// This rank's own part of a repeat that all ranks have run: the repeat of all of them comes next.
    OwnRepeatEnded {
        /// The case.
        case: &'a CaseId,
        /// The repeat, ended.
        repeat: &'a Repeat,
    },
    /// Another rank has left or is late: the run ends.
    RankLost {
        /// The rank, and why.
        why: &'a str,
    },
    /// A duel begins.
    DuelStarted {
        /// Cases with two sides.
        pairs: usize,
    },
    /// A round of a duel begins.
    RoundStarted {
        /// The candidate's case.
        case: &'a CaseId,
        /// The round's id.
        of: RoundId,
        /// About how long the rest will take at least, this one included; no time where nothing is known yet.
        remaining: Duration,
    },
    /// A process of a round has been running for some seconds, and still is.
    RoundGoesOn {
        /// The candidate's case.
        case: &'a CaseId,
        /// The round's id.
        of: RoundId,
        /// The time that the process has been running.
        passed: Duration,
        /// As when the round began.
        remaining: Duration,
    },
    /// A round of a duel has ended.
    RoundEnded {
        /// The candidate's case.
        case: &'a CaseId,
        /// The round's id.
        of: RoundId,
        /// The round, ended.
        round: &'a EndedRound,
    },
    /// Something did not fit into the time of the run, and was left out.
    LeftOut {
        /// About how long the whole run would have taken.
        needed: Duration,
    },
    /// The run or the duel has ended.
    Ended(RunEnding),
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnding {
    /// Every repeat was run, or given up after a failure.
    Complete,
    /// The user asked for an end.
    Interrupted,
    /// The budget of time was spent.
    OutOfBudget,
    /// The harness's own disk had no room for a case.
    NoRoom,
    /// Another rank of it has left or was late.
    RankLost,
}

impl RunEnding {
    /// Tells whether it was broken off by the user or by a fault of the harness, and not as it was asked.
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::Interrupted | Self::NoRoom)
    }
}
