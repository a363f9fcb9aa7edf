//! Whether the harness's figure stands up to the loop by hand.

use super::cost::{BatchCost, ComparedClock};

/// Differences up to this share of what the loop by hand takes are none.
const SHARE: f64 = 0.05;
/// And up to so many seconds: what one more look-up costs in Python, many times over.
const LEAST: f64 = 1e-6;
/// One round in so many may say something else than the rest.
const ODD: usize = 5;

/// The comparison of the two sides by one clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BoundVerdict {
    pub(super) clock: ComparedClock,
    /// The cost of the harness less that of the loop by hand, in seconds a batch.
    pub(super) difference: f64,
    /// The largest difference that is none, in seconds a batch.
    pub(super) bound: f64,
    pub(super) standing: BoundStanding,
}

/// The verdict of the rounds on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoundStanding {
    /// It is none.
    Within,
    /// It is one, and the rounds agree on which side is slower.
    Over,
    /// It would be one, but the rounds do not agree.
    Unsure,
}

impl BoundVerdict {
    /// Of rounds in turns, the harness's figure first. `None` where there was none.
    pub(super) fn of(rounds: &[(BatchCost, BatchCost)], clock: ComparedClock) -> Option<Self> {
        let (harness, hand): (Vec<BatchCost>, Vec<BatchCost>) = rounds.iter().copied().unzip();
        let (harness, hand) = (BatchCost::median(&harness)?.by(clock), BatchCost::median(&hand)?.by(clock));
        let (difference, bound) = (harness - hand, LEAST.max(SHARE * hand));
        let agrees = |(harness, hand): &&(BatchCost, BatchCost)| {
            let one = harness.by(clock) - hand.by(clock);
            one.abs() > bound && one.signum() == difference.signum()
        };
        let odd = rounds.len() - rounds.iter().filter(agrees).count();
        let standing = match difference.abs() <= bound {
            true => BoundStanding::Within,
            false if odd * ODD <= rounds.len() => BoundStanding::Over,
            false => BoundStanding::Unsure,
        };
        Some(Self { clock, difference, bound, standing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(cpu: f64) -> BatchCost {
        BatchCost { wall: 1.0, cpu: cpu * 1e-6, faults: 0.0 }
    }

    fn standing(rounds: &[(f64, f64)]) -> BoundStanding {
        let rounds: Vec<_> = rounds.iter().map(|(harness, hand)| (cost(*harness), cost(*hand))).collect();
        BoundVerdict::of(&rounds, ComparedClock::Cpu).expect("there are rounds").standing
    }

    #[test]
    fn a_difference_of_five_hundredths_or_a_microsecond_is_none() {
        assert_eq!(standing(&[(104.9, 100.0)]), BoundStanding::Within);
        assert_eq!(standing(&[(105.1, 100.0)]), BoundStanding::Over);
        assert_eq!(
            (standing(&[(2.9, 2.0)]), standing(&[(3.1, 2.0)])),
            (BoundStanding::Within, BoundStanding::Over)
        );
    }

    #[test]
    fn a_harness_that_is_too_quick_is_as_wrong_as_one_that_is_too_slow() {
        assert_eq!(standing(&[(94.0, 100.0)]), BoundStanding::Over);
        assert_eq!(standing(&[(96.0, 100.0)]), BoundStanding::Within);
    }

    #[test]
    fn a_difference_on_which_rounds_do_not_agree_is_unsure_and_one_round_in_five_may_be_odd() {
        let over = (110.0, 100.0);
        assert_eq!(standing(&[over, over, (99.0, 100.0)]), BoundStanding::Unsure);
        assert_eq!(standing(&[over, over, over, over, (99.0, 100.0)]), BoundStanding::Over);
        assert_eq!(standing(&[over, over, over, (99.0, 100.0), (90.0, 100.0)]), BoundStanding::Unsure);
    }

    #[test]
    fn only_the_clock_that_is_judged_by_counts() {
        let cost = |wall| BatchCost { wall, cpu: 1.0, faults: 0.0 };
        let rounds = [(cost(9.0), cost(1.0))];
        let by = |clock| BoundVerdict::of(&rounds, clock).expect("there is a round").standing;
        assert_eq!(
            (by(ComparedClock::Cpu), by(ComparedClock::Wall)),
            (BoundStanding::Within, BoundStanding::Over)
        );
        assert_eq!(BoundVerdict::of(&[], ComparedClock::Cpu), None);
    }
}
