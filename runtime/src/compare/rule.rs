//! The rule: what two samples of a metric say. Everything else of this stage leaves that to this file.

use super::{Effect, InconclusiveReason, Tolerance, Verdict};

/// Processes that a side must have at least: with fewer a chance order of them passes for an effect.
pub(super) const LEAST: usize = 6;

/// From this share of disturbed blocks on, what is left says more of the machine than of the case.
const DISTURBED: f64 = 0.25;

/// Reasons not to believe values, however clear they are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reservations {
    /// The share of blocks in which a thread was taken off its processor: the larger of both sides.
    pub(super) switched: f64,
    /// The share of blocks in which the processor or the control group was throttled.
    pub(super) throttled: f64,
    /// Tells whether the samples that the values are of never settle: in the baseline, in the candidate.
    pub(super) unsteady: [bool; 2],
    /// True if a device's clock explains what changed.
    pub(super) clock: bool,
    /// The smallest effect that has to be found, as a share.
    pub(super) limit: f64,
}

impl Reservations {
    /// The disturbance of too many blocks, if there is one.
    pub(super) fn disturbed(&self) -> Option<InconclusiveReason> {
        if self.switched > DISTURBED {
            Some(InconclusiveReason::Busy(self.switched))
        } else if self.throttled > DISTURBED {
            Some(InconclusiveReason::Throttled(self.throttled))
        } else {
            None
        }
    }
}

/// The reason why samples that never settle decide nothing: a figure of them depends on when one stops.
pub(super) fn unsteady([baseline, candidate]: [bool; 2]) -> Option<InconclusiveReason> {
    (baseline || candidate).then_some(InconclusiveReason::Unsteady { baseline, candidate })
}

/// The judgement on two samples of a metric: a verdict, and the effect where there is one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    pub(super) effect: Option<Effect>,
}

impl Judgement {
    /// In which order judgements on several metrics of one case stand for it: the worst first.
    pub(super) fn rank(&self) -> u8 {
        Self::rank_of(&self.verdict)
    }

    /// The same of a verdict.
    pub(super) fn rank_of(verdict: &Verdict) -> u8 {
        match verdict {
            Verdict::Regressed => 0,
            Verdict::Inconclusive(_) | Verdict::Incomparable(_) => Self::INCONCLUSIVE,
            Verdict::Improved => 2,
            _ => 3,
        }
    }

    /// The rank of what does not decide.
    pub(super) const INCONCLUSIVE: u8 = 1;
}

/// Judges one value per process of the baseline against one value per process of the candidate: logarithms,
/// turned so that more is worse.
///
/// Regressed where the whole interval of the effect lies above the tolerance, improved where the baseline
/// would be regressed against the candidate, unchanged where the whole interval lies between the two; else
/// the values do not decide. Nor do they where too many blocks were disturbed, where samples never settle, or
/// where nothing was found by values that could not have found what has to be found.
pub(super) fn weigh(sides: &[Vec<f64>; 2], tolerance: Tolerance, reservations: Reservations) -> Judgement {
    let inconclusive = |why| Judgement { verdict: Verdict::Inconclusive(why), effect: None };
    let [baseline, candidate] = sides;
    if baseline.len().min(candidate.len()) < LEAST {
        let (baseline, candidate) = (baseline.len(), candidate.len());
        return inconclusive(InconclusiveReason::FewProcesses { baseline, candidate, least: LEAST });
    }
    let Some(effect) = Effect::of(baseline, candidate) else {
        return inconclusive(InconclusiveReason::NoInterval);
    };
    if let Some(why) = reservations.disturbed().or_else(|| unsteady(reservations.unsteady)) {
        return Judgement { verdict: Verdict::Inconclusive(why), effect: Some(effect) };
    }
    let worst = tolerance.share;
    let detectable = effect.detectable_either_way(worst);
    let best = 1.0 / (1.0 + worst) - 1.0;
    let verdict = if effect.low > worst {
        Verdict::Regressed
    } else if effect.high < best {
        Verdict::Improved
    } else if effect.low > best && effect.high < worst && detectable > reservations.limit {
        Verdict::Inconclusive(InconclusiveReason::TooBlunt { detectable, asked: reservations.limit })
    } else if effect.low > best && effect.high < worst {
        Verdict::Unchanged
    } else {
        Verdict::Inconclusive(InconclusiveReason::Spans { low: effect.low, high: effect.high, tolerance })
    };
    Judgement { verdict, effect: Some(effect) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Basis;

    const T: Tolerance = Tolerance { share: 0.05, basis: Basis::Margin, runs: 5 };
    const BEFORE: [f64; 7] = [1.00, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998];

    fn weighed(before: &[f64], after: &[f64]) -> Judgement {
        with(before, after, Reservations { limit: 0.25, ..Reservations::default() })
    }

    fn with(before: &[f64], after: &[f64], reservations: Reservations) -> Judgement {
        weigh(&[before, after].map(|values| values.iter().map(|value| value.ln()).collect()), T, reservations)
    }

    fn verdict(before: &[f64], after: &[f64]) -> &'static str {
        weighed(before, after).verdict.name()
    }

    #[test]
    fn the_four_verdicts_hold_in_both_directions() {
        for (factor, there, back) in [
            (1.10, "Regressed", "Improved"),
            (0.90, "Improved", "Regressed"),
            (1.00, "Unchanged", "Unchanged"),
            (1.05, "Inconclusive", "Inconclusive"),
        ] {
            let after = BEFORE.map(|value| value * factor);
            assert_eq!(verdict(&BEFORE, &after), there, "{factor}");
            // Swapping the sides flips the verdict.
            assert_eq!(verdict(&after, &BEFORE), back, "{factor}");
            // Another unit of time changes none.
            let (b, a) = (BEFORE.map(|value| value * 1e9), after.map(|value| value * 1e9));
            assert_eq!(verdict(&b, &a), there, "{factor}");
        }
    }

    #[test]
    fn an_effect_below_the_tolerance_is_unchanged_however_certain() {
        assert_eq!(verdict(&BEFORE, &BEFORE.map(|value| value * 1.03)), "Unchanged");
    }

    #[test]
    fn a_large_effect_in_noisy_repeats_is_inconclusive_and_says_between_what() {
        let judgement = weighed(&BEFORE, &[0.7, 1.5, 0.8, 1.4, 0.9, 1.3, 1.6]);
        let why = judgement.verdict.why().unwrap();
        assert_eq!(why, "between 20.4 % better and 50.8 % worse, tolerance 5.0 %");
        assert!(judgement.effect.is_some());
    }

    #[test]
    fn disturbed_blocks_and_too_blunt_a_tool_decide_nothing() {
        let slow = BEFORE.map(|value| value * 1.5);
        let busy = Reservations { switched: 0.3, limit: 0.25, ..Reservations::default() };
        let judgement = with(&BEFORE, &slow, busy);
        assert!(judgement.verdict.why().unwrap().contains("in 30 % of the blocks"), "{judgement:?}");
        let throttled =
            Reservations { throttled: 0.3, switched: 0.2, limit: 0.25, ..Reservations::default() };
        assert!(with(&BEFORE, &slow, throttled).verdict.why().unwrap().contains("throttled"));
        let sharp = Reservations { limit: 0.05, ..Reservations::default() };
        assert!(with(&BEFORE, &BEFORE, sharp).verdict.why().unwrap().contains("where 5 % is asked for"));
        // What is found is found.
        assert_eq!(with(&BEFORE, &slow, sharp).verdict, Verdict::Regressed);
    }

    #[test]
    fn samples_that_never_settle_decide_nothing_on_whichever_side() {
        let slow = BEFORE.map(|value| value * 1.5);
        for (unsteady, whose) in [
            ([true, false], "the baseline's"),
            ([false, true], "the candidate's"),
            ([true; 2], "both sides'"),
        ] {
            let judgement =
                with(&BEFORE, &slow, Reservations { unsteady, limit: 0.25, ..Reservations::default() });
            let why = judgement.verdict.why().unwrap();
            assert!(why.starts_with(&format!("most of {whose} repeats never get steady")), "{why}");
            assert!(judgement.effect.is_some(), "it is told all the same");
        }
    }

    #[test]
    fn six_processes_find_what_is_clear_and_five_decide_nothing() {
        let (before, after) = (&BEFORE[..6], &BEFORE.map(|value| value * 1.1)[..6]);
        assert_eq!(verdict(before, after), "Regressed");
        let judgement = weighed(&BEFORE[..5], &[9.0; 7]);
        let why = InconclusiveReason::FewProcesses { baseline: 5, candidate: 7, least: 6 };
        assert_eq!(judgement.verdict, Verdict::Inconclusive(why));
        assert_eq!(verdict(&[], &[]), "Inconclusive");
    }
}
