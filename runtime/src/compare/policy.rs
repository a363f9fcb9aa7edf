//! What a gate lets pass: `[gate]` of `.config/weighbridge.toml`, and the flags over it.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Acceptance, Effect};
use crate::json;
use crate::plan::{CaseId, nearest};
use crate::registry::Point;

/// The margin against a stored baseline where the user sets none: a file cannot tell smaller changes from the
/// mood of the machine.
const STORED_MARGIN: f64 = 0.05;

/// The margin of a duel where the user sets none: relinking the same source moves a body by a few percent, so
/// that what lies below is as likely to be luck of layout as a change.
const DUEL_MARGIN: f64 = 0.01;

/// The smallest effect that a comparison with a stored baseline has to be able to find, where the user sets
/// none: a gate that could not see less than a quarter is none.
const DETECTABLE: f64 = 0.25;

/// The chance of a false alarm over all cases of a comparison that are to be confirmed, where the user sets
/// none.
const ALPHA: f64 = 0.05;

/// The bounds of a gate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// The margin as a flag set it, as a share: 0.05 for 5 %. It stands for both methods and every scenario,
    /// and against a stored baseline it is not widened by the history of this machine.
    pub threshold: Option<f64>,
    /// True if a comparison that decides nothing passes.
    pub inconclusive_passes: bool,
    /// True if a case that the baseline has and the run has not passes.
    #[serde(default)]
    pub removed_passes: bool,
    /// True if figures of another machine are compared all the same.
    pub allow_different_machine: bool,
    /// The gate of every scenario.
    pub gate: Gate,
    /// Gates of single scenarios, by id.
    pub scenarios: BTreeMap<String, Gate>,
    /// The changes that were accepted of the suite that is judged, on its machine, since its baseline.
    #[serde(default)]
    pub accepted: Vec<Acceptance>,
}

/// The metrics that gate, and from where on. What is not set is taken from the level above, then from the
/// defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Gate {
    /// Metrics that are judged beside the one that stands for each case.
    pub metrics: Option<Vec<String>>,
    /// The margin of a duel, as a share (1 %).
    pub duel_margin: Option<f64>,
    /// The margin against a stored baseline, as a share (5 %), widened to what the history of this machine
    /// shows.
    pub stored_margin: Option<f64>,
    /// The smallest effect that a comparison with a stored baseline has to be able to find, as a share: where
    /// it could not, an unchanged case is inconclusive (25 %, or where the margin is wide what it can find at
    /// best).
    pub detectable: Option<f64>,
    /// The performance, as a share of the baseline's, below which a regressed case is marked: 0.90.
    pub warn: Option<f64>,
    /// The performance, as a share of the baseline's, below which a regressed case fails the gate: 0.80. Not
    /// set: every regressed case does.
    pub fail: Option<f64>,
    /// The chance of a false alarm, over all cases of a duel that are to be confirmed (0.05).
    pub alpha: Option<f64>,
}

/// `[gate]` as it is written: what holds for every scenario, and `[gate.scenario.ID]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PolicyFile {
    metrics: Option<Vec<String>>,
    duel_margin: Option<f64>,
    stored_margin: Option<f64>,
    detectable: Option<f64>,
    warn: Option<f64>,
    fail: Option<f64>,
    alpha: Option<f64>,
    inconclusive: Option<String>,
    removed: Option<String>,
    #[serde(default)]
    scenario: BTreeMap<String, Gate>,
}

/// The settings file, as far as it concerns the gate.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicySettings {
    #[serde(default)]
    gate: PolicyFile,
    #[serde(rename = "profile")]
    _profile: Option<IgnoredAny>,
    #[serde(rename = "outputs")]
    _outputs: Option<IgnoredAny>,
}

impl Policy {
    /// The policy that a workspace's `.config/weighbridge.toml` states.
    ///
    /// # Errors
    /// What is wrong in its text: unknown keys are named, and values that cannot be.
    pub fn read(text: &str) -> Result<Self, String> {
        let PolicySettings { gate, .. } = json::from_toml(text)?;
        let PolicyFile {
            metrics,
            duel_margin,
            stored_margin,
            detectable,
            warn,
            fail,
            alpha,
            inconclusive,
            removed,
            scenario,
        } = gate;
        let passes = |key: &str, value: Option<String>| match value.as_deref() {
            None | Some("fail") => Ok(false),
            Some("pass") => Ok(true),
            Some(other) => Err(format!("gate.{key} is pass or fail, not `{other}`")),
        };
        let inconclusive_passes = passes("inconclusive", inconclusive)?;
        let removed_passes = passes("removed", removed)?;
        let gate = Gate { metrics, duel_margin, stored_margin, detectable, warn, fail, alpha };
        gate.check("gate")?;
        for (id, gate) in &scenario {
            gate.check(&format!("gate.scenario.{id}"))?;
            if gate.alpha.is_some() {
                return Err(format!(
                    "gate.scenario.{id}: alpha is of the whole comparison: set it in [gate]"
                ));
            }
        }
        Ok(Self { inconclusive_passes, removed_passes, gate, scenarios: scenario, ..Self::default() })
    }

    /// Checks that every scenario that is set apart is known: one of these ids, or one of the cases that are
    /// `listed` for some bench target of the workspace, a line each (`cv_1::small`).
    ///
    /// # Errors
    /// The first that is not, with the nearest that is known.
    pub fn check_scenarios(&self, known: &[&str], listed: &str) -> Result<(), String> {
        for id in self.scenarios.keys() {
            let case =
                CaseId { scenario: id.clone(), point: Point::default(), adapter: None, told_apart: false };
            let slug = case.slug();
            let is_listed = listed.lines().any(|line| line.split("::").next() == Some(&slug));
            if !is_listed && !known.contains(&id.as_str()) {
                let near = nearest(id, known.iter().copied());
                let near = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
                return Err(format!("gate.scenario.{id}: there is no such scenario{near}"));
            }
        }
        Ok(())
    }

    /// The margin of a duel on this scenario.
    pub fn duel_margin(&self, scenario: &str) -> f64 {
        self.threshold.unwrap_or_else(|| self.of(scenario, |gate| gate.duel_margin).unwrap_or(DUEL_MARGIN))
    }

    /// The margin against a stored baseline on this scenario.
    pub fn stored_margin(&self, scenario: &str) -> f64 {
        self.threshold
            .unwrap_or_else(|| self.of(scenario, |gate| gate.stored_margin).unwrap_or(STORED_MARGIN))
    }

    /// The smallest effect that a comparison with a stored baseline has to be able to find on this scenario.
    /// A wide margin with an interval as wide is enough for itself.
    pub fn detectable(&self, scenario: &str) -> f64 {
        let margin = 1.0 + self.stored_margin(scenario);
        self.of(scenario, |gate| gate.detectable).unwrap_or_else(|| DETECTABLE.max(margin * margin - 1.0))
    }

    /// The chance of a false alarm that is accepted.
    pub fn alpha(&self) -> f64 {
        self.gate.alpha.unwrap_or(ALPHA)
    }

    /// The same policy with these metrics in the place of those of the settings, in every scenario.
    #[must_use]
    pub fn gated_by(mut self, metrics: &[String]) -> Self {
        self.gate.metrics = Some(metrics.to_vec());
        self.scenarios.values_mut().for_each(|gate| gate.metrics = None);
        self
    }

    /// The metrics that may fail the gate beside the one that stands for a case of this scenario.
    pub fn gated(&self, scenario: &str) -> &[String] {
        self.of(scenario, |gate| gate.metrics.as_deref()).unwrap_or_default()
    }

    /// Tells whether this metric may fail the gate beside the one that stands for a case of this scenario.
    pub fn gates(&self, scenario: &str, metric: &str) -> bool {
        self.gated(scenario).iter().any(|gated| gated == metric)
    }

    /// Tells whether a regression of this effect is to be marked.
    pub fn warns(&self, scenario: &str, effect: Effect) -> bool {
        self.of(scenario, |gate| gate.warn).is_some_and(|level| performance(effect) < level)
    }

    /// Tells whether a regression of this effect fails the gate.
    pub fn fails(&self, scenario: &str, effect: Effect) -> bool {
        self.of(scenario, |gate| gate.fail).is_none_or(|level| performance(effect) < level)
    }

    fn of<'a, T>(&'a self, scenario: &str, read: impl Fn(&'a Gate) -> Option<T>) -> Option<T> {
        self.scenarios.get(scenario).and_then(&read).or_else(|| read(&self.gate))
    }
}

/// The candidate's performance at the near end of the interval, as a share of the baseline's.
fn performance(effect: Effect) -> f64 {
    1.0 / (1.0 + effect.low)
}

impl Gate {
    fn check(&self, place: &str) -> Result<(), String> {
        let shares = [
            ("duel-margin", self.duel_margin, 10.0),
            ("stored-margin", self.stored_margin, 10.0),
            ("detectable", self.detectable, 10.0),
            ("warn", self.warn, 1.0),
            ("fail", self.fail, 1.0),
            ("alpha", self.alpha, 0.5),
        ];
        for (name, value, most) in shares {
            if let Some(value) = value
                && !(value > 0.0 && value <= most)
            {
                return Err(format!("{place}: {name} is a share above 0 and up to {most}, not {value}"));
            }
        }
        match (self.warn, self.fail) {
            (Some(warn), Some(fail)) if fail > warn => Err(format!(
                "{place}: fail = {fail} lies above warn = {warn}: what fails is worse than what warns"
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_scenario_sets_stands_over_the_gate_and_a_flag_over_both() {
        let text = "
            [profile.small]
            repeats = 3
            [gate]
            metrics = [\"minor_faults\"]
            duel-margin = 0.02
            inconclusive = \"pass\"
            [gate.scenario.PC-1]
            duel-margin = 0.03
            metrics = []
        ";
        let mut policy = Policy::read(text).unwrap();
        assert_eq!((policy.duel_margin("CV-1"), policy.duel_margin("PC-1")), (0.02, 0.03));
        assert!((policy.stored_margin("PC-1") - STORED_MARGIN).abs() < 1e-12);
        assert!(policy.gates("CV-1", "minor_faults") && !policy.gates("PC-1", "minor_faults"));
        assert!(policy.inconclusive_passes);
        assert!((policy.detectable("CV-1") - 0.25).abs() < 1e-12);
        policy.threshold = Some(0.5);
        assert_eq!((policy.duel_margin("PC-1"), policy.stored_margin("PC-1")), (0.5, 0.5));
        assert!((policy.detectable("PC-1") - 1.25).abs() < 1e-12);
    }

    #[test]
    fn metrics_of_a_flag_stand_over_those_of_the_settings_and_of_every_scenario() {
        let text = "[gate]\nmetrics = [\"minor_faults\"]\n[gate.scenario.A]\nmetrics = [\"loss\"]";
        let policy = Policy::read(text).unwrap().gated_by(&["answer_p99".to_owned()]);
        for scenario in ["A", "B"] {
            assert_eq!(policy.gated(scenario), ["answer_p99"], "{scenario}");
        }
    }

    #[test]
    fn a_scenario_that_nobody_has_is_named_with_the_nearest() {
        let policy = Policy::read("[gate.scenario.IO-1]\nduel-margin = 0.02").unwrap();
        assert_eq!(policy.check_scenarios(&["CV-1", "IO-1"], ""), Ok(()));
        assert_eq!(policy.check_scenarios(&["CV-1"], "[pack/other]\nio_1::memory::workers=0\n"), Ok(()));
        let why = policy.check_scenarios(&["CV-1", "IO-2"], "io_11::memory").unwrap_err();
        assert_eq!(why, "gate.scenario.IO-1: there is no such scenario: did you mean `IO-2`?");
        assert_eq!(
            policy.check_scenarios(&[], "").unwrap_err(),
            "gate.scenario.IO-1: there is no such scenario"
        );
    }

    #[test]
    fn without_settings_the_defaults_hold() {
        let policy = Policy::read("").unwrap();
        assert_eq!(policy, Policy::default());
        assert_eq!((policy.duel_margin("A"), policy.stored_margin("A"), policy.alpha()), (0.01, 0.05, 0.05));
    }

    #[test]
    fn levels_mark_and_fail_by_the_near_end_of_the_interval() {
        let policy = Policy::read("gate = { warn = 0.9, fail = 0.8 }").unwrap();
        let effect = |low| Effect { estimate: low + 0.05, low, high: low + 0.1 };
        assert!(!policy.warns("A", effect(0.05)) && !policy.fails("A", effect(0.05)));
        assert!(policy.warns("A", effect(0.15)) && !policy.fails("A", effect(0.15)));
        assert!(policy.warns("A", effect(0.30)) && policy.fails("A", effect(0.30)));
        assert!(Policy::default().fails("A", effect(0.011)), "without levels every regression fails");
    }

    #[test]
    fn unknown_keys_and_impossible_values_are_named() {
        for (text, expected) in [
            ("gate = { margins = 0.1 }", "margins"),
            ("gate = { duel-margin = -0.1 }", "gate: duel-margin"),
            ("gate = { warn = 0.8, fail = 0.9 }", "fail = 0.9 lies above"),
            ("gate = { inconclusive = \"maybe\" }", "`maybe`"),
            ("gate = { removed = \"no\" }", "gate.removed is pass or fail, not `no`"),
            ("gate = { scenario = { A = { alpha = 0.1 } } }", "gate.scenario.A"),
            ("gates = {}", "gates"),
        ] {
            let error = Policy::read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
