//! Yardsticks: fixed work of three kinds, measured in the process and between the samples of the case.
//!
//! A processor that is slower today (a lower clock, a busy neighbour, a fuller memory bus) is so for a yardstick of the
//! same kind as well. A comparison with a stored baseline may divide by it, where that has proved to help.

use std::hint::black_box;
use std::time::Duration;

use super::watch::SampleWatch;
use super::{Budget, Purpose, Settings};
use crate::device::thread_time;
use crate::metric::{Observation, Yardsticks};
use crate::stats::SplitMix64;

/// One round of all kinds for so much measuring: with the sizes below about one part in twenty of the time.
const PAUSE: Duration = Duration::from_millis(25);

/// The most rounds at once, where a pass was long.
const MOST_ROUNDS: u32 = 4;

/// Steps of the chain. Each kind takes about half a millisecond on a processor of 3 GHz.
const STEPS: u64 = 300_000;

/// Numbers that are sorted at once: 16 KiB, half of the smallest first-level cache in use.
const NUMBERS: usize = 2_048;

/// How often they are sorted.
const SORTS: usize = 28;

/// How often memory is taken and given back.
const TAKES: usize = 2;

/// Bytes that are written and read each time: fresh pages.
const TOUCHED: usize = 512 << 10;

/// How often those are read again.
const READS: usize = 8;

/// Bytes that are asked for. More than 32 MiB, the most up to which glibc raises its own limits when such memory is
/// given back: the yardstick must not change how the case's memory is served. What is not touched costs nothing.
const ASKED: usize = 34 << 20;

/// The yardsticks of one repeat.
#[derive(Debug)]
pub(super) struct Yard {
    seen: Yardsticks,
    numbers: Vec<u64>,
    sorted: Vec<u64>,
    /// How much had been measured at the last round.
    last: Duration,
}

impl Yard {
    /// The yardsticks of a repeat that measures, warmed, with the first round taken; `None` for another one, and for a profiler,
    /// who is to see the body alone.
    pub(super) fn begin(settings: &Settings, budget: Budget) -> Option<Self> {
        if settings.purpose != Purpose::Measure || settings.profiled || budget.min_time.is_zero() {
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

    /// Takes a round, or a few, if so much has been measured since the last that one is due. Never within a window. Whoever
    /// watches the subject is told that this is none of it.
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

    /// Takes the last round, unless one was taken between samples and none is due since; what was seen goes into the
    /// observation. A round takes a tenth of what a short body's repeat takes beside what it measures.
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
        sort(&self.numbers, &mut self.sorted);
        let sorted = thread_time();
        let streamed = stream().then(thread_time);
        self.seen.chain.push((chained - start).as_nanos() as u64);
        self.seen.sort.push((sorted - chained).as_nanos() as u64);
        if let Some(streamed) = streamed {
            self.seen.stream.push((streamed - sorted).as_nanos() as u64);
        }
    }
}

/// A part of each kind, so that the first round finds its code and its numbers in the caches. A whole round would take a short
/// body's repeat longer than anything else does beside the body.
fn warm(numbers: &[u64], sorted: &mut [u64]) {
    black_box(chain(black_box(STEPS / 8)));
    sorted.copy_from_slice(numbers);
    black_box(sorted).sort_unstable();
    touch(TOUCHED / 8);
}

/// Each step needs the product of the one before, so nothing overlaps.
fn chain(steps: u64) -> u64 {
    let mut value = 1u64;
    for _ in 0..steps {
        value = (value ^ (value >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    value
}

fn sort(numbers: &[u64], sorted: &mut [u64]) {
    for _ in 0..SORTS {
        sorted.copy_from_slice(numbers);
        black_box(&mut *sorted).sort_unstable();
    }
}

/// `false` where so much memory may not be asked for.
fn stream() -> bool {
    (0..TAKES).all(|_| touch(TOUCHED))
}

/// Takes memory, writes and reads so many bytes of it, and gives it back.
fn touch(bytes: usize) -> bool {
    let mut words: Vec<u64> = Vec::new();
    if words.try_reserve_exact(ASKED / 8).is_err() {
        return false;
    }
    words.resize(bytes / 8, 3);
    let mut sum = 0u64;
    for _ in 0..READS {
        for word in black_box(&words) {
            sum = sum.wrapping_add(*word);
        }
    }
    black_box(sum);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget =
        Budget { warmup: 1, batches: 1, min_time: Duration::from_millis(1), max_time: None };

    #[test]
    fn only_a_repeat_that_measures_has_yardsticks() {
        let begin = |purpose, budget, profiled| {
            Yard::begin(&Settings { profiled, ..Settings::new(purpose, budget) }, budget)
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
        for (measured, rounds) in [(24, 1), (25, 2), (49, 2), (50, 3), (100, 5), (10_000, 9)] {
            yard.between(Duration::from_millis(measured), None);
            assert_eq!(yard.seen.chain.len(), rounds, "{measured} ms");
        }
        assert_eq!(rounds_of(yard, 10_024), [9; 3], "the last is not long ago");

        let mut yard = begin();
        yard.between(Duration::from_millis(25), None);
        assert_eq!(rounds_of(yard, 60), [3; 3]);
    }

    #[test]
    fn the_chain_does_not_run_into_a_fixed_point() {
        let ends: Vec<u64> = (1_000..1_004).map(chain).collect();
        assert!(ends.windows(2).all(|pair| pair[0] != pair[1]), "{ends:?}");
        assert!(chain(STEPS) > 1 << 40);
    }
}
