//! Changes and verdicts as people read them in a bench target's own report.

use std::fmt::Write;

use super::cells::Changes;
use super::machine::fake_device;
use super::{Style, Terminal, quantity};
use crate::bencher::visible_in_line;
use crate::compare::{Comparison, Effect, Refusal, Row, Verdict};

/// Tells how each case changed, in a few words, for the last column of the table.
pub fn changes(comparison: &Comparison) -> Changes {
    let words = |row: &Row| {
        let effect = row.effect?;
        let text = match &row.verdict {
            Verdict::Improved => format!("{} faster", times(effect)),
            Verdict::Regressed => format!("{} slower", times(effect)),
            Verdict::Unchanged => "no change".to_owned(),
            _ => format!("inconclusive, {}", range(effect)),
        };
        Some((row.case.to_string(), text))
    };
    let mut changes = Changes::new();
    for (case, words) in comparison.rows.iter().filter_map(words) {
        changes.insert(case, words);
    }
    changes
}

fn times(effect: Effect) -> String {
    quantity::change(effect.estimate).trim_start_matches(['+', '-']).to_owned()
}

/// The interval, from better to worse.
fn range(effect: Effect) -> String {
    format!("{} to {}", quantity::change(effect.low), quantity::change(effect.high))
}

/// Writes how a run is judged against a baseline: what stands in the way first, then every row that is not
/// unchanged.
pub fn verdicts(comparison: &Comparison, terminal: Terminal) -> String {
    let name = visible_in_line(&comparison.baseline.name);
    let mut text = match &comparison.baseline.run {
        Some(run) => format!("\nagainst the stored baseline `{name}` (run {run})\n"),
        None => format!("\nin a duel with `{name}`\n"),
    };
    let mut line = |words: String| writeln!(text, "{words}").expect("a String takes all that is written");
    if let Some(fake) = comparison.environment.as_ref().and_then(fake_device) {
        line(fake);
    }
    for change in &comparison.environment_changes {
        line(visible_in_line(&format!("changed since then: {change}")));
    }
    for note in &comparison.notes {
        line(visible_in_line(&format!("note: {note}")));
    }
    if let Some(refusal) = &comparison.refused {
        line(visible_in_line(&format!("not judged: {}", refused(refusal))));
        return text;
    }
    for row in comparison.rows.iter().filter(|row| row.verdict != Verdict::Unchanged) {
        let style = match row.verdict {
            Verdict::Regressed => Style::Red,
            Verdict::Improved => Style::Green,
            _ => Style::Yellow,
        };
        let verdict = terminal.paint(style, &visible_in_line(&row.verdict.to_string()));
        let effect = row.effect.map_or_else(String::new, |effect| {
            format!("  {} {} ({})", row.metric, quantity::change(effect.estimate), range(effect))
        });
        let detects =
            row.detectable.map_or_else(String::new, |least| format!(", detects {}", quantity::change(least)));
        line(format!("{verdict}: {}", visible_in_line(&format!("{}{effect}{detects}", row.case))));
        if let Some(advice) = &row.advice {
            line(format!("  to decide it: {}", visible_in_line(&advice.to_string())));
        }
    }
    // What is unchanged is not listed, and how small a change would have been seen belongs to it.
    let unchanged = comparison.rows.iter().filter(|row| row.verdict == Verdict::Unchanged);
    let bluntest = unchanged.filter_map(|row| row.detectable).max_by(f64::total_cmp);
    if let Some(least) = bluntest {
        line(format!("in every unchanged case {} would have been found", quantity::change(least)));
    }
    let counts = comparison.counts;
    line(format!(
        "{} unchanged, {} regressed, {} improved",
        counts.unchanged, counts.regressed, counts.improved
    ));
    text
}

/// One case of a duel, when it has been decided.
pub fn row(row: &Row, terminal: Terminal) -> String {
    let style = match row.verdict {
        Verdict::Regressed => Style::Red,
        Verdict::Improved => Style::Green,
        Verdict::Unchanged => Style::Dim,
        _ => Style::Yellow,
    };
    let verdict = terminal.paint(style, row.verdict.name());
    let rounds = row.rounds.as_ref().map_or(0, |rounds| rounds.shifts.len());
    let effect = row.effect.map_or_else(String::new, |effect| {
        format!(", {} {} ({})", row.metric, quantity::change(effect.estimate), range(effect))
    });
    format!("{verdict} after {rounds} rounds{}", visible_in_line(&effect))
}

fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::SameRun => "this run is the baseline itself".to_owned(),
        Refusal::OtherSuite { baseline } => format!("the baseline is of the suite {baseline}"),
        Refusal::OtherWorkspace { .. } => refusal.to_string(),
        Refusal::OtherMachine(differences) => {
            let list: Vec<String> = differences.iter().map(ToString::to_string).collect();
            format!(
                "the baseline is of another machine ({}); --allow-different-machine compares all the same",
                list.join(", ")
            )
        }
        Refusal::NothingCompared => "no case could be weighed".to_owned(),
    }
}
