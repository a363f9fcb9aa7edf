//! criterion's folders: `target/criterion`, or one benchmark's `sample.json` or `estimates.json`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use weighbridge::data::{CaseId, Direction, ImportedProcess, Unit};

use super::{Benchmark, FileContent, Import, case, json, nanoseconds};

/// The file that names a benchmark, beside its samples.
const NAME: &str = "benchmark.json";
const SAMPLES: &str = "sample.json";
const ESTIMATES: &str = "estimates.json";

/// As deep as criterion nests its folders: group, function, value, what was saved; and one above it.
const DEEPEST: usize = 6;

#[derive(Deserialize)]
struct CriterionName {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
    throughput: Option<Value>,
}

#[derive(Deserialize)]
struct CriterionSamples {
    /// Iterations of each sample.
    iters: Vec<f64>,
    /// Nanoseconds of each sample.
    times: Vec<f64>,
}

#[derive(Deserialize)]
struct CriterionEstimates {
    mean: PointEstimate,
    median: PointEstimate,
    slope: Option<PointEstimate>,
}

/// Nanoseconds of one iteration.
#[derive(Deserialize)]
struct PointEstimate {
    point_estimate: f64,
}

pub(super) fn read(path: &Path, args: &Import) -> Result<FileContent> {
    let mut found = FileContent::default();
    if !path.is_dir() {
        found.benchmarks.push(benchmark(path)?);
        return Ok(found);
    }
    let mut folders = Vec::new();
    collect(path, &args.saved, DEEPEST, &mut folders)?;
    ensure!(
        !folders.is_empty(),
        "there is no benchmark that was saved as `{}`: name the folder `target/criterion`, and --saved",
        args.saved
    );
    folders.sort();
    for folder in folders {
        let samples = folder.join(SAMPLES);
        let file = if samples.exists() { samples } else { folder.join(ESTIMATES) };
        found.benchmarks.push(benchmark(&file).with_context(|| format!("`{}`", file.display()))?);
    }
    Ok(found)
}

/// The folders of this name with a benchmark in them.
fn collect(folder: &Path, saved: &str, deep: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let list = || format!("failed to list `{}`", folder.display());
    for entry in fs::read_dir(folder).with_context(list)? {
        let entry = entry.with_context(list)?;
        // A link may lead anywhere, back included.
        if !entry.file_type().with_context(list)?.is_dir() {
            continue;
        }
        let path = entry.path();
        if entry.file_name() == saved && path.join(NAME).exists() {
            found.push(path);
        } else if deep > 0 {
            collect(&path, saved, deep - 1, found)?;
        }
    }
    Ok(())
}

fn benchmark(file: &Path) -> Result<Benchmark> {
    let named = file.with_file_name(NAME);
    let named: CriterionName = json(&named, "benchmark of criterion")
        .with_context(|| format!("the name of a benchmark lies in `{NAME}` beside it"))?;
    let id = id(&named)?;
    match file.file_name().and_then(|name| name.to_str()) {
        Some(SAMPLES) => {
            let samples: CriterionSamples = json(file, "list of criterion's samples")?;
            Ok(Benchmark {
                id,
                primary_metric: None,
                processes: vec![process(&samples, named.throughput.as_ref())?],
            })
        }
        Some(ESTIMATES) => {
            let process = estimated(&json(file, "list of criterion's estimates")?)?;
            Ok(Benchmark { id, primary_metric: Some("median"), processes: vec![process] })
        }
        _ => bail!("of criterion's files `{SAMPLES}` and `{ESTIMATES}` are read"),
    }
}

fn id(named: &CriterionName) -> Result<CaseId> {
    let CriterionName { group_id, function_id, value_str, .. } = named;
    let name = [Some(group_id), function_id.as_ref()].into_iter().flatten();
    let name: Vec<&str> = name.map(String::as_str).collect();
    let value: Vec<_> = value_str.iter().map(|value| ("value".to_owned(), value.clone())).collect();
    case(&name.join("/"), &value, None)
}

/// One process with its samples. Those of criterion have growing numbers of iterations: each is told as so many as the longest
/// has, so that no digit is lost.
fn process(samples: &CriterionSamples, throughput: Option<&Value>) -> Result<ImportedProcess> {
    let CriterionSamples { iters, times } = samples;
    ensure!(
        iters.len() == times.len() && !iters.is_empty(),
        "it has {} counts of iterations for {} times",
        iters.len(),
        times.len()
    );
    let most = iters.iter().copied().fold(0.0, f64::max);
    let mut process = ImportedProcess { iterations: most as u64, ..ImportedProcess::default() };
    for (iterations, time) in iters.iter().zip(times) {
        ensure!(*iterations >= 1.0 && *iterations < 1e18, "a sample of {iterations} iterations is none");
        process.samples.push(nanoseconds(time * 1e-9 / iterations * most.trunc())?);
    }
    let of = |name: &str| throughput.and_then(|throughput| throughput[name].as_u64());
    process.elements = of("Elements").unwrap_or(0);
    process.bytes = of("Bytes").or(of("BytesDecimal")).unwrap_or(0);
    Ok(process)
}

fn estimated(estimates: &CriterionEstimates) -> Result<ImportedProcess> {
    let mut process = ImportedProcess::default();
    let all = [
        ("median", Some(&estimates.median)),
        ("mean", Some(&estimates.mean)),
        ("slope", estimates.slope.as_ref()),
    ];
    for (name, estimate) in all {
        let Some(estimate) = estimate else { continue };
        let seconds = estimate.point_estimate * 1e-9;
        nanoseconds(seconds)?;
        process.figures.push((name.to_owned(), seconds, Unit::SECONDS, Direction::Lower));
    }
    Ok(process)
}
