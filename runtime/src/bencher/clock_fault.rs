//! Times that there cannot be: the numbers of what a subject claims, beside what was seen. `verify` judges
//! by them, and `report` has the words.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A claim about time, beside what was seen of it. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockFault {
    /// A time, beside the one that passed.
    Time {
        /// Its kind.
        of: ClaimedTime,
        /// The claim.
        claimed: u64,
        /// The time that passed meanwhile.
        passed: u64,
    },
    /// A processor time, beside the one that there was.
    Processors {
        /// Its kind.
        of: ClaimedProcessorTime,
        /// The claim.
        claimed: u64,
        /// The number of processors.
        processors: u32,
        /// The time that they had together.
        had: u64,
    },
    /// A number of events, beside the most that there can be.
    Events {
        /// Their kind.
        of: CountedEvent,
        /// The claim.
        claimed: u64,
        /// The most of them.
        most: u64,
        /// The time that passed meanwhile.
        passed: u64,
    },
    /// An epoch without a stop and its parts.
    Epoch {
        /// The whole.
        wall: u64,
        /// Until it was begun.
        begin: u64,
        /// From there to the end of the first batch.
        first: u64,
        /// The part of it that copies took.
        copied: u64,
        /// The time that passed meanwhile.
        passed: u64,
    },
    /// The times of steps.
    Steps {
        /// The number of steps that were asked for.
        asked: u64,
        /// The number of times that were told, by the name of what took them; empty where one was told for
        /// all steps together.
        told: Vec<(String, u64)>,
        /// All steps together.
        claimed: u64,
        /// The time that passed meanwhile.
        passed: u64,
    },
    /// The times of steps before a save and during it, and of the save.
    Save {
        /// The number of steps before it that were asked for.
        asked: u64,
        /// The number of times of steps before it.
        idle: u64,
        /// The number of times of steps during it.
        during: u64,
        /// All steps together.
        steps: u64,
        /// The part of the save that held them up.
        stall: u64,
        /// The whole save.
        complete: u64,
        /// The time that passed meanwhile.
        passed: u64,
    },
}

/// The kind of a time that is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimedTime {
    /// The time that was measured.
    Measured,
    /// The sum of all samples.
    Samples,
    /// The first batch.
    First,
    /// Beginning epochs.
    Begin,
    /// The time that the clock stood.
    Stopped,
    /// Compiling.
    Compile,
    /// All entries of the ledger.
    Ledger,
}

/// The kind of a processor time that is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimedProcessorTime {
    /// While the clock ran.
    Running,
    /// While it stood.
    Stopped,
    /// Of all but the thread of the loop while it stood.
    OthersStopped,
    /// In all.
    All,
}

/// The kind of events that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountedEvent {
    /// Page faults without the disk.
    MinorFaults,
    /// Page faults of the disk.
    MajorFaults,
    /// Switches from one thread to another.
    Switches,
}

impl ClockFault {
    /// The nanoseconds of a time, or the most that there can be.
    pub fn nanoseconds(time: Duration) -> u64 {
        u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Tells whether the numbers contradict each other.
    pub fn is_proven(&self) -> bool {
        match self {
            Self::Time { claimed, passed, .. } => claimed > passed,
            Self::Processors { claimed, had, .. } => claimed > had,
            Self::Events { claimed, most, .. } => claimed > most,
            Self::Epoch { wall, begin, first, copied, passed } => {
                wall > passed || copied > wall || begin.saturating_add(*first) > *wall
            }
            Self::Steps { asked, told, claimed, passed } => {
                claimed > passed
                    || *claimed == 0 && *asked > 0
                    || told.iter().any(|(_, times)| times != asked)
            }
            Self::Save { asked, idle, during, steps, stall, complete, passed } => {
                steps.max(complete) > passed || stall > complete || idle != asked || *during == 0
            }
        }
    }

    /// Ends what was asked for, where the numbers contradict each other and there is nothing to go on with.
    ///
    /// # Errors
    /// This, if it is proven.
    pub fn or_go_on(self) -> Result<(), Self> {
        if self.is_proven() { Err(self) } else { Ok(()) }
    }
}
