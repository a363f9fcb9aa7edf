//! Whether the harness's figure stands up to the loop by hand.

use super::cost::{Clock, Cost};

/// Differences up to this share of what the loop by hand takes are none.
const SHARE: f64 = 0.05;
/// And up to so many seconds: what one more look-up costs in Python, many times over.
const LEAST: f64 = 1e-6;

/// How the two sides stand to each other by one clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) clock: Clock,
    /// What the harness has more than the loop by hand, in seconds a batch; less than 0 where it has less.
    pub(super) difference: f64,
    /// The largest difference that is none, in seconds a batch.
    pub(super) bound: f64,
}

impl Verdict {
    pub(super) fn of(harness: Cost, hand: Cost, clock: Clock) -> Self {
        let by_hand = hand.by(clock);
        Self { clock, difference: harness.by(clock) - by_hand, bound: LEAST.max(SHARE * by_hand) }
    }

    pub(super) fn is_within(self) -> bool {
        self.difference.abs() <= self.bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(harness: f64, hand: f64) -> Verdict {
        let cost = |cpu: f64| Cost { wall: 1.0, cpu: cpu * 1e-6 };
        Verdict::of(cost(harness), cost(hand), Clock::Cpu)
    }

    #[test]
    fn a_difference_of_five_hundredths_or_a_microsecond_is_none() {
        assert!(verdict(104.9, 100.0).is_within() && !verdict(105.1, 100.0).is_within());
        assert!(verdict(2.9, 2.0).is_within() && !verdict(3.1, 2.0).is_within());
    }

    #[test]
    fn a_harness_that_is_too_quick_is_as_wrong_as_one_that_is_too_slow() {
        assert!(!verdict(94.0, 100.0).is_within() && verdict(96.0, 100.0).is_within());
    }

    #[test]
    fn only_the_clock_that_is_judged_by_counts() {
        let (slow, quick) = (Cost { wall: 9.0, cpu: 1.0 }, Cost { wall: 1.0, cpu: 1.0 });
        assert!(Verdict::of(slow, quick, Clock::Cpu).is_within());
        assert!(!Verdict::of(slow, quick, Clock::Wall).is_within());
    }
}
