//! What each change took, beside the script as it is: round by round, with an interval.

use std::collections::BTreeMap;

use serde::Serialize;
use weighbridge::data::{centre_interval, hodges_lehmann, median};

use crate::journal::{Event, Journal};

/// The arm that changes nothing, and the one that takes batches with no step between.
pub(crate) const AS_IT_IS: &str = "as it is";
pub(crate) const ALONE: &str = "alone";
/// The arm whose batches cost nothing.
pub(crate) const CACHED: &str = "cached";

/// The confidence of an interval. Several changes are tried at once, so it is higher than that of one.
const LEVEL: f64 = 0.99;

/// Steps of a block that an average is made of.
const LEAST_STEPS: usize = 2;

/// A change against the script as it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Effect {
    /// The arm: `workers=4`.
    pub(crate) arm: String,
    /// Seconds of a step with it.
    pub(crate) seconds: f64,
    /// Its time over that of the same round without it.
    pub(crate) ratio: f64,
    /// The interval of that; absent where there were too few rounds.
    pub(crate) interval: Option<(f64, f64)>,
    /// The rounds that it was tried in.
    pub(crate) rounds: usize,
}

impl Effect {
    /// The share of a step that it saves; below 0 where it costs.
    pub(crate) fn saved(&self) -> f64 {
        1.0 - self.ratio
    }

    /// The least share that it saves, by its interval; nothing where there is none.
    pub(crate) fn surely_saved(&self) -> f64 {
        self.interval.map_or(f64::NEG_INFINITY, |(_, high)| 1.0 - high)
    }

    /// The factor by which a step is faster, with its interval.
    pub(crate) fn factor(&self) -> (f64, Option<(f64, f64)>) {
        (1.0 / self.ratio, self.interval.map(|(low, high)| (1.0 / high, 1.0 / low)))
    }
}

/// All changes that were tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Trial {
    /// Seconds of a step as it is.
    pub(crate) base: f64,
    /// Whole rounds.
    pub(crate) rounds: usize,
    /// The changes, the most useful first.
    pub(crate) effects: Vec<Effect>,
    /// Seconds of a batch where no step comes between.
    pub(crate) alone: Option<f64>,
}

impl Trial {
    /// The effect of this arm.
    pub(crate) fn effect(&self, arm: &str) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.arm == arm)
    }

    /// The effects of arms whose names begin so.
    pub(crate) fn effects_of<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a Effect> {
        self.effects.iter().filter(move |effect| effect.arm.starts_with(prefix))
    }
}

/// Reads the blocks of a run that tried. Of several processes, one that made as many rounds as any speaks.
pub(crate) fn trial(journal: &Journal) -> Trial {
    let mut processes: BTreeMap<u32, BTreeMap<String, BTreeMap<u64, f64>>> = BTreeMap::new();
    for told in &journal.all {
        if let Event::Block { arm, round, periods } = &told.event
            && periods.len() >= LEAST_STEPS
        {
            let mean = periods.iter().map(|period| *period as f64 * 1e-9).sum::<f64>() / periods.len() as f64;
            processes.entry(told.pid).or_default().entry(arm.clone()).or_default().insert(*round, mean);
        }
    }
    let most = processes.into_values().max_by_key(|arms| arms.get(AS_IT_IS).map_or(0, BTreeMap::len));
    most.map(|arms| effects(&arms)).unwrap_or_default()
}

fn effects(arms: &BTreeMap<String, BTreeMap<u64, f64>>) -> Trial {
    let none = BTreeMap::new();
    let base = arms.get(AS_IT_IS).unwrap_or(&none);
    let mut effects: Vec<Effect> = arms
        .iter()
        .filter(|(arm, _)| ![AS_IT_IS, ALONE].contains(&arm.as_str()))
        .filter_map(|(arm, rounds)| effect(arm, base, rounds))
        .collect();
    effects.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
    let middle = |rounds: &BTreeMap<u64, f64>| median(&rounds.values().copied().collect::<Vec<_>>());
    Trial { base: middle(base), rounds: base.len(), effects, alone: arms.get(ALONE).map(middle) }
}

/// The ratio of each round, as a logarithm, is one value: what all arms of a round share falls out.
fn effect(arm: &str, base: &BTreeMap<u64, f64>, rounds: &BTreeMap<u64, f64>) -> Option<Effect> {
    let ratios: Vec<f64> =
        rounds.iter().filter_map(|(round, time)| Some((time / base.get(round)?).ln())).collect();
    let centre = hodges_lehmann(&ratios)?;
    Some(Effect {
        arm: arm.to_owned(),
        seconds: median(&rounds.values().copied().collect::<Vec<_>>()),
        ratio: centre.exp(),
        interval: centre_interval(&ratios, LEVEL).map(|(low, high)| (low.exp(), high.exp())),
        rounds: ratios.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Told;

    fn blocks(arms: &[(&str, u64)], rounds: u64) -> Journal {
        let block = |arm: &str, period: u64, round: u64| Told {
            pid: 1,
            at: round,
            // The machine is half as fast in every other round.
            event: Event::Block {
                arm: arm.to_owned(),
                round,
                periods: vec![period * (1 + round % 2) + round; 3],
            },
        };
        let all =
            (0..rounds).flat_map(|round| arms.iter().map(move |(arm, period)| block(arm, *period, round)));
        Journal { all: all.collect() }
    }

    #[test]
    fn a_change_that_saves_half_does_so_on_a_machine_that_changes_between_rounds() {
        let trial = trial(&blocks(&[(AS_IT_IS, 40_000_000), ("workers=2", 20_000_000)], 10));
        let effect = trial.effect("workers=2").unwrap();
        let (low, high) = effect.interval.unwrap();
        assert!((effect.ratio - 0.5).abs() < 1e-6 && low > 0.49 && high < 0.51, "{effect:?}");
    }

    #[test]
    fn few_rounds_give_no_interval_and_save_nothing_surely() {
        let trial = trial(&blocks(&[(AS_IT_IS, 40_000_000), (CACHED, 20_000_000)], 5));
        let effect = trial.effect(CACHED).unwrap();
        assert_eq!(effect.interval, None);
        assert!(effect.surely_saved() < 0.0);
    }

    #[test]
    fn a_run_without_blocks_has_no_effects() {
        assert_eq!(trial(&Journal::default()), Trial::default());
    }
}
