//! Small things that several commands show alike.

use weighbridge::data::names;
use weighbridge::data::{Agreement, CaseId, CaseRecord, CaseStatus, MetricRecord, RunStatus, quantity};

/// The median of a metric, or a dash.
pub fn median(metric: Option<&MetricRecord>) -> String {
    metric
        .and_then(|metric| match metric.estimate {
            Some(estimate) => Some(quantity::show(estimate.median, &metric.unit)),
            None => metric.below().map(|bound| format!("below {}", quantity::show(bound, &metric.unit))),
        })
        .unwrap_or_else(|| "-".to_owned())
}

/// The median of the metric that stands for a case, by its clock where that must be said: `12 ns undelayed`.
pub(crate) fn figure(case: &CaseRecord, metric: Option<&MetricRecord>) -> String {
    median(metric) + metric.map_or("", |metric| clock(case, metric))
}

/// By which clock a metric that stands for a case is, where that is not the clock of its primary metric, and
/// its unit does not say so.
pub(crate) fn clock(case: &CaseRecord, metric: &MetricRecord) -> &'static str {
    match &*metric.name {
        name if name == case.primary_metric || name == names::THROUGHPUT_CPU => "",
        names::UNDELAYED_TIME => " undelayed",
        _ => " CPU",
    }
}

/// The scenario of a case with its point, and the system that ran it.
pub(crate) fn scenario_and_framework(id: &CaseId) -> (String, String) {
    let scenario = CaseId { adapter: None, ..id.clone() };
    (scenario.to_string(), id.adapter.clone().unwrap_or_else(|| "-".to_owned()))
}

/// A run's status in one word.
pub(crate) fn status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "unfinished",
        RunStatus::Complete => "complete",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Damaged => "damaged",
    }
}

/// The trouble with a case that was not measured, or whose work is not the reference's.
pub fn trouble(case: &CaseRecord) -> Option<String> {
    match (&case.status, &case.agreement) {
        (CaseStatus::Failed(why), _) => Some(format!("failed: {why}")),
        (CaseStatus::Skipped(why), _) => Some(format!("skipped: {why}")),
        (CaseStatus::Incomplete, _) => Some(format!("incomplete: {}", case.unfinished().unwrap_or_default())),
        (CaseStatus::Measured, Agreement::Differs(what)) => {
            Some(format!("unequal work: {}", what.join("; ")))
        }
        (CaseStatus::Measured, Agreement::Declared(why)) => Some(format!("declared unequal: {why}")),
        (CaseStatus::Measured, Agreement::Unverified(why)) => Some(format!("unverified: {why}")),
        (CaseStatus::Measured, _) => None,
    }
}
