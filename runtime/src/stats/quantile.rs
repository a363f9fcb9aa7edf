//! Quantiles of a sample.

/// A sorted copy.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The quantile `q` in `0..=1`, on a line through the k-th of n values at (k - 1) / (n - 1): R7 of Hyndman
/// and Fan (*Sample Quantiles in Statistical Packages*, 1996), the default of R, `NumPy` and Excel. A `q`
/// outside of that is taken for the nearer end. NaN for no values, and for a `q` of NaN.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    if q.is_nan() {
        return f64::NAN;
    }
    let at = q.clamp(0.0, 1.0) * last as f64;
    // Two order statistics need no sorting: a case may have samples by the hundred thousand.
    let mut values = values.to_vec();
    let below = at.floor() as usize;
    let (_, low, rest) = values.select_nth_unstable_by(below, f64::total_cmp);
    let mut high = *low;
    let mut rest = rest.iter();
    if let Some(first) = rest.next() {
        high = *first;
        for value in rest {
            if value.total_cmp(&high).is_lt() {
                high = *value;
            }
        }
    }
    *low + (at - below as f64) * (high - *low)
}

/// The median: the middle value, or the mean of the middle two. NaN for no values.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SplitMix64;

    /// `numpy.quantile([15, 20, 35, 40, 50], [0, .4, .5, .95, 1])`, `NumPy` 2.
    #[test]
    fn quantiles_agree_with_numpy() {
        let values = [40.0, 15.0, 50.0, 20.0, 35.0];
        for (q, expected) in [(0.0, 15.0), (0.4, 29.0), (0.5, 35.0), (0.95, 48.0), (1.0, 50.0)] {
            assert!((quantile(&values, q) - expected).abs() < 1e-12, "{q}");
        }
    }

    #[test]
    fn quantiles_rise_with_their_share_and_move_with_the_values() {
        let mut random = SplitMix64::new(14);
        for count in 1..30 {
            let values: Vec<f64> = (0..count).map(|_| random.below(100) as f64).collect();
            let moved: Vec<f64> = values.iter().rev().map(|value| 2.0 * value + 8.0).collect();
            let mut before = sorted(&values)[0];
            for step in 0..=50 {
                let q = f64::from(step) / 50.0;
                let found = quantile(&values, q);
                assert!(found >= before - 1e-9);
                assert!((quantile(&moved, q) - 2.0 * found - 8.0).abs() < 1e-9);
                before = found;
            }
        }
    }

    #[test]
    fn degenerate_samples_have_defined_medians() {
        assert!(median(&[]).is_nan() && quantile(&[1.0], f64::NAN).is_nan());
        for (values, expected) in [(&[7.0][..], 7.0), (&[3.0, 3.0, 3.0], 3.0), (&[4.0, 1.0], 2.5)] {
            assert!((median(values) - expected).abs() < 1e-12, "{values:?}");
        }
    }
}
