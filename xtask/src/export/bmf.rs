//! Bencher Metric Format (<https://bencher.dev/docs/reference/bencher-metric-format/>): every metric of every
//! case.
//!
//! `latency` and `throughput` are Bencher's own measures, in nanoseconds and operations a second: the time of
//! an item and how many of them, and not how many elements. All others keep their name and base unit.

use anyhow::Result;
use serde_json::{Map, Value, json};
use weighbridge::data::names;
use weighbridge::data::{CaseRecord, Estimate};

use super::time::Times;
use super::{ExportOutput, Job};

/// The longest name of a benchmark and of a measure, in characters.
const LONGEST: (usize, usize) = (1024, 64);

pub(super) fn write(job: &Job<'_>) -> Result<ExportOutput> {
    let mut all = Map::new();
    for case in &job.run.cases {
        let measures = measures(case);
        if !measures.is_empty() {
            all.insert(case.id.slug().chars().take(LONGEST.0).collect(), Value::Object(measures));
        }
    }
    Ok(ExportOutput::Text(format!("{:#}\n", Value::Object(all))))
}

fn measures(case: &CaseRecord) -> Map<String, Value> {
    let mut measures = Map::new();
    if let Some(times) = Times::of(case) {
        measures.insert("latency".to_owned(), value(times.median, times.interval));
        let rate = |time: f64| 1e9 / time;
        if times.median > 0.0 {
            let interval =
                times.interval.filter(|(low, _)| *low > 0.0).map(|(low, high)| (rate(high), rate(low)));
            measures.insert("throughput".to_owned(), value(rate(times.median), interval));
        }
    }
    for metric in &case.metrics {
        let Some(Estimate { median, interval, .. }) = metric.estimate else { continue };
        let unit: &str = metric.unit.symbol();
        // Bencher's own names have Bencher's units.
        let name = match metric.name.as_str() {
            names::THROUGHPUT => "elements-per-second".to_owned(),
            name => slug(&format!("{name} {unit}")),
        };
        measures.entry(name).or_insert_with(|| value(median, interval));
    }
    measures
}

fn value(value: f64, interval: Option<(f64, f64)>) -> Value {
    match interval {
        Some((low, high)) => json!({"value": value, "lower_value": low, "upper_value": high}),
        None => json!({"value": value}),
    }
}

/// Small letters, digits and hyphens.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars() {
        match letter {
            _ if letter.is_ascii_alphanumeric() => slug.push(letter.to_ascii_lowercase()),
            '/' if slug.ends_with(|letter: char| letter != '-') => slug.push_str("-per-"),
            _ if !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let cut: String = slug.trim_matches('-').chars().take(LONGEST.1).collect();
    cut.trim_end_matches('-').to_owned()
}
