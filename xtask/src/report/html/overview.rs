//! The first page: who is best where, what changed, what was not measured.

use std::collections::HashMap;

use maud::{Markup, html};
use weighbridge::data::{Ratio, Row, quantity};

use super::cells::{interval, or_dash, state, why};
use crate::show;
use crate::view::{Against, CaseGroup, CaseState, CaseView, View};

/// More rows of what was not measured are counted and not shown: they stand among the cases.
const MOST: usize = 200;

pub(super) fn page(view: &View<'_>) -> Markup {
    html! {
        (tiles(view))
        (bests(view))
        (missing(view))
    }
}

fn tiles(view: &View<'_>) -> Markup {
    let counts = view.counts;
    let tile = |number: usize, words: &str, class: &str| {
        html! { @if number > 0 { div class={ "tile " (class) } { b { (number) } span { (words) } } } }
    };
    html! {
        div.tiles {
            (tile(counts.cases, "cases", ""))
            (tile(counts.ranked, "measured and verified", ""))
            (tile(counts.unranked, "measured, not ranked", "odd"))
            (tile(counts.failed, "failed", "bad"))
            (tile(counts.skipped, "skipped", ""))
            (tile(counts.incomplete, "incomplete", "odd"))
            @for against in view.against {
                @let counts = against.comparison.counts;
                div class={ "tile " (if counts.regressed > 0 { "bad" } else { "" }) } {
                    b { (counts.regressed) " / " (counts.improved) }
                    span {
                        "regressed / improved against "
                        a href={ "#comparison-" (against.key) } { (against.title) }
                    }
                }
            }
            @if let Some(share) = view.unexplained {
                div.tile {
                    b { (format!("{:.1} %", share * 100.0)) }
                    span { "of the time of all repeats is unexplained" }
                }
            }
        }
    }
}

/// The rows of comparisons, found by the name of a case.
struct Verdicts<'a>(Vec<(&'a Against, HashMap<String, &'a Row>)>);

impl<'a> Verdicts<'a> {
    fn of(against: &'a [Against]) -> Self {
        let rows = |against: &'a Against| {
            against.comparison.rows.iter().map(|row| (row.case.to_string(), row)).collect()
        };
        Self(against.iter().map(|against| (against, rows(against))).collect())
    }

    fn cells(&self, name: &str) -> Markup {
        html! {
            @for (_, rows) in &self.0 {
                td { @match rows.get(name) { Some(row) => { (verdict(row)) }, None => { span.dim { "–" } } } }
            }
        }
    }
}

/// A verdict with the change that it is about.
pub(super) fn verdict(row: &Row) -> Markup {
    html! {
        span class={ "chip " (row.verdict.name()) } title=[row.verdict.why()] { (row.verdict.name()) }
        @if let Some(effect) = row.effect {
            " " span.dim title="cost of a unit of work" { (quantity::change(effect.estimate)) }
        }
    }
}

fn bests(view: &View<'_>) -> Markup {
    let verdicts = Verdicts::of(view.against);
    let ranked: Vec<&CaseGroup<'_>> = view.groups.iter().filter(|group| !group.places.is_empty()).collect();
    if ranked.is_empty() {
        return html! { p { "No case of this run was measured and verified." } };
    }
    let has_systems = view.run.cases.iter().any(|case| case.id.adapter.is_some());
    html! {
        h3 { "Best of each scenario" }
        p.lead {
            "By the median over repeats, with its interval at 95 %. Only work that was verified to be equal \
             is ranked. The lead is over the next best: the median over all pairs of repeats. \
             A tie cannot be told from the best."
        }
        div.filters {
            input type="search" data-filter="best" placeholder="Filter: scenario, system, verdict"
                aria-label="Filter scenarios";
            span.dim data-count="best" {}
        }
        div.scroll {
            table.sortable id="best" {
                thead { tr {
                    th { "scenario" }
                    @if has_systems { th { "best" } }
                    th.n { "figure" }
                    th.n { "interval" }
                    @if has_systems { th.n { "lead over the next" } th { "ties" } }
                    @for against in view.against { th { "against " (against.title) } }
                } }
                tbody {
                    @for group in ranked { (best(view, group, has_systems, &verdicts)) }
                }
            }
        }
    }
}

fn best(view: &View<'_>, group: &CaseGroup<'_>, has_systems: bool, verdicts: &Verdicts<'_>) -> Markup {
    let Some(place) = group.best() else { return html! {} };
    let case =
        group.cases.iter().map(|at| &view.cases[*at]).find(|case| std::ptr::eq(case.record, place.case));
    let Some(case) = case else { return html! {} };
    let ties: Vec<&str> = group.ties().filter_map(|case| case.id.adapter.as_deref()).collect();
    let value = place.metric.estimate.map(|estimate| estimate.median);
    html! {
        tr id={ "g-" (case.anchor) } {
            td { a href={ "#c-" (case.anchor) } { (group.title) } }
            @if has_systems { td.w { (case.record.id.adapter.as_deref().unwrap_or_default()) } }
            td.n data-v=[value] { (show::figure(place.case, Some(place.metric))) }
            td.n.dim { (interval(place.metric)) }
            @if has_systems {
                td.n data-v=[group.lead.map(|lead| lead.estimate)] {
                    (or_dash(group.lead.as_ref().map(lead)))
                }
                td { (ties.join(", ")) }
            }
            (verdicts.cells(&case.name))
        }
    }
}

/// A lead in words: a tie is a tie, and without an interval nothing is sure.
fn lead(ratio: &Ratio) -> String {
    match ratio.interval {
        Some((low, high)) if ratio.is_tie() => format!("tie ({low:.2} .. {high:.2})"),
        Some((low, high)) => format!("{:.2}x ({low:.2} .. {high:.2})", ratio.estimate),
        None => format!("{:.2}x, too few repeats", ratio.estimate),
    }
}

fn missing(view: &View<'_>) -> Markup {
    let missing: Vec<&CaseView<'_>> =
        view.cases.iter().filter(|case| case.state != CaseState::Ranked).collect();
    if missing.is_empty() {
        return html! {};
    }
    html! {
        h3 { "Not measured, or not ranked, and why" }
        div.scroll {
            table.sortable {
                thead { tr { th { "case" } th { "how" } th { "why" } } }
                tbody {
                    @for case in missing.iter().take(MOST) {
                        tr {
                            td { a href={ "#c-" (case.anchor) } { (case.name) } }
                            td { (state(case.state)) }
                            td.long { (why(case)) }
                        }
                    }
                }
            }
        }
        @if missing.len() > MOST {
            p.dim { "And " (missing.len() - MOST) " more: they stand among the cases." }
        }
    }
}
