//! The page for a terminal.

use crate::report::{DoctorReport, DoctorRun};
use crate::trial::Effect;
use crate::verdict::{Gain, GainSource, Outcome, Remedy, Verdict};

/// The whole page.
pub(crate) fn page(report: &DoctorReport) -> String {
    let verdict = &report.verdict;
    let mut lines = vec![title(report), String::new()];
    if let Some(remedy) = &verdict.remedy {
        lines.push("To do".to_owned());
        lines.extend(indented(&remedy_lines(remedy)));
        lines.push(String::new());
    }
    if !verdict.evidence.is_empty() {
        lines.push("Evidence".to_owned());
        lines.extend(indented(&verdict.evidence));
        lines.push(String::new());
    }
    if !verdict.tried.is_empty() {
        lines.push("Tried in this script, in turns".to_owned());
        lines.extend(indented(&tried_lines(verdict)));
        lines.push(String::new());
    }
    lines.push("Seen from outside".to_owned());
    lines.extend(indented(&[processes(verdict)]));
    lines.extend(indented(&report.runs.iter().map(run_line).collect::<Vec<_>>()));
    if !verdict.notes.is_empty() {
        lines.extend([String::new(), "Notes".to_owned()]);
        lines.extend(indented(&verdict.notes));
    }
    lines.join("\n") + "\n"
}

fn indented(lines: &[String]) -> Vec<String> {
    lines.iter().flat_map(|text| text.lines()).map(|line| format!("  {line}")).collect()
}

/// The first sentence.
pub(crate) fn title(report: &DoctorReport) -> String {
    let verdict = &report.verdict;
    let script = &report.script;
    let loop_of =
        verdict.loader.as_ref().map(|line| format!(" of the loop over the loader of {}", line.named()));
    let loop_of = loop_of.unwrap_or_default();
    let step = verdict.step.map(|step| format!(", which takes {}", time(step))).unwrap_or_default();
    match (verdict.outcome, verdict.limit, &verdict.gain) {
        (Outcome::Limited | Outcome::Looked, Some(limit), Some(gain)) => {
            let without = format!("Without that the script is {}.", gain_text(gain));
            format!("{script}: {limit} limits a step{loop_of}{step}. {without}")
        }
        (Outcome::Clean, ..) => {
            format!("{script}: nothing limits a step{loop_of}{step}, but its own work.")
        }
        (Outcome::Inconclusive, ..) => {
            format!("{script}: inconclusive. The experiments do not say what limits a step{loop_of}{step}.")
        }
        (Outcome::Looked, ..) => {
            let waiting = verdict.waiting.unwrap_or(0.0) * 100.0;
            format!("{script}: a step{loop_of}{step}, waits {waiting:.0} % of its time for a batch.")
        }
        _ => format!("{script}: no step was seen."),
    }
}

/// A gain in words.
pub(crate) fn gain_text(gain: &Gain) -> String {
    let most = if gain.source == GainSource::Measured { "" } else { "at most " };
    let between = gain.interval.map(|(low, high)| format!(" ({low:.2} to {high:.2})")).unwrap_or_default();
    format!("{most}{:.2} times as fast{between}", gain.factor)
}

fn sureness(gain: &Gain) -> String {
    match gain.source {
        GainSource::Measured => {
            format!("measured in this script, in {} turns; interval at 99 %", gain.rounds)
        }
        GainSource::Bound if gain.rounds > 0 => {
            format!("a bound: {} turns without the cost at all; interval at 99 %", gain.rounds)
        }
        GainSource::Bound => "a bound, by the time that it takes".to_owned(),
        GainSource::Counted => "counted: the time that it takes".to_owned(),
    }
}

/// The remedy, line by line.
pub(crate) fn remedy_lines(remedy: &Remedy) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(line) = &remedy.line {
        lines.push(format!("{}  {}", line.named(), line.text));
    }
    match (&remedy.before, &remedy.after) {
        (Some(before), Some(after)) => lines.push(format!("{before}  ->  {after}")),
        (None, Some(after)) => lines.push(after.clone()),
        _ => {}
    }
    lines.push(format!("{}.", capital(&remedy.text)));
    lines.push(format!("Expected: {}, {}.", gain_text(&remedy.gain), sureness(&remedy.gain)));
    lines
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}

/// The table of changes.
fn tried_lines(verdict: &Verdict) -> Vec<String> {
    let width = verdict.tried.iter().map(|effect| effect.arm.len()).max().unwrap_or(0);
    verdict.tried.iter().map(|effect| format!("{:width$}  {}", effect.arm, effect_text(effect))).collect()
}

/// An effect in words.
pub(crate) fn effect_text(effect: &Effect) -> String {
    let (factor, interval) = effect.factor();
    let between = interval.map_or_else(
        || format!(" (too few turns for an interval: {})", effect.rounds),
        |(low, high)| format!(" ({low:.2} to {high:.2})"),
    );
    let matters = match effect.interval {
        Some((low, high)) if low <= 1.0 && high >= 1.0 => "  did not matter",
        _ => "",
    };
    format!("{:>10} a step  {factor:.2} times as fast{between}{matters}", time(effect.seconds))
}

fn processes(verdict: &Verdict) -> String {
    let sums = &verdict.processes;
    format!(
        "{} processes, {:.2} processors in use, {:.2} threads waiting for one, {:.1} MB/s from disks, \
         {:.0} MB at most",
        sums.count,
        sums.processors,
        sums.queued,
        sums.read / 1e6,
        sums.memory as f64 / 1e6
    )
}

fn run_line(run: &DoctorRun) -> String {
    let start = run.start.map(|start| format!("{start:.1} s to the first batch, then ")).unwrap_or_default();
    let files = if run.is_layered { "; what it wrote was thrown away" } else { "" };
    format!("run for {}: {start}{:.1} s; ended {}{files}", run.purpose, run.seconds, run.end)
}

fn time(seconds: f64) -> String {
    weighbridge::data::quantity::show(seconds, &weighbridge::data::Unit::SECONDS)
}
