//! The rule: what two samples of a metric say. Everything else of this stage leaves that to this file.

use super::{Effect, Tolerance, Verdict};
use crate::metric::Direction;

/// Values that a side must have at least: with fewer a chance order of the processes passes for an effect.
const LEAST: usize = 3;

/// What two samples say.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    pub(super) effect: Option<Effect>,
}

/// Judges one value per process of the baseline against one value per process of the candidate.
///
/// Regressed where the whole interval of the effect lies above the tolerance, improved where the baseline
/// would be regressed against the candidate, unchanged where the whole interval lies between the two; else
/// the values do not decide.
pub(super) fn weigh(
    baseline: &[f64],
    candidate: &[f64],
    direction: Direction,
    tolerance: Tolerance,
) -> Judgement {
    let inconclusive = |why: String| Judgement { verdict: Verdict::Inconclusive(why), effect: None };
    let fewest = baseline.len().min(candidate.len());
    if fewest < LEAST {
        let (b, c) = (baseline.len(), candidate.len());
        return inconclusive(format!("{b} against {c} repeats: at least {LEAST} are needed on each side"));
    }
    let Some(effect) = Effect::of(baseline, candidate, direction) else {
        return inconclusive("the values are not all positive, so they have no ratio".to_owned());
    };
    let worst = tolerance.share;
    let best = 1.0 / (1.0 + worst) - 1.0;
    let verdict = if effect.low > worst {
        Verdict::Regressed
    } else if effect.high < best {
        Verdict::Improved
    } else if effect.low > best && effect.high < worst {
        Verdict::Unchanged
    } else {
        let (low, high) = (words(effect.low), words(effect.high));
        Verdict::Inconclusive(format!("between {low} and {high}, tolerance {:.1} %", worst * 100.0))
    };
    Judgement { verdict, effect: Some(effect) }
}

/// An effect as people say it: `2.1 % worse`.
fn words(effect: f64) -> String {
    format!("{:.1} % {}", effect.abs() * 100.0, if effect < 0.0 { "better" } else { "worse" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Basis;

    const T: Tolerance = Tolerance { share: 0.05, basis: Basis::Margin, runs: 5 };
    const BEFORE: [f64; 7] = [1.00, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998];

    fn verdict(before: &[f64], after: &[f64], direction: Direction) -> &'static str {
        weigh(before, after, direction, T).verdict.name()
    }

    #[test]
    fn the_four_verdicts_hold_in_both_directions() {
        for (factor, lower, higher) in [
            (1.10, "Regressed", "Improved"),
            (0.90, "Improved", "Regressed"),
            (1.00, "Unchanged", "Unchanged"),
            (1.05, "Inconclusive", "Inconclusive"),
        ] {
            let after = BEFORE.map(|value| value * factor);
            assert_eq!(verdict(&BEFORE, &after, Direction::Lower), lower, "{factor}");
            assert_eq!(verdict(&BEFORE, &after, Direction::Higher), higher, "{factor}");
            // Swapping the sides flips the verdict.
            assert_eq!(verdict(&after, &BEFORE, Direction::Lower), higher, "{factor}");
            // Another unit of time changes none.
            let (b, a) = (BEFORE.map(|value| value * 1e9), after.map(|value| value * 1e9));
            assert_eq!(verdict(&b, &a, Direction::Lower), lower, "{factor}");
        }
    }

    #[test]
    fn an_effect_below_the_tolerance_is_unchanged_however_certain() {
        assert_eq!(verdict(&BEFORE, &BEFORE.map(|value| value * 1.03), Direction::Lower), "Unchanged");
    }

    #[test]
    fn a_large_effect_in_noisy_repeats_is_inconclusive_and_says_between_what() {
        let noisy = [0.7, 1.5, 0.8, 1.4, 0.9, 1.3, 1.6];
        let judgement = weigh(&BEFORE, &noisy, Direction::Lower, T);
        let why = judgement.verdict.why().unwrap();
        assert_eq!(why, "between 20.4 % better and 50.8 % worse, tolerance 5.0 %");
        assert!(judgement.effect.is_some());
    }

    #[test]
    fn three_repeats_find_a_twofold_slowdown_and_nothing_in_the_same_code() {
        assert_eq!(verdict(&[1.0, 1.1, 1.2], &[2.0, 2.3, 2.2], Direction::Lower), "Regressed");
        assert_eq!(verdict(&[2.0, 2.3, 2.2], &[1.0, 1.1, 1.2], Direction::Lower), "Improved");
        assert_eq!(verdict(&[1.0, 1.1, 1.2], &[1.15, 1.05, 1.1], Direction::Lower), "Inconclusive");
        assert_eq!(verdict(&[1.0, 1.01, 1.02], &[1.01, 1.0, 1.02], Direction::Lower), "Unchanged");
    }

    #[test]
    fn fewer_than_three_repeats_decide_nothing_and_say_how_many_are_needed() {
        let judgement = weigh(&[1.0, 1.0], &[9.0; 7], Direction::Lower, T);
        assert_eq!(
            judgement.verdict,
            Verdict::Inconclusive("2 against 7 repeats: at least 3 are needed on each side".into())
        );
        assert_eq!(verdict(&[], &[], Direction::Lower), "Inconclusive");
    }

    #[test]
    fn values_without_a_ratio_decide_nothing() {
        assert_eq!(verdict(&[0.0; 7], &[1.0; 7], Direction::Lower), "Inconclusive");
    }
}
