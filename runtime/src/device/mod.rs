//! Ground: what the machine offers for measuring. Clocks, resource counters, memory of a process tree.
//!
//! Nothing here knows what a scenario is. Everything reads the operating system and hands back plain
//! values; what could not be read is an error with its reason, never a zero.

mod alloc;
mod clock;
mod load;
mod memory;
mod noise;
mod perf;
mod usage;

pub use alloc::{Allocated, Counting};
pub use clock::Clock;
#[cfg(test)]
pub use clock::ManualClock;
pub use load::load_average;
pub use memory::{ProcessTree, available_memory, peak_memory, resident_memory};
pub use noise::{Lost, Noise, NoiseReader, Scheduled, frequency};
pub use perf::HardwareCounters;
pub use usage::{Moved, Usage, thread_time, thread_waits};
