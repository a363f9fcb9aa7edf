//! The bodies as benchmarks of tango, and the program as a bench target of tango.

use std::process::ExitCode;

use tango_bench::benchmark_fn;

use crate::Result;
use crate::bodies::{NAMES, few_ns};
use crate::role::{Role, output};

/// Serves as a bench target; the command line says what runs.
pub fn main() -> ExitCode {
    let benchmarks = vec![
        benchmark_fn("empty", |bencher| bencher.iter(|| ())),
        benchmark_fn("few_ns", |bencher| bencher.iter(few_ns())),
    ];
    tango_bench::cli::run(benchmarks).unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    })
}

/// Nanoseconds that tango reports for the bodies when it measures one program alone: its mean, to a tenth.
pub fn reported() -> Result<[f64; 2]> {
    let table = output(Role::Tango.command()?.args(["--color", "never", "solo", "--time", "1", "--bench"]))?;
    let of = |name: &str| -> Result<f64> {
        let row = table.lines().find(|line| line.split_whitespace().next() == Some(name));
        // Between the brackets stand the least, the mean and the most.
        let mean =
            row.and_then(|row| row.split("...").nth(1)).and_then(|mean| mean.trim().strip_suffix(" ns"));
        let mean = mean.and_then(|mean| mean.trim().parse().ok());
        mean.ok_or_else(|| format!("tango's table has another form than was expected:\n{table}").into())
    };
    let [empty, few] = NAMES.map(of);
    Ok([empty?, few?])
}
