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

/// A system, and how it runs its steps.
pub(super) fn row_name(case: &CaseRecord) -> String {
    format!("{}, {}", name(case), axis(case, "mode").unwrap_or("one mode"))
}
