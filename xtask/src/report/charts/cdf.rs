//! How the latencies of items are distributed, system beside system: as far as the count of items bears it
//! out.

use weighbridge::data::names;
use weighbridge::data::{Unit, quantity};

use super::{Chart, Palette, source, stem};
use crate::svg::{Anchor, ChartAxis, Svg};
use crate::view::{CaseGroup, Detail, View};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 460.0;
/// Charts of one run.
const MOST: usize = 24;

pub(super) fn charts(view: &View<'_>, palette: &Palette<'_>) -> Vec<Chart> {
    let streams = |group: &&CaseGroup<'_>| lines(view, group).len() > 1;
    view.groups.iter().filter(streams).take(MOST).map(|group| chart(view, palette, group)).collect()
}

/// The systems whose items have a latency each, with its distribution.
fn lines<'a, 'b>(view: &'b View<'a>, group: &CaseGroup<'_>) -> Vec<(&'a str, &'b Detail)> {
    let line = |at: &usize| {
        let case = view.cases[*at].record;
        let is_stream = case.metric(names::LATENCY_P50).is_some_and(|metric| metric.estimate.is_some());
        let detail = view.details.get(*at).filter(|detail| detail.distribution.len() > 1)?;
        (is_stream && case.ranked()).then_some((case.id.adapter.as_deref()?, detail))
    };
    group.cases.iter().filter_map(line).collect()
}

fn chart(view: &View<'_>, palette: &Palette<'_>, group: &CaseGroup<'_>) -> Chart {
    let lines = lines(view, group);
    let about = "Latency of an item, from its request to ready, over all repeats. \
                 A line ends where the count of items bears no higher percentile out.";
    let rows = lines.len().div_ceil(4) as f64 * 18.0;
    let mut svg = Svg::new(WIDTH, HEIGHT + rows, &format!("{}: latency", group.title), about);
    let values = || lines.iter().flat_map(|(_, detail)| detail.distribution.iter().map(|(_, time)| *time));
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let (left, right, top, bottom) = (64.0, WIDTH - 30.0, Svg::TOP + 10.0, HEIGHT - 70.0);
    let x = ChartAxis::between(low.max(1e-3), high, left, right);
    let y = ChartAxis::from_zero(100.0, bottom, top);
    svg.grid_y(&y, left, right, |share| format!("{share} %"));
    svg.grid_x(&x, top, bottom, |time| quantity::show(time * 1e-9, &Unit::SECONDS));
    for (system, detail) in &lines {
        let points: Vec<(f64, f64)> =
            detail.distribution.iter().map(|(share, time)| (x.at(*time), y.at(share * 100.0))).collect();
        svg.polyline(&points, &palette.colour(system), palette.dash(system));
        if let Some((at, up)) = points.last() {
            svg.circle(*at, *up, 3.0, &palette.colour(system));
        }
    }
    let names: Vec<(&str, String)> =
        lines.iter().map(|(system, _)| (*system, palette.colour(system))).collect();
    svg.legend(left, bottom + 42.0, &names);
    svg.note(20.0, HEIGHT + rows - 12.0, &source(view), Anchor::Start);
    Chart { stem: stem("latency_cdf", &group.title), svg: svg.finish() }
}
