//! What is read of the times of single calls: the first one, the warm-up, and percentiles that the count
//! bears out.

use std::time::{Duration, Instant};

use weighbridge::data::{Claim, median, quantile};
use weighbridge::{Error, Result};

use super::{PredictionLoop, draw_epoch};

/// With which confidence a count of calls bears a percentile out: that of `MLPerf`.
const CONFIDENCE: f64 = 0.99;

/// A call is warm if it takes no longer than the median of the last half of the first ones, by so much.
const WARM: f64 = 1.1;

/// Times of calls, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTimes {
    times: Vec<Duration>,
}

impl CallTimes {
    /// Times so many calls of an epoch that is drawn, by the clock of the process that they are in.
    ///
    /// # Errors
    /// As [`PredictionLoop::call_times`]; times that are not of so many calls, or longer than passed.
    pub fn of(predictions: &mut dyn PredictionLoop, calls: usize) -> Result<Self> {
        let begun = Instant::now();
        let times = predictions.call_times(draw_epoch(), calls)?;
        let (passed, told) = (begun.elapsed(), times.iter().sum::<Duration>());
        if times.len() != calls || told > passed {
            return Err(Error::new(format!(
                "{} calls are said to take {told:?} where {calls} were asked for, and {passed:?} passed",
                times.len()
            )));
        }
        Ok(Self { times })
    }

    /// These, and others after them.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.times.extend(others.times);
        self
    }

    /// The number of calls, and the time that they took together.
    pub fn sum(&self) -> (usize, Duration) {
        (self.times.len(), self.times.iter().sum())
    }

    /// The time of the first call.
    pub fn first(&self) -> Option<Duration> {
        self.times.first().copied()
    }

    /// The calls after the first one that were not yet warm: how many up to the last of the first half that
    /// was not, and how long they took together.
    pub fn warm_up(&self) -> (usize, Duration) {
        let half = &self.seconds()[self.times.len() / 2..];
        if half.is_empty() {
            return (0, Duration::ZERO);
        }
        let warm = WARM * median(half);
        let first_half = &self.times[..self.times.len() / 2];
        let cold = first_half.iter().rposition(|time| time.as_secs_f64() > warm).unwrap_or(0);
        (cold, self.times.iter().skip(1).take(cold).sum())
    }

    /// A percentile, in seconds; `None` where the calls are too few for it.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let claim = Claim { percentile: share, tolerance: 0.0, confidence: CONFIDENCE };
        let needed = if share > 0.5 { claim.least_count()? } else { 1 };
        (self.times.len() as u64 >= needed).then(|| quantile(&self.seconds(), share))
    }

    fn seconds(&self) -> Vec<f64> {
        self.times.iter().map(Duration::as_secs_f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(milliseconds: &[u64]) -> CallTimes {
        CallTimes { times: milliseconds.iter().copied().map(Duration::from_millis).collect() }
    }

    #[test]
    fn the_first_call_is_apart_from_the_warm_up_which_ends_where_calls_take_what_they_take() {
        let times = of(&[900, 30, 20, 10, 10, 10, 10, 10, 10, 10]);
        assert_eq!(times.first(), Some(Duration::from_millis(900)));
        assert_eq!(times.warm_up(), (2, Duration::from_millis(50)));
        assert_eq!(of(&[10; 8]).warm_up(), (0, Duration::ZERO));
        assert_eq!(of(&[]).warm_up(), (0, Duration::ZERO));
    }

    #[test]
    fn a_percentile_is_told_where_the_count_bears_it_out() {
        let times = of(&[7; 700]);
        assert_eq!((times.percentile(0.5), times.percentile(0.99)), (Some(7e-3), Some(7e-3)));
        assert_eq!(times.percentile(0.999), None, "p99.9 takes more than 700 calls");
    }
}
