//! Now, in nanoseconds since the state was reset: moved by calls and waits, or the host's own.

use std::time::{Duration, Instant};

/// Whose time passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Moves by what calls cost and to what waits wait for: tests know every number.
    Virtual(u64),
    /// The host's, from an instant.
    Real(Instant),
}

impl Clock {
    pub fn now(&self) -> u64 {
        match self {
            Self::Virtual(now) => *now,
            Self::Real(origin) => origin.elapsed().as_nanos() as u64,
        }
    }

    /// A call costs its caller time.
    pub fn spend(&mut self, ns: u64) {
        match self {
            Self::Virtual(now) => *now += ns,
            Self::Real(_) => {
                let until = self.now() + ns;
                while self.now() < until {
                    std::hint::spin_loop();
                }
            }
        }
    }

    /// Moves a virtual clock to a later time; does nothing to the host's.
    pub fn reach(&mut self, time: u64) {
        if let Self::Virtual(now) = self {
            *now = time.max(*now);
        }
    }
}

/// How long a waiting call may leave the lock to others: short enough to be on time, most of the way slept.
pub fn nap(remaining_ns: u64) -> Duration {
    if remaining_ns > 200_000 { Duration::from_nanos(remaining_ns - 100_000) } else { Duration::ZERO }
}
