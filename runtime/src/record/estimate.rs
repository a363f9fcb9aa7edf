//! A value with its interval.

use serde::{Deserialize, Serialize};

use crate::stats;

/// The level of every interval that is printed.
const LEVEL: f64 = 0.95;

/// The median over repeats, with a distribution-free interval, and beside it what they are on average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Median of the repeats' values.
    pub median: f64,
    /// Lower and upper bound at 95 % by order statistics; `None` below six repeats.
    pub interval: Option<(f64, f64)>,
    /// Repeats behind it.
    pub n: usize,
    /// Arithmetic mean of the repeats' values; `None` in records from before it was kept. Verdicts never go
    /// by it: one disturbed repeat moves it.
    #[serde(default)]
    pub mean: Option<f64>,
    /// Standard deviation of the repeats' values, with n - 1; `None` below two repeats.
    #[serde(default)]
    pub deviation: Option<f64>,
}

impl Estimate {
    /// The estimate over these values; `None` where there are none or one is no finite number.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let interval = stats::median_interval(values, LEVEL);
        Some(Self {
            median: stats::median(values),
            interval,
            n: values.len(),
            mean: Some(stats::mean(values)),
            deviation: Some(stats::deviation(values)).filter(|deviation| deviation.is_finite()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_repeats_have_a_median_between_their_extremes() {
        let estimate = Estimate::of(&[7.0, 1.0, 6.0, 2.0, 5.0, 3.0, 4.0]);
        let deviation = Some((28.0_f64 / 6.0).sqrt());
        let expected = Estimate { median: 4.0, interval: Some((1.0, 7.0)), n: 7, mean: Some(4.0), deviation };
        assert_eq!(estimate, Some(expected));
    }

    #[test]
    fn five_repeats_have_no_interval_and_one_has_no_deviation() {
        let estimate = Estimate::of(&[5.0, 1.0, 4.0, 2.0, 30.0]).unwrap();
        assert_eq!((estimate.median, estimate.interval, estimate.mean), (4.0, None, Some(8.4)));
        let estimate = Estimate::of(&[5.0]).unwrap();
        assert_eq!((estimate.mean, estimate.deviation), (Some(5.0), None));
    }

    #[test]
    fn no_values_and_values_that_are_no_numbers_have_no_estimate() {
        for values in [&[][..], &[f64::NAN], &[1.0, f64::INFINITY]] {
            assert_eq!(Estimate::of(values), None);
        }
    }
}
