//! How many samples a tail percentile needs before it may be stated.
//!
//! A percentile p is at most L with confidence c when so few samples lie above L that, were p's true value
//! higher, so few would be seen with probability 1 - c or less: with h samples within L and t over it, when
//! `I_{p-d}(h, t+1)` <= 1 - c. This is the early-stopping rule of `LoadGen` (Reddi and others, *`MLPerf`
//! Inference Benchmark*, 2020, and the document on early stopping beside its source), d being how much of p
//! is given away; d = 0 gives nothing away. The rule bounds one look: looking again after each sample would
//! need more.

use super::sorted;
use super::special::incomplete_beta;

/// The claim that is to hold of a percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// The share of all samples that is to lie within: 0.99 for p99.
    pub percentile: f64,
    /// The share that is given away: so much less than `percentile` will do.
    pub tolerance: f64,
    /// The confidence.
    pub confidence: f64,
}

impl Claim {
    /// Tells whether `within` samples within a limit and `over` over it bear the claim out. False for a claim
    /// outside of 0 to 1.
    pub fn holds(self, within: u64, over: u64) -> bool {
        let share = self.percentile - self.tolerance;
        // Written so that NaN fails.
        share > 0.0
            && self.percentile < 1.0
            && self.confidence < 1.0
            && within > 0
            && incomplete_beta(within as f64, over as f64 + 1.0, share) <= 1.0 - self.confidence
    }

    /// The least number of samples within a limit with which the claim holds although `over` lie over it.
    /// `None` for a claim outside of 0 to 1.
    pub fn least_within(self, over: u64) -> Option<u64> {
        let mut holds = 1;
        while !self.holds(holds, over) {
            holds = (2 * holds).min(1 << 40);
            if holds == 1 << 40 {
                return None;
            }
        }
        let mut fails = 0;
        while holds - fails > 1 {
            let within = u64::midpoint(holds, fails);
            if self.holds(within, over) {
                holds = within;
            } else {
                fails = within;
            }
        }
        Some(holds)
    }

    /// The least number of samples for which the percentile may be stated: one of them over it, as `LoadGen`
    /// asks, so that the bound is not just the largest value. 64 for p90 and 662 for p99 at a confidence of
    /// 99 %. `None` for a claim outside of 0 to 1.
    pub fn least_count(self) -> Option<u64> {
        Some(self.least_within(1)? + 1)
    }

    /// The value that the percentile does not exceed, with the claim's confidence: the smallest of the values
    /// that has no more values above it than the claim bears. `None` for fewer values than
    /// [`Claim::least_count`], and where one is NaN.
    pub fn bound(self, values: &[f64]) -> Option<f64> {
        let count = values.len() as u64;
        if count < 2 || values.iter().any(|value| value.is_nan()) {
            return None;
        }
        let bears = |over: u64| over < count && self.holds(count - over, over);
        if !bears(1) {
            return None;
        }
        let (mut holds, mut fails) = (1, count);
        while fails - holds > 1 {
            let over = u64::midpoint(holds, fails);
            if bears(over) {
                holds = over;
            } else {
                fails = over;
            }
        }
        Some(sorted(values)[(count - 1 - holds) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SplitMix64;

    fn claim(percentile: f64) -> Claim {
        Claim { percentile, tolerance: 0.0, confidence: 0.99 }
    }

    /// The least query counts of the `MLPerf` inference rules: 64 for the 90th percentile of a single stream,
    /// 662 for the 99th of multiple streams.
    #[test]
    fn the_least_counts_are_those_of_the_mlperf_rules() {
        assert_eq!(claim(0.9).least_count(), Some(64));
        assert_eq!(claim(0.99).least_count(), Some(662));
    }

    /// ```python
    /// def least(p, d, c, t):
    ///     h = 1
    ///     while scipy.special.betainc(h, t + 1, p - d) > 1 - c: h += 1
    ///     return h
    /// for p, d, c, t in ((.9, 0, .99, 0), (.9, 0, .99, 10), (.99, 0, .95, 3),
    ///                    (.999, .0005, .99, 1), (.5, 0, .95, 2)):
    ///     print(least(p, d, c, t))   # SciPy 1.17.1
    /// ```
    #[test]
    fn the_least_numbers_within_agree_with_scipy() {
        let table = [
            (0.9, 0.0, 0.99, 0, 44),
            (0.9, 0.0, 0.99, 10, 187),
            (0.99, 0.0, 0.95, 3, 770),
            (0.999, 0.0005, 0.99, 1, 4422),
            (0.5, 0.0, 0.95, 2, 9),
        ];
        for (percentile, tolerance, confidence, over, expected) in table {
            assert_eq!(Claim { percentile, tolerance, confidence }.least_within(over), Some(expected));
        }
    }

    #[test]
    fn more_within_and_fewer_over_keep_a_claim() {
        for over in 0..12 {
            let least = claim(0.95).least_within(over).unwrap();
            assert!(claim(0.95).holds(least, over) && !claim(0.95).holds(least - 1, over));
            assert!(claim(0.95).holds(least + 50, over) && !claim(0.95).holds(least, over + 1));
        }
    }

    #[test]
    fn the_bound_is_below_the_true_percentile_as_rarely_as_was_said() {
        let asked = Claim { percentile: 0.9, tolerance: 0.0, confidence: 0.9 };
        let mut random = SplitMix64::new(11);
        let mut missed = 0;
        for _ in 0..2_000 {
            let values: Vec<f64> = (0..150).map(|_| random.below(1 << 30) as f64).collect();
            missed += usize::from(asked.bound(&values).unwrap() < 0.9 * f64::from(1 << 30));
        }
        assert!(missed <= 240, "{missed}"); // at most 200 expected, standard error 13
    }

    #[test]
    fn a_bound_leaves_at_least_one_value_above_it() {
        let values: Vec<f64> = (1..=64).map(f64::from).collect();
        assert_eq!(claim(0.9).bound(&values), Some(63.0));
        assert_eq!(claim(0.9).bound(&values[1..]), None);
        assert_eq!(claim(0.9).bound(&[7.0; 100]), Some(7.0));
    }

    #[test]
    fn claims_and_samples_that_are_none_are_none() {
        for percentile in [0.0, 1.0, 1.5, f64::NAN] {
            assert_eq!(claim(percentile).least_count(), None);
            assert_eq!(claim(percentile).bound(&[1.0; 100]), None);
        }
        assert_eq!(claim(0.5).bound(&[]), None);
        assert_eq!(claim(0.5).bound(&[1.0]), None);
        assert_eq!(claim(0.5).bound(&[f64::NAN; 100]), None);
    }
}
