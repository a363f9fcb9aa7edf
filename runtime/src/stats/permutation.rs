//! Whether two samples differ in any statistic, by dealing their values anew.

use super::bootstrap::Statistic;
use super::random::SplitMix64;

/// Up to this many ways to part the values all are tried.
const MOST_WAYS: f64 = 20_000.0;

/// Statistics this near to the observed one, as a share of it, count as equal to it: the same values summed in
/// another order.
const ROUNDING: f64 = 1e-12;

/// The two-sided p of a difference in a statistic between two samples: the share of ways to deal all values
/// into two samples of the same sizes whose statistics differ at least as much (Fisher, *The Design of
/// Experiments*, 1935; Pitman, *Significance Tests which May Be Applied to Samples from Any Populations*,
/// 1937).
///
/// All ways where there are at most 20,000 (eight values against eight); otherwise so many `draws` from the
/// seed, the observed way counted as one of them, so that p is never 0 (Phipson and Smyth, *Permutation
/// P-values Should Never Be Zero*, 2010). NaN for an empty sample and where a statistic of the samples is
/// NaN.
#[cfg_attr(not(test), expect(dead_code, reason = "part of the library that nothing calls yet"))]
pub fn permutation_p(one: &[f64], other: &[f64], statistic: Statistic, draws: usize, seed: u64) -> f64 {
    let observed = (statistic(other) - statistic(one)).abs();
    if one.is_empty() || other.is_empty() || observed.is_nan() {
        return f64::NAN;
    }
    let least = observed - ROUNDING * observed;
    let mut pool = one.to_vec();
    pool.extend_from_slice(other);
    let differs =
        |pool: &[f64]| (statistic(&pool[one.len()..]) - statistic(&pool[..one.len()])).abs() >= least;
    let mut ways = 1.0;
    for i in 0..one.len() {
        ways = ways * (pool.len() - i) as f64 / (i + 1) as f64;
    }
    if ways <= MOST_WAYS {
        return share_of_all(&pool, one.len(), differs);
    }
    let mut random = SplitMix64::new(seed);
    let mut extreme = 1;
    for _ in 0..draws {
        random.shuffle(&mut pool);
        extreme += usize::from(differs(&pool));
    }
    extreme as f64 / (draws + 1) as f64
}

/// The share of all ways to pick `count` of the values, put first, for which this is so.
fn share_of_all(values: &[f64], count: usize, so: impl Fn(&[f64]) -> bool) -> f64 {
    let mut picked: Vec<usize> = (0..count).collect();
    let (mut ways, mut found) = (0, 0);
    loop {
        let mut dealt = Vec::with_capacity(values.len());
        for i in &picked {
            dealt.push(values[*i]);
        }
        for (i, value) in values.iter().enumerate() {
            if picked.binary_search(&i).is_err() {
                dealt.push(*value);
            }
        }
        ways += 1;
        found += usize::from(so(&dealt));
        // The next in lexical order: raise the last that can be raised, and put those after it close behind.
        let room = values.len() - count;
        let Some(at) = (0..count).rev().find(|at| picked[*at] < at + room) else { break };
        picked[at] += 1;
        for after in at + 1..count {
            picked[after] = picked[after - 1] + 1;
        }
    }
    found as f64 / ways as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::median;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn check(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() < within, "{found} {expected}");
    }

    /// Survival in days of mice, seven treated and nine not: Efron and Tibshirani (1993), table 2.1.
    const TREATED: [f64; 7] = [94.0, 197.0, 16.0, 38.0, 99.0, 141.0, 23.0];
    const CONTROL: [f64; 9] = [52.0, 104.0, 146.0, 10.0, 51.0, 30.0, 40.0, 27.0, 46.0];

    /// ```python
    /// for f in (np.mean, np.median):
    ///     print(scipy.stats.permutation_test((x, y), lambda a, b: abs(f(b) - f(a)), n_resamples=np.inf,
    ///                                        vectorized=False, alternative="greater").pvalue)   # SciPy 1.17.1
    /// ```
    /// The book, by 1,000 draws, has 0.132 on one side for the means (chapter 15).
    #[test]
    fn all_ways_agree_with_scipy() {
        check(permutation_p(&TREATED, &CONTROL, mean, 0, 0), 0.278_321_678_321_678_3, 1e-12);
        check(permutation_p(&TREATED, &CONTROL, median, 0, 0), 0.302_447_552_447_552_45, 1e-12);
    }

    #[test]
    fn draws_agree_with_what_they_stand_for() {
        let twice = |values: &[f64]| [values, values].concat();
        let (one, other) = (twice(&TREATED), twice(&CONTROL));
        let p = permutation_p(&one, &other, mean, 4_000, 1);
        assert!((p - permutation_p(&one, &other, mean, 4_000, 2)).abs() < 0.03);
        check(p, permutation_p(&one, &other, mean, 4_000, 1), 1e-15);
        let far: Vec<f64> = other.iter().map(|value| value + 1e6).collect();
        check(permutation_p(&one, &far, mean, 99, 1), 0.01, 1e-12);
    }

    #[test]
    fn swapping_shifting_and_scaling_change_nothing() {
        let p = permutation_p(&TREATED, &CONTROL, mean, 0, 0);
        check(permutation_p(&CONTROL, &TREATED, mean, 0, 0), p, 1e-12);
        let moved = |value: f64| 3.0 * value - 50.0;
        check(permutation_p(&TREATED.map(moved), &CONTROL.map(moved), mean, 0, 0), p, 1e-12);
    }

    #[test]
    fn equal_programs_are_called_different_as_often_as_the_level_says() {
        let mut random = SplitMix64::new(13);
        let mut found = 0;
        for _ in 0..400 {
            let values: Vec<f64> = (0..9).map(|_| random.below(1 << 30) as f64).collect();
            found += usize::from(permutation_p(&values[..4], &values[4..], mean, 0, 0) <= 0.1);
        }
        assert!((15..65).contains(&found), "{found}"); // 12 of 126 ways: 38 expected, standard error 6
    }

    #[test]
    fn none_one_equal_and_missing_values_are_defined() {
        assert!(permutation_p(&[], &[1.0], mean, 9, 1).is_nan());
        assert!(permutation_p(&[1.0], &[], median, 9, 1).is_nan());
        assert!(permutation_p(&[1.0], &[f64::NAN], mean, 9, 1).is_nan());
        check(permutation_p(&[1.0], &[2.0], mean, 9, 1), 1.0, 1e-12);
        check(permutation_p(&[3.0; 4], &[3.0; 5], mean, 9, 1), 1.0, 1e-12);
        check(permutation_p(&[3.0; 40], &[3.0; 50], mean, 9, 1), 1.0, 1e-12);
    }
}
