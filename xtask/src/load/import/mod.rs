//! Results of other tools as records: each file is a window, each of its requests a sample.
//!
//! The records say that they were imported, and from which tool: the machine of this program has measured
//! nothing, so that none of its facts is in them.

mod aiperf;
mod foreign;
mod guidellm;
mod stored;
mod vllm;

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use weighbridge::data::{Exit, Layout, Runs, read_text};

use self::foreign::ForeignWindow;
use super::{LoadArgs, shown};
use crate::command_output::CommandOutput;
use crate::stop;

/// Reads the files, stores a run for each tool, and shows it.
///
/// # Errors
/// When a file is none of these, or contradicts itself.
pub(super) fn run(args: &LoadArgs, data: &Path) -> Result<CommandOutput> {
    let mut windows = Vec::new();
    for file in &args.import {
        let text = read_text(file).with_context(|| format!("failed to read {}", file.display()))?;
        let found = read(file, &text).map_err(|why| stop::usage(format!("{}: {why}", file.display())))?;
        windows.extend(found);
    }
    if let Some(level) = &args.level {
        for window in &mut windows {
            window.level.clone_from(level);
        }
    }
    let runs = Runs::new(Layout::new(data));
    let mut tools: Vec<&str> = windows.iter().map(|window| window.tool).collect();
    tools.sort_unstable();
    tools.dedup();
    let (mut text, mut exit) = (String::new(), Exit::Fine);
    for tool in tools {
        let own: Vec<&ForeignWindow> = windows.iter().filter(|window| window.tool == tool).collect();
        let run = stored::store(args, &runs, tool, &own)?;
        if run.cases.iter().any(|case| case.metrics.is_empty() || case.has_failed()) {
            exit = Exit::Failed;
        }
        text += &format!("{tool}: run {}\n{}\n", run.manifest.id, shown::table(&run));
    }
    Ok(CommandOutput { exit, ..CommandOutput::fine(text) })
}

/// The windows of a file, by its form.
fn read(file: &Path, text: &str) -> Result<Vec<ForeignWindow>, String> {
    let first = text.lines().find(|line| !line.trim().is_empty()).ok_or("it is empty")?;
    if let Ok(Value::Object(line)) = serde_json::from_str(first)
        && line.contains_key("metadata")
        && line.contains_key("metrics")
    {
        return aiperf::read(text, &beside(file)).map(|window| vec![window]);
    }
    // With `--append-result` a file has a result on each line.
    if let Ok(all) =
        text.lines().filter(|line| !line.trim().is_empty()).map(of_vllm).collect::<Result<_, _>>()
    {
        return Ok(all);
    }
    let whole: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    match &whole {
        Value::Object(fields) if fields.contains_key("benchmarks") => guidellm::read(whole),
        Value::Object(fields)
            if fields.contains_key("request_throughput") && !fields.contains_key("aiperf_version") =>
        {
            vllm::read(whole).map(|window| vec![window])
        }
        Value::Object(fields) if fields.contains_key("aiperf_version") => {
            Err("these are aiperf's summaries, without requests: give `profile_export.jsonl`, which \
                 `--export-level records` writes"
                .to_owned())
        }
        _ => Err("it is no result of `vllm bench serve`, guidellm or aiperf".to_owned()),
    }
}

fn of_vllm(line: &str) -> Result<ForeignWindow, String> {
    vllm::read(serde_json::from_str(line).map_err(|error| error.to_string())?)
}

/// The summaries that aiperf writes beside its records, which say what the load was.
fn beside(file: &Path) -> Value {
    let summaries = file.with_file_name("profile_export_aiperf.json");
    let text = read_text(&summaries).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests;
