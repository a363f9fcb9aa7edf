//! Ours: this program in turns with a copy of itself.

use std::process::ExitCode;

use weighbridge::data::{Comparison, Verdict};

use crate::Result;
use crate::role::Role;
use crate::task::{ComparedTask, HarnessFigure, Pass};

/// How it is called.
pub const COMMAND: &str =
    "$B --bench --no-lock --versus <copy of $B> --scenario DEMO-1 ... --scenario DEMO-8";

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

/// One comparison, and its verdict on each case.
pub fn pass(task: &ComparedTask) -> Result<Pass> {
    let directory = tempfile::tempdir()?;
    let (copy, file) = (directory.path().join("copy"), directory.path().join("comparison.json"));
    std::fs::copy(std::env::current_exe()?, &copy)?;
    let mut command = Role::Weighbridge.command()?;
    command.args(["--bench", "--no-lock", "--quiet"]);
    command.arg("--data").arg(directory.path().join("data"));
    command.arg("--versus").arg(copy).arg("--comparison").arg(&file);
    for case in task.cases {
        command.args(["--scenario", case]);
    }
    if let Some(percent) = task.plant {
        command.args(["--inject", &(percent / 100.0).to_string()]);
    }
    // A verdict other than Unchanged is another exit code than 0; without a file it was no verdict.
    let ran = command.output()?;
    let text = std::fs::read(&file).map_err(|error| {
        format!("no comparison was written ({error}): {}", String::from_utf8_lossy(&ran.stderr).trim_end())
    })?;
    let comparison: Comparison = serde_json::from_slice(&text)?;
    let said = |verdict: &Verdict| match verdict {
        Verdict::Regressed => HarnessFigure::Slower,
        Verdict::Improved => HarnessFigure::Faster,
        Verdict::Unchanged => HarnessFigure::Same,
        _ => HarnessFigure::Inconclusive,
    };
    Ok(comparison.rows.iter().map(|row| (row.case.scenario.clone(), said(&row.verdict))).collect())
}
