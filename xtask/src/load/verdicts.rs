//! The verdicts on two servers that were measured in turns: one for each metric.

use std::fmt::Write as _;

use weighbridge::data::{Columns, Comparison, Estimate, MetricChange, Row, Tendency, quantity};

/// The metrics of a duel, by the rules of the duel.
pub(super) fn table(duel: &Comparison, judged: &[&str]) -> String {
    let mut text = String::new();
    for row in &duel.rows {
        let _ = writeln!(text, "\n{}: {}", row.case, row.verdict.name());
        let mut columns = Columns::new(["metric", "verdict", &duel.baseline.name, "judged>", "change>"]);
        for name in judged {
            match row.metrics.iter().find(|change| change.metric == *name) {
                Some(change) => columns.row(cells(row, change)),
                None => columns.row([*name, "not stated", "-", "-", "-"]),
            }
        }
        text.push_str(&columns.text());
    }
    text.push_str(
        "\nTwo windows of each server make a round. A p99 takes 100 answers in each window: a longer\n\
         --length has more. What decided against the server was confirmed on fresh\n\
         rounds.\n",
    );
    text
}

fn cells(row: &Row, change: &MetricChange) -> [String; 5] {
    let side =
        |side: Option<Estimate>| side.map_or("-".to_owned(), |of| quantity::show(of.median, &change.unit));
    let by = change.change_percent.map_or("-".to_owned(), |by| format!("{by:+.1} %"));
    let decided = row.metric == change.metric;
    [change.metric.clone(), said(row, change, decided), side(change.baseline), side(change.candidate), by]
}

/// The verdict on a metric. That of the deciding one is the row's: it was confirmed.
fn said(row: &Row, change: &MetricChange, decided: bool) -> String {
    if decided {
        return row.verdict.name().to_owned();
    }
    match change.tendency {
        Tendency::Worse if row.verdict.name() == "Regressed" => "worse",
        // Fresh rounds did not say so again, or nobody asked them.
        Tendency::Worse => "not confirmed",
        Tendency::Better => "Improved",
        Tendency::Same => "Unchanged",
        Tendency::Unclear => "Inconclusive",
        Tendency::Information => "",
    }
    .to_owned()
}
