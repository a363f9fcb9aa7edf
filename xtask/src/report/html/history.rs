//! What earlier runs measured of each case, where it changed, and which commits lie there.

use maud::{Markup, html};
use weighbridge::data::{ChangePoint, Direction, quantity};

use super::mark;
use crate::view::{SeriesView, View};

/// More cases are shown only where they changed.
const MOST: usize = 1_000;

pub(super) fn page(view: &View<'_>) -> Markup {
    if view.history.is_empty() {
        return html! {};
    }
    let all = view.history.len();
    let shown: Vec<&SeriesView<'_>> =
        view.history.iter().filter(|series| all <= MOST || !series.changes.is_empty()).collect();
    let runs = view.history.iter().map(|series| series.commits.len()).max().unwrap_or(0);
    html! {
        p.lead {
            "The same suite, profile and environment, the oldest run first, this run last: "
            (runs) " runs. A change point is where the level changed by 2 % or more, at a level of 0.001; \
                    fewer than about 14 runs cannot show one."
        }
        div.filters {
            input type="search" data-filter="past" placeholder="Filter" aria-label="Filter the history";
            span.dim data-count="past" {}
        }
        div.scroll {
            table.sortable id="past" {
                thead { tr {
                    th { "case" }
                    th { "metric" }
                    th.n { "runs" }
                    th { "trend" }
                    th.n { "first" }
                    th.n { "now" }
                    th { "changes" }
                } }
                tbody { @for series in &shown { (row(view, series)) } }
            }
        }
        @if shown.len() < all { p.dim { (all - shown.len()) " cases that did not change are left out." } }
    }
}

fn row(view: &View<'_>, series: &SeriesView<'_>) -> Markup {
    let case = &view.cases[series.case];
    let values: Vec<f64> = series.commits.iter().map(|commit| commit.median).collect();
    let changes = series.changes.iter().map(|change| change.at);
    let show =
        |value: Option<&f64>| value.map(|value| quantity::show(*value, series.unit)).unwrap_or_default();
    html! {
        tr {
            td { a href={ "#c-" (case.anchor) } { (case.name) } }
            td { (series.metric) }
            td.n { (series.commits.len()) }
            td { (mark::line(&values, changes, "its medians from run to run")) }
            td.n { (show(values.first())) }
            td.n { (show(values.last())) }
            td.long { @for change in &series.changes { div { (words(series, change)) } } }
        }
    }
}

/// Describes a change: by how much, and between which commits.
pub(super) fn words(series: &SeriesView<'_>, change: &ChangePoint) -> String {
    let share = change.after / change.before - 1.0;
    let better = match series.direction {
        Direction::Higher => {
            if share > 0.0 {
                ", better"
            } else {
                ", worse"
            }
        }
        Direction::Lower => {
            if share < 0.0 {
                ", better"
            } else {
                ", worse"
            }
        }
        Direction::Information => "",
    };
    let commit = |at: usize| series.commits.get(at).map_or("?", |commit| &commit.name);
    format!(
        "{}{better}, between {} and {}",
        quantity::change(share),
        commit(change.at.wrapping_sub(1)),
        commit(change.at)
    )
}
