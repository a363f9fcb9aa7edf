//! The clock that is handed in, so that no stage reads time by itself and tests need no sleeping.

#[cfg(test)]
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use std::time::{Duration, Instant};

use super::usage::{processor_time, thread_time};

/// A monotonic clock: time since an arbitrary fixed moment.
#[derive(Clone, Debug)]
pub struct Clock(ClockSource);

#[derive(Clone, Debug)]
enum ClockSource {
    Monotonic(Instant),
    #[cfg(test)]
    Manual(ManualClock),
}

/// The hand that turns a manual clock, from any thread. Only for tests, so that a real clock is read without
/// asking what it is.
#[cfg(test)]
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    now: Arc<AtomicU64>,
    others: Arc<AtomicU64>,
}

#[cfg(test)]
impl ManualClock {
    /// A clock that shows what this hand is set to.
    pub fn clock(&self) -> Clock {
        Clock(ClockSource::Manual(self.clone()))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.now.fetch_add(by.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Lets other threads have been on a processor for so much longer.
    pub fn work(&self, by: Duration) {
        self.others.fetch_add(by.as_nanos() as u64, Ordering::Relaxed);
    }
}

impl Clock {
    /// `CLOCK_MONOTONIC` through [`Instant`]: about 20 ns a reading, no system call on Linux.
    pub fn monotonic() -> Self {
        Self(ClockSource::Monotonic(Instant::now()))
    }

    /// The time now.
    #[inline]
    pub fn now(&self) -> Duration {
        match &self.0 {
            ClockSource::Monotonic(base) => base.elapsed(),
            #[cfg(test)]
            ClockSource::Manual(hand) => Duration::from_nanos(hand.now.load(Ordering::Relaxed)),
        }
    }

    /// Time since the machine was started by the kernel's own count, which no library of the process answers
    /// for, in steps of 10 ms; `None` where the system does not tell, and of a clock that is set by hand.
    pub fn since_start(&self) -> Option<Duration> {
        match &self.0 {
            ClockSource::Monotonic(_) => {
                let text = std::fs::read_to_string("/proc/uptime").ok()?;
                let seconds: f64 = text.split(' ').next()?.parse().ok()?;
                Duration::try_from_secs_f64(seconds).ok()
            }
            #[cfg(test)]
            ClockSource::Manual(_) => None,
        }
    }

    /// Time that all threads of this process but the calling one have been on a processor.
    pub fn others(&self) -> Duration {
        match &self.0 {
            ClockSource::Monotonic(_) => processor_time().saturating_sub(thread_time()),
            #[cfg(test)]
            ClockSource::Manual(hand) => Duration::from_nanos(hand.others.load(Ordering::Relaxed)),
        }
    }

    /// The name of the clock.
    pub fn name(&self) -> &'static str {
        match self.0 {
            ClockSource::Monotonic(_) => "CLOCK_MONOTONIC",
            #[cfg(test)]
            ClockSource::Manual(_) => "by hand",
        }
    }

    /// The cost of a pair of readings: the median over some hundred rounds of many pairs, each timed as a
    /// whole.
    pub fn pair(&self) -> Duration {
        const PAIRS: u32 = 64;
        let mut rounds = [Duration::ZERO; 255];
        for round in &mut rounds {
            let start = self.now();
            for _ in 0..PAIRS {
                std::hint::black_box(self.now());
                std::hint::black_box(self.now());
            }
            *round = (self.now() - start) / PAIRS;
        }
        rounds.sort_unstable();
        rounds[rounds.len() / 2]
    }

    /// The smallest step the clock was seen to make over a few hundred pairs of readings.
    ///
    /// A manual clock does not step by itself: its resolution is one nanosecond.
    pub fn resolution(&self) -> Duration {
        #[cfg(test)]
        if matches!(self.0, ClockSource::Manual(_)) {
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
        assert!(clock.pair() > Duration::ZERO);
        assert_eq!(clock.name(), "CLOCK_MONOTONIC");
    }
}
