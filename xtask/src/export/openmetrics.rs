//! `OpenMetrics` text: a gauge for each metric, a line for each case, with its bounds as gauges of their own.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Result;
use weighbridge::data::{CaseRecord, MetricRecord};

use super::{ExportOutput, Job};

const FITS: &str = "a String takes all that is written";

pub(super) fn write(job: &Job<'_>) -> Result<ExportOutput> {
    let mut families: BTreeMap<String, (String, String)> = BTreeMap::new();
    for case in job.run.cases.iter().filter(|case| case.ranked()) {
        for metric in &case.metrics {
            let Some(estimate) = metric.estimate.filter(|estimate| estimate.median.is_finite()) else {
                continue;
            };
            let (name, unit) = name(metric);
            let labels = labels(job, case);
            let mut add = |name: String, about: String, value: f64| {
                let (_, lines) = families.entry(name.clone()).or_insert_with(|| {
                    let unit =
                        if unit.is_empty() { String::new() } else { format!("# UNIT {name} {unit}\n") };
                    (format!("# TYPE {name} gauge\n{unit}# HELP {name} {}\n", escape(&about)), String::new())
                });
                writeln!(lines, "{name}{{{labels}}} {value}").expect(FITS);
            };
            let ended = |word: &str| match unit.is_empty() {
                true => format!("{name}_{word}"),
                false => format!("{}_{word}_{unit}", name.strip_suffix(&format!("_{unit}")).unwrap_or(&name)),
            };
            add(name.clone(), format!("{}, median over repeats", metric.name), estimate.median);
            if let Some((low, high)) = estimate.interval {
                add(ended("low"), format!("{}, lower bound at 95 %", metric.name), low);
                add(ended("high"), format!("{}, upper bound at 95 %", metric.name), high);
            }
        }
    }
    let mut text: String = families.into_values().map(|(head, lines)| head + &lines).collect();
    text.push_str("# EOF\n");
    Ok(ExportOutput::Text(text))
}

/// The name of a family, which ends in its unit, and the unit.
fn name(metric: &MetricRecord) -> (String, String) {
    let unit = match metric.unit.symbol() {
        "s" => "seconds".to_owned(),
        "B" => "bytes".to_owned(),
        "x" => "ratio".to_owned(),
        "%" => "percent".to_owned(),
        "elem/s" => "elements_per_second".to_owned(),
        "B/s" => "bytes_per_second".to_owned(),
        symbol => plain(&symbol.replace('/', " per ")),
    };
    let name = format!("weighbridge_{}", plain(&metric.name));
    match unit.as_str() {
        "" => (name, unit),
        unit if name.ends_with(&format!("_{unit}")) => (name, unit.to_owned()),
        _ => (format!("{name}_{unit}"), unit),
    }
}

/// Letters, digits and underscores.
fn plain(text: &str) -> String {
    let mut name = String::new();
    for letter in text.chars() {
        match letter.is_ascii_alphanumeric() {
            true => name.push(letter.to_ascii_lowercase()),
            false if !name.ends_with('_') => name.push('_'),
            false => {}
        }
    }
    name.trim_matches('_').to_owned()
}

fn labels(job: &Job<'_>, case: &CaseRecord) -> String {
    let manifest = &job.run.manifest;
    let machine = manifest.environment.machine_id();
    let mut labels = vec![
        ("suite".to_owned(), manifest.suite.clone()),
        ("case".to_owned(), case.id.slug()),
        ("scenario".to_owned(), case.id.scenario.clone()),
        ("machine".to_owned(), machine.as_str().to_owned()),
    ];
    labels.extend(case.id.adapter.clone().map(|adapter| ("adapter".to_owned(), adapter)));
    for value in &case.id.point {
        let axis = format!("axis_{}", plain(&value.axis));
        // Two axes may be called alike but for what a label cannot have: a doubled label is no text at all.
        if !labels.iter().any(|(name, _)| *name == axis) {
            labels.push((axis, value.text.clone()));
        }
    }
    labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect::<Vec<_>>().join(",")
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
