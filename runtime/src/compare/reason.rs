//! Why repeats do not decide, and why two cases are not held against each other: facts. `report` has the
//! words.

use serde::{Deserialize, Serialize};

use super::{Tendency, Tolerance};
use crate::bencher::SkipReason;
use crate::record::{FailureReason, UnfinishedReason};
use crate::run::{Failure, Side};
use crate::verify::Finding;

/// The reason why the repeats do not decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InconclusiveReason {
    /// A side has fewer processes than are needed.
    FewProcesses {
        /// Of the baseline.
        baseline: usize,
        /// Of the candidate.
        candidate: usize,
        /// The number that is needed on each side.
        least: usize,
    },
    /// The values have no interval.
    NoInterval,
    /// The values are not all positive, so they have no ratio.
    NoRatio,
    /// Threads were taken off their processors in this share of the blocks.
    Busy(f64),
    /// The processor was throttled in this share of the blocks.
    Throttled(f64),
    /// The samples of most repeats never settle, on these sides.
    Unsteady {
        /// Those of the baseline.
        baseline: bool,
        /// Those of the candidate.
        candidate: bool,
    },
    /// Nothing was found, by values that could not have found what has to be.
    TooBlunt {
        /// The smallest effect that would have been found, as a share.
        detectable: f64,
        /// The one that has to be.
        asked: f64,
    },
    /// The interval of the effect reaches over a bound.
    Spans {
        /// Its lower end, as a share: below zero it is better.
        low: f64,
        /// Its upper end.
        high: f64,
        /// The bound.
        tolerance: Tolerance,
    },
    /// A device's clock may explain the change: what follows from its time and its cycles do not tend the
    /// same way.
    DeviceClock {
        /// The way that the metric tends.
        metric: Tendency,
        /// The half that it is held against: time or cycles.
        other: ClockHalf,
        /// The way that it tends.
        tends: Tendency,
    },
    /// There were not rounds enough.
    FewRounds(usize),
    /// The duel was broken off before the case was decided.
    BrokenOff(BreakOff),
    /// It regressed at first, and so many fresh rounds do not confirm it.
    NotConfirmed {
        /// The number of them.
        rounds: usize,
        /// The number of layouts of each program that they had.
        layouts: usize,
        /// The chance of them without a regression, adjusted for all cases of the comparison.
        p: f64,
    },
    /// It regressed at first, and there were not fresh rounds enough to confirm anything.
    FewFreshRounds {
        /// The number that there were.
        rounds: usize,
        /// The number that there must be.
        of: usize,
    },
    /// It regressed at first, and the duel was broken off before it was confirmed.
    BrokenOffUnconfirmed(BreakOff),
}

/// The clock that a metric of a device is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockHalf {
    /// The cycles of the device.
    Cycles,
    /// Its time.
    Time,
}

/// The cause that broke a duel off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakOff {
    /// The budget was spent.
    Budget,
    /// The user asked for an end.
    Interrupt,
}

/// The reason why two cases of one name are not held against each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IncomparableReason {
    /// A side failed.
    Failed(Side, FailureReason),
    /// A side is not finished.
    Incomplete(Side, UnfinishedReason),
    /// A side was skipped.
    Skipped(Side, SkipReason),
    /// The work of a side differs from the reference's.
    Differs(Side, Vec<String>),
    /// A side does not verify.
    Unverified(Side, Finding),
    /// The two sides do other work than each other.
    OtherWork(Vec<String>),
    /// The two sides deliver other elements, by their hashes.
    OtherElements,
    /// A value of an axis keeps its label and has another meaning.
    Axis(AxisChange),
    /// The input is another.
    Input([Option<String>; 2]),
    /// Batches are handed over elsewhere.
    Delivery([String; 2]),
    /// The transforms are others.
    Transforms([Vec<String>; 2]),
    /// Another metric stands for the case.
    PrimaryMetric([String; 2]),
    /// This metric has no value on one side.
    NoValue(String),
    /// This metric has another unit or direction.
    Unit(String),
    /// This metric has no better or worse.
    Information(String),
    /// It took so many seconds, and is below this bound now: as fast as an empty loop.
    NowBelow {
        /// The time that it took, in seconds.
        was: f64,
        /// The bound.
        bound: f64,
    },
    /// It was below this bound, and takes so many seconds now.
    NoLongerBelow {
        /// The bound.
        bound: f64,
        /// The time that it takes, in seconds.
        is: f64,
    },
    /// A round of a duel showed no time at all.
    NoTime,
    /// The duel was interrupted.
    Interrupted,
    /// A repeat of a duel failed.
    RepeatFailed(Side, Failure),
    /// The baseline's adapter does not run the case.
    NotRunBy(String),
}

/// A value of an axis that keeps its label and has another meaning, by the text that `Debug` gives of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AxisChange {
    /// The axis.
    pub axis: String,
    /// The label.
    pub value: String,
    /// The meaning in the baseline.
    pub was: String,
    /// The meaning now.
    pub is: String,
}

/// Advice that would make an inconclusive case decidable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// The remedy that helps.
    pub remedy: Remedy,
    /// The revision that the two can be measured in turns with, where it is known.
    pub revision: Option<String>,
}

/// A remedy that helps to decide a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// So many repeats on both sides.
    Repeats(usize),
    /// A device whose clock stays as it is.
    SteadyClock,
    /// A quieter machine.
    QuieterMachine,
    /// More warm-up, or longer measuring.
    Settling,
    /// More stored runs.
    StoredRuns,
    /// More repeats.
    MoreRepeats,
}
