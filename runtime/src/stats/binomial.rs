//! Between which bounds a probability lies, after so many successes in so many trials.

use super::special::incomplete_beta;

/// The exact interval (Clopper and Pearson, *The Use of Confidence or Fiducial Limits Illustrated in the Case
/// of the Binomial*, 1934): on either side the probability at which what was seen, or more extreme, has
/// half of what the level leaves. It covers at least the share `level`, whatever the truth. For a bound on
/// one side alone at 95 % ask for the level 0.9.
///
/// From 0 without successes, to 1 without failures. `None` for no trials, for more successes than trials, and
/// for a level outside of 0 to 1.
pub fn clopper_pearson(successes: u64, trials: u64, level: f64) -> Option<(f64, f64)> {
    if trials == 0 || successes > trials || !(0.0..1.0).contains(&level) {
        return None;
    }
    let tail = (1.0 - level) / 2.0;
    let (seen, missed) = (successes as f64, (trials - successes) as f64);
    // P(X >= seen) is I_p(seen, missed + 1); the other side is the same with the two swapped.
    let low = if successes == 0 { 0.0 } else { inverse_beta(seen, missed + 1.0, tail) };
    let high = if successes == trials { 1.0 } else { 1.0 - inverse_beta(missed, seen + 1.0, tail) };
    Some((low, high))
}

/// The x at which [`incomplete_beta`], which rises with it, is this, by halving.
pub(super) fn inverse_beta(a: f64, b: f64, probability: f64) -> f64 {
    let (mut below, mut above) = (0.0, 1.0);
    loop {
        let x = f64::midpoint(below, above);
        if x <= below || x >= above {
            return x;
        }
        if incomplete_beta(a, b, x) < probability {
            below = x;
        } else {
            above = x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::special::binomial_cdf;

    fn check(found: Option<(f64, f64)>, expected: (f64, f64)) {
        let (low, high) = found.unwrap();
        assert!((low - expected.0).abs() < 1e-11 && (high - expected.1).abs() < 1e-11, "{low} {high}");
    }

    /// ```python
    /// for k, n in ((0, 10), (1, 10), (15, 130), (50, 50), (3, 1000)):
    ///     print(scipy.stats.binomtest(k, n).proportion_ci(.95, "exact"))  # SciPy 1.17.1
    /// ```
    #[test]
    fn it_agrees_with_scipy() {
        let table = [
            (0, 10, (0.0, 0.308_497_107_818_762_94)),
            (1, 10, (0.002_528_578_544_462_572_8, 0.445_016_117_028_195_43)),
            (15, 130, (0.066_037_965_781_479_18, 0.183_160_859_285_271_84)),
            (50, 50, (0.928_878_263_535_795_4, 1.0)),
            (3, 1000, (0.000_619_099_931_649_917_3, 0.008_742_023_238_657_654)),
        ];
        for (successes, trials, exact) in table {
            check(clopper_pearson(successes, trials, 0.95), exact);
        }
    }

    /// Ten trials, 95 %, as in the charts and tables of the exact interval: 0 to 0.3085, and 0.0025 to
    /// 0.4450.
    #[test]
    fn the_exact_interval_agrees_with_printed_tables() {
        let round = |bounds: (f64, f64)| ((bounds.0 * 1e4).round() as u64, (bounds.1 * 1e4).round() as u64);
        assert_eq!(round(clopper_pearson(0, 10, 0.95).unwrap()), (0, 3_085));
        assert_eq!(round(clopper_pearson(1, 10, 0.95).unwrap()), (25, 4_450));
    }

    #[test]
    fn the_exact_interval_covers_at_least_its_level_whatever_the_truth() {
        for trials in [1, 5, 20] {
            for step in 1..40 {
                let truth = f64::from(step) / 40.0;
                let mut covered = 0.0;
                let mut up_to_last = 0.0;
                for successes in 0..=trials {
                    let up_to = binomial_cdf(successes, trials, truth);
                    let (low, high) = clopper_pearson(successes, trials, 0.9).unwrap();
                    if (low..=high).contains(&truth) {
                        covered += up_to - up_to_last;
                    }
                    up_to_last = up_to;
                }
                assert!(covered >= 0.9 - 1e-9, "{trials} {truth} {covered}");
            }
        }
    }

    #[test]
    fn swapping_successes_and_failures_turns_the_bounds_round() {
        for successes in 0..=30 {
            let (low, high) = clopper_pearson(successes, 30, 0.99).unwrap();
            let (l, h) = clopper_pearson(30 - successes, 30, 0.99).unwrap();
            assert!((low + h - 1.0).abs() < 1e-12 && (high + l - 1.0).abs() < 1e-12);
            let share = successes as f64 / 30.0;
            assert!(low <= share && share <= high);
        }
    }

    #[test]
    fn what_is_no_experiment_has_no_bounds() {
        assert_eq!(clopper_pearson(0, 0, 0.95), None);
        assert_eq!(clopper_pearson(2, 1, 0.95), None);
        assert_eq!(clopper_pearson(1, 2, 1.0), None);
        assert_eq!(clopper_pearson(1, 2, f64::NAN), None);
    }
}
