//! A block: some iterations timed together, and what the operating system counted meanwhile.

use serde::{Deserialize, Serialize};

/// One timed block of iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// How many iterations it had.
    pub iterations: u64,
    /// Wall time of all of them, in nanoseconds.
    pub wall: u64,
    /// Time that the measuring thread was on a processor, in nanoseconds.
    pub thread: u64,
    /// Time that all threads of the process were on a processor, in nanoseconds.
    pub cpu: u64,
    /// Times a thread of the process was taken off its processor.
    pub preemptions: u64,
    /// Times the measuring thread gave its processor up: it waited for something.
    pub waits: u64,
    /// Page faults served without the disk.
    pub faults: u64,
}
