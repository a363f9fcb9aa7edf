//! How far one sample is shifted against another: Hodges and Lehmann's estimate with the interval of Mann and
//! Whitney's test.

use super::special::normal_quantile;
use super::{median, sorted};

/// Up to this many pairs the null distribution is counted, above it is approximated. For two samples of 50
/// the count is 12 million additions, and the approximation is right to one pair in 2,500.
const COUNTED_PAIRS: usize = 2_500;

/// The number of pairs beyond which the approximation is counted.
const BEYOND: usize = 4;

/// A shift between two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The median of all differences between a value of the one and a value of the other.
    pub estimate: f64,
    /// Lower and upper bound of the true shift; `None` where the samples are too small for the level.
    pub interval: Option<(f64, f64)>,
}

/// The amount by which `after` lies above `before`, two independent samples: the median of all pairwise
/// differences (Hodges and Lehmann, *Estimates of Location Based on Rank Tests*, 1963), between the two
/// differences that the rank test of Mann and Whitney cannot tell from the truth at this `level`.
///
/// The interval runs from the c-th smallest to the c-th largest difference, with the largest c for which P(U
/// < c) is at most half of what the level leaves, U being the test's statistic when there is no shift
/// (Hollander and Wolfe, *Nonparametric Statistical Methods*, 1973, section 4.3). It is exact for continuous
/// values and wider than need be where values are tied. `None` for an empty sample or a NaN in one.
pub fn shift(before: &[f64], after: &[f64], level: f64) -> Option<Shift> {
    let pairs = before.iter().flat_map(|old| after.iter().map(move |new| new - old));
    let differences = sorted(&pairs.collect::<Vec<_>>());
    if differences.is_empty() || differences.iter().any(|difference| difference.is_nan()) {
        return None;
    }
    let cut = match differences.len() {
        ..=COUNTED_PAIRS => counted_cut(before.len(), after.len(), (1.0 - level) / 2.0),
        _ => approximate_cut(before.len(), after.len(), (1.0 - level) / 2.0),
    };
    let interval = (cut > 0).then(|| (differences[cut - 1], differences[differences.len() - cut]));
    Some(Shift { estimate: median(&differences), interval })
}

/// The largest c with P(U < c) at most `tail`, by counting; 0 where even P(U = 0) is more.
fn counted_cut(n: usize, m: usize, tail: f64) -> usize {
    // Orders in which U is small are all that is asked of, and the approximation is never this far off: to
    // count no more is a fourth of the work for two samples of 7.
    let most = (approximate_cut(n, m, tail) + BEYOND).min(n * m);
    let all = (1..=n).fold(1.0, |all, of| all * (m + of) as f64 / of as f64);
    let ways = ways(n, m, most);
    let below = ways.iter().scan(0.0, |sum, ways| {
        *sum += ways;
        Some(*sum / all)
    });
    below.take_while(|below| *below <= tail).count()
}

/// Returns the number of orders of n and m distinct values in which U is 0, 1, 2 and so on up to `most`.
///
/// U is the sum of the n ranks less its least value, so this counts the ways to pick n of n + m ranks with a
/// given sum. All counts are whole, and exact up to 2^53, which two samples of 28 stay below; above that they
/// are sums of positive terms, so nothing cancels.
fn ways(n: usize, m: usize, most: usize) -> Vec<f64> {
    // ways[k * width + u]: ways to pick k of the ranks seen so far with that U among themselves and the rest
    // seen.
    let width = most + 1;
    let mut ways = vec![0.0; (n + 1) * width];
    ways[0] = 1.0;
    for rank in 0..n + m {
        // From the many to the few, so that no rank is picked twice.
        for picked in (1..=n.min(rank + 1)).rev() {
            // As the `picked`-th, this rank beats the `rank + 1 - picked` that were passed over.
            let beaten = rank + 1 - picked;
            for u in beaten..width {
                ways[picked * width + u] += ways[(picked - 1) * width + u - beaten];
            }
        }
    }
    ways.split_off(n * width)
}

/// As [`counted_cut`], by the normal distribution with U's mean and variance and a correction for continuity
/// (Mann and Whitney, *On a Test of Whether one of Two Random Variables is Stochastically Larger than the
/// Other*, 1947).
fn approximate_cut(n: usize, m: usize, tail: f64) -> usize {
    let (n, m) = (n as f64, m as f64);
    let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
    (n * m / 2.0 + normal_quantile(tail) * deviation - 0.5).floor().max(-1.0) as usize + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    fn check(before: &[f64], after: &[f64], estimate: f64, interval: Option<(f64, f64)>) {
        let found = shift(before, after, 0.95).unwrap();
        assert!(close(found.estimate, estimate), "{found:?}");
        match (found.interval, interval) {
            (Some(found), Some(expected)) => {
                assert!(close(found.0, expected.0) && close(found.1, expected.1), "{found:?}");
            }
            (found, expected) => assert_eq!(found, expected),
        }
    }

    const BEFORE: [f64; 7] = [1.0, 1.2, 0.9, 1.1, 1.05, 0.95, 1.15];
    const AFTER: [f64; 7] = [1.3, 1.25, 1.4, 1.1001, 1.35, 1.2001, 1.5];

    /// Permeability constants of placental membranes, the example of Hollander and Wolfe (1973), page 69,
    /// which R gives for `wilcox.test(x, y, conf.int = TRUE)`: 0.305, from -0.15 to 0.76.
    #[test]
    fn the_shift_agrees_with_hollander_and_wolfe() {
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let early = [1.15, 0.88, 0.90, 0.74, 1.21];
        check(&early, &term, 0.305, Some((-0.15, 0.76)));
    }

    /// The null distribution of `SciPy` 1.17.1:
    /// ```python
    /// from scipy.stats._mannwhitneyu import _MWU
    /// d = np.sort([q - p for p in before for q in after]); c = _MWU(7, 7)
    /// C = next(k for k in range(49) if c.cdf(k) > .025); np.median(d), d[C - 1], d[49 - C]
    /// ```
    #[test]
    fn the_shift_agrees_with_scipys_null_distribution() {
        check(&BEFORE, &AFTER, 0.25, Some((0.1, 0.4)));
    }

    /// `next(k for k in range(n * m) if _MWU(n, m).cdf(k) > .025)`. One less is the critical value of the
    /// printed tables of the test (Mann and Whitney 1947; 8 for two samples of 7, 23 for 10, 127 for 20).
    #[test]
    fn critical_values_agree_with_the_tables() {
        let table = [
            ((3, 3), 0),
            ((4, 4), 1),
            ((3, 7), 2),
            ((5, 5), 3),
            ((7, 7), 9),
            ((6, 9), 11),
            ((10, 10), 24),
            ((20, 20), 128),
            ((25, 25), 212),
            ((50, 50), 966),
        ];
        for ((n, m), cut) in table {
            assert_eq!(counted_cut(n, m, 0.025), cut, "{n} {m}");
            assert_eq!(counted_cut(m, n, 0.025), cut, "{m} {n}");
        }
    }

    /// By the same loop over `SciPy`'s exact distribution.
    #[test]
    fn the_approximation_is_right_to_one_pair_where_it_begins() {
        assert_eq!(approximate_cut(60, 60, 0.025), 1_427);
        assert!(approximate_cut(51, 50, 0.025).abs_diff(987) <= 1);
    }

    #[test]
    fn the_orders_of_two_samples_are_all_counted_and_symmetric() {
        assert_eq!(ways(2, 2, 4), [1.0, 1.0, 2.0, 1.0, 1.0]);
        let ways = ways(7, 7, 49);
        assert!(close(ways.iter().sum(), 3_432.0)); // 14 choose 7
        assert!(ways.iter().eq(ways.iter().rev()));
    }

    #[test]
    fn counting_the_lower_tail_alone_finds_the_cut_that_counting_all_orders_finds() {
        for (n, m) in (1..=12).flat_map(|n| (1..=12).map(move |m| (n, m))) {
            for tail in [0.1, 0.025, 0.005, 0.0005] {
                let ways = ways(n, m, n * m);
                let all: f64 = ways.iter().sum();
                let below = (0..=n * m).take_while(|c| ways[..=*c].iter().sum::<f64>() / all <= tail);
                assert_eq!(counted_cut(n, m, tail), below.count(), "{n} {m} {tail}");
            }
        }
    }

    #[test]
    fn swapping_the_samples_turns_the_shift_round() {
        let there = shift(&BEFORE, &AFTER, 0.95).unwrap();
        let back = shift(&AFTER, &BEFORE, 0.95).unwrap();
        let (low, high) = there.interval.unwrap();
        assert!(close(back.estimate, -there.estimate));
        assert!(back.interval.is_some_and(|(l, h)| close(l, -high) && close(h, -low)));
    }

    #[test]
    fn moving_both_samples_changes_nothing_and_moving_one_moves_the_shift() {
        let moved = AFTER.map(|value| value + 3.0);
        check(&BEFORE.map(|value| value + 3.0), &moved, 0.25, Some((0.1, 0.4)));
        check(&BEFORE, &moved, 3.25, Some((3.1, 3.4)));
        check(&BEFORE.map(|value| value * 10.0), &AFTER.map(|value| value * 10.0), 2.5, Some((1.0, 4.0)));
    }

    #[test]
    fn the_order_of_values_does_not_matter() {
        let (mut before, mut after) = (BEFORE, AFTER);
        before.rotate_left(3);
        after.reverse();
        check(&before, &after, 0.25, Some((0.1, 0.4)));
    }

    #[test]
    fn small_and_equal_samples_have_what_they_can_have() {
        assert_eq!(shift(&[], &[1.0], 0.95), None);
        assert_eq!(shift(&[1.0], &[], 0.95), None);
        assert_eq!(shift(&[1.0, f64::NAN], &[1.0], 0.95), None);
        check(&[1.0], &[3.0], 2.0, None);
        check(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0], 1.0, None);
        check(&[5.0; 6], &[5.0; 6], 0.0, Some((0.0, 0.0)));
    }

    #[test]
    fn large_samples_are_not_counted_but_approximated() {
        let before: Vec<f64> = (0..300).map(f64::from).collect();
        let after: Vec<f64> = before.iter().map(|value| value + 40.0).collect();
        let found = shift(&before, &after, 0.95).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!(close(found.estimate, 40.0) && low > 20.0 && high < 60.0);
    }
}
