//! How much one repeat measures, and what for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::UnstoppedEpoch;
use crate::metric::Entry;

/// The purpose of a repeat.
///
/// ```
/// use weighbridge::{Bencher, Budget, Purpose, Settings};
///
/// let bencher = Bencher::new(Settings::new(Purpose::Verify, Budget::SMOKE));
/// let calls = std::cell::Cell::new(0);
/// bencher.iter(|| calls.set(calls.get() + 1));
/// assert_eq!(calls.get(), 1, "what is verified is gone through once");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Take samples.
    Measure,
    /// Take none; go through everything once and hash every element that is delivered.
    Verify,
    /// See that it works at all, on as little as possible.
    Smoke,
}

/// The amount that a repeat measures.
///
/// ```
/// use std::time::Duration;
/// use weighbridge::{Bencher, Budget, Purpose, Settings};
///
/// let budget = Budget { warmup: 1, batches: 5, min_time: Duration::from_nanos(1), max_time: None };
/// let bencher = Bencher::new(Settings::new(Purpose::Measure, budget));
/// bencher.iter(|| std::hint::black_box(7_u64).pow(3));
/// assert_eq!(bencher.finish()?.seen.samples.len(), 5);
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Batches (streamed items, or blocks of iterations) left out at the start of each pass.
    pub warmup: u64,
    /// Batches of one pass at least, and the least that is measured.
    pub batches: u64,
    /// Passes repeat until this much has been measured.
    pub min_time: Duration,
    /// The most time that the samples of a body may take, with all that is done between them: a slow body
    /// gets fewer. `None`: 5 s, or `min_time` where that is more. A stream ends with the pass in which it has
    /// measured `min_time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
}

impl Budget {
    /// The least that shows that a case works: two batches.
    pub const SMOKE: Self = Self { warmup: 0, batches: 2, min_time: Duration::ZERO, max_time: None };

    /// The same with passes as long as [`PASS`], or as the epoch of `all` batches allows, where those that
    /// were asked for are shorter. `epoch` has what a batch takes.
    pub(super) fn stretched(self, epoch: &UnstoppedEpoch, all: Option<u64>) -> Self {
        let apart = epoch.begin.saturating_add(epoch.first).saturating_add(epoch.copied);
        let others = epoch.wall.saturating_sub(apart);
        let (Some(all), Some(each)) = (all, others.checked_div(epoch.batches.saturating_sub(1))) else {
            return self;
        };
        let pass = PASS.min(self.min_time / PASSES).as_nanos() as u64 / each.max(1);
        let room = all.saturating_sub(self.warmup.max(1) + 1); // the last batch may be a short one
        Self { batches: self.batches.max(pass.min(room)), ..self }
    }
}

/// The time that a pass over a stream takes. Between two passes the clock is stopped, counters are looked at,
/// and what was copied is put away. That leaves caches cold and threads asleep: it costs what is measured
/// 0.14 ms a pass, and 0.4 ms of CPU time where other threads make the batches. Of 25 ms this is under 2 %.
const PASS: Duration = Duration::from_millis(25);

/// The number of passes that are measured at least.
const PASSES: u32 = 10;

/// The part of its life that a repeat is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Making the adapter, the data, the pipeline.
    SetUp,
    /// Going through what is left out.
    WarmUp,
    /// Taking samples.
    Timed,
    /// All that comes after the last sample.
    TearDown,
}

impl Phase {
    /// The ledger entry that time of the phase is charged to, where nothing tells it apart.
    pub(super) fn entry(self) -> Entry {
        match self {
            Self::SetUp => Entry::Data,
            Self::WarmUp => Entry::WarmUp,
            Self::Timed => Entry::Measured,
            Self::TearDown => Entry::TearDown,
        }
    }

    /// The phase as people read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SetUp => "set-up",
            Self::WarmUp => "warm-up",
            Self::Timed => "timed region",
            Self::TearDown => "tear-down",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_takes_ten_milliseconds_a_tenth_of_what_is_measured_or_an_epoch_and_no_less_than_asked_for() {
        let budget = |milliseconds| Budget {
            warmup: 3,
            batches: 20,
            min_time: Duration::from_millis(milliseconds),
            max_time: None,
        };
        // 2 ms to begin, 3 ms for the first batch, and 100 us for each of 100 more, during which copies took
        // 1 ms.
        let epoch = UnstoppedEpoch {
            wall: 16_000_000,
            begin: 2_000_000,
            first: 3_000_000,
            copied: 1_000_000,
            batches: 101,
            ..UnstoppedEpoch::default()
        };
        let batches = |budget: Budget, all| budget.stretched(&epoch, all).batches;
        assert_eq!(batches(budget(100), Some(1_000)), 100);
        assert_eq!(batches(budget(50), Some(1_000)), 50);
        assert_eq!(batches(budget(100), Some(84)), 80, "three warm up, and the last batch may be short");
        assert_eq!(batches(budget(10), Some(1_000)), 20);
        assert_eq!(batches(budget(100), Some(10)), 20);
        assert_eq!(batches(budget(100), None), 20);
        let one = UnstoppedEpoch { batches: 1, ..epoch };
        assert_eq!(budget(100).stretched(&one, Some(1_000)).batches, 20, "what a batch takes is not known");
        let none = UnstoppedEpoch { wall: 0, ..epoch };
        assert_eq!(budget(100).stretched(&none, Some(1_000)).batches, 996, "and nothing is divided by");
    }
}
