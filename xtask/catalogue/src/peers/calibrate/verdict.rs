//! Whether the harness's figure stands up to the loop by hand, by the wall clock.

use super::cost::BatchCost;

/// Differences up to this share of what the loop by hand takes are none.
const SHARE: f64 = 0.05;
/// And up to so many seconds: what one more look-up costs in Python, many times over.
const LEAST: f64 = 1e-6;
/// One round in so many may say something else than the rest.
const ODD: usize = 5;

/// The comparison of the two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BoundVerdict {
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
    /// It is none once the worker's own loop is taken away, as leads are given.
    Corrected,
    /// It is one, and the rounds agree on which side is slower.
    Over,
    /// It would be one, but the rounds do not agree.
    Unsure,
}

impl BoundVerdict {
    /// Of rounds in turns, the harness's figure first. `None` where there was none.
    pub(super) fn of(rounds: &[(BatchCost, BatchCost)]) -> Option<Self> {
        let (harness, hand): (Vec<BatchCost>, Vec<BatchCost>) = rounds.iter().copied().unzip();
        let (harness, hand) = (BatchCost::median(&harness)?, BatchCost::median(&hand)?);
        let (difference, bound) = (harness.wall - hand.wall, LEAST.max(SHARE * hand.wall));
        let agrees = |(harness, hand): &&(BatchCost, BatchCost)| {
            let one = harness.wall - hand.wall;
            one.abs() > bound && one.signum() == difference.signum()
        };
        let odd = rounds.len() - rounds.iter().filter(agrees).count();
        let standing = match difference.abs() <= bound {
            true => BoundStanding::Within,
            false if (difference - harness.own).abs() <= bound => BoundStanding::Corrected,
            false if odd * ODD <= rounds.len() => BoundStanding::Over,
            false => BoundStanding::Unsure,
        };
        Some(Self { difference, bound, standing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(wall: f64) -> BatchCost {
        BatchCost { wall: wall * 1e-6, cpu: 1.0, faults: 0.0, own: 0.0 }
    }

    fn standing(rounds: &[(f64, f64)]) -> BoundStanding {
        let rounds: Vec<_> = rounds.iter().map(|(harness, hand)| (cost(*harness), cost(*hand))).collect();
        BoundVerdict::of(&rounds).expect("there are rounds").standing
    }

    #[test]
    fn a_difference_of_five_hundredths_or_a_microsecond_is_none() {
        assert_eq!(standing(&[(104.9, 100.0)]), BoundStanding::Within);
        assert_eq!(standing(&[(105.1, 100.0)]), BoundStanding::Over);
        assert_eq!(
            (standing(&[(2.9, 2.0)]), standing(&[(3.1, 2.0)])),
            (BoundStanding::Within, BoundStanding::Over)
        );
        assert_eq!(BoundVerdict::of(&[]), None);
    }

    #[test]
    fn a_harness_that_is_too_quick_is_as_wrong_as_one_that_is_too_slow() {
        assert_eq!(standing(&[(94.0, 100.0)]), BoundStanding::Over);
        assert_eq!(standing(&[(96.0, 100.0)]), BoundStanding::Within);
    }

    #[test]
    fn a_difference_that_is_the_workers_own_loop_is_corrected_and_no_more_of_it() {
        let with_own = |harness, own: f64| {
            let rounds = [(BatchCost { own: own * 1e-6, ..cost(harness) }, cost(10.0))];
            BoundVerdict::of(&rounds).expect("there is a round").standing
        };
        assert_eq!(with_own(12.0, 1.5), BoundStanding::Corrected);
        assert_eq!(with_own(13.0, 1.5), BoundStanding::Over);
        assert_eq!(with_own(8.0, 1.5), BoundStanding::Over, "a quicker one is no loop's doing");
    }

    #[test]
    fn a_difference_on_which_rounds_do_not_agree_is_unsure_and_one_round_in_five_may_be_odd() {
        let over = (110.0, 100.0);
        assert_eq!(standing(&[over, over, (99.0, 100.0)]), BoundStanding::Unsure);
        assert_eq!(standing(&[over, over, over, over, (99.0, 100.0)]), BoundStanding::Over);
        assert_eq!(standing(&[over, over, over, (99.0, 100.0), (90.0, 100.0)]), BoundStanding::Unsure);
    }
}
