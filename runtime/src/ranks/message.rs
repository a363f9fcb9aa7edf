//! What ranks say to the coordinator, and what it says to them: frames of JSON over TCP.

use serde::{Deserialize, Serialize};

use super::RankFacts;

/// The version of what ranks say to each other: the first thing that one says.
pub(super) const VERSION: u32 = 1;

/// Nobody says more in one frame than this before it is known who it is.
pub(super) const LONGEST_OF_STRANGERS: u32 = 1 << 20;

/// A frame of a rank is no longer than this.
pub(super) const LONGEST: u32 = 256 << 20;

/// Message to the coordinator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum RankMessage {
    /// A rank joins.
    Join { version: u32, token: String, rank: usize, ranks: usize, facts: Box<RankFacts> },
    /// The measuring process of a rank is here, for this turn.
    Measure { token: String, rank: usize, turn: u64 },
    /// A question for the time there.
    Ping,
    /// It waits for the others. Rank 0's word goes to all.
    Arrive { word: Option<String> },
    /// The measuring process of a rank has ended with this turn; why, where it failed.
    Ended { turn: u64, why: Option<String> },
    /// The outcome of the turn.
    Answer { turn: u64, body: String },
}

/// Message from the coordinator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum RankReply {
    /// It is known who it is.
    Welcome,
    /// It cannot take part.
    Refused { why: String, stranger: bool },
    /// The time by the coordinator's clock, in nanoseconds.
    Pong { at: u64 },
    /// All have come: go.
    Release { word: Option<String> },
    /// Not all will come.
    Broken { why: String },
    /// The next turn.
    Order { turn: u64, body: String },
    /// The run is over; why, where it did not come to its end.
    Over { why: Option<String> },
}
