//! The run held against others: what changed, how sure that is, and what else changed around it.

use maud::{Markup, html};
use weighbridge::data::{Estimate, MetricChange, Row, Verdict, quantity};

use super::cells::or_dash;
use super::mark;
use crate::view::{Against, View};

/// In a comparison of more rows, those that did not change are counted and left out.
const MOST: usize = 2_000;

pub(super) fn page(view: &View<'_>) -> Markup {
    if view.against.is_empty() {
        return html! {};
    }
    html! {
        p.lead {
            "Slowdown: how much more a unit of work costs, whichever way the metric is better, \
             with its interval at 95 %. Before and now are what was judged; the other clock stands below it. \
             Within the grey band a change does not count on this machine. \
             Detects: the smallest change that would have been found."
        }
        @for against in view.against { (section(view, against)) }
    }
}

fn section(view: &View<'_>, against: &Against) -> Markup {
    let comparison = &against.comparison;
    let counts = comparison.counts;
    let rows: Vec<&Row> = comparison
        .rows
        .iter()
        .filter(|row| comparison.rows.len() <= MOST || row.verdict != Verdict::Unchanged)
        .take(MOST)
        .collect();
    let most = edge(&rows);
    let name = |row: &Row| view.cases.iter().find(|case| case.record.id == row.case);
    html! {
        h3 id={ "comparison-" (against.key) } { "Against " (against.title) }
        p {
            (counted(counts.regressed, "regressed", "Regressed")) ", "
            (counted(counts.improved, "improved", "Improved")) ", "
            (counts.unchanged) " unchanged, " (counts.inconclusive) " inconclusive, "
            (counts.added) " added, " (counts.removed) " removed, "
            (counts.incomparable) " incomparable."
        }
        @if let Some(refusal) = &comparison.refused { div.banner { b { "Nothing is judged: " } (refusal) } }
        @for note in &comparison.notes { p.dim { "note: " (note) } }
        @if !comparison.environment_changes.is_empty() {
            details open {
                summary {
                    b { "Changed around the code" } " "
                    span.dim { (comparison.environment_changes.len()) }
                }
                ul { @for change in &comparison.environment_changes { li { (change) } } }
            }
        }
        @if !rows.is_empty() {
            div.filters {
                input type="search" data-filter={ "t-" (against.key) } placeholder="Filter"
                    aria-label="Filter the comparison";
                span.dim data-count={ "t-" (against.key) } {}
            }
            div.scroll {
                table.sortable id={ "t-" (against.key) } {
                    thead { tr {
                        th { "case" }
                        th { "verdict, and why" }
                        th.n { "before" }
                        th.n { "now" }
                        th.n { "slowdown" }
                        th { "within ± " (quantity::change(most).trim_start_matches('+')) }
                        th.n { "detects" }
                    } }
                    tbody {
                        @for row in &rows {
                            (line(row, name(row).map(|case| case.anchor.as_str()), most))
                        }
                    }
                }
            }
        }
        @if comparison.rows.len() > rows.len() {
            p.dim {
                (comparison.rows.len() - rows.len())
                " rows that did not change, or are too many, are left out."
            }
        }
    }
}

fn line(row: &Row, anchor: Option<&str>, most: f64) -> Markup {
    let judged = row.judged();
    let other = row.decided().filter(|other| judged.as_ref().is_some_and(|one| one.metric != other.metric));
    let name = judged.as_ref().map_or("", |judged| &judged.metric);
    let side = |of: fn(&MetricChange) -> Option<Estimate>| {
        html! {
            @match judged.as_deref().and_then(|judged| figure(judged, of)) {
                Some(shown) => { (shown) div.other { (name) } },
                None => { span.dim { "–" } },
            }
            @if let Some(other) = other && let Some(figure) = figure(other, of) {
                div.other { (other.metric) ": " (figure) }
            }
        }
    };
    let effect = row.effect;
    let slowdown = effect.map(|effect| quantity::change(effect.estimate));
    let tolerance = row.tolerance.map(|tolerance| tolerance.share);
    html! {
        tr {
            td.name {
                @match anchor {
                    Some(anchor) => { a href={ "#c-" (anchor) } { (row.case) } },
                    None => { (row.case) },
                }
            }
            td.why title=[row.advice.as_ref()] {
                span class={ "chip " (row.verdict.name()) } { (row.verdict.name()) }
                @for mark in &row.marks { " " span.chip.mark-of { (mark) } }
                @if let Some(why) = row.verdict.why() { div.dim { (why) } }
            }
            td.n { (side(|metric| metric.baseline)) }
            td.n { (side(|metric| metric.candidate)) }
            td.n data-v=[effect.map(|effect| effect.estimate)] { (or_dash(slowdown)) }
            td {
                @if let Some(effect) = &effect {
                    (mark::effect(effect, tolerance, most, row.verdict.name()))
                }
            }
            td.n data-v=[row.detectable] { (or_dash(row.detectable.map(quantity::change))) }
        }
    }
}

/// A count, in the colour of its verdict where there are any.
fn counted(count: usize, words: &str, class: &str) -> Markup {
    html! { span class=[(count > 0).then_some(class)] { (count) " " (words) } }
}

fn figure(metric: &MetricChange, of: fn(&MetricChange) -> Option<Estimate>) -> Option<String> {
    Some(quantity::show(of(metric)?.median, &metric.unit))
}

/// The share that the edges of the drawings stand for: most intervals are within it.
fn edge(rows: &[&Row]) -> f64 {
    let mut bounds: Vec<f64> = rows
        .iter()
        .filter_map(|row| row.effect)
        .map(|effect| effect.low.abs().max(effect.high.abs()))
        .collect();
    bounds.sort_by(f64::total_cmp);
    let ninety = bounds.get(bounds.len() * 9 / 10).copied().unwrap_or(0.1);
    [0.05, 0.1, 0.2, 0.5, 1.0, 2.0].into_iter().find(|edge| *edge >= ninety).unwrap_or(5.0)
}
