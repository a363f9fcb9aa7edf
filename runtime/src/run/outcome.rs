//! How a repeat ended. A failure is data: the run goes on.

use serde::{Deserialize, Serialize};

use super::ChildFault;
use super::utilisation::Utilisation;
use crate::bencher::{ClockFault, Evidence, Phase, Purpose, SkipReason, Work, WorkFault};
use crate::metric::Observation;

/// One whole life cycle of a case, ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// Its number: 0 is the verifying repeat, measured ones count from 1.
    pub number: u32,
    /// Its purpose.
    pub purpose: Purpose,
    /// The time that it took by the parent's clock, in nanoseconds, process start and end included.
    pub slot: u64,
    /// From process start to the first iteration or item, in nanoseconds by the parent's clock; where it got
    /// that far.
    pub start: Option<u64>,
    /// The memory of the process and its descendants as the parent saw it, where there were any.
    pub tree: Option<TreeMemory>,
    /// The use of the machine meanwhile; `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<Utilisation>,
    /// The surroundings that it was measured in: 0 are those in which the run began, else it is the number of
    /// those among the manifest's others.
    #[serde(default, skip_serializing_if = "is_first")]
    pub surroundings: u32,
    /// Its end.
    pub outcome: Outcome,
}

impl Repeat {
    /// Tells whether rank 0 measured it with its own.
    pub(crate) fn is_led(&self) -> bool {
        matches!(&self.outcome, Outcome::Measured { seen, .. } if seen.led)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_first(surroundings: &u32) -> bool {
    *surroundings == 0
}

/// Memory of a process tree, sampled from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeMemory {
    /// The largest sum of proportional sets that was seen, in bytes.
    pub bytes: u64,
    /// The most processes that were seen at once.
    pub processes: usize,
}

/// The end of a repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::large_enum_variant, reason = "one for each repeat: few are alive at once")]
pub enum Outcome {
    /// It ran to its end.
    Measured {
        /// Its observation.
        #[serde(rename = "observation")]
        seen: Box<Observation>,
        /// Its work report, if it handed one in.
        work: Option<Work>,
        /// The evidence that the rules of the stage `verify` judge by.
        evidence: Box<Evidence>,
    },
    /// It did not.
    Failed(Failure),
    /// It said that it cannot run here.
    Skipped {
        /// The reason.
        why: SkipReason,
    },
}

/// The reason why a repeat failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The way in which it failed.
    pub how: How,
    /// The phase in which it failed.
    pub phase: Phase,
    /// The message that goes with it, in the words of the subject or its worker; empty where `how` says all.
    pub detail: String,
    /// The end of what it wrote to stderr.
    pub stderr: String,
}

/// The ways in which a repeat fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// It panicked.
    Panic,
    /// It returned an error.
    Error,
    /// The process ended by itself, with this exit code, before it answered.
    Exit(i32),
    /// The process was ended by this signal.
    Signal(String),
    /// It had not answered after so many nanoseconds, and was killed.
    Deadline(u64),
    /// A process that it speaks with was silent for too long.
    Timeout,
    /// It asked for more memory than it may have.
    Memory {
        /// The memory that its processes held, in bytes, where the parent saw it.
        held: Option<u64>,
        /// The memory that it may have, in bytes.
        limit: u64,
    },
    /// A process that it speaks with did not speak their protocol.
    Protocol,
    /// It did not speak the protocol between parent and child.
    Child(ChildFault),
    /// Its clock does not verify, by these numbers: parts that do not add up, or more time than passed.
    Clock(Box<ClockFault>),
    /// Its work does not verify, by these numbers.
    Work(Box<WorkFault>),
    /// The disk that the harness gave it has no room for it.
    NoRoom,
    /// Its process lost the device.
    Device,
    /// It waited for other ranks in vain: one of them has failed, has left or did not come.
    Ranks,
}

impl Failure {
    /// A failure that `how` says all of.
    pub(crate) fn plain(how: How, phase: Phase) -> Self {
        Self { how, phase, detail: String::new(), stderr: String::new() }
    }

    /// The failure without the end of its stderr.
    #[must_use]
    pub(crate) fn without_output(&self) -> Self {
        Self { how: self.how.clone(), phase: self.phase, detail: self.detail.clone(), stderr: String::new() }
    }
}
