//! Every case in a row. What its repeats saw is drawn when it is opened, from the data that the page carries.

use std::path::Path;

use maud::{Markup, html};
use weighbridge::data::names;
use weighbridge::data::{MetricRecord, Ratio, quantity, traces};

use super::cells::{interval, state, why};
use super::mark;
use crate::show;
use crate::view::{CaseState, CaseView, View};

/// Metrics beside the leading one, where a case of the run has them.
const COLUMNS: [(&str, &str); 4] = [
    (names::LATENCY_P50, "p50"),
    (names::LATENCY_P99, "p99"),
    (names::FIRST_ITEM, "first item"),
    (names::PEAK_MEMORY, "memory"),
];

pub(super) fn page(view: &View<'_>) -> Markup {
    let has = |name: &str| {
        view.run.cases.iter().any(|case| case.metric(name).is_some_and(|m| m.estimate.is_some()))
    };
    let columns: Vec<(&str, &str)> = COLUMNS.into_iter().filter(|(name, _)| has(name)).collect();
    let ranked = view.groups.iter().any(|group| group.places.len() > 1);
    let mut places: Vec<Option<(usize, Ratio)>> = vec![None; view.cases.len()];
    for group in view.groups.iter().filter(|group| group.places.len() > 1) {
        for at in &group.cases {
            let place = group.places.iter().find(|place| std::ptr::eq(place.case, view.cases[*at].record));
            places[*at] = place.map(|place| (place.rank, place.ratio));
        }
    }
    let traced = traces(view.run, Path::new(""), true);
    html! {
        p.lead {
            "Medians over repeats. "
            span.nojs {
                "With JavaScript a case opens to its samples, its distribution, where its time went, \
                 and its work."
            }
        }
        div.filters {
            input type="search" data-filter="all" placeholder="Filter: every word must be there"
                aria-label="Filter cases";
            @for one in [
                CaseState::Ranked,
                CaseState::Unranked,
                CaseState::Failed,
                CaseState::Skipped,
                CaseState::Incomplete,
            ] {
                @if view.cases.iter().any(|case| case.state == one) {
                    button type="button" data-state=(one.name()) aria-pressed="false" { (one.name()) }
                }
            }
            span.dim data-count="all" {}
        }
        div.scroll {
            table.sortable id="all" {
                thead { tr {
                    th { "case" }
                    @if ranked { th.n { "rank" } th { "beside the best" } }
                    th.n { "figure" }
                    th.n { "interval" }
                    @for (_, title) in &columns { th.n { (title) } }
                    th { "state" }
                } }
                tbody {
                    @for (case, place) in view.cases.iter().zip(&places) {
                        (row(case, place.as_ref(), ranked, &columns))
                    }
                }
            }
        }
        @if !traced.is_empty() {
            h2 { "Traces" }
            p.dim {
                "Each was made in a repeat of its own, which counts nowhere. \
                 Paths are below the folder of the run."
            }
            pre { (traced) }
        }
    }
}

fn row(
    case: &CaseView<'_>,
    place: Option<&(usize, Ratio)>,
    ranked: bool,
    columns: &[(&str, &str)],
) -> Markup {
    let value = |metric: Option<&MetricRecord>| {
        metric.and_then(|metric| metric.estimate).map(|estimate| estimate.median)
    };
    html! {
        tr id={ "c-" (case.anchor) } {
            td { a href={ "#c-" (case.anchor) } { (case.name) } }
            @if ranked {
                @match place {
                    Some((rank, ratio)) => {
                        td.n { (rank) }
                        td data-v=(ratio.estimate) { (mark::standing(ratio)) }
                    },
                    None => { td {} td {} },
                }
            }
            td.n data-v=[value(case.metric)] { (show::figure(case.record, case.metric)) }
            td.n.dim { @if let Some(metric) = case.metric { (interval(metric)) } }
            @for (name, _) in columns {
                @let metric = case.record.metric(name);
                td.n data-v=[value(metric)] {
                    @if let Some(estimate) = metric.and_then(|metric| Some((metric.estimate?, metric))) {
                        (quantity::show(estimate.0.median, &estimate.1.unit))
                    }
                }
            }
            td { (state(case.state)) @if case.state != CaseState::Ranked { " " span.dim { (why(case)) } } }
        }
    }
}
