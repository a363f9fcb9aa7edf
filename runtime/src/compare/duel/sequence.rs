//! When a duel may stop, and what it says then: a signed-rank interval at fixed looks.

use std::collections::BTreeMap;

use crate::compare::rule::Judgement;
use crate::compare::{Effect, InconclusiveReason, Tolerance, Verdict};
use crate::stats;

/// The most rounds of a duel.
pub(super) const MOST_ROUNDS: usize = stats::LOOKS[stats::LOOKS.len() - 1].rounds;

/// Judges the rounds at a look; `None` between looks, or where they do not decide yet.
///
/// `shifts` are logarithms of how much worse the candidate is, one per round. The order within pairs is
/// drawn, so without a change each is as likely above zero as below it, whatever the noise: the interval
/// between the r-th smallest and the r-th largest Walsh average then holds zero at a level that is known
/// exactly. With r as in [`stats::LOOKS`] the four looks together err in less than 5 % of duels on identical
/// code, and a regression is called only where the whole interval is beyond the margin.
pub(super) fn look(shifts: &[f64], margin: f64) -> Option<Judgement> {
    let look = stats::LOOKS.iter().find(|look| look.rounds == shifts.len())?;
    let judgement = at(shifts, look.rank, margin)?;
    let is_last = look.rounds == MOST_ROUNDS;
    (is_last || !matches!(judgement.verdict, Verdict::Inconclusive(_))).then_some(judgement)
}

/// Judges the rounds by the last look that they reach: for a duel that was broken off, and one of whole
/// repeats.
pub(super) fn so_far(shifts: &[f64], margin: f64) -> Option<Judgement> {
    let look = stats::LOOKS.iter().rev().find(|look| look.rounds <= shifts.len())?;
    at(&shifts[..look.rounds], look.rank, margin)
}

fn at(shifts: &[f64], rank: usize, margin: f64) -> Option<Judgement> {
    let (low, high) = stats::walsh_interval(shifts, rank)?;
    let estimate = stats::hodges_lehmann(shifts)?;
    let worst = margin.ln_1p();
    let verdict = if low > worst {
        Verdict::Regressed
    } else if high < -worst {
        Verdict::Improved
    } else if low > -worst && high < worst {
        Verdict::Unchanged
    } else {
        let (low, high, tolerance) = (low.exp_m1(), high.exp_m1(), Tolerance::duel(margin));
        Verdict::Inconclusive(InconclusiveReason::Spans { low, high, tolerance })
    };
    let effect = Effect { estimate: estimate.exp_m1(), low: low.exp_m1(), high: high.exp_m1() };
    Some(Judgement { verdict, effect: Some(effect) })
}

/// The rounds that are to confirm a regression.
#[derive(Clone, Debug, Default)]
pub(super) struct FreshRounds {
    /// One value per round.
    pub(super) shifts: Vec<f64>,
    /// The layout of the programs in each; empty if all had the usual one.
    pub(super) layouts: Vec<u32>,
}

impl FreshRounds {
    /// The values that are independent of each other: one per round, or the median of the rounds of each
    /// layout. Where the linker has put a loop is the same in all rounds of a layout.
    pub(super) fn values(&self) -> Vec<f64> {
        if self.layouts.iter().all(|layout| *layout == 0) {
            return self.shifts.clone();
        }
        let mut of_layout: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (shift, layout) in self.shifts.iter().zip(&self.layouts) {
            of_layout.entry(*layout).or_default().push(*shift);
        }
        of_layout.into_values().map(|shifts| stats::median(&shifts)).collect()
    }
}

/// Tells whether a regression stands on its fresh rounds.
pub(super) struct Confirmation {
    pub(super) stands: bool,
    pub(super) p: f64,
    pub(super) adjusted: f64,
}

/// Judges the regressions of one comparison on fresh rounds: p is the exact one-sided signed-rank chance of
/// such rounds if the candidate were worse by the margin and no more, adjusted over all of them (Holm, *A
/// Simple Sequentially Rejective Multiple Test Procedure*, 1979). One stands where that is below alpha. A
/// confirmation has a number of rounds that is fixed beforehand: one that was broken off has p = 1, or it
/// could end when it looks worst.
pub(super) fn confirmations(fresh: &[FreshRounds], margins: &[f64], alpha: f64) -> Vec<Confirmation> {
    let p: Vec<f64> = fresh
        .iter()
        .zip(margins)
        .map(|(fresh, margin)| match fresh.shifts.len() {
            MOST_ROUNDS.. => stats::signed_rank_p(&fresh.values(), margin.ln_1p()),
            _ => 1.0,
        })
        .collect();
    let adjusted = stats::holm(&p);
    p.into_iter()
        .zip(adjusted)
        .map(|(p, adjusted)| Confirmation { stands: adjusted < alpha, p, adjusted })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SplitMix64;

    /// Rounds around a shift, with noise as wide as this.
    fn rounds(n: usize, shift: f64, noise: f64, seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let unit = |random: &mut SplitMix64| (random.draw() >> 11) as f64 / (1u64 << 53) as f64;
        (0..n).map(|_| shift + noise * (unit(&mut random) - 0.5)).collect()
    }

    fn verdict(shifts: &[f64]) -> Option<&'static str> {
        look(shifts, 0.01).map(|judgement| judgement.verdict.name())
    }

    #[test]
    fn clear_cases_are_decided_at_the_first_look() {
        assert_eq!(verdict(&rounds(8, 0.05, 0.01, 1)), Some("Regressed"));
        assert_eq!(verdict(&rounds(8, -0.05, 0.01, 1)), Some("Improved"));
        assert_eq!(verdict(&rounds(8, 0.0, 0.01, 1)), Some("Unchanged"));
    }

    #[test]
    fn between_looks_nothing_is_decided_and_the_last_look_decides_always() {
        let wide = |n| rounds(n, 0.0, 0.4, 3);
        for n in [0, 1, 7, 9, 11, 12, 16, 23] {
            assert_eq!(verdict(&wide(n)), None, "{n}");
        }
        assert_eq!(verdict(&wide(24)), Some("Inconclusive"));
        assert_eq!(so_far(&wide(7), 0.01), None);
        assert!(so_far(&wide(11), 0.01).is_some());
    }

    #[test]
    fn swapping_the_sides_flips_every_verdict() {
        let flip = |name| match name {
            "Regressed" => "Improved",
            "Improved" => "Regressed",
            other => other,
        };
        for seed in 0..300 {
            let shifts = rounds(24, (seed % 7) as f64 * 0.01 - 0.03, 0.05, seed);
            let swapped: Vec<f64> = shifts.iter().map(|shift| -shift).collect();
            for looked in [8, 12, 16, 24] {
                let (one, other) = (verdict(&shifts[..looked]), verdict(&swapped[..looked]));
                assert_eq!(one.map(flip), other, "seed {seed}, {looked} rounds");
            }
        }
    }

    /// Fresh rounds of so many layouts in turns, each of which moves the body by a drawn part of `moved`.
    fn in_layouts(layouts: u32, shift: f64, moved: f64, seed: u64) -> FreshRounds {
        let mut random = SplitMix64::new(seed);
        let unit = |random: &mut SplitMix64| (random.draw() >> 11) as f64 / (1u64 << 53) as f64;
        let places: Vec<f64> = (0..layouts).map(|_| moved * (2.0 * unit(&mut random) - 1.0)).collect();
        let of = |round: usize| (round % layouts as usize) as u32;
        FreshRounds {
            shifts: (0..MOST_ROUNDS)
                .map(|round| shift + places[of(round) as usize] + 1e-3 * unit(&mut random))
                .collect(),
            layouts: (0..MOST_ROUNDS).map(|round| 1 + of(round)).collect(),
        }
    }

    #[test]
    fn where_the_linker_puts_a_body_is_confirmed_as_no_regression_and_what_is_slower_everywhere_is_one() {
        let stands = |fresh: FreshRounds| confirmations(&[fresh], &[0.01], 0.05)[0].stands;
        let confirmed = |layouts, shift, moved| {
            (0..400).filter(|seed| stands(in_layouts(layouts, shift, moved, *seed))).count()
        };
        // With the one layout that was built, half of all builds are slower by chance, and stay it.
        assert!(confirmed(1, 0.0, 0.1) == 0, "a single layout is one value, and confirms nothing");
        let usual = |seed| FreshRounds { layouts: Vec::new(), ..in_layouts(1, 0.0, 0.1, seed) };
        assert!((0..400).filter(|seed| stands(usual(*seed))).count() > 150);
        assert!(confirmed(12, 0.0, 0.1) <= 20, "of 400, at 5 %");
        assert_eq!(confirmed(12, 0.05, 0.01), 400);
        // Ten cases that regressed are confirmed together: each against a tenth of the chance.
        let ten: Vec<FreshRounds> = (0..10).map(|seed| in_layouts(12, 0.05, 0.01, seed)).collect();
        assert!(confirmations(&ten, &[0.01; 10], 0.05).iter().all(|one| one.stands));
    }

    #[test]
    fn identical_code_is_called_changed_in_fewer_than_one_of_twenty_duels() {
        let tries = 2000;
        let wrong = (0..tries)
            .filter(|seed| {
                let shifts = rounds(24, 0.0, 0.2, *seed);
                let verdicts = [8, 12, 16, 24].map(|looked| look(&shifts[..looked], 0.0));
                let first = verdicts.into_iter().flatten().next();
                first.is_some_and(|j| matches!(j.verdict, Verdict::Regressed | Verdict::Improved))
            })
            .count();
        assert!(wrong < tries as usize / 20, "{wrong} of {tries}, with no margin at all");
    }
}
