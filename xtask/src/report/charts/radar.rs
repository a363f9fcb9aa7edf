//! The radar: systems over scenarios. Rates of different scenarios share no axis, so a radius is the share of
//! the best system's speed there, which the chart says.

use std::f64::consts::TAU;

use super::{Chart, Palette, source};
use crate::svg::{Anchor, Svg};
use crate::view::{CaseGroup, View};

const SIDE: f64 = 760.0;
const RADIUS: f64 = 220.0;
/// More lines cannot be told apart.
const MOST_SYSTEMS: usize = 6;
/// More axes have no room for their names.
const MOST_AXES: usize = 16;

pub(super) fn charts(view: &View<'_>, palette: &Palette<'_>) -> Vec<Chart> {
    // The first point of each scenario that several systems did.
    let mut axes: Vec<&CaseGroup<'_>> = Vec::new();
    for group in view.groups.iter().filter(|group| group.places.len() > 1) {
        let scenario = &group.places[0].case.id.scenario;
        if axes.len() < MOST_AXES && !axes.iter().any(|other| other.places[0].case.id.scenario == *scenario) {
            axes.push(group);
        }
    }
    // A radar needs a surface.
    if axes.len() < 3 {
        return Vec::new();
    }
    let share = |group: &CaseGroup<'_>, system: &str| {
        let place = group.places.iter().find(|place| place.case.id.adapter.as_deref() == Some(system))?;
        Some(place.ratio.estimate.clamp(0.0, 1.0))
    };
    let mut systems: Vec<(usize, f64, &str)> = view
        .coverage
        .systems
        .iter()
        .map(|system| {
            let shares: Vec<f64> = axes.iter().filter_map(|group| share(group, system)).collect();
            (shares.len(), shares.iter().sum(), *system)
        })
        .filter(|(count, ..)| *count > 2)
        .collect();
    systems.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    systems.truncate(MOST_SYSTEMS);
    if systems.is_empty() {
        return Vec::new();
    }
    let about = "Radius: share of the speed of the best system there, 0 in the middle, 100 % at the edge. \
                 No corner: not measured.";
    let mut svg = Svg::new(SIDE, SIDE - 60.0, "Systems over scenarios", about);
    let (x, y) = (SIDE / 2.0, Svg::TOP + RADIUS + 44.0);
    let at = |axis: usize, share: f64| {
        let angle = axis as f64 / axes.len() as f64 * TAU - TAU / 4.0;
        (x + angle.cos() * RADIUS * share, y + angle.sin() * RADIUS * share)
    };
    for ring in [0.25, 0.5, 0.75, 1.0] {
        let ring: Vec<(f64, f64)> = (0..axes.len()).map(|axis| at(axis, ring)).collect();
        svg.polygon(&ring, "none", 0.0, "#e3e6ea");
    }
    for (axis, group) in axes.iter().enumerate() {
        svg.line((x, y), at(axis, 1.0), "#e3e6ea", 1.0);
        let (left, top) = at(axis, 1.08);
        let anchor = match left - x {
            off if off.abs() < 12.0 => Anchor::Middle,
            off if off > 0.0 => Anchor::Start,
            _ => Anchor::End,
        };
        svg.label(left, top + 4.0, &group.places[0].case.id.scenario, anchor);
    }
    for ring in [50, 100] {
        svg.note(x + 4.0, y - RADIUS * ring as f64 / 100.0 + 12.0, &format!("{ring} %"), Anchor::Start);
    }
    for (_, _, system) in &systems {
        let colour = palette.colour(system);
        let corners: Vec<(f64, f64)> = axes
            .iter()
            .enumerate()
            .filter_map(|(axis, group)| Some(at(axis, share(group, system)?)))
            .collect();
        svg.polygon(&corners, &colour, 0.06, &colour);
        for (x, y) in &corners {
            svg.circle(*x, *y, 3.5, &colour);
        }
    }
    let names: Vec<(&str, String)> =
        systems.iter().map(|(_, _, system)| (*system, palette.colour(system))).collect();
    svg.legend(40.0, y + RADIUS + 54.0, &names);
    svg.note(20.0, SIDE - 76.0, &source(view), Anchor::Start);
    vec![Chart { stem: "throughput_radar".to_owned(), svg: svg.finish() }]
}
