//! The bodies as divan benchmarks, and the program as a bench target of divan.

use std::path::Path;

use divan::{Bencher, Divan};

use crate::Result;
use crate::bodies::{self, STAMPS, Stamps};
use crate::role::{Role, output};

#[divan::bench]
fn empty(bencher: Bencher<'_, '_>) {
    bencher.bench(|| ());
}

#[divan::bench]
fn few_ns(bencher: Bencher<'_, '_>) {
    bencher.bench_local(bodies::few_ns());
}

#[divan::bench]
fn start(bencher: Bencher<'_, '_>) {
    let mut stamps = Stamps::default();
    bencher.bench_local(|| stamps.call());
    stamps.leave();
}

/// Serves as a bench target; the command line says what runs.
pub fn main() {
    Divan::from_args().main();
}

/// Nanoseconds that divan reports for the bodies: its median. It chooses how many iterations make a sample by
/// the first sample, which a cold start may have made long; `sample_size` chooses for it.
pub fn reported(sample_size: Option<&str>) -> Result<[f64; 2]> {
    let mut command = Role::Divan.command()?;
    command.args(["--bench", "empty", "few_ns"]);
    if let Some(size) = sample_size {
        command.args(["--sample-size", size]);
    }
    let table = output(&mut command)?;
    let of = |name: &str| -> Result<f64> {
        let median = row(&table, name)?.get(2).and_then(|cell| nanoseconds(cell));
        median.ok_or_else(|| unread(&table))
    };
    let [empty, few] = bodies::NAMES.map(of);
    Ok([empty?, few?])
}

/// Runs the body that notes its calls, and gives how many of them were measured.
pub fn run_start(directory: &Path) -> Result<usize> {
    let table = output(Role::Divan.command()?.args(["--bench", "start"]).env(STAMPS, directory))?;
    let iterations = row(&table, "start")?.last().and_then(|cell| cell.parse().ok());
    iterations.ok_or_else(|| unread(&table))
}

/// The cells of a benchmark's row: fastest, slowest, median, mean, samples, iterations.
fn row<'a>(table: &'a str, name: &str) -> Result<Vec<&'a str>> {
    let after_name = |line: &'a str| {
        let (branch, rest) = line.split_once(name)?;
        (branch.ends_with("─ ") && rest.starts_with(' ')).then_some(rest)
    };
    let rest = table.lines().find_map(after_name).ok_or_else(|| unread(table))?;
    Ok(rest.split('│').map(str::trim).collect())
}

fn nanoseconds(cell: &str) -> Option<f64> {
    let (number, unit) = cell.split_once(' ')?;
    let scale = match unit {
        "ps" => 1e-3,
        "ns" => 1.0,
        "µs" => 1e3,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}

fn unread(table: &str) -> Box<dyn std::error::Error> {
    format!("divan's table has another form than was expected:\n{table}").into()
}
