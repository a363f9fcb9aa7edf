//! Cells that tables of several pages have.

use maud::{Markup, html};
use weighbridge::data::{MetricRecord, quantity};

use crate::view::{CaseState, CaseView, clip};

/// A cell with a dash where there is nothing.
pub(super) fn or_dash(text: Option<String>) -> Markup {
    html! { @match text { Some(text) => { (text) }, None => { span.dim { "–" } } } }
}

/// The interval of a metric, or why it has none.
pub(super) fn interval(metric: &MetricRecord) -> String {
    match metric.estimate {
        Some(estimate) => match estimate.interval {
            Some((low, high)) => quantity::range(low, high, &metric.unit),
            None => format!("{} repeats: none", estimate.n),
        },
        None => String::new(),
    }
}

/// The end of a case, as a chip.
pub(super) fn state(state: CaseState) -> Markup {
    html! { span class={ "chip s-" (state.name().replace(' ', "")) } { (state.name()) } }
}

/// The trouble with a case, in words.
pub(super) fn why(case: &CaseView<'_>) -> String {
    let rules: Vec<String> = case.record.failed_rules().map(ToString::to_string).collect();
    let said = case.trouble.clone().into_iter().chain(rules).collect::<Vec<_>>().join("; ");
    clip(&said, 400)
}
