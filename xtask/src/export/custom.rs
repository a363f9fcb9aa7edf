//! The two custom formats of github-action-benchmark: an array for each direction. The action fails on an
//! empty one.

use anyhow::Result;
use serde_json::{Value, json};
use weighbridge::data::Direction;

use super::{ExportOutput, Job};
use crate::stop;
use crate::view::short;

pub(super) fn smaller(job: &Job<'_>) -> Result<ExportOutput> {
    of(job, Direction::Lower)
}

pub(super) fn bigger(job: &Job<'_>) -> Result<ExportOutput> {
    of(job, Direction::Higher)
}

fn of(job: &Job<'_>, direction: Direction) -> Result<ExportOutput> {
    let mut all: Vec<Value> = Vec::new();
    for case in job.run.cases.iter().filter(|case| case.ranked()) {
        let metrics = case.metrics.iter().filter(|metric| metric.direction == direction);
        // Where time went is a metric for each entry of a ledger: a chart of them all shows nothing.
        for metric in metrics.filter(|metric| !metric.name.starts_with("time/")) {
            let Some(estimate) = metric.estimate else { continue };
            let mut entry = json!({
                "name": format!("{}/{}", case.id.slug(), metric.name),
                "unit": metric.unit.symbol(),
                "value": estimate.median,
                "extra": format!("repeats: {}\nrun: {}", estimate.n, job.run.manifest.id),
            });
            if let Some((low, high)) = estimate.interval {
                entry["range"] = json!(format!("± {}", short((high - low) / 2.0)));
            }
            all.push(entry);
        }
    }
    if all.is_empty() {
        return Err(stop::nothing(format!(
            "no verified case of run {} has a metric of that direction",
            job.run.manifest.id
        )));
    }
    Ok(ExportOutput::Text(format!("{:#}\n", Value::Array(all))))
}
