//! The rate of each system against the latency of its items: who is up and to the left is better in both.

use weighbridge::data::names;
use weighbridge::data::{CaseRecord, Estimate, MetricRecord, quantity};

use super::{Chart, Palette, source, stem};
use crate::svg::{Anchor, ChartAxis, Svg};
use crate::view::{CaseGroup, View};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 480.0;
/// Charts of one run.
const MOST: usize = 24;

pub(super) fn charts(view: &View<'_>, palette: &Palette<'_>) -> Vec<Chart> {
    view.groups.iter().filter_map(|group| chart(view, palette, group)).take(MOST).collect()
}

struct TradeoffPoint<'a> {
    system: &'a str,
    rate: (&'a MetricRecord, Estimate),
    latency: (&'a MetricRecord, Estimate),
}

/// The tail where the count of items bears one out for everybody, else the median.
fn points<'a>(view: &View<'a>, group: &CaseGroup<'_>) -> (&'static str, Vec<TradeoffPoint<'a>>) {
    let cases: Vec<&'a CaseRecord> =
        group.cases.iter().map(|at| view.cases[*at].record).filter(|case| case.ranked()).collect();
    let with = |name: &str| -> Vec<TradeoffPoint<'a>> {
        let has =
            |metric: Option<&'a MetricRecord>| metric.and_then(|metric| Some((metric, metric.estimate?)));
        let point = |case: &&'a CaseRecord| {
            let (rate, latency) = (has(case.metric(names::THROUGHPUT))?, has(case.metric(name))?);
            Some(TradeoffPoint { system: case.id.adapter.as_deref()?, rate, latency })
        };
        cases.iter().filter_map(point).collect()
    };
    let (tail, middle) = (with(names::LATENCY_P99), with(names::LATENCY_P50));
    if tail.len() == middle.len() { (names::LATENCY_P99, tail) } else { (names::LATENCY_P50, middle) }
}

fn chart(view: &View<'_>, palette: &Palette<'_>, group: &CaseGroup<'_>) -> Option<Chart> {
    let (metric, points) = points(view, group);
    let first = points.first().filter(|_| points.len() > 2)?;
    let about = format!("Throughput by {metric}, medians with 95 % intervals. Up and to the left is better.");
    let rows = points.len().div_ceil(4) as f64 * 18.0;
    let mut svg = Svg::new(WIDTH, HEIGHT + rows, &format!("{}: rate against latency", group.title), &about);
    let bounds = |of: fn(&TradeoffPoint<'_>) -> Estimate| {
        let values = || {
            points.iter().map(of).flat_map(|e| e.interval.map_or([e.median; 2], |(low, high)| [low, high]))
        };
        (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
    };
    let (left, right, top, bottom) = (96.0, WIDTH - 40.0, Svg::TOP + 10.0, HEIGHT - 70.0);
    let (slow, late) = (bounds(|point| point.rate.1), bounds(|point| point.latency.1));
    let x = ChartAxis::between(late.0 * 0.9, late.1 * 1.1, left, right);
    let y = ChartAxis::between(slow.0 * 0.9, slow.1 * 1.1, bottom, top);
    svg.grid_y(&y, left, right, |value| quantity::show(value, &first.rate.0.unit));
    svg.grid_x(&x, top, bottom, |value| quantity::show(value, &first.latency.0.unit));
    for point in &points {
        let colour = palette.colour(point.system);
        let (at, up) = (x.at(point.latency.1.median), y.at(point.rate.1.median));
        if let Some((low, high)) = point.latency.1.interval {
            svg.line((x.at(low), up), (x.at(high), up), &colour, 1.5);
        }
        if let Some((low, high)) = point.rate.1.interval {
            svg.line((at, y.at(low)), (at, y.at(high)), &colour, 1.5);
        }
        svg.circle(at, up, 5.0, &colour);
    }
    let names: Vec<(&str, String)> =
        points.iter().map(|point| (point.system, palette.colour(point.system))).collect();
    svg.legend(left, bottom + 42.0, &names);
    svg.note(20.0, HEIGHT + rows - 12.0, &source(view), Anchor::Start);
    Some(Chart { stem: stem("tradeoff", &group.title), svg: svg.finish() })
}
