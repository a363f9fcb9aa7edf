//! The field: what was measured of each scenario and variant, and how the subject stands to the best of its
//! rivals.

use anyhow::Result;
use weighbridge::data::names;
use weighbridge::data::{CaseRecord, CaseStatus, Ranking, Ratio, RunRecord, rank};
use weighbridge_python as python;
use weighbridge_python::PEERS;

use weighbridge_xtask::stop;

/// The subject where none is named.
const USUAL: &str = "Datarax";
/// Python's own arrays: what the others are held against, and no rival.
const PLAIN: &str = "NumPy";

/// A run, as one adapter sees it.
pub(super) struct ComparedField<'a> {
    pub(super) run: &'a RunRecord,
    /// The adapter whose strengths and gaps are looked for.
    pub(super) subject: String,
    /// Those that it is compared with.
    pub(super) rivals: Vec<String>,
    /// By scenario and point, in the order of the run.
    pub(super) groups: Vec<FieldGroup<'a>>,
    /// A remark on the choice of the subject, for the reader.
    pub(super) remark: Option<String>,
}

/// The cases of one scenario and point.
pub(super) struct FieldGroup<'a> {
    /// `CV-1/small/workers=0`.
    pub(super) title: String,
    /// Those that were measured, in the order of the run.
    pub(super) cases: Vec<&'a CaseRecord>,
    /// The metric that all of them are compared by: one for all variants of a scenario, or they could not be
    /// compared.
    pub(super) metric: &'static str,
}

/// The subject beside the best of its rivals.
pub(super) struct ShownDuel<'a> {
    pub(super) group: &'a FieldGroup<'a>,
    pub(super) ours: &'a CaseRecord,
    pub(super) rival: &'a CaseRecord,
    /// By what factor the subject leads.
    pub(super) ratio: Ratio,
    /// Other rivals that cannot be told from the best one.
    pub(super) equals: Vec<&'a str>,
}

impl<'a> ComparedField<'a> {
    /// # Errors
    /// When an adapter that is named has no measured case.
    pub(super) fn of(run: &'a RunRecord, subject: Option<&str>, rivals: &[String]) -> Result<Self> {
        let mut names: Vec<&str> = run
            .cases
            .iter()
            .filter(|case| case.status == CaseStatus::Measured)
            .filter_map(|case| case.id.adapter.as_deref())
            .collect();
        names.sort_unstable();
        names.dedup();
        for named in subject.into_iter().chain(rivals.iter().map(String::as_str)) {
            if !names.contains(&named) {
                return Err(stop::unknown("measured adapter", named, names));
            }
        }
        let mut remark = None;
        let subject = match subject {
            Some(subject) => subject,
            None if names.contains(&USUAL) => USUAL,
            None => {
                let reference =
                    run.cases.iter().find(|case| case.tier == Some(0) && case.id.adapter.is_some());
                let reference = reference.and_then(|case| case.id.adapter.as_deref());
                let Some(subject) = reference.or(names.first().copied()) else {
                    return Err(stop::nothing("no adapter of the run was measured"));
                };
                remark = Some(format!(
                    "{USUAL} was not measured: this is of {subject}; `--subject NAME` takes another"
                ));
                subject
            }
        };
        let rivals = match rivals {
            [] => names.into_iter().filter(|name| is_rival(subject, name)).map(str::to_owned).collect(),
            named => named.iter().filter(|name| *name != subject).cloned().collect(),
        };
        Ok(Self { run, subject: subject.to_owned(), rivals, groups: groups(run), remark })
    }

    /// The subject's case of a group, where it may be ranked.
    pub(super) fn ours<'b>(&self, group: &'b FieldGroup<'a>) -> Option<&'b CaseRecord> {
        group.ranked(&self.subject)
    }

    /// The subject beside the best rival; `None` where one of them was not measured or did other work.
    pub(super) fn duel<'b>(&self, group: &'b FieldGroup<'a>) -> Option<ShownDuel<'b>> {
        let ours = self.ours(group)?;
        let rivals: Vec<&CaseRecord> = group
            .cases
            .iter()
            .copied()
            .filter(|case| case.id.adapter.as_ref().is_some_and(|name| self.rivals.contains(name)))
            .collect();
        let places = rank(&rivals, group.metric);
        let best: &Ranking<'_> = places.first()?;
        let ratio = Ratio::between(ours.metric(group.metric)?, best.metric)?;
        let equals = places[1..].iter().filter(|place| place.rank == 1).map(|place| name(place.case));
        Some(ShownDuel { group, ours, rival: best.case, ratio, equals: equals.collect() })
    }

    /// All of them, in the order of the run.
    pub(super) fn duels(&self) -> Vec<ShownDuel<'_>> {
        self.groups.iter().filter_map(|group| self.duel(group)).collect()
    }

    /// Returns whether any scenario is compared by the processor's clock. A statement on one of them goes by
    /// its own clock.
    pub(super) fn any_by_cpu(&self) -> bool {
        self.groups.iter().any(FieldGroup::by_cpu)
    }

    /// Returns the metric that the cases of this scenario are compared by.
    pub(super) fn metric(&self, scenario: &str) -> &'static str {
        self.groups.iter().find(|group| group.scenario() == scenario).map_or("", |group| group.metric)
    }

    /// Adapters with a measured case, in the order of tiers and names.
    pub(super) fn adapters(&self) -> Vec<&'a str> {
        let mut names: Vec<(u8, &str)> = self
            .run
            .cases
            .iter()
            .filter(|case| case.status == CaseStatus::Measured)
            .filter_map(|case| Some((case.tier.unwrap_or(u8::MAX), case.id.adapter.as_deref()?)))
            .collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|(_, name)| name).collect()
    }
}

impl FieldGroup<'_> {
    /// Its scenario.
    pub(super) fn scenario(&self) -> &str {
        self.cases.first().map_or("", |case| &case.id.scenario)
    }

    /// Returns whether it is compared by the processor's clock.
    pub(super) fn by_cpu(&self) -> bool {
        by_cpu(self.metric)
    }

    /// This adapter's case, where it may be ranked.
    pub(super) fn ranked(&self, adapter: &str) -> Option<&CaseRecord> {
        self.cases.iter().copied().find(|case| name(case) == adapter && case.ranked())
    }
}

/// Returns whether a metric goes by the processor's clock.
pub(super) fn by_cpu(metric: &str) -> bool {
    matches!(metric, names::THROUGHPUT_CPU | names::CPU_TIME)
}

/// The adapter of a case, or nothing.
pub(super) fn name(case: &CaseRecord) -> &str {
    case.id.adapter.as_deref().unwrap_or_default()
}

/// Returns whether two adapters are compared: a framework with other frameworks, and not with its own other
/// mode, with plain arrays or with loaders that are no framework at all; anything else with everybody.
fn is_rival(subject: &str, other: &str) -> bool {
    let peer = |name: &str| PEERS.iter().find(|peer| peer.name == name);
    match (python::find(subject), peer(other)) {
        _ if subject == other => false,
        (None, _) => true,
        _ if subject == PLAIN => true,
        (Some(subject), Some(other)) => other.name != PLAIN && subject.environment != other.environment,
        (Some(_), None) => false,
    }
}

fn groups(run: &RunRecord) -> Vec<FieldGroup<'_>> {
    let mut groups: Vec<FieldGroup<'_>> = Vec::new();
    let measured = run.cases.iter().filter(|case| case.status == CaseStatus::Measured);
    for case in measured.filter(|case| case.id.adapter.is_some()) {
        let title = case.group();
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.cases.push(case),
            None => groups.push(FieldGroup { title, cases: vec![case], metric: "" }),
        }
    }
    for at in 0..groups.len() {
        let scenario = groups.iter().filter(|group| group.scenario() == groups[at].scenario());
        let cases: Vec<&CaseRecord> = scenario.flat_map(|group| group.cases.iter().copied()).collect();
        groups[at].metric = metric(&cases);
    }
    groups
}

/// Returns the metric that the cases of a scenario are compared by: the end-to-end rate, but the rate by
/// processor time where each of them waited so long for a processor that wall times say more of the machine,
/// and keeps one busy.
fn metric(cases: &[&CaseRecord]) -> &'static str {
    let ranked = || cases.iter().filter(|case| case.ranked());
    let has = |name: &str| ranked().all(|case| case.metric(name).is_some_and(|m| m.estimate.is_some()));
    let (wall, cpu) = if has(names::THROUGHPUT) {
        (names::THROUGHPUT, names::THROUGHPUT_CPU)
    } else {
        (names::WALL_TIME, names::CPU_TIME)
    };
    let by_cpu = |case: &CaseRecord| case.undelayed().is_some_and(|metric| metric.name == cpu);
    let waited = ranked().next().is_some() && ranked().all(|case| case.waiting().is_some());
    if waited && ranked().all(|case| by_cpu(case)) { cpu } else { wall }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_framework_is_compared_with_other_frameworks_and_not_with_its_other_mode() {
        for (other, expected) in [
            ("Datarax", false),
            ("Datarax-scan", false),
            ("NumPy", false),
            ("Reference", false),
            ("rayon", false),
            ("Google Grain", true),
            ("Deep Lake", true),
        ] {
            assert_eq!(is_rival("Datarax", other), expected, "{other}");
        }
        assert!(is_rival("Reference", "rayon") && is_rival("Reference", "Datarax"));
        assert!(is_rival("NumPy", "Reference") && !is_rival("NumPy", "NumPy"));
    }
}
