//! The run held against others: what changed, how sure that is, and what else changed around it.

use maud::{Markup, html};
use weighbridge::data::{Row, Verdict, quantity};

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
             with its interval at 95 %. Within the grey band a change does not count on this machine. \
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
            span.Regressed { (counts.regressed) " regressed" } ", "
            span.Improved { (counts.improved) " improved" } ", "
            (counts.unchanged) " unchanged, " (counts.inconclusive) " inconclusive, "
            (counts.added) " added, " (counts.removed) " removed, "
            (counts.incomparable) " incomparable."
        }
        @if let Some(refusal) = &comparison.refused { div.banner { b { "Nothing is judged: " } (refusal) } }
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
                        th { "verdict" }
                        th { "metric" }
                        th.n { "before" }
                        th.n { "now" }
                        th.n { "slowdown" }
                        th { "interval and band, ± " (quantity::change(most).trim_start_matches('+')) }
                        th.n { "detects" }
                        th { "to know" }
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
    let decided = row.metrics.iter().find(|metric| metric.metric == row.metric);
    let side = |of: Option<weighbridge::data::Estimate>| {
        decided.zip(of).map(|(metric, of)| quantity::show(of.median, &metric.unit))
    };
    let effect = row.effect;
    let slowdown = effect.map(|effect| quantity::change(effect.estimate));
    let tolerance = row.tolerance.map(|tolerance| tolerance.share);
    let marks: Vec<String> = row.marks.iter().map(ToString::to_string).collect();
    let told: Vec<String> = row.verdict.why().into_iter().chain(marks).collect();
    html! {
        tr {
            td.w {
                @match anchor {
                    Some(anchor) => { a href={ "#c-" (anchor) } { (row.case) } },
                    None => { (row.case) },
                }
            }
            td { span class={ "chip " (row.verdict.name()) } { (row.verdict.name()) } }
            td { (row.metric) }
            td.n { (or_dash(side(decided.and_then(|metric| metric.baseline)))) }
            td.n { (or_dash(side(decided.and_then(|metric| metric.candidate)))) }
            td.n data-v=[effect.map(|effect| effect.estimate)] { (or_dash(slowdown)) }
            td {
                @if let Some(effect) = &effect {
                    (mark::effect(effect, tolerance, most, row.verdict.name()))
                }
            }
            td.n data-v=[row.detectable] { (or_dash(row.detectable.map(quantity::change))) }
            td.small.dim title=[row.advice.as_ref()] { (told.join("; ")) }
        }
    }
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
