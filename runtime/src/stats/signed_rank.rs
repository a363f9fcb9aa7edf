//! Where one sample lies: Wilcoxon's signed-rank test, with the estimate and the interval that belong to it.
//!
//! All rest on one assumption: that the values lie symmetrically about the location that is asked for.

use super::special::normal_cdf;
use super::{median, sorted};

/// Up to this many values the null distribution is counted, above it is approximated.
const COUNTED_VALUES: usize = 64;

/// The median of all Walsh averages, the means of two values or of one with itself (Hodges and Lehmann,
/// *Estimates of Location Based on Rank Tests*, 1963). `None` for no values and where one is NaN.
///
/// Makes n (n + 1) / 2 averages: it is meant for rounds and processes, not for samples by the thousand.
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    let averages = walsh_averages(values);
    (!averages.is_empty()).then(|| median(&averages))
}

/// From the `rank`-th smallest to the `rank`-th largest Walsh average: an interval for the centre of
/// symmetry (Tukey; Hollander and Wolfe, *Nonparametric Statistical Methods*, 1973, section 3.3).
///
/// It misses the centre with probability 2 P(W < rank), W being the sum of the ranks of the positive ones of
/// as many values that are symmetric about zero: exactly for continuous values, with less where values are
/// tied. `None` where there are fewer than 2 `rank` - 1 averages, for rank 0, and where a value is NaN.
pub fn walsh_interval(values: &[f64], rank: usize) -> Option<(f64, f64)> {
    let averages = walsh_averages(values);
    if rank == 0 || averages.len() + 1 < 2 * rank {
        return None;
    }
    Some((averages[rank - 1], averages[averages.len() - rank]))
}

/// The narrowest interval between two Walsh averages that misses the centre with at most what the level
/// leaves, by counting the signs. `None` where there are too few values for the level (five for 95 %), or
/// more than 64.
pub fn centre_interval(values: &[f64], level: f64) -> Option<(f64, f64)> {
    if values.len() > COUNTED_VALUES {
        return None;
    }
    let most = values.len() * (values.len() + 1) / 2;
    let mut ways = vec![0.0; most + 1];
    ways[0] = 1.0;
    for rank in 1..=values.len() {
        for sum in (rank..=most).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let all = 2_f64.powi(values.len() as i32);
    let below = ways.iter().scan(0.0, |sum, ways| {
        *sum += ways;
        Some(2.0 * *sum / all)
    });
    let rank = below.take_while(|missed| *missed <= 1.0 - level + f64::EPSILON).count();
    walsh_interval(values, rank)
}

/// The one-sided p of "these values lie about something above `shift`" against "about `shift` or below"
/// (Wilcoxon, *Individual Comparisons by Ranking Methods*, 1945): the probability of a sum of positive ranks
/// at least as large, if every sign were a fair coin.
///
/// Equal distances from `shift` share the mean of their ranks, and the distribution is that of the signs
/// given these ranks: exact by counting for 64 values or fewer, above by the normal distribution with the
/// variance of tied ranks and a correction for continuity (Hollander and Wolfe 1973, section 3.1). A value
/// that equals `shift` is ranked, and counts as one below it: leaving such values out, as Wilcoxon did, can
/// make a sample the more significant the lower it lies (Pratt, *Remarks on Zeros and Ties in the Wilcoxon
/// Signed Rank Procedures*, 1959). So p is never too small.
///
/// Without ties p is at most half of the probability with which a [`walsh_interval`] misses exactly when its
/// lower bound is above `shift`. 1 for no values; NaN where a value or `shift` is NaN.
pub fn signed_rank_p(values: &[f64], shift: f64) -> f64 {
    let mut distances = values.to_vec();
    for value in &mut distances {
        *value = (*value - shift).abs();
    }
    let ordered = sorted(&distances);
    if ordered.last().is_some_and(|last| last.is_nan()) {
        return f64::NAN; // absolute values: a NaN among them is the last
    }
    let mut ranks = Vec::with_capacity(values.len());
    let mut positive = 0;
    for (value, distance) in values.iter().zip(&distances) {
        let below = ordered.partition_point(|other| other < distance);
        let up_to = ordered.partition_point(|other| other <= distance);
        let doubled = below + up_to + 1;
        ranks.push(doubled);
        if *value > shift {
            positive += doubled;
        }
    }
    upper_tail(&ranks, positive)
}

/// P(sum of the ranks whose coin shows heads >= `least`), the ranks doubled so that shared ones are whole.
fn upper_tail(doubled: &[usize], least: usize) -> f64 {
    let all: usize = doubled.iter().sum();
    if doubled.len() > COUNTED_VALUES {
        let squares: usize = doubled.iter().map(|rank| rank * rank).sum();
        // Of one rank r the variance is r^2 / 4; the nearest sum below lies 1, doubled 2, away.
        let beyond = least as f64 - 1.0 - all as f64 / 2.0;
        return normal_cdf(-beyond / (squares as f64 / 4.0).sqrt());
    }
    let mut probability = vec![0.0; all + 1];
    probability[0] = 1.0;
    for rank in doubled {
        // From above, so that each rank is taken once.
        for sum in (0..=all).rev() {
            let without = if sum < *rank { 0.0 } else { probability[sum - rank] };
            probability[sum] = 0.5 * probability[sum] + 0.5 * without;
        }
    }
    probability[least..].iter().sum()
}

/// All Walsh averages in order; none where a value is NaN or two are infinities apart.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (i, one) in values.iter().enumerate() {
        for other in &values[i..] {
            let average = 0.5 * one + 0.5 * other; // halves first: the sum may overflow
            if average.is_nan() {
                return Vec::new();
            }
            averages.push(average);
        }
    }
    sorted(&averages)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::stats::SplitMix64;

    /// The probability with which the [`walsh_interval`] of this rank misses the centre of `count` values, on
    /// both sides together: 2 P(W < rank), W being the sum of the ranks of the positive ones of `count`
    /// values that are symmetric about zero. 1 at most. Counted up to 64 values, approximated above.
    pub(in crate::stats) fn walsh_level(count: usize, rank: usize) -> f64 {
        if rank == 0 {
            return 0.0;
        }
        let all = count * (count + 1) / 2;
        if rank > all {
            return 1.0;
        }
        // By symmetry P(W < rank) = P(W > all - rank).
        let ranks: Vec<usize> = (1..=count).map(|rank| 2 * rank).collect();
        (2.0 * upper_tail(&ranks, 2 * (all - rank + 1))).min(1.0)
    }

    #[test]
    fn the_interval_of_the_centre_is_the_narrowest_that_keeps_its_level() {
        let mut draws = SplitMix64::new(3);
        for count in 1..=64 {
            let values: Vec<f64> = (0..count).map(|_| draws.below(1_000_000) as f64).collect();
            let expected = walsh_interval(&values, walsh_rank(count, 0.05));
            assert_eq!(centre_interval(&values, 0.95), expected, "{count} values");
        }
        assert!(centre_interval(&[1.0; 5], 0.95).is_none() && centre_interval(&[1.0; 6], 0.95).is_some());
    }

    /// The largest rank whose [`walsh_interval`] of `count` values misses with at most the probability
    /// `level`; 0 where even the extremes miss more often.
    pub(in crate::stats) fn walsh_rank(count: usize, level: f64) -> usize {
        let (mut fits, mut fails) = (0, count * (count + 1) / 2 + 1);
        while fails - fits > 1 {
            let rank = usize::midpoint(fits, fails);
            if walsh_level(count, rank) <= level {
                fits = rank;
            } else {
                fails = rank;
            }
        }
        fits
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    /// The fall of nine patients' Hamilton depression scale after a tranquilizer: example 3.1 of Hollander
    /// and Wolfe (1973).
    const DEPRESSION: [f64; 9] = [0.952, -0.147, 1.022, 0.430, 0.620, 0.590, 0.490, -0.080, 0.010];

    /// Hollander and Wolfe give 0.46, the interval 0.010 to 0.786 at 1 - 0.039, and R for `wilcox.test(x, y,
    /// paired = TRUE, alternative = "greater")` p = 0.01953.
    #[test]
    fn the_published_example_has_the_published_answers() {
        assert!(close(hodges_lehmann(&DEPRESSION).unwrap(), 0.46));
        let (low, high) = walsh_interval(&DEPRESSION, 6).unwrap();
        assert!(close(low, 0.010) && close(high, 0.786));
        assert!(close(walsh_level(9, 6), 20.0 / 512.0));
        assert!(close(signed_rank_p(&DEPRESSION, 0.0), 0.019_531_25));
    }

    /// The upper tails of all 2^n signs of the shared ranks, a zero counted with the negative ones:
    /// ```python
    /// def p(d):
    ///     r = scipy.stats.rankdata(np.abs(d)); w = r[np.array(d) > 0].sum()
    ///     return np.mean([r[np.array(s) == 1].sum() >= w for s in itertools.product((0, 1), repeat=len(d))])
    /// p([1, 1, -1, 2, 3, 3, -2, 5]), p([0, 0, 1, 2, -1, 3, 4]), p([0, 1, 2])
    /// ```
    #[test]
    fn ties_and_zeros_have_the_distribution_of_their_signs() {
        assert!(close(signed_rank_p(&[1.0, 1.0, -1.0, 2.0, 3.0, 3.0, -2.0, 5.0], 0.0), 0.070_312_5));
        assert!(close(signed_rank_p(&[0.0, 0.0, 1.0, 2.0, -1.0, 3.0, 4.0], 0.0), 0.125));
        assert!(close(signed_rank_p(&[7.0, 8.0, 9.0], 7.0), 0.25));
    }

    /// ```python
    /// i = np.arange(1, 71); s = np.where(i % 3 == 0, -1, 1)
    /// kw = dict(alternative="greater", correction=True)
    /// scipy.stats.wilcoxon(s * (i * 37 % 71), method="approx", **kw)            # SciPy 1.17.1
    /// scipy.stats.wilcoxon(s * (i * 37 % 71 // 5 + 1), method="approx", **kw)
    /// scipy.stats.wilcoxon(s * (i * 37 % 71), method="exact", **kw)
    /// ```
    #[test]
    fn the_approximation_agrees_with_scipy_and_nearly_with_the_count() {
        let make = |distance: fn(i32) -> i32| -> Vec<f64> {
            (1..=70).map(|i| f64::from(if i % 3 == 0 { -distance(i) } else { distance(i) })).collect()
        };
        let apart = signed_rank_p(&make(|i| i * 37 % 71), 0.0);
        assert!(close(apart, 0.006_332_910_835_255_172), "{apart}");
        let tied = signed_rank_p(&make(|i| i * 37 % 71 / 5 + 1), 0.0);
        assert!(close(tied, 0.005_854_054_524_803_293), "{tied}");
        assert!((apart - 0.006_019_417_098_297_78).abs() < 5e-4);
    }

    /// ```python
    /// def cdf(n):
    ///     c = np.ones(1)
    ///     for k in range(1, n + 1): c = np.pad(c, (0, k)) + np.pad(c, (k, 0))
    ///     return np.cumsum(c) / 2**n
    /// for n in (8, 12, 16, 24, 50, 64):
    ///     c = cdf(n); r = (c <= .01).sum(); print(n, r, 2 * c[r - 1], (c <= .025).sum())
    /// ```
    /// At 2.5 % one less than the last is the printed critical value (3, 13, 29, 81, 434: Wilcoxon and
    /// Wilcox, *Some Rapid Approximate Statistical Procedures*, 1964).
    #[test]
    fn ranks_and_levels_agree_with_the_tables() {
        let table = [
            (8, 2, 0.015_625, 4),
            (12, 10, 0.016_113_281_25, 14),
            (16, 24, 0.018_249_511_718_75, 30),
            (24, 70, 0.019_441_962_242_126_465, 82),
            (50, 398, 0.019_587_776_905_177_99, 435),
            (64, 694, 0.019_772_532_988_851_19, 748),
        ];
        for (count, rank, level, at_five_percent) in table {
            assert_eq!(walsh_rank(count, 0.02), rank);
            assert_eq!(walsh_rank(count, 0.05), at_five_percent);
            assert!(close(walsh_level(count, rank), level), "{count}");
        }
        assert_eq!((walsh_rank(5, 0.05), walsh_rank(6, 0.05), walsh_rank(0, 0.05)), (0, 1, 0));
    }

    #[test]
    fn p_is_below_a_level_exactly_when_the_interval_excludes_the_shift() {
        let mut random = SplitMix64::new(3);
        for count in 1..30 {
            let values: Vec<f64> = (0..count).map(|_| random.below(1 << 40) as f64 - 4e11).collect();
            let rank = 1 + random.below(count * (count + 1) / 4 + 1) as usize;
            let Some((low, high)) = walsh_interval(&values, rank) else { continue };
            let half = walsh_level(values.len(), rank) / 2.0;
            for shift in [0.0, -1e11, 1e11, 3.3e11] {
                assert_eq!(signed_rank_p(&values, shift) <= half + 1e-15, low > shift, "{count} {rank}");
                let turned: Vec<f64> = values.iter().map(|value| -value).collect();
                assert_eq!(signed_rank_p(&turned, -shift) <= half + 1e-15, high < shift);
            }
        }
    }

    #[test]
    fn p_falls_as_values_rise_and_rises_with_the_shift() {
        let mut random = SplitMix64::new(4);
        for count in [1, 4, 9, 33, 80] {
            let mut values: Vec<f64> = (0..count).map(|_| random.below(7) as f64).collect();
            let mut before = 0.0;
            for shift in 0..9 {
                let p = signed_rank_p(&values, f64::from(shift));
                assert!(p >= before - 1e-12, "{count} {shift}");
                before = p;
            }
            assert!(before >= 1.0 - 1e-12);
            let p = signed_rank_p(&values, 3.0);
            values[0] += 1.0;
            assert!(signed_rank_p(&values, 3.0) <= p + 1e-12);
        }
    }

    #[test]
    fn shifting_scaling_and_reordering_carry_everything_along() {
        let mut moved = DEPRESSION.map(|value| 8.0 * value + 3.0);
        moved.reverse();
        let (low, high) = walsh_interval(&moved, 6).unwrap();
        assert!(close(low, 8.0 * 0.010 + 3.0) && close(high, 8.0 * 0.786 + 3.0));
        assert!(close(hodges_lehmann(&moved).unwrap(), 8.0 * 0.46 + 3.0));
        assert!(close(signed_rank_p(&moved, 3.0), 0.019_531_25));
    }

    #[test]
    fn none_one_equal_missing_and_infinite_values_are_defined() {
        assert_eq!((hodges_lehmann(&[]), walsh_interval(&[], 1), walsh_interval(&[], 0)), (None, None, None));
        assert!(close(signed_rank_p(&[], 0.0), 1.0));
        assert_eq!((hodges_lehmann(&[2.0]), walsh_interval(&[2.0], 1)), (Some(2.0), Some((2.0, 2.0))));
        assert!(close(signed_rank_p(&[2.0], 0.0), 0.5) && close(signed_rank_p(&[2.0], 2.0), 1.0));
        assert_eq!((hodges_lehmann(&[4.0; 5]), walsh_interval(&[4.0; 5], 8)), (Some(4.0), Some((4.0, 4.0))));
        assert!(close(signed_rank_p(&[4.0; 5], 0.0), 1.0 / 32.0));
        assert_eq!(walsh_interval(&[4.0; 5], 9), None);
        let missing = [1.0, f64::NAN];
        assert_eq!((hodges_lehmann(&missing), walsh_interval(&missing, 1)), (None, None));
        assert!(signed_rank_p(&missing, 0.0).is_nan() && signed_rank_p(&[1.0], f64::NAN).is_nan());
        assert_eq!(walsh_interval(&[f64::INFINITY, f64::NEG_INFINITY], 1), None);
        assert_eq!((walsh_level(4, 0), walsh_level(4, 11), walsh_level(0, 1)), (0.0, 1.0, 1.0));
    }
}
