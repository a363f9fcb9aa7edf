//! When there are enough samples.

use std::time::Duration;

use crate::metric::SamplingEnd;
use crate::stats;

/// The least samples whose interval is looked at.
pub(super) const LEAST: u64 = 10;

/// Half the width of the interval of the median, as a share of it, that is narrow.
const NARROW: f64 = 0.01;

/// The level of every interval that is printed.
const LEVEL: f64 = 0.95;

/// From so many samples on the spread is asked whether it still changes, and again after so many more:
/// nvbench's rule of the standard deviation asks alike.
const STABLE_FROM: usize = 64;
const STABLE_EVERY: usize = 16;

/// The number of estimates of the spread that must agree, and how closely.
const AGREEING: usize = 4;
const AGREE: f64 = 0.05;

/// The budget, by the least time of the profile.
const BUDGET: u32 = 4;

/// Decides when sampling ends.
#[derive(Debug)]
pub(super) struct StoppingRule {
    least: u64,
    min_time: Duration,
    /// Relative spreads that were found so far.
    spreads: Vec<f64>,
}

impl StoppingRule {
    /// At least so many samples and so much time; at most four times as much.
    pub(super) fn new(least: u64, min_time: Duration) -> Self {
        Self { least, min_time, spreads: Vec::new() }
    }

    /// Tells whether these samples, which took so long together, are enough, and why.
    pub(super) fn enough(&mut self, times: &[f64], spent: Duration) -> Option<SamplingEnd> {
        let count = times.len();
        if (count as u64) < self.least {
            return None;
        }
        if self.min_time.is_zero() {
            return Some(SamplingEnd::Asked);
        }
        if count >= STABLE_FROM && count.is_multiple_of(STABLE_EVERY) {
            self.spreads.push(stats::coefficient_of_variation(times));
        }
        if spent < self.min_time {
            return None;
        }
        if count as u64 >= LEAST && half_width(times).is_some_and(|half| half < NARROW) {
            return Some(SamplingEnd::Narrow);
        }
        if self.is_stable() {
            return Some(SamplingEnd::Stable);
        }
        (spent >= self.min_time * BUDGET).then_some(SamplingEnd::Budget)
    }

    fn is_stable(&self) -> bool {
        let Some(last) = self.spreads.len().checked_sub(AGREEING) else { return false };
        let last = &self.spreads[last..];
        let (low, high) = last
            .iter()
            .fold((f64::MAX, 0.0), |(low, high): (f64, f64), spread| (low.min(*spread), high.max(*spread)));
        high > 0.0 && (high - low) / high < AGREE
    }
}

/// Half the width of the median's interval, as a share of the median.
fn half_width(times: &[f64]) -> Option<f64> {
    let (low, high) = stats::median_interval(times, LEVEL)?;
    let median = stats::median(times);
    (median > 0.0).then(|| (high - low) / 2.0 / median)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn run(time: impl Fn(usize) -> f64) -> (usize, SamplingEnd) {
        let (mut stop, mut times) = (StoppingRule::new(10, SECOND), Vec::new());
        loop {
            times.push(time(times.len()));
            let spent = Duration::from_nanos(times.iter().sum::<f64>() as u64);
            if let Some(enough) = stop.enough(&times, spent) {
                return (times.len(), enough);
            }
        }
    }

    #[test]
    fn a_steady_body_ends_when_the_least_time_is_over() {
        assert_eq!(run(|_| 10e6), (100, SamplingEnd::Narrow));
        assert_eq!(run(|_| 500e6), (10, SamplingEnd::Narrow)); // the least number
    }

    #[test]
    fn a_body_whose_spread_no_longer_changes_ends_although_its_interval_is_wide() {
        let (count, enough) = run(|place| if place % 2 == 0 { 5e6 } else { 20e6 });
        assert_eq!((count, enough), (112, SamplingEnd::Stable));
    }

    #[test]
    fn a_body_that_never_agrees_ends_with_the_budget() {
        let (_, enough) = run(|place| 1e6 * 1.3f64.powi(place as i32 % 40));
        assert_eq!(enough, SamplingEnd::Budget);
    }

    #[test]
    fn a_smoke_run_ends_with_what_was_asked_for() {
        let mut stop = StoppingRule::new(2, Duration::ZERO);
        assert_eq!(stop.enough(&[1.0], SECOND), None);
        assert_eq!(stop.enough(&[1.0, 9.0], SECOND), Some(SamplingEnd::Asked));
    }
}
