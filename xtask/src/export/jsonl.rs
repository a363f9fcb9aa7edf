//! JSON Lines: one document a line.

use anyhow::Result;
use serde_json::{Value, json};
use weighbridge::data::{CaseRecord, Outcome, Purpose, Reading};

use super::{ExportOutput, Job};

/// The members that are on every line of a case.
fn about(job: &Job<'_>, case: &CaseRecord) -> Value {
    let point: serde_json::Map<String, Value> =
        case.id.point.iter().map(|value| (value.axis.clone(), json!(value.text))).collect();
    json!({
        "run": job.run.manifest.id.as_str(),
        "suite": job.run.manifest.suite,
        "case": case.id.slug(),
        "name": case.id.to_string(),
        "scenario": case.id.scenario,
        "adapter": case.id.adapter,
        "point": point,
    })
}

/// A line for each metric of each case. A case without a metric has a line that says how it ended.
pub(super) fn estimates(job: &Job<'_>) -> Result<ExportOutput> {
    let mut text = String::new();
    for case in &job.run.cases {
        let mut add = |more: Value| {
            let mut line = about(job, case);
            line["status"] = json!(case.status);
            line["ranked"] = json!(case.ranked());
            if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
                line.extend(more);
            }
            text.push_str(&format!("{line}\n"));
        };
        if case.metrics.is_empty() {
            add(json!({}));
        }
        for metric in &case.metrics {
            add(json!({
                "metric": metric.name,
                "unit": metric.unit.symbol(),
                "direction": metric.direction,
                "primary": metric.name == case.primary_metric,
                "values": metric.values.iter().map(Reading::value).collect::<Vec<_>>(),
                "median": metric.estimate.map(|estimate| estimate.median),
                "interval": metric.estimate.and_then(|estimate| estimate.interval),
                "repeats": metric.estimate.map(|estimate| estimate.n),
                "mean": metric.estimate.and_then(|estimate| estimate.mean),
                "deviation": metric.estimate.and_then(|estimate| estimate.deviation),
            }));
        }
    }
    Ok(ExportOutput::Text(text))
}

/// A line for each measured repeat: its samples in order, in nanoseconds, each of so many iterations.
pub(super) fn samples(job: &Job<'_>) -> Result<ExportOutput> {
    let mut text = String::new();
    for case in &job.run.cases {
        for repeat in job.repeats(case) {
            let repeat = repeat?;
            if repeat.purpose != Purpose::Measure {
                continue;
            }
            let mut line = about(job, case);
            line["repeat"] = json!(repeat.number);
            match &repeat.outcome {
                Outcome::Measured { seen, .. } => {
                    line["iterations_per_sample"] = json!(seen.iterations_per_sample);
                    line["samples"] = json!(seen.samples);
                }
                Outcome::Failed(failure) => line["failed"] = json!(failure.to_string()),
                Outcome::Skipped { why } => line["skipped"] = json!(why.to_string()),
            }
            text.push_str(&format!("{line}\n"));
        }
    }
    Ok(ExportOutput::Text(text))
}
