//! A block: some iterations timed together, and what the operating system counted meanwhile.

use serde::{Deserialize, Serialize};

/// One timed block of iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The number of iterations it had.
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
    /// Nanoseconds in which the measuring thread was ready to run and waited for a processor; `None` where
    /// the kernel does not say, and of several threads.
    pub delayed: Option<u64>,
    /// Whose clock its wall time is by.
    pub by: TimedBy,
}

/// Whose clock a time is by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimedBy {
    /// The host's.
    #[default]
    Host,
    /// A device's: what the operating system did to the threads of the process meanwhile is no part of it.
    Device,
    /// A fake's for a device, which runs as fast as it likes.
    Fake,
}

impl Block {
    /// The same with what the operating system counted in another block. Iterations and wall time stay.
    #[must_use]
    pub fn counting(self, other: &Self) -> Self {
        Self {
            thread: self.thread + other.thread,
            cpu: self.cpu + other.cpu,
            preemptions: self.preemptions + other.preemptions,
            waits: self.waits + other.waits,
            faults: self.faults + other.faults,
            ..self
        }
    }
}
