//! The table of a run of `load`: medians over windows.

use std::fmt::Write as _;

use weighbridge::data::{CaseRecord, CaseStatus, Columns, Estimate, MetricRecord, RunRecord, quantity};

/// The columns of figures: the metric, and its head.
const COLUMNS: [(&str, &str); 10] = [
    ("due_rate", "due>"),
    ("answer_rate", "answered>"),
    ("ttft_p50", "TTFT p50>"),
    ("ttft_p99", "p99>"),
    ("gap_p50", "gap p50>"),
    ("gap_p99", "p99>"),
    ("answer_p50", "latency p50>"),
    ("answer_p99", "p99>"),
    ("token_rate", "tokens>"),
    ("client_delay_p99", "client p99>"),
];

/// The metrics whose intervals stand below.
const INTERVALS: [(&str, &str); 6] = [
    ("TTFT p50", "ttft_p50"),
    ("TTFT p99", "ttft_p99"),
    ("latency p50", "answer_p50"),
    ("latency p99", "answer_p99"),
    ("answers", "answer_rate"),
    ("goodput", "goodput"),
];

/// The rows of a run, with what is to be known of them.
pub(super) fn table(run: &RunRecord) -> String {
    let heads = ["load", "verdict", "windows>"].into_iter().chain(COLUMNS.map(|(_, head)| head));
    let mut columns = Columns::new(heads);
    for case in &run.cases {
        let cells = [level(case), verdict(case).to_owned(), windows(case).to_string()];
        columns.row(cells.into_iter().chain(COLUMNS.map(|(metric, _)| cell(case, metric))));
    }
    let mut text = columns.text();
    text.push('\n');
    for case in &run.cases {
        let mut lines = intervals(case);
        if let CaseStatus::Failed(why) = &case.status {
            lines.push(why.to_string());
        }
        if !lines.is_empty() {
            let _ = writeln!(text, "{}: {}", level(case), lines.join(", "));
        }
    }
    text.push_str(
        "\nMedians over windows, with intervals at 95 % from 6 windows on. TTFT (time to first token) and\n\
         latency count from the moment at which a request was due. gap: between reads that brought tokens.\n\
         client: what the client delayed. A percentile is shown where each window bears it out.\n",
    );
    text
}

fn level(case: &CaseRecord) -> String {
    case.id.point.to_string()
}

fn verdict(case: &CaseRecord) -> &'static str {
    match case.status {
        CaseStatus::Measured => "valid",
        CaseStatus::Failed(_) => "INVALID",
        _ => "not run",
    }
}

fn windows(case: &CaseRecord) -> usize {
    case.primary_metric().and_then(|metric| metric.estimate).map_or(0, |estimate| estimate.n)
}

/// A figure of all windows; a dash where one of them has none, or the row does not stand.
fn stated<'a>(case: &'a CaseRecord, name: &str) -> Option<(&'a MetricRecord, Estimate)> {
    let metric = case.metric(name).filter(|_| matches!(case.status, CaseStatus::Measured))?;
    let estimate = metric.estimate.filter(|estimate| estimate.n == metric.values.len())?;
    Some((metric, estimate))
}

fn cell(case: &CaseRecord, name: &str) -> String {
    let shown = |(metric, estimate): (&MetricRecord, Estimate)| quantity::show(estimate.median, &metric.unit);
    stated(case, name).map_or_else(|| "-".to_owned(), shown)
}

fn intervals(case: &CaseRecord) -> Vec<String> {
    let line = |(head, name): &(&str, &str)| {
        let (metric, estimate) = stated(case, name)?;
        let (low, high) = estimate.interval?;
        let [low, high] = [low, high].map(|bound| quantity::show(bound, &metric.unit));
        Some(format!("{head} {low} to {high}"))
    };
    INTERVALS.iter().filter_map(line).collect()
}
