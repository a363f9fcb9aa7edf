//! When a case with a target has enough: processes until the interval is narrow, iterations per process by
//! what the first processes showed.

use std::time::Duration;

use super::{Outcome, Repeat};
use crate::bencher::{Budget, Purpose};
use crate::metric::METRICS;
use crate::metric::names;
use crate::stats;

/// Processes that show how the two levels vary (Kalibera and Jones, ISMM 2013, ask for a pilot of a few).
const PILOT: usize = 3;

/// The level of the interval: that of every interval that is printed.
const LEVEL: f64 = 0.95;

/// A repeat has at least so many samples, or its stationarity could not be told.
const LEAST_SAMPLES: u64 = 8;

/// A repeat takes at most so many times as long as the profile asks: a pilot of three processes that happen
/// to agree would ask for one process without end.
const LONGEST: u32 = 10;

/// The repeats of one case so far.
#[derive(Debug, Default)]
pub(super) struct CaseRepeats {
    /// Values of the metric that is to stand for the case.
    values: Vec<f64>,
    /// Samples of the pilot's processes, in seconds.
    samples: Vec<Vec<f64>>,
    /// Seconds that a process took beside its measured windows, and seconds of all samples of the pilot.
    beside: f64,
    sampled: f64,
}

impl CaseRepeats {
    /// Takes in a measured repeat that ended well.
    pub(super) fn add(&mut self, repeat: &Repeat) {
        let Outcome::Measured { seen, .. } = &repeat.outcome else { return };
        if repeat.purpose == Purpose::Verify {
            return;
        }
        let value = |name: &str| {
            let metric = METRICS.iter().find(|metric| metric.name == name)?;
            (metric.read)(seen).value()
        };
        self.values.extend(value(names::THROUGHPUT).or_else(|| value(names::WALL_TIME)));
        if self.samples.len() < PILOT {
            self.beside += (repeat.slot.saturating_sub(seen.wall)) as f64 * 1e-9;
            self.sampled += seen.wall as f64 * 1e-9;
            self.samples.push(seen.samples.iter().map(|sample| *sample as f64 * 1e-9).collect());
        }
    }

    /// Tells whether half the width of the interval is at most this share of the median. Needs the six
    /// repeats of an interval.
    pub(super) fn meets(&self, target: f64) -> bool {
        half_width(&self.values).is_some_and(|half| half <= target)
    }

    /// The budget of the next repeat: with as many samples as make the most of the time, once the pilot has
    /// run. A pass of the profile stays the least, and ten times its time the most. Without a pilot, and
    /// where processes differ no more than their own samples explain, those of the profile.
    pub(super) fn budget(&self, profile: Budget) -> Budget {
        let count: usize = self.samples.iter().map(Vec::len).sum();
        if self.samples.len() < PILOT || count == 0 {
            return profile;
        }
        let (process, sample) = (self.beside / PILOT as f64, self.sampled / count as f64);
        let best = stats::variances(&self.samples)
            .and_then(|of| stats::kalibera_jones(process, sample, of.within, of.between));
        let Some(best) = best else { return profile };
        let time = Duration::try_from_secs_f64(best.max(LEAST_SAMPLES) as f64 * sample);
        let min_time = time.map_or(profile.min_time, |time| time.min(profile.min_time * LONGEST));
        Budget { min_time, ..profile }
    }
}

/// Half the width of the interval of the median, as a share of it; `None` below six values.
pub(crate) fn half_width(values: &[f64]) -> Option<f64> {
    let (low, high) = stats::median_interval(values, LEVEL)?;
    let median = stats::median(values).abs();
    (median > 0.0).then(|| (high - low) / 2.0 / median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{Observation, SampleKind};

    const PROFILE: Budget =
        Budget { warmup: 0, batches: 20, min_time: Duration::from_millis(500), max_time: None };

    /// A repeat of twenty samples around so many microseconds, each off by up to `within`; its process took a
    /// second beside them.
    fn repeat(number: u32, centre: u64, within: u64) -> Repeat {
        let samples: Vec<u64> =
            (0..20).map(|at| (centre + (at * 7 + u64::from(number)) % 20 * within / 20) * 1000).collect();
        let wall = samples.iter().sum();
        let seen = Observation {
            taken: Some(SampleKind::Iterations),
            samples,
            iterations_per_sample: 1,
            wall,
            ..Observation::default()
        };
        let outcome = Outcome::Measured { seen: Box::new(seen), work: None, evidence: Box::default() };
        let (purpose, slot) = (Purpose::Measure, wall + 1_000_000_000);
        Repeat { number, purpose, slot, start: None, tree: None, utilisation: None, surroundings: 0, outcome }
    }

    fn seen(centres: &[u64], within: u64) -> CaseRepeats {
        let mut seen = CaseRepeats::default();
        for (number, centre) in (1..).zip(centres) {
            seen.add(&repeat(number, *centre, within));
        }
        seen
    }

    #[test]
    fn the_target_is_met_once_half_the_interval_is_within_it() {
        let close = [1000, 1001, 1002, 1003, 1004, 1005];
        assert!(seen(&close, 0).meets(0.01));
        assert!(!seen(&close, 0).meets(0.001));
        assert!(!seen(&close[..5], 0).meets(0.5), "below six repeats there is no interval");
        assert!(!CaseRepeats::default().meets(0.5));
    }

    #[test]
    fn processes_that_differ_much_are_made_short_and_many() {
        let budget = seen(&[1000, 1300, 1600], 20).budget(PROFILE);
        assert_eq!(budget.batches, PROFILE.batches);
        assert!(budget.min_time < Duration::from_millis(20), "{budget:?}");
    }

    #[test]
    fn processes_that_hardly_differ_are_made_long_within_a_bound() {
        let budget = seen(&[1000, 1500, 2000], 20_000_000).budget(PROFILE);
        assert!(budget.min_time <= PROFILE.min_time * LONGEST, "{budget:?}");
        assert_eq!(seen(&[1000, 1000, 1000], 100).budget(PROFILE), PROFILE, "no difference: the profile's");
        assert_eq!(seen(&[1000, 1300], 20).budget(PROFILE), PROFILE, "no pilot yet");
    }
}
