//! By how much a candidate is worse than its baseline, with an interval.

use serde::{Deserialize, Serialize};

use crate::stats;

/// The level of the interval.
const LEVEL: f64 = 0.95;

/// By how much a candidate is worse, as a share: 0.05 is 5 % more time, or 5 % more time per unit of work
/// where the metric is a rate; below zero it is better. Whichever way the metric is better, more is worse
/// here.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The estimate.
    pub estimate: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
}

impl Effect {
    /// The effect between two independent samples of one value per process: logarithms, turned so that more
    /// is worse. `None` where they are too few for an interval at 95 % (three against three have none, four
    /// against four do), and where one is NaN.
    ///
    /// Times and rates vary by factors, so the shift is estimated between logarithms: scaling all values by
    /// the same factor changes nothing, and swapping the sides turns the effect round.
    pub fn of(before: &[f64], after: &[f64]) -> Option<Self> {
        let shift = stats::shift(before, after, LEVEL)?;
        let (low, high) = shift.interval?;
        Some(Self { estimate: shift.estimate.exp_m1(), low: low.exp_m1(), high: high.exp_m1() })
    }

    /// The effect between two samples that were taken in turns, one value of each side in each round: of the
    /// differences within a round, which a change of the machine from round to round leaves alone. `None`
    /// where the sides are not equally many, where they are too few for an interval at 95 % (five have none,
    /// six do), and where one is NaN.
    pub fn of_rounds(before: &[f64], after: &[f64]) -> Option<Self> {
        if before.len() != after.len() {
            return None;
        }
        let differences: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
        let (low, high) = stats::centre_interval(&differences, LEVEL)?;
        let estimate = stats::hodges_lehmann(&differences)?;
        Some(Self { estimate: estimate.exp_m1(), low: low.exp_m1(), high: high.exp_m1() })
    }

    /// The smallest effect that would have been found beyond the tolerance, had the interval been as wide as
    /// this one.
    pub fn detectable(&self, tolerance: f64) -> f64 {
        (1.0 + tolerance) * (1.0 + self.estimate) / (1.0 + self.low) - 1.0
    }

    /// The same, were the interval as wide on both sides as it is on its wider one: swapping the sides
    /// changes nothing.
    pub(super) fn detectable_either_way(&self, tolerance: f64) -> f64 {
        let upwards = (1.0 + self.estimate) / (1.0 + self.low);
        let downwards = (1.0 + self.high) / (1.0 + self.estimate);
        (1.0 + tolerance) * upwards.max(downwards) - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: [f64; 7] = [1.00, 1.02, 0.98, 1.01, 0.99, 1.03, 1.00];

    fn effect(before: &[f64], after: &[f64]) -> Effect {
        let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
        Effect::of(&logarithms(before), &logarithms(after)).unwrap()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_fifth_more_time_is_a_fifth_worse() {
        let worse = effect(&BEFORE, &BEFORE.map(|value| value * 1.2));
        assert!(close(worse.estimate, 0.2) && worse.low > 0.15 && worse.high < 0.25);
    }

    #[test]
    fn what_every_round_shows_is_seen_through_a_machine_that_changes_between_rounds() {
        let before: Vec<f64> = (1..=7).map(|round| f64::from(round) / 10.0).collect();
        let after: Vec<f64> = before.iter().map(|value| value + 0.02).collect();
        let paired = Effect::of_rounds(&before, &after).unwrap();
        assert!(paired.low > 0.0 && (paired.estimate - 0.02_f64.exp_m1()).abs() < 1e-9, "{paired:?}");
        assert!(Effect::of(&before, &after).unwrap().low < 0.0);
        assert!(Effect::of_rounds(&before, &after[1..]).is_none());
        assert!(Effect::of_rounds(&before[2..], &after[2..]).is_none(), "five rounds have no interval");
    }

    #[test]
    fn scaling_changes_no_effect_and_swapping_turns_it_round() {
        let after = [1.10, 1.08, 1.12, 1.09, 1.11, 1.07, 1.15];
        let plain = effect(&BEFORE, &after);
        let scaled = effect(&BEFORE.map(|v| v * 1e-6), &after.map(|v| v * 1e-6));
        let swapped = effect(&after, &BEFORE);
        assert!(close(plain.low, scaled.low) && close(plain.high, scaled.high));
        assert!(close((1.0 + swapped.low) * (1.0 + plain.high), 1.0));
        assert!(close((1.0 + swapped.estimate) * (1.0 + plain.estimate), 1.0));
        assert!(close(swapped.detectable_either_way(0.05), plain.detectable_either_way(0.05)));
    }

    #[test]
    fn the_smallest_detectable_effect_is_the_tolerance_and_the_half_width() {
        let exact = Effect { estimate: 0.0, low: 0.0, high: 0.0 };
        assert!(close(exact.detectable(0.05), 0.05));
        let wide = Effect { estimate: 0.0, low: -0.2, high: 0.3 };
        assert!(close(wide.detectable(0.05), 1.05 / 0.8 - 1.0));
        assert!(close(wide.detectable_either_way(0.05), 1.05 * 1.3 - 1.0));
    }

    #[test]
    fn too_few_values_and_what_is_no_number_have_no_effect() {
        for (before, after) in [(&[][..], &[1.0][..]), (&[1.0; 3], &[1.0; 3]), (&[f64::NAN; 6], &[1.0; 6])] {
            assert_eq!(Effect::of(before, after), None);
        }
    }
}
