//! Which cases would have the name of another in files and in filters, and so get a hash there.
//!
//! It is decided by all that is registered, so that a case has one name whatever a run chooses.

use std::collections::BTreeMap;

use super::case::part;
use super::{CaseId, PlanError, PlannedCase};
use crate::registry::{Axis, Point, Registry, ScenarioEntry, slug};

/// The names of the values of an axis, and how many values have each.
struct NamedAxis {
    implied: bool,
    names: BTreeMap<String, usize>,
}

impl NamedAxis {
    fn of(axis: &Axis) -> Self {
        let mut names = BTreeMap::new();
        for value in &axis.values {
            *names.entry(part(value)).or_insert(0) += 1;
        }
        Self { implied: axis.implied, names }
    }
}

/// Marks the cases that others have the name of.
///
/// # Errors
/// When two are called the same in full.
pub(super) fn tell_apart(registry: &Registry, cases: &mut [PlannedCase]) -> Result<(), PlanError> {
    let mut by_slug: BTreeMap<String, Vec<&'static ScenarioEntry>> = BTreeMap::new();
    for &scenario in registry.scenarios() {
        by_slug.entry(slug(scenario.id)).or_default().push(scenario);
    }
    let mut axes: BTreeMap<&str, Vec<NamedAxis>> = BTreeMap::new();
    for case in &mut *cases {
        let rivals = by_slug.get(&slug(case.scenario.id)).map_or(&[][..], Vec::as_slice);
        for scenario in rivals.iter().copied().chain([case.scenario]) {
            axes.entry(scenario.id).or_insert_with(|| scenario.axes().iter().map(NamedAxis::of).collect());
        }
        let point = &case.id.point;
        let is_doubled = point.iter().any(|value| {
            let name = part(value);
            axes[case.scenario.id].iter().any(|axis| axis.names.get(&name).is_some_and(|count| *count > 1))
        });
        let has_rival =
            rivals.iter().any(|rival| rival.id != case.scenario.id && has(&axes[rival.id], point));
        case.id.told_apart = is_doubled || has_rival;
    }
    tell_typed_apart(cases);
    refuse_doubled(cases)
}

/// Tells whether a point of these axes may have the names of this one.
fn has(axes: &[NamedAxis], point: &Point) -> bool {
    let least = axes.iter().filter(|axis| !axis.implied).count();
    let has_value = |name: String| axes.iter().any(|axis| axis.names.contains_key(&name));
    (least..=axes.len()).contains(&point.0.len()) && point.iter().all(|value| has_value(part(value)))
}

/// Values of a command line are in no axis: those that meet are seen in the plan alone.
fn tell_typed_apart(cases: &mut [PlannedCase]) {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    for at in 0..cases.len() {
        let other = *first.entry(cases[at].id.slug()).or_insert(at);
        let is_other = |ids: [&CaseId; 2]| ids[0] != ids[1];
        if is_other([&cases[other].id, &cases[at].id]) {
            cases[other].id.told_apart = true;
            cases[at].id.told_apart = true;
        }
    }
}

/// Of two points of one name each has a value where the other implies one: no hash tells them apart.
fn refuse_doubled(cases: &[PlannedCase]) -> Result<(), PlanError> {
    let mut names: BTreeMap<String, &CaseId> = BTreeMap::new();
    for case in cases {
        if let Some(other) = names.insert(case.id.slug(), &case.id)
            && *other != case.id
        {
            return Err(PlanError::Clash(other.to_string(), case.id.to_string(), case.id.slug()));
        }
    }
    Ok(())
}
