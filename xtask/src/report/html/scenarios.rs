//! Scenarios across systems, and across what is swept.

use maud::{Markup, html};
use weighbridge::data::quantity;

use super::cells::interval;
use super::{mark, trade_off};
use crate::show;
use crate::view::{CaseGroup, CurveLine, CurveView, View};

/// With more cases than that the standings are left to the table of cases, and the page stays small.
const MOST: usize = 2_500;

pub(super) fn page(view: &View<'_>) -> Markup {
    let groups: Vec<&CaseGroup<'_>> = view.groups.iter().filter(|group| group.places.len() > 1).collect();
    let small = view.cases.len() <= MOST;
    if view.curves.is_empty() && (groups.is_empty() || !small) {
        return html! {};
    }
    html! {
        @if !view.curves.is_empty() {
            h3 { "Across an axis" }
            p.lead {
                "The same scenario as a number grows, all else being equal, and trainings as they go on. \
                 Bands are intervals at 95 %, and of trainings from the least to the most of their seeds; \
                 where more workers or devices are meant to be proportionally faster, the dashed line is \
                 that ideal."
            }
            @for (at, curve) in view.curves.iter().enumerate() { (section(at, curve)) }
        }
        (trade_off::page(view))
        @if small && !groups.is_empty() {
            h3 { "Across systems" }
            p.lead {
                "The best first. Who shares the first place cannot be told from the best. \
                 A bar is as long as the system's share of the best one's speed, its whisker the interval."
            }
            @for group in groups { (standing(group)) }
        }
    }
}

fn section(at: usize, curve: &CurveView<'_>) -> Markup {
    html! {
        details open[at < 6] {
            summary { b { (curve.title) } " " span.dim { (curve.metric) } }
            div.plot data-curve=(at) {}
            div.scroll.fit { (figures(curve)) }
        }
    }
}

/// The figures of a curve, a row for each number: there may be hundreds, and systems are few.
fn figures(curve: &CurveView<'_>) -> Markup {
    html! {
        table {
            thead { tr {
                th.n { (curve.axis) }
                @for line in &curve.lines { th.n { (line.name) } }
            } }
            tbody {
                @for at in &curve.numbers {
                    tr {
                        td.n { (format!("{at}")) }
                        @for line in &curve.lines {
                            td.n {
                                @if let Some(estimate) = line.at(*at) {
                                    (quantity::show(estimate.median, curve.unit))
                                }
                            }
                        }
                    }
                }
                @if curve.scales {
                    tr {
                        td.n { "efficiency at the end" }
                        @for line in &curve.lines { td.n { (efficiency(line)) } }
                    }
                }
            }
        }
    }
}

/// The share of its ideal that a line has at its last number.
fn efficiency(line: &CurveLine<'_>) -> String {
    let share = line.points.last().and_then(|(at, estimate)| Some(estimate.median / line.ideal(*at)?));
    share.map(|share| format!("{:.0} %", share * 100.0)).unwrap_or_default()
}

fn standing(group: &CaseGroup<'_>) -> Markup {
    let case = group.places.first().map(|place| place.case);
    html! {
        details {
            summary { b { (group.title) } " " span.dim { @if let Some(case) = case { (case.description) } } }
            div.scroll {
                table {
                    thead { tr {
                        th.n { "rank" }
                        th { "system" }
                        th.n { (group.metric) }
                        th.n { "interval" }
                        th { "beside the best" }
                        th.n { "factor" }
                    } }
                    tbody {
                        @for place in &group.places {
                            tr {
                                td.n { (place.rank) }
                                td { (place.case.id.adapter.as_deref().unwrap_or_default()) }
                                td.n { (show::figure(place.case, Some(place.metric))) }
                                td.n.dim { (interval(place.metric)) }
                                td { (mark::standing(&place.ratio)) }
                                td.n { (format!("{:.2}x", place.ratio.estimate)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
