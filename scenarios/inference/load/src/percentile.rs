//! Percentiles with intervals, stated only where the count bears them out.

use serde::{Deserialize, Serialize};
use weighbridge::data::clopper_pearson;

/// The level of the intervals.
const LEVEL: f64 = 0.95;

/// A percentile, in nanoseconds, with the interval that holds the true one in 95 of 100 samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentile {
    /// The value.
    pub value: u64,
    /// The lower bound.
    pub low: u64,
    /// The upper bound.
    pub high: u64,
}

/// The percentile `share` of these values, which are in order, and of `failed` more that are greater than
/// any: a request that failed has no latency, and was not fast.
///
/// The bounds are order statistics: the k-th of n values lies above the true percentile p with the
/// probability P(Binomial(n, p) < k). They assume only that the values are independent; those of a server
/// under load follow each other, so that true intervals are wider.
///
/// `None` where no value bounds it above: p50 takes 6 values, p90 36, p99 368 and p99.9 3,688.
pub fn percentile(sorted: &[u64], failed: u64, share: f64) -> Option<Percentile> {
    let count = sorted.len() as u64 + failed;
    // Numbers of values within the percentile that fit to it, as the exact interval of a share says.
    let fits = |within: u64| clopper_pearson(within, count, LEVEL);
    let too_few = |within: u64| fits(within).is_some_and(|(_, high)| high < share);
    let too_many = |within: u64| fits(within).is_some_and(|(low, _)| low > share);
    let low = first(count, |within| !too_few(within));
    let high = first(count + 1, |within| within > count || too_many(within));
    let nth = |place: u64| sorted.get(usize::try_from(place.checked_sub(1)?).ok()?).copied();
    let value = nth(((share * count as f64).ceil() as u64).max(1))?;
    // `low` may be no value at all: then nothing bounds it below but 0.
    Some(Percentile {
        value,
        low: nth(low).unwrap_or(0).min(value),
        high: nth(high).filter(|_| high <= count)?,
    })
}

/// p99 of values in order, or the greatest of too few for one. 0 for none.
pub(crate) fn p99_or_greatest(sorted: &[u64]) -> u64 {
    let stated = percentile(sorted, 0, 0.99).map(|percentile| percentile.value);
    stated.or(sorted.last().copied()).unwrap_or(0)
}

/// The first number up to `most` for which something holds that holds for all later ones.
fn first(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut below, mut above) = (0, most);
    while below < above {
        let middle = u64::midpoint(below, above);
        if holds(middle) {
            above = middle;
        } else {
            below = middle + 1;
        }
    }
    above
}

#[cfg(test)]
mod tests {
    use weighbridge::data::SplitMix64;

    use super::*;

    fn up_to(count: u64) -> Vec<u64> {
        (1..=count).collect()
    }

    /// The table of order statistics for the median at 95 % (Conover, *Practical Nonparametric Statistics*).
    #[test]
    fn the_interval_of_a_median_is_that_of_the_tables() {
        for (count, low) in [(6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (25, 8)] {
            let found = percentile(&up_to(count), 0, 0.5).unwrap();
            assert_eq!((found.low, found.high), (low, count + 1 - low), "{count}");
        }
    }

    /// 0.99^368 is the first power below 2.5 %; likewise 0.9^36 and 0.999^3688.
    #[test]
    fn a_percentile_is_stated_only_where_the_count_bears_it_out() {
        for (share, least) in [(0.5, 6), (0.9, 36), (0.99, 368), (0.999, 3688)] {
            assert_eq!(percentile(&up_to(least - 1), 0, share), None, "{share}");
            assert!(percentile(&up_to(least), 0, share).is_some(), "{share}");
        }
        assert_eq!(percentile(&[], 0, 0.5), None);
    }

    #[test]
    fn failures_are_slower_than_all_answers() {
        let all = up_to(980);
        assert!(percentile(&all, 0, 0.99).is_some());
        assert_eq!(percentile(&all, 20, 0.99), None);
        assert_eq!(percentile(&all, 980, 0.5), None);
        let (few, none) = (percentile(&all, 20, 0.5).unwrap(), percentile(&all, 0, 0.5).unwrap());
        assert_eq!((none.value, few.value), (490, 500));
    }

    #[test]
    fn the_interval_misses_the_truth_as_rarely_as_it_says() {
        let mut draws = SplitMix64::new(21);
        let mut missed = 0;
        for _ in 0..1_000 {
            let mut values: Vec<u64> = (0..500).map(|_| draws.below(1_000_000)).collect();
            values.sort_unstable();
            let found = percentile(&values, 0, 0.9).unwrap();
            missed += u32::from(!(found.low..=found.high).contains(&900_000));
        }
        assert!(missed <= 75, "{missed}"); // at most 50 expected, standard error 7
    }
}
