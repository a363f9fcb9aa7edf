//! The other side: a script that goes through epochs by hand, in the framework's own environment.

use std::io::Read;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Deserialize;
use weighbridge_python as python;
use weighbridge_python::Peer;

use super::cases::WorkerCell;
use super::cost::BatchCost;

/// Seconds that a script goes through epochs after the first one.
const SECONDS: &str = "1";
/// The most time that a script may take with all that it does before.
const LIMIT: Duration = Duration::from_mins(5);
/// The time between two looks for its end.
const LOOK: Duration = Duration::from_millis(20);
/// Lines of what it wrote that are shown when it fails.
const TAIL: usize = 3;

/// The last line that a script prints.
#[derive(Debug, Deserialize)]
struct ScriptResult {
    /// Elements that were timed.
    elements: u64,
    /// Seconds on the wall.
    wall: f64,
    /// CPU seconds of its process and all below.
    cpu: f64,
    /// Page faults of the same.
    faults: f64,
}

/// Runs the script of a peer for one cell, whose data lie in this folder; it has another one for its own
/// files. The inner error says what is wrong with it.
pub(super) fn run(
    peer: &Peer,
    cell: WorkerCell,
    home: &Path,
    data: &Path,
    files: &Path,
) -> Result<Result<BatchCost, String>> {
    let mut command = python::by_hand(peer, home);
    command.arg(cell.scenario().id).arg(data).arg(cell.workers.to_string()).arg(SECONDS).arg(files);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.spawn().with_context(|| format!("failed to start the script of {}", peer.name))?;
    let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let end = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait().context("failed to wait for a script")? {
            break Some(status);
        }
        if Instant::now() >= end {
            child.kill().and_then(|()| child.wait()).context("failed to end a script")?;
            break None;
        }
        std::thread::sleep(LOOK);
    };
    let Some(status) = status else {
        // What it started may hold its pipes open: nothing is read of them.
        return Ok(Err(format!("it was ended after {} s", LIMIT.as_secs())));
    };
    let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    Ok(cost(cell, status, &stdout, &stderr))
}

fn cost(cell: WorkerCell, status: ExitStatus, stdout: &str, stderr: &str) -> Result<BatchCost, String> {
    if !status.success() {
        return Err(format!("it ended with {status}: {}", tail(stderr)));
    }
    let last = stdout.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let printed = serde_json::from_str::<ScriptResult>(last).ok();
    let sound = |printed: &ScriptResult| {
        printed.elements > 0 && printed.wall > 0.0 && printed.cpu >= 0.0 && printed.faults >= 0.0
    };
    let Some(printed) = printed.filter(sound) else {
        return Err(format!("its last line is no figures, but `{}`", tail(last)));
    };
    let batches = printed.elements as f64 / cell.scenario().spec().batch_size as f64;
    Ok(BatchCost {
        wall: printed.wall / batches,
        cpu: printed.cpu / batches,
        faults: printed.faults / batches,
        own: 0.0,
    })
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut pipe) = pipe {
            drop(pipe.read_to_end(&mut text)); // what was read is what there is to show
        }
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// The last lines, as one.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(TAIL)..].join(" / ").chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    const CELL: WorkerCell = WorkerCell { scenario: 0, workers: 0 };

    #[test]
    fn the_last_line_of_a_script_is_its_figures_whatever_a_framework_prints_before() {
        let text =
            "hello\n{\"elements\": 128, \"batches\": 2, \"wall\": 4.0, \"cpu\": 2.0, \"faults\": 6}\n\n";
        let told = cost(CELL, ExitStatus::from_raw(0), text, "");
        assert_eq!(told, Ok(BatchCost { wall: 2.0, cpu: 1.0, faults: 3.0, own: 0.0 }));
    }

    #[test]
    fn a_script_that_prints_garbage_or_fails_is_told_with_its_last_lines() {
        for text in
            ["", "Hello, world", r#"{"elements": 0, "batches": 0, "wall": 1.0, "cpu": 1.0, "faults": 0}"#]
        {
            let why = cost(CELL, ExitStatus::from_raw(0), text, "").expect_err("no figures");
            assert_eq!(why, format!("its last line is no figures, but `{text}`"));
        }
        let trace = "Traceback\n  one\n  two\nValueError: no such shard\n";
        let why = cost(CELL, ExitStatus::from_raw(256), "", trace).expect_err("it failed");
        assert_eq!(why, "it ended with exit status: 1: one / two / ValueError: no such shard");
    }
}
