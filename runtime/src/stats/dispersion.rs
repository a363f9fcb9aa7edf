//! How far values lie apart.

use super::median;

/// Turns a median absolute deviation into a standard deviation, where the values are normal: one over the
/// upper quartile of the standard normal distribution (Hampel, *The Influence Curve and its Role in Robust
/// Estimation*, 1974).
const TO_DEVIATION: f64 = 1.482_602_218_505_602;

/// Turns a mean absolute deviation into a standard deviation, where the values are normal: the root of half
/// of pi.
const MEAN_TO_DEVIATION: f64 = 1.253_314_137_315_500_3;

/// The median absolute deviation from the median, unscaled. NaN for no values.
fn mad(values: &[f64]) -> f64 {
    let centre = median(values);
    median(&values.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>())
}

/// The spread of the middle of the values, on the scale of a standard deviation: the scaled median absolute
/// deviation. One wild value in five does not move it much. NaN for no values.
pub fn robust_spread(values: &[f64]) -> f64 {
    TO_DEVIATION * mad(values)
}

/// The number of deviations that each value lies off the median, by the modified z-score of Iglewicz and
/// Hoaglin (*How to Detect and Handle Outliers*, 1993), who call values beyond 3.5 outliers.
///
/// Where more than half of the values are equal the median absolute deviation is zero; the mean absolute
/// deviation takes its place then, and where that is zero as well every score is zero.
pub fn modified_z_scores(values: &[f64]) -> Vec<f64> {
    let centre = median(values);
    let mean = values.iter().map(|value| (value - centre).abs()).sum::<f64>() / values.len() as f64;
    let scale = match robust_spread(values) {
        0.0 => MEAN_TO_DEVIATION * mean,
        spread => spread,
    };
    let score = |value: &f64| if scale == 0.0 { 0.0 } else { (value - centre) / scale };
    values.iter().map(score).collect()
}

/// The arithmetic mean. NaN for no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of a sample, with n - 1 (Bessel's correction). NaN for fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    let centre = mean(values);
    let squares = values.iter().map(|value| (value - centre).powi(2)).sum::<f64>();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

/// The standard deviation as a share of the mean. NaN for fewer than two values or a mean of zero.
pub fn coefficient_of_variation(values: &[f64]) -> f64 {
    let centre = mean(values);
    if centre == 0.0 { f64::NAN } else { deviation(values) / centre.abs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [f64; 7] = [5.0, 5.2, 4.9, 5.1, 9.8, 5.0, 4.8];

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// ```python
    /// x = [5, 5.2, 4.9, 5.1, 9.8, 5.0, 4.8]
    /// scipy.stats.median_abs_deviation(x), scipy.stats.variation(x, ddof=1)   # SciPy 1.17.1
    /// numpy.mean(x), numpy.std(x, ddof=1)                                     # NumPy 2.3.5
    /// ```
    #[test]
    fn dispersion_agrees_with_scipy() {
        assert!(close(mad(&VALUES), 0.1));
        assert!(close(robust_spread(&VALUES), 0.148_260_221_850_560_2));
        assert!(close(mean(&VALUES), 5.685_714_285_714_285));
        assert!(close(deviation(&VALUES), 1.818_816_988_620_691));
        assert!(close(coefficient_of_variation(&VALUES), 0.319_892_435_184_543_7));
    }

    /// `0.6745 * (x - median(x)) / median_abs_deviation(x)` with `NumPy`; 0.6745 is rounded, so are these.
    #[test]
    fn modified_z_scores_agree_with_their_definition() {
        let expected = [0.0, 1.349, -0.6745, 0.6745, 32.376, 0.0, -1.349];
        for (score, expected) in modified_z_scores(&VALUES).into_iter().zip(expected) {
            assert!((score - expected).abs() < 1e-3, "{score} {expected}");
        }
    }

    #[test]
    fn a_wild_value_among_equal_ones_has_a_high_score_and_equal_ones_none() {
        let scores = modified_z_scores(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]);
        // 1 / (1.2533 * 1/7)
        assert!(close(scores[6], 7.0 / MEAN_TO_DEVIATION));
        assert!(scores[6] > 3.5 && close(scores[0], 0.0));
        assert!(modified_z_scores(&[3.0; 4]).into_iter().all(|score| close(score, 0.0)));
    }

    #[test]
    fn shifting_changes_no_spread_and_scaling_scales_it() {
        let moved = VALUES.map(|value| value + 100.0);
        let scaled = VALUES.map(|value| value * 8.0);
        assert!(close(mad(&moved), mad(&VALUES)));
        assert!(close(mad(&scaled), 8.0 * mad(&VALUES)));
        assert!(close(coefficient_of_variation(&scaled), coefficient_of_variation(&VALUES)));
        for (a, b) in modified_z_scores(&scaled).into_iter().zip(modified_z_scores(&moved)) {
            assert!(close(a, b));
        }
    }

    #[test]
    fn order_does_not_matter() {
        let mut backwards = VALUES;
        backwards.reverse();
        assert!(close(mad(&backwards), mad(&VALUES)));
        assert!(close(coefficient_of_variation(&backwards), coefficient_of_variation(&VALUES)));
    }

    #[test]
    fn degenerate_samples_have_defined_spreads() {
        assert!(mad(&[]).is_nan() && robust_spread(&[]).is_nan());
        assert!(coefficient_of_variation(&[]).is_nan() && coefficient_of_variation(&[1.0]).is_nan());
        assert!(modified_z_scores(&[]).is_empty());
        assert!(close(mad(&[7.0]), 0.0) && close(modified_z_scores(&[7.0])[0], 0.0));
        assert!(coefficient_of_variation(&[-1.0, 1.0]).is_nan());
        assert!(mad(&[f64::NAN]).is_nan());
        assert_eq!(modified_z_scores(&[1.0, f64::NAN, 2.0]).len(), 3);
    }
}
