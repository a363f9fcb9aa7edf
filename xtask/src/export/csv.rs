//! CSV as RFC 4180 has it, with a head. A text that a spreadsheet would take for a formula begins with an
//! apostrophe.

use anyhow::Result;
use weighbridge::data::{Outcome, Purpose};

use super::{ExportOutput, Job};

/// A row for each metric that has a value.
pub(super) fn estimates(job: &Job<'_>) -> Result<ExportOutput> {
    let mut text = line(&[
        "run",
        "case",
        "scenario",
        "point",
        "adapter",
        "status",
        "ranked",
        "metric",
        "unit",
        "direction",
        "median",
        "low",
        "high",
        "repeats",
        "mean",
        "deviation",
    ]);
    for case in &job.run.cases {
        for metric in &case.metrics {
            let Some(estimate) = metric.estimate else { continue };
            let bound = |of: fn((f64, f64)) -> f64| number(estimate.interval.map(of));
            text.push_str(&line(&[
                job.run.manifest.id.as_str(),
                &safe(&case.id.to_string()),
                &safe(&case.id.scenario),
                &safe(&case.id.point.to_string()),
                &safe(case.id.adapter.as_deref().unwrap_or_default()),
                "measured",
                if case.ranked() { "true" } else { "false" },
                &safe(&metric.name),
                &safe(metric.unit.symbol()),
                direction(metric.direction),
                &estimate.median.to_string(),
                &bound(|(low, _)| low),
                &bound(|(_, high)| high),
                &estimate.n.to_string(),
                &number(estimate.mean),
                &number(estimate.deviation),
            ]));
        }
        if case.metrics.iter().all(|metric| metric.estimate.is_none()) {
            let (name, point) = (safe(&case.id.to_string()), safe(&case.id.point.to_string()));
            let (scenario, adapter) =
                (safe(&case.id.scenario), safe(case.id.adapter.as_deref().unwrap_or_default()));
            let status = crate::show::trouble(case).unwrap_or_else(|| "measured".to_owned());
            let run = job.run.manifest.id.as_str();
            text.push_str(&line(&[
                run,
                &name,
                &scenario,
                &point,
                &adapter,
                &safe(&status),
                "false",
                "",
                "",
                "",
                "",
                "",
                "",
                "",
                "",
                "",
            ]));
        }
    }
    Ok(ExportOutput::Text(text))
}

/// A row for each sample, in the order in which they were taken: nanoseconds of so many iterations.
pub(super) fn samples(job: &Job<'_>) -> Result<ExportOutput> {
    let mut text = line(&["run", "case", "repeat", "sample", "iterations", "nanoseconds"]);
    for case in &job.run.cases {
        let name = safe(&case.id.to_string());
        for repeat in job.repeats(case) {
            let repeat = repeat?;
            let Outcome::Measured { seen, .. } = &repeat.outcome else { continue };
            if repeat.purpose != Purpose::Measure {
                continue;
            }
            for (at, sample) in seen.samples.iter().enumerate() {
                let (number, at) = (repeat.number.to_string(), at.to_string());
                let (iterations, sample) = (seen.iterations_per_sample.to_string(), sample.to_string());
                text.push_str(&line(&[
                    job.run.manifest.id.as_str(),
                    &name,
                    &number,
                    &at,
                    &iterations,
                    &sample,
                ]));
            }
        }
    }
    Ok(ExportOutput::Text(text))
}

fn direction(direction: weighbridge::data::Direction) -> &'static str {
    match direction {
        weighbridge::data::Direction::Higher => "higher",
        weighbridge::data::Direction::Lower => "lower",
        weighbridge::data::Direction::Information => "information",
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn line(cells: &[&str]) -> String {
    let cell = |cell: &&str| match cell.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => (*cell).to_owned(),
    };
    format!("{}\r\n", cells.iter().map(cell).collect::<Vec<_>>().join(","))
}

/// A text that comes from an author.
fn safe(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}
