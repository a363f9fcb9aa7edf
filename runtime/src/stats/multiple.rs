//! Many tests at once: p values adjusted so that all of them may be read against one level.

use super::sorted;

/// The p values of Holm's procedure (*A Simple Sequentially Rejective Multiple Test Procedure*, 1979), in the
/// order given: rejecting those at or below a level keeps the probability of even one false rejection at that
/// level, however the tests depend on each other.
///
/// The i-th smallest of m is multiplied by m + 1 - i, is no less than the one before it, and at most 1. A NaN
/// stays NaN and counts as a test that was made, so that a value that got lost makes nothing significant.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    // A missing one is as if nothing had been found.
    let known: Vec<f64> = p_values.iter().map(|value| if value.is_nan() { 1.0 } else { *value }).collect();
    let ordered = sorted(&known);
    let mut adjusted = ordered.clone();
    let mut least = 0.0;
    for (i, value) in adjusted.iter_mut().enumerate() {
        least = f64::max(least, *value * (ordered.len() - i) as f64).min(1.0);
        *value = least;
    }
    // Equal values get the same, that of the first of them.
    let of = |value: f64| adjusted[ordered.partition_point(|other| *other < value)];
    p_values.iter().map(|value| if value.is_nan() { *value } else { of(*value) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SplitMix64;

    /// The example of Benjamini and Hochberg (1995), table 1 and section 3.2: fifteen p values of a trial of
    /// thrombolysis. Holm rejects three at 5 %.
    const THROMBOLYSIS: [f64; 15] = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
        0.6528, 0.7590, 1.0,
    ];

    fn check(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn the_published_example_rejects_three() {
        let rejected = |adjusted: Vec<f64>| adjusted.into_iter().filter(|p| *p <= 0.05).count();
        assert_eq!(rejected(holm(&THROMBOLYSIS)), 3);
    }

    /// By hand, as in R's `p.adjust`: 6 * .005, 5 * .011, 4 * .03, 4 * .03, 2 * .2, .9.
    #[test]
    fn adjusted_values_are_in_the_order_given() {
        let p = [0.03, 0.005, 0.2, 0.03, 0.011, 0.9];
        check(&holm(&p), &[0.12, 0.03, 0.4, 0.12, 0.055, 0.9]);
    }

    #[test]
    fn adjusting_keeps_the_order_never_lowers_and_never_passes_one() {
        let mut random = SplitMix64::new(1);
        for count in 0..40 {
            let p: Vec<f64> = (0..count).map(|_| random.below(50) as f64 / 49.0).collect();
            let adjusted = holm(&p);
            for i in 0..count {
                assert!(p[i] <= adjusted[i] + 1e-15 && adjusted[i] <= 1.0);
                for j in 0..count {
                    assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }

    #[test]
    fn none_one_and_missing_values_are_defined() {
        assert!(holm(&[]).is_empty());
        check(&holm(&[0.04]), &[0.04]);
        let missing = holm(&[-f64::NAN, 0.04]);
        assert!(missing[0].is_nan());
        check(&missing[1..], &[0.08]);
        check(&holm(&[0.02; 3]), &[0.06; 3]);
    }
}
