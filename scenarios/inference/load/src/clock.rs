//! Stamps of the monotonic clock, the same for every thread and process of the machine.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// A moment: nanoseconds of the machine's monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    /// This moment.
    pub fn now() -> Self {
        Self(nanoseconds(ClockId::CLOCK_MONOTONIC))
    }

    /// The nanoseconds from an earlier moment to this one; 0 where it is later.
    pub fn since(self, earlier: Stamp) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment so much later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Stamp {
        Stamp(self.0.saturating_add(duration.as_nanos() as u64))
    }
}

/// The nanoseconds that this thread has had a processor.
pub(crate) fn thread_time() -> u64 {
    nanoseconds(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// A clock that every kernel has since Linux 2.6: it does not fail.
fn nanoseconds(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}
