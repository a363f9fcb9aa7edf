//! What other programs use of the processors while nothing of ours runs.

use std::fs;
use std::thread;
use std::time::Duration;

/// From this share on wall times say more of the machine than of what is measured.
const BUSY: f64 = 0.10;
/// The length of one look.
const WHILE: Duration = Duration::from_millis(500);

/// The largest share that was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Others(f64);

impl Others {
    /// Looks for half a second.
    pub(super) fn look(&mut self) {
        let before = Ticks::now();
        thread::sleep(WHILE);
        self.0 = self.0.max(Ticks::now().busy_since(before));
    }

    pub(super) fn share(self) -> f64 {
        self.0
    }

    pub(super) fn are_many(self) -> bool {
        self.0 > BUSY
    }
}

/// The ticks of all processors since the machine started. Both 0 where that is not told.
#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    all: u64,
    idle: u64,
}

impl Ticks {
    fn now() -> Self {
        Self::read(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Reads the first line: user, nice, system, idle, waiting for the disk, interrupts, soft ones, stolen
    /// (proc(5)). What guests use is part of the first two.
    fn read(text: &str) -> Self {
        let line = text.lines().next().and_then(|line| line.strip_prefix("cpu ")).unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().take(8).filter_map(|ticks| ticks.parse().ok()).collect();
        Self { all: ticks.iter().sum(), idle: ticks.iter().skip(3).take(2).sum() }
    }

    fn busy_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all);
        let idle = self.idle.saturating_sub(before.idle);
        if all == 0 { 0.0 } else { all.saturating_sub(idle) as f64 / all as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_what_was_not_idle_of_all_ticks() {
        let before = Ticks::read("cpu  100 0 50 800 50 0 0 0 7 7\ncpu0 1 2 3\n");
        let after = Ticks::read("cpu  120 0 60 850 60 0 0 10 9 9\n");
        assert!((after.busy_since(before) - 0.4).abs() < 1e-9, "{before:?} {after:?}");
        assert!(Ticks::read("").busy_since(Ticks::read("intr 1\n")).abs() < 1e-9);
    }
}
