//! Time in which this machine slept, or this process was stopped: nobody is late for it, and what was
//! measured meanwhile is measured again.

use std::time::{Duration, Instant};

use crate::device::time_asleep;

/// A wait that takes so much longer than it was to take was none: the process was stopped meanwhile.
const STOPPED: Duration = Duration::from_secs(2);

/// Less than this is no sleep.
const ASLEEP: Duration = Duration::from_millis(500);

/// The time away from a repeat so far.
#[derive(Debug)]
pub(super) struct Absence {
    asleep: Duration,
    away: Duration,
}

impl Absence {
    pub(super) fn new() -> Self {
        Self { asleep: time_asleep(), away: Duration::ZERO }
    }

    /// So long an absence.
    #[cfg(test)]
    pub(super) fn of(away: Duration) -> Self {
        Self { away, ..Self::new() }
    }

    /// Waits for as long as `wait` does, which is to take `most`, and notes what it took beyond that.
    pub(super) fn during<T>(&mut self, most: Duration, wait: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let came = wait();
        self.note(begun.elapsed().saturating_sub(most), time_asleep());
        came
    }

    fn note(&mut self, over: Duration, asleep: Duration) {
        // Both are read at two moments: less than this may lie between them.
        let told = |time: Duration, least: Duration| if time >= least { time } else { Duration::ZERO };
        self.away += told(over, STOPPED) + told(asleep.saturating_sub(self.asleep), ASLEEP);
        self.asleep = asleep.max(self.asleep);
    }

    /// All of it.
    pub(super) fn away(&self) -> Duration {
        self.away
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_and_stops_are_told_and_a_wait_on_a_busy_machine_is_none() {
        let mut absence = Absence { asleep: Duration::from_secs(100), away: Duration::ZERO };
        absence.note(Duration::from_millis(900), Duration::from_secs(100));
        assert_eq!(absence.away(), Duration::ZERO);
        absence.note(Duration::from_secs(15), Duration::from_secs(100));
        assert_eq!(absence.away(), Duration::from_secs(15));
        absence.note(Duration::ZERO, Duration::from_secs(107));
        assert_eq!(absence.away(), Duration::from_secs(22));
        assert_eq!(Absence::new().during(Duration::ZERO, || 7), 7);
    }
}
