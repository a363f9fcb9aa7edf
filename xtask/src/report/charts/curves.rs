//! What becomes of a scenario along an axis: never a line through different scenarios.

use weighbridge::data::{Unit, quantity};

use super::{Chart, Palette, source, stem};
use crate::svg::{Anchor, ChartAxis, Svg};
use crate::view::{CurveView, View};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 470.0;
/// The most numbers that are written each: beyond that round ones are.
const MOST_NUMBERS: usize = 16;

/// Every axis but the depth of a chain.
pub(super) fn scaling(view: &View<'_>, palette: &Palette<'_>) -> Vec<Chart> {
    let of = view.curves.iter().filter(|curve| curve.axis != "depth");
    let kind = |curve: &CurveView<'_>| if curve.learns { "learning_curves" } else { "scaling_curves" };
    of.map(|curve| chart(view, palette, curve, kind(curve))).collect()
}

/// The depth of a chain of transforms.
pub(super) fn depth(view: &View<'_>, palette: &Palette<'_>) -> Vec<Chart> {
    let of = view.curves.iter().filter(|curve| curve.axis == "depth");
    of.map(|curve| chart(view, palette, curve, "chain_depth")).collect()
}

fn chart(view: &View<'_>, palette: &Palette<'_>, curve: &CurveView<'_>, kind: &str) -> Chart {
    let ideal = if curve.scales { " Dotted: in proportion to the first." } else { "" };
    let about = format!("{} by {}: medians, bands are {}.{ideal}", curve.metric, curve.axis, curve.bands());
    let rows = curve.lines.len().div_ceil(4) as f64 * 18.0;
    let mut svg = Svg::new(WIDTH, HEIGHT + rows, &curve.title, &about);
    let most = curve.lines.iter().flat_map(|line| line.points.iter());
    let most = most
        .map(|(_, estimate)| estimate.interval.map_or(estimate.median, |(_, high)| high))
        .fold(0.0, f64::max);
    let (left, right, top, bottom) = (96.0, WIDTH - 30.0, Svg::TOP + 10.0, HEIGHT - 80.0);
    let (Some(first), Some(last)) = (curve.numbers.first(), curve.numbers.last()) else {
        return Chart { stem: stem(kind, &curve.title), svg: svg.finish() };
    };
    let x = ChartAxis::between(*first, *last, left, right);
    let y = ChartAxis::from_zero(most * 1.08, bottom, top);
    svg.grid_y(&y, left, right, |value| quantity::show(value, curve.unit));
    if curve.numbers.len() > MOST_NUMBERS {
        svg.grid_x(&x, top, bottom, |number| quantity::show(number, &Unit::COUNT));
    }
    for number in curve.numbers.iter().filter(|_| curve.numbers.len() <= MOST_NUMBERS) {
        svg.line((x.at(*number), top), (x.at(*number), bottom), "#e3e6ea", 1.0);
        svg.note(x.at(*number), bottom + 16.0, &number.to_string(), Anchor::Middle);
    }
    svg.label(f64::midpoint(left, right), bottom + 34.0, &curve.axis, Anchor::Middle);
    for line in &curve.lines {
        let colour = palette.colour(line.name);
        let upper = line
            .points
            .iter()
            .map(|(at, e)| (x.at(*at), y.at(e.interval.map_or(e.median, |(_, high)| high))));
        let lower = line
            .points
            .iter()
            .rev()
            .map(|(at, e)| (x.at(*at), y.at(e.interval.map_or(e.median, |(low, _)| low))));
        svg.polygon(&upper.chain(lower).collect::<Vec<_>>(), &colour, 0.14, "none");
        let points: Vec<(f64, f64)> = line.points.iter().map(|(at, e)| (x.at(*at), y.at(e.median))).collect();
        svg.polyline(&points, &colour, palette.dash(line.name));
        for (x, y) in &points {
            svg.circle(*x, *y, 3.5, &colour);
        }
        if curve.scales {
            let ideal = curve.numbers.iter().filter_map(|at| Some((x.at(*at), line.ideal(*at)?)));
            let ideal: Vec<(f64, f64)> =
                ideal.filter(|(_, value)| *value <= most * 1.08).map(|(x, value)| (x, y.at(value))).collect();
            svg.polyline(&ideal, &colour, "1 5");
        }
    }
    let names: Vec<(&str, String)> =
        curve.lines.iter().map(|line| (line.name, palette.colour(line.name))).collect();
    svg.legend(left, bottom + 58.0, &names);
    svg.note(20.0, HEIGHT + rows - 10.0, &source(view), Anchor::Start);
    Chart { stem: stem(kind, &curve.title), svg: svg.finish() }
}
