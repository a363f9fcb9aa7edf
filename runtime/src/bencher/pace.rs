//! Who says how many iterations the next block has: the budget of the repeat, or somebody outside.

use serde::{Deserialize, Serialize};

use crate::metric::Block;

/// Paces a body from outside, block by block: how two processes are measured in turns.
pub trait Pace {
    /// Hears, before the first block, what the author states of one iteration.
    fn ready(&mut self, work: PerIteration);

    /// The number of iterations the next block has; `None` ends the measuring. May wait as long as it likes.
    fn next(&mut self) -> Option<u64>;

    /// Takes in what the block was.
    fn took(&mut self, block: Block);
}

/// The work of one iteration, as its author states it. 0: not stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerIteration {
    /// Elements that it handles.
    pub elements: u64,
    /// Bytes that it moves.
    pub bytes: u64,
    /// Floating-point operations that it does.
    pub flops: u64,
}

impl PerIteration {
    /// The work of so many iterations.
    pub(super) fn times(self, count: u64) -> Self {
        Self { elements: self.elements * count, bytes: self.bytes * count, flops: self.flops * count }
    }

    /// The work of both together.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            elements: self.elements + other.elements,
            bytes: self.bytes + other.bytes,
            flops: self.flops + other.flops,
        }
    }
}
