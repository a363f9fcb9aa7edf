//! Whether values rise or fall with their order.

/// The score of Mann and Kendall's test for a trend (Mann, *Nonparametric Tests against Trend*, 1945;
/// Kendall, *Rank Correlation Methods*, 1975): how many more pairs rise than fall, less one for continuity,
/// in standard deviations of that number were the order drawn, ties reckoned with. Above zero the values
/// rise; beyond 1.64 one such order in ten.
///
/// 0 for fewer than two values and where all are equal; NaN where one is NaN. Compares all pairs: thin out
/// long series first.
pub fn mann_kendall(values: &[f64]) -> f64 {
    suffix_trends(values).first().copied().unwrap_or(0.0)
}

/// [`mann_kendall`] of the values from each on, in one pass over all pairs.
pub(super) fn suffix_trends(values: &[f64]) -> Vec<f64> {
    let mut scores = vec![f64::NAN; values.len()];
    let mut rising = 0.0;
    let mut ties = 0.0; // the sum over groups of t equal values of t (t - 1) (2 t + 5)
    for start in (0..values.len()).rev() {
        let first = values[start];
        if first.is_nan() {
            break; // and so are all from earlier ones
        }
        let mut equal = 0.0;
        for later in &values[start + 1..] {
            if *later > first {
                rising += 1.0;
            } else if *later < first {
                rising -= 1.0;
            } else {
                equal += 1.0;
            }
        }
        // One group grows from `equal` to one more: the difference of the two terms.
        ties += equal * (6.0 * equal + 12.0);
        let count = (values.len() - start) as f64;
        let variance = (count * (count - 1.0) * (2.0 * count + 5.0) - ties) / 18.0;
        let excess: f64 = if rising == 0.0 { 0.0 } else { rising - f64::signum(rising) };
        scores[start] = if variance > 0.0 { excess / variance.sqrt() } else { 0.0 };
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SplitMix64;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    /// ```python
    /// def z(x):
    ///     n = len(x); s = sum(np.sign(x[j] - x[i]) for i in range(n) for j in range(i + 1, n))
    ///     v = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in Counter(x).values())) / 18
    ///     return (s - np.sign(s)) / np.sqrt(v)
    /// ```
    /// `rising` in the first is 4 of 6 pairs, as Gilbert counts (*Statistical Methods for Environmental
    /// Pollution Monitoring*, 1987, section 16.4).
    #[test]
    fn scores_agree_with_their_definition() {
        for (values, expected) in [
            (&[10.0, 15.0, 14.0, 20.0][..], 1.019_049_330_730_136_3),
            (&[10.0, 22.0, 21.0, 30.0, 22.0, 30.0, 40.0, 40.0], 2.533_201_985_524_494),
            (&[5.0, 5.0, 4.0, 4.0, 4.0, 3.0, 1.0, 2.0, 2.0, 5.0], -1.759_058_189_567_847_9),
        ] {
            let found = mann_kendall(values);
            assert!(close(found, expected), "{found} {expected}");
        }
    }

    #[test]
    fn turning_the_order_or_the_values_round_turns_the_trend_and_scaling_does_not() {
        let mut random = SplitMix64::new(5);
        for count in 0..40 {
            let values: Vec<f64> = (0..count).map(|_| random.below(12) as f64).collect();
            let score = mann_kendall(&values);
            let mut backwards = values.clone();
            backwards.reverse();
            let negative: Vec<f64> = values.iter().map(|value| -value).collect();
            let scaled: Vec<f64> = values.iter().map(|value| 4.0 * value + 9.0).collect();
            assert!(close(mann_kendall(&backwards), -score) && close(mann_kendall(&negative), -score));
            assert!(close(mann_kendall(&scaled), score));
            for (start, score) in suffix_trends(&values).into_iter().enumerate() {
                assert!(close(score, mann_kendall(&values[start..])));
            }
        }
    }

    #[test]
    fn orders_by_chance_pass_the_level_as_often_as_it_says() {
        let mut random = SplitMix64::new(6);
        let mut beyond = 0;
        for _ in 0..4_000 {
            let values: Vec<f64> = (0..30).map(|_| random.draw() as f64).collect();
            beyond += usize::from(mann_kendall(&values).abs() >= 1.64);
        }
        assert!((300..500).contains(&beyond), "{beyond}"); // 400, with a standard error of 19
    }

    #[test]
    fn none_one_equal_and_missing_values_are_defined() {
        for values in [&[][..], &[1.0], &[2.0, 2.0, 2.0]] {
            assert!(close(mann_kendall(values), 0.0));
        }
        assert!(mann_kendall(&[1.0, f64::NAN, 2.0]).is_nan());
    }
}
