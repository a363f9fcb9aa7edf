//! What parent and child say to each other: frames of JSON on a private socket. Both ends are written against
//! this file.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Failure, How, Outcome};
use crate::bencher::{
    Budget, Evidence, HashKey, PerIteration, Phase, Purpose, RunSettings, SkipReason, Spot, Work,
};
use crate::metric::{Block, Observation};
use crate::ranks::MeetingPlace;
use crate::registry::Point;

/// The version of the protocol: the first thing that a child says.
pub(super) const VERSION: u32 = 9;

/// The argument that makes a bench binary a child.
pub const CHILD_FLAG: &str = "--weighbridge-child";

/// The argument that makes a bench binary tell whoever judges a duel what it has: flags come after it.
pub const DUEL_FLAG: &str = "--weighbridge-duel";

/// A frame longer than this is not one of ours.
pub(super) const LONGEST: u32 = 128 << 20;

/// Message from the parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ParentMessage {
    /// Run this repeat.
    Repeat(Box<RepeatRequest>),
    /// Run a block of so many iterations: to a paced repeat that has said that it is ready.
    Block(u64),
}

/// The parent's request for one repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatRequest {
    /// The scenario's id.
    pub scenario: String,
    /// The values of its axes.
    pub point: Point,
    /// The adapter's name.
    pub adapter: Option<String>,
    /// The purpose of the repeat.
    pub purpose: Purpose,
    /// The budget.
    pub budget: Budget,
    /// The settings by whoever runs.
    pub run: RunSettings,
    /// The number of the epoch that streams go through.
    pub epoch: u64,
    /// Hashes what is delivered; the parent compares.
    pub key: HashKey,
    /// The repeat's own directory; made on demand, removed by the parent.
    pub scratch: PathBuf,
    /// The most bytes of data that the process may have.
    pub memory: Option<u64>,
    /// True if the parent says how many iterations each block has. A scenario without blocks runs as ever.
    pub paced: bool,
    /// True if a resident adapter is kept for the next ask, which is for the same one.
    pub keep: bool,
    /// The place where it meets the processes of other ranks, where there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meeting: Option<MeetingPlace>,
}

/// Message from a child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ChildMessage {
    /// It has started and speaks this version.
    Hello {
        version: u32,
        /// True if it was built with debug assertions. A child of another version may not say so: it is
        /// refused for its version.
        #[serde(default)]
        debug: bool,
    },
    /// The repeat has passed into this phase.
    Phase(Phase),
    /// A paced repeat has come to its blocks.
    Ready(PerIteration),
    /// The block that was asked for has run.
    Block(Block),
    /// The repeat is over: what follows is the time that telling of it takes.
    Over,
    /// The end of the repeat, in full.
    Done(Box<ChildAnswer>),
}

/// The end of a repeat, as far as the process that ran it can tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "one at a time")]
pub enum ChildAnswer {
    /// It ran to its end.
    Measured {
        /// Its observation.
        seen: Box<Observation>,
        /// Its work report.
        work: Option<Work>,
        /// The evidence that the rules judge by.
        evidence: Box<Evidence>,
        /// Hashes of all elements that were looked at, batch by batch.
        spots: Vec<Spot>,
    },
    /// It failed, and could still say how.
    Failed(Failure),
    /// It cannot run here.
    Skipped(SkipReason),
}

impl ChildAnswer {
    /// Tells whether the process that says so can do nothing more on its device.
    pub(super) fn has_lost_its_device(&self) -> bool {
        matches!(self, Self::Failed(Failure { how: How::Device, .. }))
    }

    /// The answer as an outcome, and the hashes that came with it.
    pub(super) fn into_outcome(self) -> (Outcome, Vec<Spot>) {
        match self {
            Self::Measured { seen, work, evidence, spots } => {
                (Outcome::Measured { seen, work, evidence }, spots)
            }
            Self::Failed(failure) => (Outcome::Failed(failure), Vec::new()),
            Self::Skipped(why) => (Outcome::Skipped { why }, Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn a_greeting_of_another_version_is_understood_so_that_its_version_is_what_is_refused() {
        let hello: ChildMessage = json::read(br#"{"Hello":{"version":2}}"#).unwrap();
        assert_eq!(hello, ChildMessage::Hello { version: 2, debug: false });
    }
}
