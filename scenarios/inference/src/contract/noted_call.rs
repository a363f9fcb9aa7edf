//! A call whose answer was noted while it was timed.

use std::ops::Range;

/// The answer of a call to some of its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct NotedCall {
    /// The number of the epoch.
    pub epoch: u64,
    /// The place of the call in it.
    pub call: u64,
    /// The samples that were noted.
    pub samples: Range<usize>,
    /// The answer to them.
    pub answer: NotedAnswer,
}

/// The answer of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum NotedAnswer {
    /// Rows of logits.
    Logits(Vec<f32>),
    /// Ids that were generated, sample by sample.
    Tokens(Vec<i32>),
}
