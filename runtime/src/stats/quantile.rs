//! Quantiles of a sample.

/// A sorted copy.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The quantile `q` in `0..=1` by linear interpolation of order statistics: type 7 of Hyndman and Fan
/// (*Sample Quantiles in Statistical Packages*, 1996), the default of R and `NumPy`. NaN for no values.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let sorted = sorted(values);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = q.clamp(0.0, 1.0) * last as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (at - below as f64) * (sorted[above] - sorted[below])
}

/// The median: the middle value, or the mean of the middle two. NaN for no values.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.quantile([15, 20, 35, 40, 50], [0, .4, .5, .95, 1])`, `NumPy` 2.
    #[test]
    fn quantiles_agree_with_numpy() {
        let values = [40.0, 15.0, 50.0, 20.0, 35.0];
        for (q, expected) in [(0.0, 15.0), (0.4, 29.0), (0.5, 35.0), (0.95, 48.0), (1.0, 50.0)] {
            assert!((quantile(&values, q) - expected).abs() < 1e-12, "{q}");
        }
    }

    #[test]
    fn degenerate_samples_have_defined_medians() {
        assert!(median(&[]).is_nan());
        for (values, expected) in [(&[7.0][..], 7.0), (&[3.0, 3.0, 3.0], 3.0), (&[4.0, 1.0], 2.5)] {
            assert!((median(values) - expected).abs() < 1e-12, "{values:?}");
        }
    }
}
