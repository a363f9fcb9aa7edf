//! By how much a candidate is worse than its baseline, with an interval.

use serde::{Deserialize, Serialize};

use crate::metric::Direction;
use crate::stats;

/// The level of the interval.
const LEVEL: f64 = 0.95;

/// Below this many values on a side the interval is the range of all ratios.
const FEW: usize = 4;

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
    /// Whether there were too few values for an interval with a level, and the range stands in for it.
    pub few: bool,
}

impl Effect {
    /// The effect between two independent samples of one value per process. `None` where a sample is empty,
    /// where values are not all positive (they have no ratio then), or where the metric is for information.
    ///
    /// Times and rates vary by factors, so the shift is estimated between logarithms: scaling all values by
    /// the same factor changes nothing, and swapping the sides turns the effect round. With three values or
    /// fewer on a side the interval runs from the best candidate against the worst baseline to the opposite:
    /// for three against three that leaves out the truth in one of ten cases at most, half on either side.
    pub fn of(baseline: &[f64], candidate: &[f64], direction: Direction) -> Option<Self> {
        let before = logarithms(baseline, direction)?;
        let after = logarithms(candidate, direction)?;
        let shift = stats::shift(&before, &after, LEVEL)?;
        let few = before.len().min(after.len()) < FEW;
        let (low, high) = shift.interval.filter(|_| !few).unwrap_or_else(|| {
            let ((least, most), (least_after, most_after)) = (range(&before), range(&after));
            (least_after - most, most_after - least)
        });
        Some(Self { estimate: shift.estimate.exp_m1(), low: low.exp_m1(), high: high.exp_m1(), few })
    }

    /// The smallest effect that would have been found beyond the tolerance, had the interval been as wide as
    /// this one.
    pub fn detectable(&self, tolerance: f64) -> f64 {
        (1.0 + tolerance) * (1.0 + self.estimate) / (1.0 + self.low) - 1.0
    }
}

/// The logarithms of the values, turned so that more is worse.
fn logarithms(values: &[f64], direction: Direction) -> Option<Vec<f64>> {
    let sign = match direction {
        Direction::Lower => 1.0,
        Direction::Higher => -1.0,
        Direction::Information => return None,
    };
    let positive = |value: &f64| (*value > 0.0 && value.is_finite()).then(|| sign * value.ln());
    values.iter().map(positive).collect()
}

fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
        (least.min(*value), most.max(*value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: [f64; 7] = [1.00, 1.02, 0.98, 1.01, 0.99, 1.03, 1.00];

    fn effect(before: &[f64], after: &[f64], direction: Direction) -> Effect {
        Effect::of(before, after, direction).unwrap()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_fifth_more_time_is_a_fifth_worse_and_a_fifth_more_rate_a_sixth_better() {
        let more = BEFORE.map(|value| value * 1.2);
        let worse = effect(&BEFORE, &more, Direction::Lower);
        assert!(close(worse.estimate, 0.2) && worse.low > 0.15 && worse.high < 0.25 && !worse.few);
        let better = effect(&BEFORE, &more, Direction::Higher);
        assert!(close(better.estimate, 1.0 / 1.2 - 1.0) && better.high < 0.0);
    }

    #[test]
    fn scaling_changes_no_effect_and_swapping_turns_it_round() {
        let after = [1.10, 1.08, 1.12, 1.09, 1.11, 1.07, 1.15];
        let plain = effect(&BEFORE, &after, Direction::Lower);
        let scaled = effect(&BEFORE.map(|v| v * 1e-6), &after.map(|v| v * 1e-6), Direction::Lower);
        let swapped = effect(&after, &BEFORE, Direction::Lower);
        assert!(close(plain.low, scaled.low) && close(plain.high, scaled.high));
        assert!(close((1.0 + swapped.low) * (1.0 + plain.high), 1.0));
        assert!(close((1.0 + swapped.estimate) * (1.0 + plain.estimate), 1.0));
    }

    #[test]
    fn three_values_have_the_range_of_all_ratios() {
        let few = effect(&[1.0, 1.1, 1.2], &[2.0, 2.2, 2.4], Direction::Lower);
        assert!(few.few && close(few.low, 2.0 / 1.2 - 1.0) && close(few.high, 1.4));
        // Also where only one side is small: the range is wider than the exact interval.
        assert!(effect(&BEFORE, &[1.0, 1.0, 1.0], Direction::Lower).few);
    }

    #[test]
    fn the_smallest_detectable_effect_is_the_tolerance_and_the_half_width() {
        let exact = Effect { estimate: 0.0, low: 0.0, high: 0.0, few: false };
        assert!(close(exact.detectable(0.05), 0.05));
        let wide = Effect { estimate: 0.0, low: -0.2, high: 0.25, few: false };
        assert!(close(wide.detectable(0.05), 1.05 / 0.8 - 1.0));
    }

    #[test]
    fn what_has_no_ratio_has_no_effect() {
        for (before, after) in
            [(&[][..], &[1.0][..]), (&[0.0], &[1.0]), (&[1.0], &[-1.0]), (&[f64::NAN], &[1.0])]
        {
            assert_eq!(Effect::of(before, after, Direction::Lower), None);
        }
        assert_eq!(Effect::of(&BEFORE, &BEFORE, Direction::Information), None);
    }
}
