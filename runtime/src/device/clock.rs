//! The clock that is handed in, so that no stage reads time by itself and tests need no sleeping.

#[cfg(test)]
use std::{cell::Cell, rc::Rc};

use std::time::{Duration, Instant};

/// A monotonic clock: time since an arbitrary fixed moment.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    Monotonic(Instant),
    #[cfg(test)]
    Manual(Rc<Cell<Duration>>),
}

/// The hand that turns a manual clock. Only for tests, so that a real clock is read without asking what it is.
#[cfg(test)]
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Rc<Cell<Duration>>);

#[cfg(test)]
impl ManualClock {
    /// A clock that shows what this hand is set to.
    pub fn clock(&self) -> Clock {
        Clock(Source::Manual(self.0.clone()))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.set(self.0.get() + by);
    }
}

impl Clock {
    /// `CLOCK_MONOTONIC` through [`Instant`]: about 20 ns a reading, no system call on Linux.
    pub fn monotonic() -> Self {
        Self(Source::Monotonic(Instant::now()))
    }

    /// The time now.
    #[inline]
    pub fn now(&self) -> Duration {
        match &self.0 {
            Source::Monotonic(base) => base.elapsed(),
            #[cfg(test)]
            Source::Manual(hand) => hand.get(),
        }
    }

    /// The smallest step the clock was seen to make over a few hundred pairs of readings.
    ///
    /// A manual clock does not step by itself: its resolution is one nanosecond.
    pub fn resolution(&self) -> Duration {
        #[cfg(test)]
        if matches!(self.0, Source::Manual(_)) {
            return Duration::from_nanos(1);
        }
        let step = || {
            let start = self.now();
            loop {
                let step = self.now() - start;
                if !step.is_zero() {
                    break step;
                }
            }
        };
        (0..256).map(|_| step()).min().unwrap_or(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_it_is_moved() {
        let hand = ManualClock::default();
        let clock = hand.clock();
        assert_eq!(clock.now(), clock.now());
        hand.advance(Duration::from_millis(3));
        assert_eq!(clock.now(), Duration::from_millis(3));
    }

    #[test]
    fn the_monotonic_clock_never_steps_back_and_has_a_resolution() {
        let clock = Clock::monotonic();
        let stamps: Vec<_> = (0..1000).map(|_| clock.now()).collect();
        assert!(stamps.is_sorted());
        assert!(clock.resolution() > Duration::ZERO);
    }
}
