//! The tables of a comparison: one of cases, one of their metrics. Text and Markdown draw the same.

use weighbridge::data::{Comparison, Direction, Estimate, Row, Tendency, Unit, Verdict, quantity};

use crate::table::Table;

/// One row per case: what decided, on both sides, the smallest effect that would have been found, and the
/// verdict.
pub(crate) fn cases(comparison: &Comparison) -> Table {
    let mut table =
        Table::new(["case", "metric", "baseline>", "now>", "change>", "slowdown>", "detects>", "verdict"]);
    for row in &comparison.rows {
        let judged = row.judged();
        let judged = judged.as_deref();
        let side = |of: Option<Estimate>| {
            judged.zip(of).map_or_else(dash, |(metric, of)| quantity::show(of.median, &metric.unit))
        };
        let percent = judged.and_then(|metric| metric.change_percent);
        table.row([
            row.case.to_string(),
            judged.map_or_else(|| row.metric.clone(), |judged| judged.metric.clone()),
            side(judged.and_then(|metric| metric.baseline)),
            side(judged.and_then(|metric| metric.candidate)),
            percent.map_or_else(dash, |percent| quantity::change(percent / 100.0)),
            slowdown(row),
            row.detectable.map_or_else(dash, quantity::change),
            verdict(row),
        ]);
    }
    table
}

/// One row per metric of a case: value, change and ratio, which way is better, and where it tends.
pub(crate) fn metrics(row: &Row) -> Table {
    let mut table = Table::new(["metric", "baseline>", "now>", "change>", "ratio>", "better", "tendency"]);
    for metric in &row.metrics {
        table.row([
            metric.metric.clone(),
            side(metric.baseline, &metric.unit),
            side(metric.candidate, &metric.unit),
            metric.change_percent.map_or_else(dash, |percent| quantity::change(percent / 100.0)),
            metric.ratio.map_or_else(dash, |ratio| format!("{ratio:.3}")),
            match metric.direction {
                Direction::Higher => "higher",
                Direction::Lower => "lower",
                Direction::Information => "-",
            }
            .to_owned(),
            match metric.tendency {
                Tendency::Better => "better",
                Tendency::Worse => "worse",
                Tendency::Same => "same",
                Tendency::Unclear => "unclear",
                Tendency::Information => "-",
            }
            .to_owned(),
        ]);
    }
    table
}

/// The verdict's word, with the marks that go with it. Its reason is told below the table.
pub(crate) fn verdict(row: &Row) -> String {
    let marks: Vec<String> = row.marks.iter().map(ToString::to_string).collect();
    let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
    format!("{}{marks}", row.verdict.name())
}

/// Reasons for verdicts that have one, what would decide where nothing was decided, and what is worse without
/// a gate on it. What an author wrote goes through `inert`; the advice is ours.
pub(crate) fn reasons(comparison: &Comparison, inert: impl Fn(&str) -> String) -> Vec<String> {
    let mut reasons = Vec::new();
    for row in &comparison.rows {
        let case = inert(&row.case.to_string());
        if let Some(why) = row.verdict.why() {
            let advice = row.advice.as_ref().map(|advice| format!("; to decide it: {advice}"));
            reasons.push(format!("{case}: {}{}", inert(&why), advice.unwrap_or_default()));
        }
        let worse: Vec<String> = row
            .worse_beside()
            .map(|metric| match metric.change_percent {
                Some(percent) => format!("{} ({})", inert(&metric.metric), quantity::change(percent / 100.0)),
                None => inert(&metric.metric),
            })
            .collect();
        // Of a regressed case all metrics are shown.
        if !worse.is_empty() && row.verdict != Verdict::Regressed {
            reasons.push(format!("{case}: worse, and no gate is on it: {}", worse.join(", ")));
        }
    }
    reasons
}

/// By how much a case is worse, with the interval: time, or time per unit of work.
pub(crate) fn slowdown(row: &Row) -> String {
    row.effect.map_or_else(dash, |effect| {
        let (low, high) = (quantity::change(effect.low), quantity::change(effect.high));
        format!("{} [{low} .. {high}]", quantity::change(effect.estimate))
    })
}

fn side(estimate: Option<Estimate>, unit: &Unit) -> String {
    estimate.map_or_else(dash, |estimate| quantity::show(estimate.median, unit))
}

fn dash() -> String {
    "-".to_owned()
}
