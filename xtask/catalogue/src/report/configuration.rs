//! A case of a training as a row of a table: which configuration it is, and what it has.

use weighbridge::data::CaseRecord;

use super::field::name;

/// The text of an axis.
pub(super) fn axis<'a>(case: &'a CaseRecord, name: &str) -> Option<&'a str> {
    case.id.point.get(name).map(|value| value.text.as_str())
}

/// The median of a metric over repeats.
pub(super) fn value(case: &CaseRecord, metric: &str) -> Option<f64> {
    Some(case.metric(metric)?.estimate.as_ref()?.median)
}

/// The axis of the state of a model's components.
pub(super) const STATE: &str = "state";

/// The axes of single components: the one that is swapped, and each by its name.
pub(super) const WAYS: [&str; 7] = ["swapped", "rope", "attention", "norm", "casts", "optimiser", "layout"];

/// The ways of components that were asked for beside the state, each with its axis.
pub(super) fn ways(case: &CaseRecord) -> Vec<(&str, &str)> {
    WAYS.iter().filter_map(|&way| Some((way, axis(case, way)?))).collect()
}

/// The state of components and the ways that were asked for; nothing where a case has none.
pub(super) fn state_name(case: &CaseRecord) -> String {
    let ways = ways(case).into_iter().map(|(axis, way)| format!(", {axis} {way}"));
    axis(case, STATE).into_iter().map(|state| format!(", {state}")).chain(ways).collect()
}

/// A system, and how it runs its steps.
pub(super) fn row_name(case: &CaseRecord) -> String {
    format!("{}, {}{}", name(case), axis(case, "mode").unwrap_or("one mode"), state_name(case))
}
