//! What the yardsticks of a repeat took: fixed work, measured beside the case's.

use serde::{Deserialize, Serialize};

/// CPU time of each block of each kind of yardstick, in nanoseconds and in order. Empty where none were
/// measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Yardsticks {
    /// A chain of arithmetic in which each step waits for the one before.
    pub chain: Vec<u64>,
    /// Sorting numbers that lie in the nearest cache.
    pub sort: Vec<u64>,
    /// Taking fresh memory, writing and reading it.
    pub stream: Vec<u64>,
}

impl Yardsticks {
    /// The names of the kinds, in the order of [`Yardsticks::blocks`].
    pub const KINDS: [&str; 3] = ["chain", "sort", "stream"];

    /// The blocks of each kind.
    pub fn blocks(&self) -> [&[u64]; 3] {
        [&self.chain, &self.sort, &self.stream]
    }
}
