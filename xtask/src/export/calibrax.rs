//! The store of calibrax: `runs/<run>.json`, and in `config.json` what each metric is.
//!
//! calibrax reads a record by the types of its fields and refuses what is missing or of another type, so that
//! every field is written, and a value that is no number is left out.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};
use weighbridge::data::{CaseRecord, Direction, MetricRecord, Reading, RunId};

use super::{ExportOutput, Job};

pub(super) fn write(job: &Job<'_>) -> Result<ExportOutput> {
    let manifest = &job.run.manifest;
    let environment = &manifest.environment;
    let mut definitions = Map::new();
    let mut points = Vec::new();
    for case in job.run.cases.iter().filter(|case| !case.has_failed()) {
        let metrics: Map<String, Value> = case.metrics.iter().filter_map(metric).collect();
        if metrics.is_empty() {
            continue;
        }
        for metric in case.metrics.iter().filter(|metric| metrics.contains_key(&metric.name)) {
            let definition = definition(case, metric);
            // A metric that stands for one case is a primary one.
            let known = definitions.entry(metric.name.clone()).or_insert_with(|| definition.clone());
            if definition["priority"] == "primary" {
                *known = definition;
            }
        }
        points.push(json!({
            "name": case.id.to_string(),
            "scenario": case.id.scenario,
            "tags": tags(case),
            "metrics": metrics,
        }));
    }
    ensure!(!points.is_empty(), "no verified case of run {} has a value", manifest.id);
    let software = |fact: &str| environment.software.get(fact);
    let run = json!({
        "id": manifest.id.as_str(),
        "timestamp": instant(manifest.started),
        "commit": software("commit"),
        "branch": software("branch"),
        "environment": {
            "machine": environment.machine_id().as_str(),
            "facts": environment.machine,
            "software": environment.software,
            "variables": environment.variables,
        },
        "metadata": {
            "suite": manifest.suite,
            "profile": manifest.profile,
            "seed": manifest.seed,
            "platform": manifest.active_backend,
        },
        "metric_defs": definitions,
        "points": points,
    });
    let config = json!({ "metric_defs": run["metric_defs"] });
    let file =
        |document: &Value| Ok::<_, serde_json::Error>(serde_json::to_string_pretty(document)?.into_bytes());
    Ok(ExportOutput::Files(vec![
        (PathBuf::from("runs").join(format!("{}.json", manifest.id)), file(&run)?),
        (PathBuf::from("config.json"), file(&config)?),
    ]))
}

/// A second since the Unix epoch as ISO 8601 has it. The id of a run begins with its digits:
/// `20261121-083012-4f2a9c`.
fn instant(second: u64) -> String {
    let id = RunId::new(second, 0);
    let digits: String = id.as_str().chars().filter(char::is_ascii_digit).take(14).collect();
    let part = |from: usize, to: usize| &digits[from..to];
    let [date, time] = [[part(0, 4), part(4, 6), part(6, 8)], [part(8, 10), part(10, 12), part(12, 14)]];
    format!("{}T{}+00:00", date.join("-"), time.join(":"))
}

/// A metric by its name: its median, its interval, and the values of its repeats. `None` without a value.
fn metric(metric: &MetricRecord) -> Option<(String, Value)> {
    let estimate = metric.estimate.filter(|estimate| estimate.median.is_finite())?;
    let samples: Vec<f64> = metric.values.iter().filter_map(Reading::value).collect();
    let mut value = json!({ "value": estimate.median, "samples": samples });
    if let Some((low, high)) = estimate.interval {
        value["lower"] = json!(low);
        value["upper"] = json!(high);
    }
    Some((metric.name.clone(), value))
}

fn definition(case: &CaseRecord, metric: &MetricRecord) -> Value {
    let direction = match metric.direction {
        Direction::Higher => "higher",
        Direction::Lower => "lower",
        Direction::Information => "info",
    };
    let group = metric.name.rsplit_once('/').map_or("", |(group, _)| group);
    json!({
        "name": metric.name,
        "unit": metric.unit.symbol(),
        "direction": direction,
        "group": group,
        "priority": if metric.name == case.primary_metric { "primary" } else { "secondary" },
        "description": "",
    })
}

/// The tags by which calibrax finds a point: its rankings go by `framework`.
fn tags(case: &CaseRecord) -> Map<String, Value> {
    let mut tags: Map<String, Value> =
        case.id.point.iter().map(|value| (value.axis.clone(), json!(value.text))).collect();
    tags.extend(case.id.adapter.iter().map(|adapter| ("framework".to_owned(), json!(adapter))));
    tags.insert("category".to_owned(), json!(case.category));
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_one_of_iso_8601() {
        assert_eq!(instant(951_782_400), "2000-02-29T00:00:00+00:00");
        assert_eq!(instant(1_795_249_812), "2026-11-21T08:30:12+00:00");
    }
}
