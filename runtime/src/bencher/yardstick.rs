//! Yardsticks: fixed work of three kinds, measured in the process and between the samples of the case.
//!
//! A processor that is slower today (a lower clock, a busy neighbour, a fuller memory bus) is so for a
//! yardstick of the same kind as well. A comparison with a stored baseline may divide by it, where that has
//! proved to help.

use std::hint::black_box;
use std::time::Duration;

use weighbridge_yardsticks::{chain, sort, touch};

use super::watch::SampleWatch;
use super::{Budget, Purpose, Settings};
use crate::device::thread_time;
use crate::metric::{Observation, Yardsticks};
use crate::stats::SplitMix64;

/// One round of all kinds for so much measuring: with the sizes below about one part in thirty of the time,
/// and three rounds beside a body that is measured for 100 ms.
const PAUSE: Duration = Duration::from_millis(40);

/// The most rounds at once, where a pass was long.
const MOST_ROUNDS: u32 = 4;

/// Steps of the chain. Each kind takes about half a millisecond on a processor of 3 GHz.
const STEPS: u64 = 300_000;

/// Numbers that are sorted at once: 16 KiB, half of the smallest first-level cache in use.
const NUMBERS: usize = 2_048;

/// The number of times that they are sorted.
const SORTS: usize = 28;

/// The number of times that memory is taken and given back.
const TAKES: usize = 2;

/// Bytes that are written and read each time: fresh pages.
const TOUCHED: usize = 512 << 10;

/// The number of times that those are read again.
const READS: usize = 8;

/// The yardsticks of one repeat.
#[derive(Debug)]
pub(super) struct Yard {
    seen: Yardsticks,
    numbers: Vec<u64>,
    sorted: Vec<u64>,
    /// The time that had been measured at the last round.
    last: Duration,
}

impl Yard {
    /// The yardsticks of a repeat that measures, warmed, with the first round taken; `None` for another one,
    /// and for a profiler, who is to see the body alone.
    pub(super) fn begin(settings: &Settings, budget: Budget) -> Option<Self> {
        if settings.purpose != Purpose::Measure || settings.run.profiled || budget.min_time.is_zero() {
            return None;
        }
        let mut random = SplitMix64::new(1);
        let numbers: Vec<u64> = (0..NUMBERS).map(|_| random.draw()).collect();
        let mut yard =
            Self { seen: Yardsticks::default(), sorted: numbers.clone(), numbers, last: Duration::ZERO };
        warm(&yard.numbers, &mut yard.sorted);
        yard.round();
        Some(yard)
    }

    /// Takes a round, or a few, if so much has been measured since the last that one is due. Never within a
    /// window. Whoever watches the subject is told that this is none of it.
    pub(super) fn between(&mut self, measured: Duration, watch: Option<&mut SampleWatch>) {
        let due = measured.saturating_sub(self.last).as_nanos() / PAUSE.as_nanos();
        if due == 0 {
            return;
        }
        self.last = measured;
        let mut rounds = || (0..due.min(u128::from(MOST_ROUNDS))).for_each(|_| self.round());
        match watch {
            Some(watch) => watch.apart(rounds),
            None => rounds(),
        }
    }

    /// Takes the last round, unless one was taken between samples and none is due since; what was seen goes
    /// into the observation. A round takes a tenth of what a short body's repeat takes beside what it
    /// measures.
    pub(super) fn end(mut self, measured: Duration, seen: &mut Observation) {
        if self.last.is_zero() || measured.saturating_sub(self.last) >= PAUSE {
            self.round();
        }
        seen.yardsticks = self.seen;
    }

    fn round(&mut self) {
        let start = thread_time();
        black_box(chain(black_box(STEPS)));
        let chained = thread_time();
        sort(&self.numbers, &mut self.sorted, SORTS);
        let sorted = thread_time();
        let streamed = (0..TAKES).all(|_| touch(TOUCHED, READS)).then(thread_time);
        self.seen.chain.push((chained - start).as_nanos() as u64);
        self.seen.sort.push((sorted - chained).as_nanos() as u64);
        if let Some(streamed) = streamed {
            self.seen.stream.push((streamed - sorted).as_nanos() as u64);
        }
    }
}

/// A part of each kind, so that the first round finds its code and its numbers in the caches. A whole round
/// would take a short body's repeat longer than anything else does beside the body.
fn warm(numbers: &[u64], sorted: &mut [u64]) {
    black_box(chain(black_box(STEPS / 8)));
    sort(numbers, sorted, 1);
    touch(TOUCHED / 8, READS);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::RunSettings;

    const BUDGET: Budget =
        Budget { warmup: 1, batches: 1, min_time: Duration::from_millis(1), max_time: None };

    #[test]
    fn only_a_repeat_that_measures_has_yardsticks() {
        let begin = |purpose, budget, profiled| {
            Yard::begin(
                &Settings {
                    run: RunSettings { profiled, ..RunSettings::DEFAULT },
                    ..Settings::new(purpose, budget)
                },
                budget,
            )
        };
        assert!(begin(Purpose::Verify, BUDGET, false).is_none());
        assert!(begin(Purpose::Smoke, BUDGET, false).is_none());
        assert!(begin(Purpose::Measure, Budget::SMOKE, false).is_none());
        assert!(begin(Purpose::Measure, BUDGET, true).is_none(), "a profiler sees the body alone");
        assert!(begin(Purpose::Measure, BUDGET, false).is_some());
    }

    #[test]
    fn a_round_is_due_for_every_so_much_measuring_and_at_both_ends() {
        let begin = || Yard::begin(&Settings::new(Purpose::Measure, BUDGET), BUDGET).unwrap();
        let rounds_of = |yard: Yard, measured| {
            let mut seen = Observation::default();
            yard.end(Duration::from_millis(measured), &mut seen);
            assert!(seen.yardsticks.blocks().iter().flat_map(|blocks| blocks.iter()).all(|block| *block > 0));
            seen.yardsticks.blocks().map(<[u64]>::len)
        };
        assert_eq!(rounds_of(begin(), 3), [2; 3], "a short body has one before and one after");

        let mut yard = begin();
        for (measured, rounds) in [(39, 1), (40, 2), (79, 2), (80, 3), (160, 5), (10_000, 9)] {
            yard.between(Duration::from_millis(measured), None);
            assert_eq!(yard.seen.chain.len(), rounds, "{measured} ms");
        }
        assert_eq!(rounds_of(yard, 10_039), [9; 3], "the last is not long ago");

        let mut yard = begin();
        yard.between(Duration::from_millis(40), None);
        assert_eq!(rounds_of(yard, 80), [3; 3]);
    }
}
