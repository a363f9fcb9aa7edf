//! Where a history changes its level.

use super::median;
use super::random::SplitMix64;

/// A Q this near to the one found, as a share of it, counts as equal: the same values summed in another
/// order.
const ROUNDING: f64 = 1e-9;

/// The bounds of what counts as a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The p below which a change is one; 0.001 is usual for histories, where every commit is looked at.
    pub level: f64,
    /// The number of values there must be on either side, at least 2.
    pub least_length: usize,
    /// The least difference of the medians beside a change, as a share of the one before.
    pub least_size: f64,
    /// Decides the permutations.
    pub seed: u64,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The index of the first value after the change.
    pub at: usize,
    /// The p of the change when it was found, among the values between the changes found before it.
    pub p: f64,
    /// The median of the values before, back to the change before.
    pub before: f64,
    /// The median of the values from here on, up to the next change.
    pub after: f64,
}

/// Finds where the values, in order, change their distribution: E-divisive (Matteson and James, *A
/// Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data*, 2014), with the energy
/// statistic of absolute differences.
///
/// Between changes already found, all ways to part a stretch in two (and to leave off its end) are weighed by
/// Q = mn / (m + n) x (2 x mean distance across - mean distance within either side); the largest Q is
/// compared with the largest Q of the same values in drawn orders. A change is accepted when that p is at
/// most the level, and both stretches beside it are searched in turn. Then the change that is smallest
/// against `least_size` is taken back until all are larger (so do Fleming and others, *Hunter*, 2023).
///
/// Permutations end early once p is certain to be above the level. A stretch of n takes about n^2 steps a
/// permutation: for histories of some hundreds of commits. Empty for fewer than twice
/// `least_length` values, where all are equal, and where one is NaN or infinite: leave those out before.
pub fn change_points(values: &[f64], change: Change) -> Vec<ChangePoint> {
    if values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let least = change.least_length.max(2);
    let mut random = SplitMix64::new(change.seed);
    let mut found: Vec<(usize, f64)> = Vec::new();
    let mut open = vec![(0, values.len())];
    while let Some((start, end)) = open.pop() {
        let stretch = &values[start..end];
        let Some((at, size)) = best_split(stretch, least) else { continue };
        let p = p_of_split(stretch, least, size, change.level, &mut random);
        if p <= change.level {
            let at = start + at;
            let place = found.partition_point(|(other, _)| *other < at);
            found.insert(place, (at, p));
            open.push((start, at));
            open.push((at, end));
        }
    }
    loop {
        let points = with_levels(values, &found);
        let mut smallest = None;
        let mut least_size = change.least_size;
        for (i, point) in points.iter().enumerate() {
            let step = (point.after - point.before).abs();
            // From zero to anything is no share, and counts as large.
            let size = if step == 0.0 { 0.0 } else { step / point.before.abs() };
            if size < least_size {
                smallest = Some(i);
                least_size = size;
            }
        }
        match smallest {
            Some(i) => found.remove(i),
            None => return points,
        };
    }
}

/// The changes with the medians on either side.
fn with_levels(values: &[f64], found: &[(usize, f64)]) -> Vec<ChangePoint> {
    let mut points = Vec::with_capacity(found.len());
    for (i, (at, p)) in found.iter().enumerate() {
        let start = if i == 0 { 0 } else { found[i - 1].0 };
        let end = if i + 1 == found.len() { values.len() } else { found[i + 1].0 };
        let (before, after) = (median(&values[start..*at]), median(&values[*at..end]));
        points.push(ChangePoint { at: *at, p: *p, before, after });
    }
    points
}

/// Returns the index at which Q is largest, and that Q. `None` for a stretch that is too short, or has no Q
/// above zero.
fn best_split(values: &[f64], least: usize) -> Option<(usize, f64)> {
    let count = values.len();
    if count < 2 * least {
        return None;
    }
    let mut inverse = vec![0.0; count + 1]; // dividing would take most of the time
    for (i, inverse) in inverse.iter_mut().enumerate() {
        *inverse = 1.0 / i as f64;
    }
    // Distances count in both directions. `within[i]`: all among the first i values; `to_all[i]`: from the
    // i-th to all before the current end.
    let mut within = vec![0.0; count + 1];
    let mut to_all = vec![0.0; count];
    let mut best = None;
    let mut largest = 0.0;
    for end in 1..=count {
        let newest = values[end - 1];
        let mut to_newest = 0.0;
        for i in 0..end - 1 {
            let distance = (values[i] - newest).abs();
            to_all[i] += distance;
            to_newest += distance;
        }
        to_all[end - 1] = to_newest;
        within[end] = within[end - 1] + 2.0 * to_newest;
        let mut from_left = 0.0;
        for at in 1..=end.saturating_sub(least) {
            from_left += to_all[at - 1];
            if at < least {
                continue;
            }
            let (first, second) = (at, end - at);
            let left = within[at];
            let across = from_left - left;
            let right = within[end] - 2.0 * from_left + left;
            let size = inverse[end]
                * (2.0 * across
                    - left * second as f64 * inverse[first - 1]
                    - right * first as f64 * inverse[second - 1]);
            if size > largest {
                largest = size;
                best = Some((at, size));
            }
        }
    }
    best
}

/// The share of drawn orders, the given one among them, whose largest Q is at least as large: a valid p for
/// any number of them. Twice as many as can show the level; fewer when it is passed for certain.
fn p_of_split(values: &[f64], least: usize, size: f64, level: f64, random: &mut SplitMix64) -> f64 {
    let draws = (2.0 / level).clamp(100.0, 20_000.0) as usize;
    let least_size = size - ROUNDING * size;
    let mut order = values.to_vec();
    let mut extreme = 1;
    let mut made = 1;
    while made < draws {
        random.shuffle(&mut order);
        made += 1;
        if best_split(&order, least).is_some_and(|(_, drawn)| drawn >= least_size) {
            extreme += 1;
        }
        if extreme as f64 > level * draws as f64 {
            break;
        }
    }
    extreme as f64 / made as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The yearly flow of the Nile at Aswan from 1871 on (Cobb, *The Problem of the Nile*, 1978): it fell
    /// after 1898, when the first dam was begun.
    const NILE: [f64; 100] = [
        1120.0, 1160.0, 963.0, 1210.0, 1160.0, 1160.0, 813.0, 1230.0, 1370.0, 1140.0, 995.0, 935.0, 1110.0,
        994.0, 1020.0, 960.0, 1180.0, 799.0, 958.0, 1140.0, 1100.0, 1210.0, 1150.0, 1250.0, 1260.0, 1220.0,
        1030.0, 1100.0, 774.0, 840.0, 874.0, 694.0, 940.0, 833.0, 701.0, 916.0, 692.0, 1020.0, 1050.0, 969.0,
        831.0, 726.0, 456.0, 824.0, 702.0, 1120.0, 1100.0, 832.0, 764.0, 821.0, 768.0, 845.0, 864.0, 862.0,
        698.0, 845.0, 744.0, 796.0, 1040.0, 759.0, 781.0, 865.0, 845.0, 944.0, 984.0, 897.0, 822.0, 1010.0,
        771.0, 676.0, 649.0, 846.0, 812.0, 742.0, 801.0, 1040.0, 860.0, 874.0, 848.0, 890.0, 744.0, 749.0,
        838.0, 1050.0, 918.0, 986.0, 797.0, 923.0, 975.0, 815.0, 1020.0, 906.0, 901.0, 1170.0, 912.0, 746.0,
        919.0, 718.0, 714.0, 740.0,
    ];

    const STRICT: Change = Change { level: 0.001, least_length: 5, least_size: 0.02, seed: 1 };

    fn at(values: &[f64], change: Change) -> Vec<usize> {
        change_points(values, change).into_iter().map(|point| point.at).collect()
    }

    /// Values about each level in turn, up to 5 % above and below.
    fn levels(parts: &[(usize, f64)], seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let mut values = Vec::new();
        for (count, level) in parts {
            values.extend((0..*count).map(|_| level * (0.95 + random.below(1_000) as f64 / 9_990.0)));
        }
        values
    }

    #[test]
    fn the_flow_of_the_nile_fell_after_1898_and_not_again() {
        let found = change_points(&NILE, STRICT);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(1871 + found[0].at, 1899);
        assert!(found[0].p <= 0.001);
        assert_eq!((found[0].before, found[0].after), (1_130.0, 842.5));
    }

    /// ```python
    /// def q(x, least):
    ///     d = scipy.spatial.distance.cdist(x[:, None], x[:, None]); best = (0, 0)
    ///     for k in range(2 * least, len(x) + 1):
    ///         for t in range(least, k - least + 1):
    ///             n, m = t, k - t; a, b, c = d[:t, t:k], d[:t, :t], d[t:k, t:k]
    ///             e = 2 * a.mean() - b.sum() / (n * (n - 1)) - c.sum() / (m * (m - 1))
    ///             best = max(best, (n * m / (n + m) * e, t))
    ///     return best
    /// for part, least in ((x, 5), (x[:40], 2), (x[30:], 2), (x[20:50], 8)):
    ///     print(q(part, least))   # SciPy 1.17.1
    /// ```
    #[test]
    fn the_split_and_its_size_agree_with_scipys_distances() {
        let table = [
            (&NILE[..], 5, 28, 4_916.590_807_675_145),
            (&NILE[..40], 2, 28, 2_215.063_063_063_063),
            (&NILE[30..], 2, 15, 689.075_630_252_100_8),
            (&NILE[20..50], 8, 8, 2_372.685_714_285_714_3),
        ];
        for (part, least, at, size) in table {
            let found = best_split(part, least).unwrap();
            assert_eq!(found.0, at);
            assert!((found.1 - size).abs() < 1e-8 * size, "{found:?} {size}");
        }
    }

    #[test]
    fn steps_are_found_where_they_are_and_dips_too() {
        for seed in 0..2 {
            assert_eq!(at(&levels(&[(20, 10.0), (20, 12.0)], seed), STRICT), [20]);
            assert_eq!(at(&levels(&[(20, 10.0), (15, 13.0), (20, 10.0)], seed), STRICT), [20, 35]);
        }
    }

    #[test]
    fn changes_below_the_least_size_are_taken_back() {
        let values = levels(&[(20, 10.0), (20, 12.0), (20, 18.0)], 3);
        assert_eq!(at(&values, STRICT), [20, 40]);
        assert_eq!(at(&values, Change { least_size: 0.3, ..STRICT }), [40]);
        assert!(at(&values, Change { least_size: 3.0, ..STRICT }).is_empty());
    }

    #[test]
    fn series_without_a_change_are_split_as_rarely_as_the_level_says() {
        let loose = Change { level: 0.05, least_length: 3, least_size: 0.0, seed: 2 };
        let split = (0..300).filter(|seed| !at(&levels(&[(20, 10.0)], *seed), loose).is_empty()).count();
        assert!(split <= 28, "{split}"); // 15 expected, standard error 4
    }

    #[test]
    fn scaling_shifting_without_a_least_size_and_the_same_seed_change_nothing() {
        let values = levels(&[(15, 10.0), (15, 12.0)], 4);
        let free = Change { least_size: 0.0, ..STRICT };
        let scaled: Vec<f64> = values.iter().map(|value| value * 64.0).collect();
        let moved: Vec<f64> = values.iter().map(|value| 500.0 - value).collect();
        assert_eq!(at(&values, free), [15]);
        assert_eq!(at(&scaled, free), at(&values, free));
        assert_eq!(at(&moved, free), at(&values, free));
        assert_eq!(change_points(&values, STRICT), change_points(&values, STRICT));
    }

    #[test]
    fn few_equal_and_missing_values_have_no_change() {
        for values in [&[][..], &[1.0], &[1.0, 9.0, 1.0], &[5.0; 40], &[1.0, f64::NAN, 2.0, 3.0]] {
            assert!(change_points(values, Change { least_length: 0, ..STRICT }).is_empty());
        }
        let from_nothing = [[0.0; 20], [5.0; 20]].concat();
        assert_eq!(at(&from_nothing, STRICT), [20]);
        assert!(at(&NILE, Change { level: f64::NAN, ..STRICT }).is_empty());
    }
}
