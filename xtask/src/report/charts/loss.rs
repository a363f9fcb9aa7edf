//! Loss curves: how a training comes to its target in time. Systems that take the same steps differ in how
//! long these take.

use weighbridge::data::{Unit, quantity};

use super::{Chart, Palette, source, stem};
use crate::svg::{Anchor, ChartAxis, Svg};
use crate::view::learning_curve::{ShownCurve, ShownLook};
use crate::view::{CaseGroup, View};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 480.0;
/// Charts of one run.
const MOST: usize = 24;

pub(super) fn charts(view: &View<'_>, palette: &Palette<'_>) -> Vec<Chart> {
    view.groups.iter().filter_map(|group| chart(view, palette, group)).take(MOST).collect()
}

fn chart(view: &View<'_>, palette: &Palette<'_>, group: &CaseGroup<'_>) -> Option<Chart> {
    let cases = group.cases.iter().map(|at| view.cases[*at].record).filter(|case| case.ranked());
    let lines: Vec<(&str, Vec<ShownLook>)> = cases
        .filter_map(|case| Some((case.id.adapter.as_deref()?, ShownCurve::of(case).looks)))
        .filter(|(_, looks)| !looks.is_empty())
        .collect();
    let all = || lines.iter().flat_map(|(_, looks)| looks);
    let most = |of: fn(&ShownLook) -> f64| all().map(of).fold(0.0, f64::max);
    all().next()?;
    let about = "Mean loss since the look before, by the time of the steps; \
                 a line ends at the target, or with the data.";
    let rows = lines.len().div_ceil(4) as f64 * 18.0;
    let mut svg = Svg::new(WIDTH, HEIGHT + rows, &format!("{}: loss", group.title), about);
    let (left, right, top, bottom) = (96.0, WIDTH - 40.0, Svg::TOP + 10.0, HEIGHT - 70.0);
    let x = ChartAxis::from_zero(most(|look| look.time) * 1.02, left, right);
    let y = ChartAxis::from_zero(most(|look| look.loss) * 1.05, bottom, top);
    svg.grid_y(&y, left, right, |loss| format!("{loss:.2}"));
    svg.grid_x(&x, top, bottom, |time| quantity::show(time, &Unit::SECONDS));
    for (system, looks) in &lines {
        let colour = palette.colour(system);
        let points: Vec<(f64, f64)> = looks.iter().map(|look| (x.at(look.time), y.at(look.loss))).collect();
        svg.polyline(&points, &colour, palette.dash(system));
        if let Some((x, y)) = points.last() {
            svg.circle(*x, *y, 4.0, &colour);
        }
    }
    let names: Vec<(&str, String)> =
        lines.iter().map(|(system, _)| (*system, palette.colour(system))).collect();
    svg.legend(left, bottom + 42.0, &names);
    svg.note(20.0, HEIGHT + rows - 12.0, &source(view), Anchor::Start);
    Some(Chart { stem: stem("loss", &group.title), svg: svg.finish() })
}
