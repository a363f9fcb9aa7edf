//! Time in which this machine slept, or this process was stopped: nobody is late for it, and what was
//! measured meanwhile is measured again.

use std::time::{Duration, Instant};

use crate::device::time_asleep;

/// Who looks again so much later than he was to was stopped meanwhile.
const STOPPED: Duration = Duration::from_secs(2);

/// Less than this is no sleep.
const ASLEEP: Duration = Duration::from_millis(500);

/// The time away from a repeat so far.
#[derive(Debug)]
pub(super) struct Absence {
    /// The last look.
    looked: Instant,
    asleep: Duration,
    away: Duration,
}

impl Absence {
    pub(super) fn new() -> Self {
        Self { looked: Instant::now(), asleep: time_asleep(), away: Duration::ZERO }
    }

    /// So long an absence.
    #[cfg(test)]
    pub(super) fn of(away: Duration) -> Self {
        Self { away, ..Self::new() }
    }

    /// Looks again, which was to be after `most` at most.
    pub(super) fn look(&mut self, most: Duration) {
        let passed = self.looked.elapsed();
        self.looked += passed;
        self.note(passed.saturating_sub(most), time_asleep());
    }

    /// Begins to look after a while in which nobody did.
    pub(super) fn look_anew(&mut self) {
        self.looked = Instant::now();
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
        let mut absence = Absence { asleep: Duration::from_secs(100), ..Absence::new() };
        absence.note(Duration::from_millis(900), Duration::from_secs(100));
        assert_eq!(absence.away(), Duration::ZERO);
        absence.note(Duration::from_secs(15), Duration::from_secs(100));
        assert_eq!(absence.away(), Duration::from_secs(15));
        absence.note(Duration::ZERO, Duration::from_secs(107));
        assert_eq!(absence.away(), Duration::from_secs(22));
    }
}
