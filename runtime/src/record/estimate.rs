//! A value with its interval.

use serde::{Deserialize, Serialize};

use crate::stats;

/// The level of every interval that is printed.
const LEVEL: f64 = 0.95;

/// The median over repeats, with a distribution-free interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Median of the repeats' values.
    pub median: f64,
    /// Lower and upper bound at 95 % by order statistics; `None` below six repeats.
    pub interval: Option<(f64, f64)>,
    /// Repeats behind it.
    pub n: usize,
}

impl Estimate {
    /// The estimate over these values; `None` where there are none or one is no finite number.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let interval = stats::median_interval(values, LEVEL);
        Some(Self { median: stats::median(values), interval, n: values.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_repeats_have_a_median_between_their_extremes() {
        let estimate = Estimate::of(&[7.0, 1.0, 6.0, 2.0, 5.0, 3.0, 4.0]);
        assert_eq!(estimate, Some(Estimate { median: 4.0, interval: Some((1.0, 7.0)), n: 7 }));
    }

    #[test]
    fn five_repeats_have_a_median_alone() {
        let estimate = Estimate::of(&[5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!(estimate, Some(Estimate { median: 3.0, interval: None, n: 5 }));
    }

    #[test]
    fn no_values_and_values_that_are_no_numbers_have_no_estimate() {
        for values in [&[][..], &[f64::NAN], &[1.0, f64::INFINITY]] {
            assert_eq!(Estimate::of(values), None);
        }
    }
}
