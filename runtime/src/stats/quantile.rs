//! Quantiles of a sample.

/// A sorted copy.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// How a quantile is made of order statistics: the definitions of Hyndman and Fan (*Sample Quantiles in
/// Statistical Packages*, 1996) that are in use, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), expect(dead_code, reason = "part of the library that nothing calls yet"))]
pub enum Definition {
    /// The smallest value with at least this share at or below it: always a value that was seen.
    R1,
    /// On a line through the k-th of n at k / (n + 1): Minitab's and SPSS's, and Excel's `PERCENTILE.EXC`.
    R6,
    /// Through (k - 1) / (n - 1): the default of R, `NumPy` and Excel.
    R7,
    /// Through (k - 1/3) / (n + 1/3): about unbiased in the median whatever the distribution; the one that
    /// Hyndman and Fan recommend.
    R8,
}

/// The quantile `q` in `0..=1` by this definition; below and above what n values define, the smallest and the
/// largest. A `q` outside of it is taken for the nearer end. NaN for no values, and for a `q` of NaN.
pub fn quantile_by(definition: Definition, values: &[f64], q: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    if q.is_nan() {
        return f64::NAN;
    }
    let (q, count) = (q.clamp(0.0, 1.0), values.len() as f64);
    // Places count from 0.
    let place = match definition {
        // What rounding added to a whole number does not make it the next.
        Definition::R1 => (q * count - 4.0 * f64::EPSILON * count).ceil() - 1.0,
        Definition::R6 => q * (count + 1.0) - 1.0,
        Definition::R7 => q * last as f64,
        Definition::R8 => q * (count + 1.0 / 3.0) - 2.0 / 3.0,
    };
    let at = place.clamp(0.0, last as f64);
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

/// The quantile `q` in `0..=1` by the definition R7 of Hyndman and Fan. NaN for no values.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    quantile_by(Definition::R7, values, q)
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

    /// ```python
    /// x = [40, 15, 50, 20, 35, 36]
    /// for m in ("inverted_cdf", "weibull", "linear", "median_unbiased"):
    ///     print(np.quantile(x, [0, .1, .25, .5, .6, 2 / 3, .9, 1], method=m))    # NumPy 2.4.6
    /// ```
    #[test]
    fn all_definitions_agree_with_numpy() {
        let values = [40.0, 15.0, 50.0, 20.0, 35.0, 36.0];
        let shares = [0.0, 0.1, 0.25, 0.5, 0.6, 2.0 / 3.0, 0.9, 1.0];
        let table = [
            (Definition::R1, [15.0, 15.0, 20.0, 35.0, 36.0, 36.0, 50.0, 50.0]),
            (Definition::R6, [15.0, 15.0, 18.75, 35.5, 36.8, 38.666_666_666_666_67, 50.0, 50.0]),
            (Definition::R7, [15.0, 17.5, 23.75, 35.5, 36.0, 37.333_333_333_333_33, 45.0, 50.0]),
            (
                Definition::R8,
                [
                    15.0,
                    15.0,
                    19.583_333_333_333_332,
                    35.5,
                    36.533_333_333_333_33,
                    38.222_222_222_222_22,
                    50.0,
                    50.0,
                ],
            ),
        ];
        for (definition, expected) in table {
            for (q, expected) in shares.into_iter().zip(expected) {
                let found = quantile_by(definition, &values, q);
                assert!((found - expected).abs() < 1e-12, "{definition:?} {q} {found} {expected}");
            }
        }
    }

    #[test]
    fn quantiles_rise_with_their_share_and_move_with_the_values() {
        let mut random = SplitMix64::new(14);
        for count in 1..30 {
            let values: Vec<f64> = (0..count).map(|_| random.below(100) as f64).collect();
            let moved: Vec<f64> = values.iter().rev().map(|value| 2.0 * value + 8.0).collect();
            for definition in [Definition::R1, Definition::R6, Definition::R7, Definition::R8] {
                let mut before = sorted(&values)[0];
                for step in 0..=50 {
                    let q = f64::from(step) / 50.0;
                    let found = quantile_by(definition, &values, q);
                    assert!(found >= before - 1e-9);
                    assert!((quantile_by(definition, &moved, q) - 2.0 * found - 8.0).abs() < 1e-9);
                    before = found;
                }
            }
        }
    }

    #[test]
    fn the_first_definition_gives_values_that_were_seen_with_their_share_at_or_below() {
        for count in 1..60 {
            let values: Vec<f64> = (1..=count).map(f64::from).collect();
            for rank in 1..=count {
                let share = f64::from(rank) / f64::from(count);
                let found = quantile_by(Definition::R1, &values, share);
                assert!((found - f64::from(rank)).abs() < 1e-12, "{rank} of {count}");
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
