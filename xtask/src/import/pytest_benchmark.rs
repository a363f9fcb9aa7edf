//! pytest-benchmark's `--benchmark-json`: the rounds of each test, in one process.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use weighbridge::data::{Direction, ImportedProcess, Unit};

use super::{Benchmark, FileContent, Import, case, json, nanoseconds};

#[derive(Deserialize)]
struct PytestFile {
    machine_info: Value,
    #[serde(default)]
    commit_info: Value,
    benchmarks: Vec<PytestTest>,
    version: Option<String>,
}

#[derive(Deserialize)]
struct PytestTest {
    fullname: String,
    #[serde(default)]
    param: Option<String>,
    #[serde(default)]
    params: Option<BTreeMap<String, Value>>,
    stats: PytestStats,
}

/// Seconds of one call.
#[derive(Deserialize)]
struct PytestStats {
    min: f64,
    max: f64,
    mean: f64,
    median: f64,
    /// Calls of one round.
    iterations: u64,
    /// A mean of each round; missing in what `--benchmark-save` writes.
    #[serde(default)]
    data: Vec<f64>,
}

pub(super) fn read(file: &Path, _: &Import) -> Result<FileContent> {
    let export: PytestFile = json(file, "JSON of pytest-benchmark")?;
    let mut found = FileContent { version: export.version, ..FileContent::default() };
    let machine = &export.machine_info;
    for (name, value) in [
        ("cpu model", &machine["cpu"]["brand_raw"]),
        ("cores", &machine["cpu"]["count"]),
        ("arch", &machine["machine"]),
        ("system", &machine["system"]),
    ] {
        found.machine.extend(shown(value).map(|value| (name.to_owned(), value)));
    }
    let python = ["python_implementation", "python_version"].map(|name| shown(&machine[name]));
    if let [Some(implementation), Some(version)] = python {
        found.software.insert("python".to_owned(), format!("{implementation} {version}"));
    }
    let commit = &export.commit_info;
    // Outside of a repository it is the word `unversioned`.
    if let Some(id) = commit["id"].as_str().filter(|id| id.bytes().all(|letter| letter.is_ascii_hexdigit())) {
        found.software.insert("commit".to_owned(), id.to_owned());
        let tree = if commit["dirty"] == true { "dirty" } else { "clean" };
        found.software.insert("working tree".to_owned(), tree.to_owned());
    }
    for test in export.benchmarks {
        let (process, primary_metric) = process(&test)?;
        let param = test.param.as_ref().map(|param| format!("[{param}]")).unwrap_or_default();
        let name = test.fullname.strip_suffix(&param).unwrap_or(&test.fullname);
        let values: Vec<(String, String)> = test.params.iter().flatten().map(value).collect();
        let id = case(name, &values, None)?;
        found.benchmarks.push(Benchmark { id, primary_metric, processes: vec![process] });
    }
    Ok(found)
}

fn process(test: &PytestTest) -> Result<(ImportedProcess, Option<&'static str>)> {
    let (name, stats) = (&test.fullname, &test.stats);
    ensure!(stats.iterations > 0, "`{name}` has rounds of 0 iterations");
    let mut process = ImportedProcess { iterations: stats.iterations, ..ImportedProcess::default() };
    for mean in &stats.data {
        process.samples.push(nanoseconds(mean * stats.iterations as f64)?);
    }
    if !process.samples.is_empty() {
        return Ok((process, None));
    }
    for (name, value) in
        [("median", stats.median), ("mean", stats.mean), ("fastest", stats.min), ("slowest", stats.max)]
    {
        nanoseconds(value)?;
        process.figures.push((name.to_owned(), value, Unit::SECONDS, Direction::Lower));
    }
    Ok((process, Some("median")))
}

/// A parameter by its name, as the test's name would have it.
fn value((name, value): (&String, &Value)) -> (String, String) {
    (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// A fact, where there is one.
fn shown(value: &Value) -> Option<String> {
    let text =
        value.as_str().map(str::to_owned).or_else(|| value.as_i64().map(|number| number.to_string()))?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
