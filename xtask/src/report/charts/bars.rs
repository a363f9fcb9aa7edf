//! Bars: what every system does at each point, and the memory that it takes. Each point has a scale of its
//! own, from zero: one axis for rates that differ ten-thousandfold would show the largest alone.

use weighbridge::data::names;
use weighbridge::data::{CaseRecord, MetricRecord, quantity};

use super::{Chart, Palette, source};
use crate::show;
use crate::svg::{Anchor, Svg, width};
use crate::view::{CaseGroup, View};

const WIDTH: f64 = 900.0;
const BAR: f64 = 17.0;
const ROW: f64 = 22.0;
/// However much there is to show beside it, the longest bar has this length.
const LEAST: f64 = 150.0;
/// A sheet of more bars is continued on the next.
const MOST: usize = 70;

/// The figure that each point is ranked by.
pub(super) fn throughput(view: &View<'_>, palette: &Palette<'_>) -> Vec<Chart> {
    let about = "Median over repeats with its 95 % interval; each point has its own scale from zero. \
                 Only verified work.";
    sheets(view, palette, "throughput_bars", "What each system does", about, |group| {
        group.places.iter().filter_map(|place| bar(place.case, place.metric)).collect()
    })
}

/// The most memory that a repeat took.
pub(super) fn memory(view: &View<'_>, palette: &Palette<'_>) -> Vec<Chart> {
    let about = "Peak memory of a repeat, measured: median with its 95 % interval; \
                 each point has its own scale from zero.";
    sheets(view, palette, "memory", "What memory each system takes", about, |group| {
        let cases = group.cases.iter().map(|at| view.cases[*at].record).filter(|case| case.ranked());
        let mut bars: Vec<Bar<'_>> =
            cases.filter_map(|case| bar(case, case.metric(names::PEAK_MEMORY)?)).collect();
        bars.sort_by(|a, b| a.median.total_cmp(&b.median));
        bars
    })
}

struct Bar<'a> {
    system: &'a str,
    shown: String,
    median: f64,
    interval: Option<(f64, f64)>,
}

fn bar<'a>(case: &'a CaseRecord, metric: &MetricRecord) -> Option<Bar<'a>> {
    let estimate =
        metric.estimate.filter(|estimate| estimate.median.is_finite() && estimate.median >= 0.0)?;
    let interval = estimate.interval.filter(|(low, high)| low.is_finite() && high.is_finite());
    let range = interval
        .map_or_else(String::new, |(low, high)| format!("  [{}]", quantity::range(low, high, &metric.unit)));
    let shown = format!("{}{range}", show::median(Some(metric)));
    // A scenario without adapters is what is measured itself.
    let system = case.id.adapter.as_deref().unwrap_or(&case.id.scenario);
    Some(Bar { system, shown, median: estimate.median, interval })
}

fn sheets<'a>(
    view: &View<'a>,
    palette: &Palette<'_>,
    stem: &str,
    title: &str,
    about: &str,
    bars: impl Fn(&CaseGroup<'a>) -> Vec<Bar<'a>>,
) -> Vec<Chart> {
    let mut sheets: Vec<Vec<(&str, Vec<Bar<'a>>)>> = Vec::new();
    let mut room = 0;
    for group in &view.groups {
        let bars = bars(group);
        if bars.is_empty() {
            continue;
        }
        if sheets.is_empty() || bars.len() > room {
            sheets.push(Vec::new());
            room = MOST;
        }
        room = room.saturating_sub(bars.len());
        sheets.last_mut().expect("one was just pushed").push((&group.title, bars));
    }
    let draw = |(at, groups): (usize, &Vec<(&str, Vec<Bar<'_>>)>)| {
        let number = if at == 0 { String::new() } else { format!("-{}", at + 1) };
        Chart { stem: format!("{stem}{number}"), svg: sheet(view, palette, title, about, groups) }
    };
    sheets.iter().enumerate().map(draw).collect()
}

fn sheet(
    view: &View<'_>,
    palette: &Palette<'_>,
    title: &str,
    about: &str,
    groups: &[(&str, Vec<Bar<'_>>)],
) -> String {
    let names = groups.iter().flat_map(|(_, bars)| bars.iter().map(|bar| width(bar.system, 11.5)));
    let left = 34.0 + names.fold(60.0, f64::max);
    let height: f64 = groups.iter().map(|(_, bars)| 30.0 + bars.len() as f64 * ROW).sum();
    let mut svg = Svg::new(WIDTH, Svg::TOP + height + 36.0, title, about);
    // What the longest bar shows stands to its right, and fits.
    let shown = groups.iter().flat_map(|(_, bars)| bars.iter().map(|bar| width(&bar.shown, 11.0)));
    let right = (WIDTH - 16.0 - shown.fold(0.0, f64::max)).max(left + LEAST);
    let mut y = Svg::TOP;
    for (title, bars) in groups {
        svg.text(20.0, y + 16.0, title, 13.0, Anchor::Start, "#1b1f24", true);
        y += 24.0;
        let most = bars
            .iter()
            .map(|bar| bar.interval.map_or(bar.median, |(_, high)| high.max(bar.median)))
            .fold(0.0, f64::max);
        let at = |value: f64| left + if most > 0.0 { value / most * (right - left) } else { 0.0 };
        for bar in bars {
            svg.label(left - 8.0, y + 13.0, bar.system, Anchor::End);
            svg.rect(left, y, at(bar.median) - left, BAR, &palette.colour(bar.system));
            let mut end = at(bar.median);
            if let Some((low, high)) = bar.interval {
                svg.whisker(y + BAR / 2.0, at(low), at(high));
                end = end.max(at(high));
            }
            svg.note(end + 8.0, y + 13.0, &bar.shown, Anchor::Start);
            y += ROW;
        }
        svg.line((left, y - 22.0 * bars.len() as f64 - 3.0), (left, y - 2.0), "#59626d", 1.0);
        y += 6.0;
    }
    svg.note(20.0, y + 20.0, &source(view), Anchor::Start);
    svg.finish()
}
