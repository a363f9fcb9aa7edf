//! The table of a session, for a terminal.

use std::fmt::Write as _;

use weighbridge::data::Columns;

use crate::figures::Times;
use crate::percentile::Percentile;
use crate::session::{Report, Row};

/// The rows of a session, with the reasons against those that are refused.
pub fn table(report: &Report) -> String {
    let mut columns = Columns::new([
        "load",
        "verdict",
        "due/s>",
        "answered/s>",
        "failed>",
        "TTFT p50>",
        "p99>",
        "gap p50>",
        "p99>",
        "latency p50>",
        "p99>",
        "p99.9>",
        "client p99>",
    ]);
    report.rows.iter().for_each(|row| columns.row(cells(row)));
    let mut text = columns.text();
    text.push('\n');
    for row in &report.rows {
        text.push_str(&details(row));
    }
    text.push_str(
        "TTFT (time to first token) and latency count from the moment at which a request was due.\n\
         gap: between reads that brought tokens. client: what the client delayed. A percentile is shown\n\
         where the count bears it out, with the interval that holds it in 95 of 100 samples.\n",
    );
    writeln!(text, "{}, seed {}", report.target, report.seed).unwrap_or(());
    text
}

fn cells(row: &Row) -> [String; 13] {
    let figures = &row.figures;
    let at = |times: &Times, share| times.at(share).map_or_else(|| "-".to_owned(), |found| time(found.value));
    [
        row.name.clone(),
        if row.verdict.is_valid() { "valid" } else { "INVALID" }.to_owned(),
        rate(figures.asked_rate),
        rate(figures.achieved_rate),
        figures.failed().to_string(),
        at(&figures.first_token, 0.5),
        at(&figures.first_token, 0.99),
        at(&figures.gap, 0.5),
        at(&figures.gap, 0.99),
        at(&figures.latency, 0.5),
        at(&figures.latency, 0.99),
        at(&figures.latency, 0.999),
        time(figures.delay.p99_or_greatest()),
    ]
}

/// The lines below the table for a row: reasons, failures by kind, intervals, chunks and tokens.
fn details(row: &Row) -> String {
    let (figures, client) = (&row.figures, &row.client);
    let mut lines = Vec::new();
    lines.extend(row.verdict.reasons().iter().map(|reason| format!("INVALID: {reason}")));
    lines.extend(figures.failures.iter().map(|(kind, count)| format!("failed: {count} x {}", kind.name())));
    for (name, times) in [("TTFT", &figures.first_token), ("latency", &figures.latency)] {
        let stated = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];
        let stated = stated.iter().filter_map(|(share, of)| Some(interval(of, times.at(*share)?)));
        let stated: Vec<String> = stated.collect();
        lines.extend((!stated.is_empty()).then(|| format!("{name}: {}", stated.join(", "))));
    }
    if figures.chunks > 0 {
        let tokens = figures.token_rate.map_or_else(
            || "the server does not count tokens".to_owned(),
            |per_second| format!("{} tokens/s by the server's count", rate(per_second)),
        );
        let per_token = figures.per_token.at(0.5);
        let per_token =
            per_token.map_or_else(String::new, |found| format!(", {} per token", time(found.value)));
        lines.push(format!(
            "{} chunks/s, {} of {} shared a read with one before; {tokens}{per_token}",
            rate(figures.chunk_rate),
            figures.shared,
            figures.chunks,
        ));
    }
    if figures.reasoning + figures.tools > 0 {
        lines.push(format!("{} chunks of reasoning, {} of tools", figures.reasoning, figures.tools));
    }
    lines.extend(figures.goodput.map(|good| format!("goodput: {} answers/s met the goals", rate(good))));
    lines.push(format!(
        "connections: {} opened, {} reused, {} failed",
        client.opened, client.reused, client.failed
    ));
    lines.iter().fold(format!("{}\n", row.name), |text, line| text + "  " + line + "\n")
}

fn interval(name: &str, found: Percentile) -> String {
    format!("{name} {} ({} to {})", time(found.value), time(found.low), time(found.high))
}

fn rate(per_second: f64) -> String {
    if per_second < 10.0 { format!("{per_second:.2}") } else { format!("{per_second:.0}") }
}

/// A time with its unit: three figures of it.
fn time(nanoseconds: u64) -> String {
    let (value, unit) = match nanoseconds {
        0..1_000_000 => (nanoseconds as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (nanoseconds as f64 / 1e6, "ms"),
        _ => (nanoseconds as f64 / 1e9, "s"),
    };
    let places = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.places$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_three_figures_and_its_unit() {
        for (nanoseconds, expected) in [
            (0, "0.00 us"),
            (1_234, "1.23 us"),
            (12_345_678, "12.3 ms"),
            (123_456_789, "123 ms"),
            (3 << 30, "3.22 s"),
        ] {
            assert_eq!(time(nanoseconds), expected);
        }
    }
}
