//! hyperfine's `--export-json`: the time of every process of each command.

use std::path::Path;

use anyhow::{Result, ensure};
use serde::Deserialize;
use weighbridge::data::ImportedProcess;

use super::{Benchmark, FileContent, Import, case, json, nanoseconds};

#[derive(Deserialize)]
struct HyperfineFile {
    results: Vec<TimedCommand>,
}

#[derive(Deserialize)]
struct TimedCommand {
    #[serde(rename = "command")]
    line: String,
    /// Seconds.
    times: Vec<f64>,
    /// Null where a process was ended by a signal.
    #[serde(default)]
    exit_codes: Vec<Option<i32>>,
    /// The most bytes resident in each process; of newer versions.
    #[serde(default)]
    memory_usage_byte: Vec<u64>,
}

pub(super) fn read(file: &Path, _: &Import) -> Result<FileContent> {
    let export: HyperfineFile = json(file, "export of hyperfine")?;
    let mut found = FileContent::default();
    for command in export.results {
        ensure!(!command.times.is_empty(), "`{}` has no times: was it exported whole?", command.line);
        let mut processes = Vec::with_capacity(command.times.len());
        for (at, time) in command.times.iter().enumerate() {
            processes.push(ImportedProcess {
                samples: vec![nanoseconds(*time)?],
                iterations: 1,
                peak_memory: command.memory_usage_byte.get(at).map(|bytes| *bytes as f64),
                ..ImportedProcess::default()
            });
        }
        let failed = command.exit_codes.iter().filter(|code| **code != Some(0)).count();
        if failed > 0 {
            let all = command.times.len();
            let why = "ended with another exit code than 0";
            found.remarks.push(format!("warning: `{}`: {failed} of {all} processes {why}", command.line));
        }
        // Commands are ranked beside each other, as those of `command` are.
        let id = case("COMMAND", &[], Some(&command.line))?;
        found.benchmarks.push(Benchmark { id, primary_metric: None, processes });
    }
    Ok(found)
}
