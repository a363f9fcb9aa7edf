//! The bodies as scenarios, and the program as a bench target of ours.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use weighbridge::data::{Layout, Outcome, RunRecord, Runs};
use weighbridge::prelude::*;
use weighbridge::{Budget, Purpose, Settings};

use crate::bodies::{Stamps, few_ns};
use crate::role::{Role, output};
use crate::table::median;

/// Nothing at all.
#[scenario(id = "EMPTY-1", category = "Overhead")]
fn empty(bencher: &mut Bencher) {
    bencher.iter(|| ());
}

/// Five dependent multiplications.
#[scenario(id = "FEW-1", category = "Overhead")]
fn few(bencher: &mut Bencher) {
    bencher.iter(few_ns());
}

/// A body that notes when it was called.
#[scenario(id = "START-1", category = "Overhead")]
fn start(bencher: &mut Bencher) {
    let mut stamps = Stamps::default();
    bencher.iter(|| stamps.call());
    stamps.leave();
}

/// The scenario of a body.
fn scenario_of(name: &str) -> &'static str {
    if name == "empty" { "EMPTY-1" } else { "FEW-1" }
}

mod target {
    weighbridge::main!();

    /// What `cargo bench` would run.
    pub fn run() -> std::process::ExitCode {
        main()
    }
}

/// Serves as a bench target, or as one of its children.
pub fn main() -> ExitCode {
    target::run()
}

/// Nanoseconds that a bencher in this process reports for the body.
pub fn in_process(name: &str) -> crate::Result<f64> {
    let budget = Budget { warmup: 50, batches: 100, min_time: Duration::from_millis(500), max_time: None };
    let mut bencher = Bencher::new(Settings::new(Purpose::Measure, budget));
    match name {
        "empty" => empty(&mut bencher),
        _ => few(&mut bencher),
    }
    let seen = bencher.finish().map_err(|error| error.to_string())?.seen;
    let samples: Vec<f64> = seen.samples.iter().map(|sample| *sample as f64).collect();
    Ok(median(&samples) / seen.iterations_per_sample as f64)
}

/// The target with records under `data`, running one scenario.
fn command(data: &Path, scenario: &str) -> crate::Result<Command> {
    let mut command = Role::Weighbridge.command()?;
    command.args(["--bench", "--no-lock", "--quiet", "--scenario", scenario, "--data"]).arg(data);
    Ok(command)
}

/// The newest run under `data`, with all repeats.
fn newest(data: &Path) -> crate::Result<RunRecord> {
    let runs = Runs::new(Layout::new(data));
    let listing = runs.list()?;
    let manifest = listing.runs.first().ok_or("the run left no record")?;
    Ok(runs.load_whole(&manifest.id)?)
}

/// What a run with a fresh process for every repeat gave.
pub struct Children {
    /// Nanoseconds that it reports for the body.
    pub reported: f64,
    /// Nanoseconds from the start of each process to its first iteration.
    pub starts: Vec<f64>,
}

/// Measures the body in a run of its own, a fresh process for every repeat.
pub fn in_children(name: &str) -> crate::Result<Children> {
    let data = tempfile::tempdir()?;
    output(command(data.path(), scenario_of(name))?.arg("--profile=quick"))?;
    let run = newest(data.path())?;
    let case = run.cases.first().ok_or("the run has no case")?;
    // A body that cannot be told from the empty loop has a bound in place of a figure.
    let figure = case.metric("wall_time").and_then(|metric| match metric.estimate {
        Some(estimate) => Some(estimate.median),
        None => metric.below(),
    });
    let reported = figure.ok_or("the case has neither an estimate nor a bound")? * 1e9;
    let starts = case.repeats.iter().filter_map(|repeat| repeat.start);
    Ok(Children { reported, starts: starts.map(|start| start as f64).collect() })
}

/// Runs the scenario that notes its calls, and gives how many of those of its first repeat were measured.
pub fn run_start(directory: &Path) -> crate::Result<usize> {
    let data = tempfile::tempdir()?;
    let mut command = command(data.path(), "START-1")?;
    output(command.args(["--repeats", "1"]).env(crate::bodies::STAMPS, directory))?;
    let run = newest(data.path())?;
    let repeats = run.cases.iter().flat_map(|case| &case.repeats);
    let measured = repeats.filter(|repeat| repeat.number == 1).find_map(|repeat| match &repeat.outcome {
        Outcome::Measured { seen, .. } => Some(seen.samples.len() * seen.iterations_per_sample as usize),
        _ => None,
    });
    Ok(measured.ok_or("the run has no measured repeat")?)
}
