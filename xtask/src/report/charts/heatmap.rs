//! Which system does which scenario. A letter says what a colour says.

use super::{Chart, Palette, source};
use crate::svg::{Anchor, Svg, width};
use crate::view::{CaseState, View};

const CELL: f64 = 44.0;
const ROW: f64 = 26.0;

pub(super) fn charts(view: &View<'_>, _: &Palette<'_>) -> Vec<Chart> {
    let coverage = &view.coverage;
    if coverage.systems.is_empty() {
        return Vec::new();
    }
    let longest =
        |names: &mut dyn Iterator<Item = &str>| names.map(|name| width(name, 11.5)).fold(40.0, f64::max);
    let left = 30.0 + longest(&mut coverage.rows.iter().map(|(scenario, _)| *scenario));
    let head = 16.0 + longest(&mut coverage.systems.iter().copied());
    let about =
        "Cases measured and verified, of all cases. u: work not verified to be equal, f: failed, -: skipped.";
    let wide = (left + coverage.systems.len() as f64 * CELL + 30.0).max(720.0);
    let high = Svg::TOP + head + coverage.rows.len() as f64 * ROW + 40.0;
    let mut svg = Svg::new(wide, high, "Which system does what", about);
    let top = Svg::TOP + head;
    for (at, system) in coverage.systems.iter().enumerate() {
        svg.upwards(left + at as f64 * CELL + CELL / 2.0 + 4.0, top - 8.0, system);
    }
    for (row, (scenario, cells)) in coverage.rows.iter().enumerate() {
        let y = top + row as f64 * ROW;
        svg.label(left - 10.0, y + 17.0, scenario, Anchor::End);
        for (at, cell) in cells.iter().enumerate() {
            let x = left + at as f64 * CELL;
            let (fill, text) = match cell.state() {
                None => ("#ffffff", String::new()),
                Some(CaseState::Failed) => ("#f2b8b5", format!("{}/{} f", cell.ranked, cell.all())),
                Some(CaseState::Unranked) => ("#f5dfae", format!("{}/{} u", cell.ranked, cell.all())),
                Some(CaseState::Ranked) => ("#b7dccf", format!("{}/{}", cell.ranked, cell.all())),
                Some(CaseState::Skipped | CaseState::Incomplete) => ("#eceff1", "-".to_owned()),
            };
            svg.rect(x + 1.0, y + 1.0, CELL - 2.0, ROW - 2.0, fill);
            svg.text(x + CELL / 2.0, y + 17.0, &text, 10.5, Anchor::Middle, "#1b1f24", false);
        }
    }
    svg.note(20.0, high - 12.0, &source(view), Anchor::Start);
    vec![Chart { stem: "feature_heatmap".to_owned(), svg: svg.finish() }]
}
