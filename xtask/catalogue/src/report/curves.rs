//! Curves: what becomes of a scenario as a number grows, the size of its batches or the depth of its chain.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use weighbridge::data::CaseRecord;

use super::batch_spending::{BatchSpending, SpentLine, seconds};
use super::field::{ComparedField, by_cpu, name};
use weighbridge_xtask::show;
use weighbridge_xtask::table::Table;

const FITS: &str = "a String takes all that is written";

/// Variants of a scenario that a number tells apart: `batch_8` of `batch`, `depth_20` of `depth`.
struct Curve<'a> {
    /// The scenario with the rest of the point, and what the number counts: `CV-1: batch`.
    title: String,
    metric: &'static str,
    /// By adapter and number.
    cases: BTreeMap<&'a str, BTreeMap<u32, &'a CaseRecord>>,
}

/// Returns the section of curves: what every number brought, and the line through the times of a batch.
pub(super) fn section(field: &ComparedField<'_>) -> String {
    let mut text = String::new();
    for curve in found(field) {
        let all: BTreeSet<u32> = curve.cases.values().flat_map(BTreeMap::keys).copied().collect();
        if all.len() < 2 {
            continue;
        }
        let titles: Vec<String> = all.iter().map(|number| format!("{number}>")).collect();
        let titles = titles.iter().map(String::as_str);
        let mut table = Table::new(["adapter"].into_iter().chain(titles).chain(["any>", "one more>"]));
        let clock = by_cpu(curve.metric);
        for adapter in field.adapters() {
            let Some(of) = curve.cases.get(adapter) else { continue };
            let rates = all.iter().map(|at| {
                of.get(at).map_or_else(String::new, |case| show::median(case.metric(curve.metric)))
            });
            let point = |(number, case): (&u32, &&CaseRecord)| {
                Some((f64::from(*number), BatchSpending::time(case, clock)?))
            };
            let line = SpentLine::through(&of.iter().filter_map(point).collect::<Vec<_>>());
            let costs = line.map_or_else(Default::default, |line| [line.fixed, line.factor].map(seconds));
            table.row(std::iter::once(adapter.to_owned()).chain(rates).chain(costs));
        }
        writeln!(text, "\n### {}\n\n{}", curve.title, table.markdown().trim_end()).expect(FITS);
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "\n## Curves\n\nVariants that a number tells apart, by what scenarios are compared by. The last two \
         columns are a line through the times of a batch: what it takes whatever the number is, \
         and what one more adds.\n{text}"
    )
}

/// The curves of a run, without workers: those are no variant.
fn found<'a>(field: &ComparedField<'a>) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    for group in &field.groups {
        for case in group.cases.iter().copied().filter(|case| case.ranked()) {
            let mut word = None;
            let mut title = vec![case.id.scenario.as_str()];
            let mut plain = true;
            for value in &case.id.point {
                let numbered = value.text.rsplit_once('_').and_then(|(of, at)| Some((of, at.parse().ok()?)));
                match numbered {
                    _ if value.axis == "workers" => plain &= value.text == "0",
                    Some(numbered) if word.is_none() => word = Some(numbered),
                    _ => title.push(&value.text),
                }
            }
            let Some((word, number)) = word.filter(|_| plain) else { continue };
            let title = format!("{}: {word}", title.join("/"));
            let at = curves.iter().position(|curve| curve.title == title).unwrap_or_else(|| {
                curves.push(Curve { title, metric: group.metric, cases: BTreeMap::new() });
                curves.len() - 1
            });
            curves[at].cases.entry(name(case)).or_default().insert(number, case);
        }
    }
    curves
}
