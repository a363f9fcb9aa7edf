//! nvbench's `--json`: the summaries of every state of each benchmark, as nvbench states them.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use weighbridge::data::{Direction, ImportedProcess, Unit};

use super::{Benchmark, FileContent, Import, case, json};

/// What stands for a state, whichever is there first: kernels alone with a cold cache, one after the other, the host's clock.
const PRIMARY_METRICS: [&str; 3] = ["cold/time/gpu/mean", "batch/time/gpu/mean", "cpu_only/time/cpu/mean"];

#[derive(Deserialize)]
struct NvbenchFile {
    #[serde(default)]
    meta: Value,
    devices: Vec<NvbenchDevice>,
    benchmarks: Vec<NvbenchBenchmark>,
}

#[derive(Deserialize)]
struct NvbenchDevice {
    id: u64,
    name: String,
}

#[derive(Deserialize)]
struct NvbenchBenchmark {
    name: String,
    states: Vec<NvbenchState>,
}

#[derive(Deserialize)]
struct NvbenchState {
    name: String,
    device: Option<u64>,
    /// Null where there is no axis.
    axis_values: Option<Vec<NvbenchValue>>,
    /// Null where it was skipped.
    summaries: Option<Vec<NvbenchSummary>>,
    #[serde(default)]
    is_skipped: bool,
    skip_reason: Option<String>,
}

#[derive(Deserialize)]
struct NvbenchSummary {
    tag: String,
    #[serde(default)]
    hint: Option<String>,
    #[serde(default)]
    data: Vec<NvbenchValue>,
}

/// A value by its name. Numbers are texts, so that none loses a digit; of older versions they are numbers.
#[derive(Deserialize)]
struct NvbenchValue {
    name: String,
    value: Value,
}

impl NvbenchValue {
    fn text(&self) -> String {
        self.value.as_str().map_or_else(|| self.value.to_string(), str::to_owned)
    }
}

pub(super) fn read(file: &Path, _: &Import) -> Result<FileContent> {
    let export: NvbenchFile = json(file, "JSON of nvbench from 2022 or later")?;
    let mut found = FileContent { on_gpu: !export.devices.is_empty(), ..FileContent::default() };
    found.version = export.meta["version"]["nvbench"]["string"].as_str().map(str::to_owned);
    for device in &export.devices {
        found.machine.insert(format!("gpu {}", device.id), device.name.clone());
    }
    for benchmark in &export.benchmarks {
        for state in &benchmark.states {
            let said = || format!("`{}` at {}", benchmark.name, state.name);
            if state.is_skipped {
                let why = state.skip_reason.as_deref().unwrap_or("nvbench does not say why");
                found.remarks.push(format!("note: left out {}: {why}", said()));
                continue;
            }
            found
                .benchmarks
                .push(read_state(&benchmark.name, state, export.devices.len()).with_context(said)?);
        }
    }
    Ok(found)
}

fn read_state(name: &str, state: &NvbenchState, devices: usize) -> Result<Benchmark> {
    let mut values: Vec<(String, String)> =
        state.axis_values.iter().flatten().map(|value| (value.name.clone(), value.text())).collect();
    // The same on several devices is measured once on each.
    values
        .extend(state.device.filter(|_| devices > 1).map(|device| ("device".to_owned(), device.to_string())));
    let mut process = ImportedProcess::default();
    for summary in state.summaries.iter().flatten() {
        let tag = summary.tag.strip_prefix("nv/").unwrap_or(&summary.tag);
        let value = summary.data.iter().find(|named| named.name == "value").map(NvbenchValue::text);
        let Some((unit, direction)) = kind(tag, summary.hint.as_deref()) else { continue };
        // What is a text is the name of a file beside it.
        let Some(value) = value.and_then(|value| value.parse::<f64>().ok()) else { continue };
        // Of a single sample the deviation is no number.
        if value.is_finite() {
            ensure!(value >= 0.0 || unit == Unit::COUNT, "{tag} is {value}");
            process.figures.push((tag.to_owned(), value, unit, direction));
        }
    }
    let has = |wanted: &&&str| process.figures.iter().any(|(name, ..)| name == **wanted);
    let primary_metric = PRIMARY_METRICS.iter().find(has).copied();
    let primary_metric =
        primary_metric.with_context(|| format!("it has none of {}", PRIMARY_METRICS.join(", ")))?;
    Ok(Benchmark {
        id: case(name, &values, None)?,
        primary_metric: Some(primary_metric),
        processes: vec![process],
    })
}

/// The unit that a hint means, and which way is better. `None` where a summary is no figure.
fn kind(tag: &str, hint: Option<&str>) -> Option<(Unit, Direction)> {
    let is_time = !["stdev", "iqr", "walltime"].iter().any(|part| tag.contains(part));
    let time = if is_time { Direction::Lower } else { Direction::Information };
    match hint {
        Some("duration") => Some((Unit::SECONDS, time)),
        Some("item_rate") => Some((Unit::ELEMENTS_PER_SECOND, Direction::Higher)),
        Some("byte_rate") => Some((Unit::BYTES_PER_SECOND, Direction::Higher)),
        Some("bytes") => Some((Unit::BYTES, Direction::Information)),
        Some("percentage") => Some((Unit::RATIO, Direction::Information)),
        Some("sample_size") | None => Some((Unit::COUNT, Direction::Information)),
        Some(_) => None,
    }
}
