//! An interval for a median that assumes nothing of the distribution.

use super::sorted;
use super::special::binomial_cdf;

/// The interval of the median between two order statistics, the k-th from below and the k-th from above, with
/// the largest k that covers the true median in at least the share `level` of samples. It assumes only that
/// the values are independent.
///
/// The k-th from above lies below the median exactly when fewer than k of n values lie above it, which is a
/// matter of n fair coins: the coverage is 1 - 2 P(Binomial(n, 1/2) < k) (David and Nagaraja, *Order
/// Statistics*, 2003, section 7.1). `None` where even the extremes cover less (fewer than six values at 95
/// %), and where a value is NaN.
pub fn median_interval(values: &[f64], level: f64) -> Option<(f64, f64)> {
    if values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let count = values.len();
    let covers = |k: usize| 1.0 - 2.0 * binomial_cdf(k as u64 - 1, count as u64, 0.5) >= level;
    let mut k = 0;
    while k < count / 2 && covers(k + 1) {
        k += 1;
    }
    if k == 0 {
        return None;
    }
    let sorted = sorted(values);
    Some((sorted[k - 1], sorted[count - k]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::median;

    fn count_up_to(n: usize) -> Vec<f64> {
        (1..=n).map(|value| value as f64).collect()
    }

    /// The table of order statistics for the median at 95 %, as in Conover (*Practical Nonparametric
    /// Statistics*, 1999), and as made by
    /// ```python
    /// for n in range(1, 30):
    ///     print(n, max((k for k in range(1, n // 2 + 1)
    ///                   if 1 - 2 * scipy.stats.binom.cdf(k - 1, n, .5) >= .95), default=None))
    /// ```
    #[test]
    fn the_order_statistics_agree_with_the_binomial_table() {
        let table =
            [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (17, 5), (20, 6), (23, 7), (25, 8), (29, 9)];
        for (n, k) in table {
            let expected = (k as f64, (n + 1 - k) as f64);
            assert_eq!(median_interval(&count_up_to(n), 0.95), Some(expected), "{n}");
        }
    }

    #[test]
    fn fewer_than_six_values_have_no_interval_at_95_percent() {
        for n in 0..6 {
            assert_eq!(median_interval(&count_up_to(n), 0.95), None, "{n}");
        }
        // One in sixteen misses on either side together: 93.75 % with five values.
        assert_eq!(median_interval(&count_up_to(5), 0.93), Some((1.0, 5.0)));
    }

    #[test]
    fn the_interval_holds_the_median_whatever_the_order() {
        let mut values: Vec<f64> = (0..40).map(|i| f64::from(i * 37 % 40).powi(3)).collect();
        let interval = median_interval(&values, 0.95);
        let (low, high) = interval.unwrap();
        assert!(low < median(&values) && median(&values) < high);
        values.reverse();
        assert_eq!(median_interval(&values, 0.95), interval);
    }

    #[test]
    fn shifting_and_scaling_carry_the_interval_along() {
        let values = count_up_to(9);
        let moved: Vec<f64> = values.iter().map(|value| value * 4.0 + 1.0).collect();
        assert_eq!(median_interval(&moved, 0.95), Some((9.0, 33.0)));
    }

    #[test]
    fn equal_values_have_an_interval_of_no_width_and_nan_has_none() {
        assert_eq!(median_interval(&[3.0; 7], 0.95), Some((3.0, 3.0)));
        assert_eq!(median_interval(&[1.0, 2.0, f64::NAN, 3.0, 4.0, 5.0, 6.0], 0.95), None);
    }
}
