//! tango: this program beside a copy of itself, as `cargo export` would leave one.

use std::process::ExitCode;

use tango_bench::benchmark_fn;

use crate::Result;
use crate::cases::{PLANT, each_case};
use crate::role::Role;
use crate::task::{ComparedTask, HarnessFigure, Pass};

/// How it is called.
pub const COMMAND: &str = "$B compare <copy of $B>";

/// How it is called with more time.
pub const COMMAND_SECOND: &str = "$B compare <copy of $B> --time 1";

/// Serves as a bench target, or as one of its children.
pub fn main() -> ExitCode {
    let mut benchmarks = Vec::new();
    macro_rules! bench {
        ($id:tt, $name:ident, $body:expr) => {
            benchmarks.push(benchmark_fn($id, |bencher| bencher.iter($body)));
        };
    }
    each_case!(bench);
    tango_bench::cli::run(benchmarks).unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    })
}

/// One comparison, and its verdict on each case.
pub fn pass(task: &ComparedTask, seconds: Option<&str>) -> Result<Pass> {
    let directory = tempfile::tempdir()?;
    let copy = directory.path().join("copy");
    std::fs::copy(std::env::current_exe()?, &copy)?;
    let mut command = Role::Tango.command()?;
    command.args(["--color", "never", "compare", "--bench"]).arg(copy).env(PLANT, task.planted());
    command.args(["--filter", &format!("{{{}}}", task.cases.join(","))]);
    if let Some(seconds) = seconds {
        command.args(["--time", seconds]);
    }
    // It ends with a failure where it calls a case slower, as where it fails; then it prints fewer cases than
    // there are.
    let ran = command.output()?;
    let printed = String::from_utf8(ran.stdout)?;
    verdicts(&printed).map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&ran.stderr)).into())
}

/// The verdicts in what it prints: a line for each case, with the change at its end and a star where that
/// counts.
fn verdicts(printed: &str) -> Result<Pass> {
    let verdict = |line: &str| {
        let (case, change) = (line.split_whitespace().next()?, line.split_whitespace().last()?);
        let (percent, star) = change.split_once('%')?;
        let percent: f64 = percent.parse().ok()?;
        let said = match star {
            "*" if percent > 0.0 => HarnessFigure::Slower,
            "*" => HarnessFigure::Faster,
            _ => HarnessFigure::Same,
        };
        Some((case.to_owned(), said))
    };
    let lines = printed.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| verdict(line).ok_or_else(|| format!("tango's line has another form: {line}").into()))
        .collect()
}
