//! How much worse a figure may be before it counts: the margin, widened to what is noise on this machine.

use serde::{Deserialize, Serialize};

use super::Policy;
use super::values::ENOUGH;
use crate::stats;

/// The tolerance with fewer runs than that.
const FIRST_RUNS: f64 = 0.10;

/// The multiple of the spread of stored runs that a change must exceed.
const SPREADS: f64 = 3.0;

/// The margin by which a figure may be worse before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// The share: 0.05 for 5 %.
    pub share: f64,
    /// The basis of the share.
    pub basis: Basis,
    /// Stored runs behind it.
    pub runs: usize,
}

/// The basis of a tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The user set it.
    Set,
    /// The default margin; stored runs spread less.
    Margin,
    /// Three times the spread of stored runs, which is more than the margin.
    Spread,
    /// Too few runs are stored to know their spread.
    FirstRuns,
    /// Both sides were measured in turns: the margin of a duel.
    Duel,
}

impl Tolerance {
    /// The margin of a duel.
    pub(in crate::compare) fn duel(share: f64) -> Self {
        Self { share, basis: Basis::Duel, runs: 0 }
    }

    /// The tolerance for a metric that had these logarithms in stored runs: the margin as a flag set it; else
    /// the largest of the margin and three robust deviations.
    pub fn new(policy: &Policy, scenario: &str, past: &[f64]) -> Self {
        let runs = past.len();
        let margin = policy.stored_margin(scenario);
        let (share, basis) = if policy.threshold.is_some() {
            (margin, Basis::Set)
        } else if runs < ENOUGH {
            (margin.max(FIRST_RUNS), Basis::FirstRuns)
        } else {
            let spread = (SPREADS * stats::robust_spread(past)).exp_m1();
            if spread > margin { (spread, Basis::Spread) } else { (margin, Basis::Margin) }
        };
        Self { share, basis, runs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(policy: &Policy, medians: &[f64], share: f64, basis: Basis) {
        let past: Vec<f64> = medians.iter().map(|median| median.ln()).collect();
        let found = Tolerance::new(policy, "A", &past);
        assert!((found.share - share).abs() < 1e-9 && found.basis == basis, "{found:?}");
    }

    #[test]
    fn without_a_margin_of_the_users_the_history_decides() {
        let policy = Policy::default();
        check(&policy, &[], 0.10, Basis::FirstRuns);
        check(&policy, &[1.0, 1.3, 0.8, 1.1], 0.10, Basis::FirstRuns);
        check(&policy, &[1.0, 1.001, 0.999, 1.0, 1.002], 0.05, Basis::Margin);
        // Logarithms 0, ±0.1, ±0.2: a median absolute deviation of 0.1.
        let wandering = [-0.2f64, -0.1, 0.0, 0.1, 0.2].map(f64::exp);
        check(&policy, &wandering, (0.3f64 * 1.482_602_218_505_602).exp_m1(), Basis::Spread);
    }

    #[test]
    fn one_wild_run_among_many_widens_nothing() {
        check(&Policy::default(), &[1.0, 1.001, 0.999, 1.0, 1.002, 7.0], 0.05, Basis::Margin);
    }

    #[test]
    fn a_margin_that_was_set_is_taken_as_it_is() {
        let policy = Policy { threshold: Some(0.02), ..Policy::default() };
        check(&policy, &[], 0.02, Basis::Set);
        check(&policy, &[1.0, 2.0, 3.0, 4.0, 5.0], 0.02, Basis::Set);
    }
}
