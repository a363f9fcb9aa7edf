//! The bodies as criterion benchmarks, and the program as a bench target of criterion.

use std::path::Path;
use std::time::Duration;

use criterion::Criterion;
use serde_json::Value;

use crate::Result;
use crate::bodies::{STAMPS, Stamps, few_ns};
use crate::role::{Role, output};

/// Serves as a bench target: of the body that notes its calls, with criterion's own settings, where those are
/// asked for; else of the two short bodies, with short ones.
pub fn main() {
    if std::env::var_os(STAMPS).is_some() {
        let mut stamps = Stamps::default();
        Criterion::default().bench_function("start", |bencher| bencher.iter(|| stamps.call()));
        return stamps.leave();
    }
    Criterion::default()
        .without_plots()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .bench_function("empty", |bencher| bencher.iter(|| ()))
        .bench_function("few_ns", |bencher| bencher.iter(few_ns()));
}

/// Nanoseconds that criterion reports for the bodies: its median.
pub fn reported() -> Result<[f64; 2]> {
    let home = tempfile::tempdir()?;
    output(Role::Criterion.command()?.env("CRITERION_HOME", home.path()))?;
    let of = |name: &str| -> Result<f64> {
        let estimates = read(home.path(), name, "estimates.json")?;
        Ok(estimates["median"]["point_estimate"].as_f64().ok_or("criterion wrote no median")?)
    };
    let [empty, few] = crate::bodies::NAMES.map(of);
    Ok([empty?, few?])
}

/// Runs the body that notes its calls, and gives how many of them were measured.
pub fn run_start(directory: &Path) -> Result<usize> {
    let home = tempfile::tempdir()?;
    output(Role::Criterion.command()?.env("CRITERION_HOME", home.path()).env(STAMPS, directory))?;
    let sample = read(home.path(), "start", "sample.json")?;
    let iterations = sample["iters"].as_array().ok_or("criterion wrote no samples")?;
    Ok(iterations.iter().filter_map(Value::as_f64).sum::<f64>() as usize)
}

/// What criterion wrote about its newest run of a benchmark.
fn read(home: &Path, name: &str, file: &str) -> Result<Value> {
    let path = home.join(name).join("new").join(file);
    let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(serde_json::from_slice(&text)?)
}
