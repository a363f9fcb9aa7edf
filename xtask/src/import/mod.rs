//! `import`: what another tool has measured, as a stored run that is marked so.
//!
//! A tool is one file with a function from a path to what it [`FileContent`] there, and a line of [`TOOLS`]. All files are read before
//! anything is stored.

mod criterion;
mod divan;
mod hyperfine;
mod nvbench;
mod pytest_benchmark;
mod store;

#[cfg(test)]
mod apart;
#[cfg(test)]
mod readers;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::de::DeserializeOwned;
use weighbridge::data::{AxisValue, CaseId, ImportedProcess, Point, visible_in_line};

use crate::place::Place;
use crate::said::Said;
use crate::stop;

/// Arguments of `import`.
#[derive(Debug, Args)]
#[command(after_help = help())]
pub(crate) struct Import {
    /// The tool: see below.
    #[arg(value_parser = names())]
    pub(crate) tool: String,
    /// Its files, each written by a process of its own: together they are one run.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Of criterion's folders, take what was saved under this name (`--save-baseline NAME`).
    #[arg(long, value_name = "NAME", default_value = "new")]
    pub(crate) saved: String,
}

/// A tool whose files are read.
pub(crate) struct Tool {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// Which of its files are read.
    pub(crate) about: &'static str,
    read: fn(&Path, &Import) -> Result<FileContent>,
}

/// Every tool, in the order in which help has them.
pub(crate) const TOOLS: [Tool; 5] = [
    Tool {
        name: "criterion",
        about: "the folder target/criterion, or one sample.json or estimates.json",
        read: criterion::read,
    },
    Tool { name: "divan", about: "its table, as it prints it: cargo bench > FILE", read: divan::read },
    Tool { name: "hyperfine", about: "--export-json FILE", read: hyperfine::read },
    Tool { name: "pytest-benchmark", about: "--benchmark-json FILE", read: pytest_benchmark::read },
    Tool { name: "nvbench", about: "--json FILE", read: nvbench::read },
];

/// What one file says.
#[derive(Debug, Default)]
struct FileContent {
    /// The tool's version, where the file says.
    version: Option<String>,
    /// Facts of the machine, as far as the file has them.
    machine: BTreeMap<String, String>,
    /// Facts of the software and the code, likewise.
    software: BTreeMap<String, String>,
    /// Whether the work was done by a GPU.
    on_gpu: bool,
    /// In the order of the file.
    benchmarks: Vec<Benchmark>,
    /// What was left out, and why.
    remarks: Vec<String>,
}

/// A benchmark, with what each process measured of it.
#[derive(Debug, PartialEq)]
struct Benchmark {
    id: CaseId,
    /// The metric that stands for it, where the file has figures and no samples.
    primary_metric: Option<&'static str>,
    processes: Vec<ImportedProcess>,
}

pub(crate) fn run(args: &Import, place: &Place) -> Result<Said> {
    let tool = TOOLS.iter().find(|tool| tool.name == args.tool);
    let tool = tool.ok_or_else(|| stop::unknown("tool", &args.tool, TOOLS.iter().map(|tool| tool.name)))?;
    let mut whole: Option<FileContent> = None;
    let mut before: Vec<(String, Vec<Benchmark>)> = Vec::new();
    for file in &args.files {
        let read = || (tool.read)(file, args);
        let found = read().map_err(|why| stop::usage(format!("`{}`: {why:#}", file.display())))?;
        let name = file.display().to_string();
        if found.benchmarks.is_empty() {
            return Err(stop::usage(format!("`{name}` holds no benchmark of {}", tool.name)));
        }
        // Six copies of one measurement would pass for six processes.
        if let Some((same, _)) = before.iter().find(|(_, benchmarks)| *benchmarks == found.benchmarks) {
            let why = "a copy is no process of its own: run the tool again for each file";
            return Err(stop::usage(format!("`{name}` and `{same}` hold the same measurement: {why}")));
        }
        let copy = found.benchmarks.iter().map(Benchmark::copy).collect();
        before.push((name.clone(), copy));
        match &mut whole {
            None => whole = Some(found),
            Some(whole) => {
                whole.add(found).map_err(|why| stop::usage(format!("`{name}`: {why:#}")))?;
            }
        }
    }
    let Some(mut found) = whole else { bail!("no file was read") };
    found.tell_apart();
    store::store(found, tool.name, &args.files, place)
}

impl FileContent {
    /// Takes in what another process measured.
    fn add(&mut self, other: Self) -> Result<()> {
        for (name, here) in &other.machine {
            let there = self.machine.get(name).unwrap_or(here);
            ensure!(
                here == there,
                "it is of another machine than the files before it: {name} is {here}, and was {there}"
            );
        }
        let commits = [&self.software, &other.software].map(|facts| facts.get("commit"));
        if let [Some(there), Some(here)] = commits {
            ensure!(here == there, "it is of commit {here}, and the files before it are of {there}");
        }
        for benchmark in other.benchmarks {
            match self.benchmarks.iter_mut().find(|known| known.id == benchmark.id) {
                Some(known) => known.processes.extend(benchmark.processes),
                None => self.benchmarks.push(benchmark),
            }
        }
        self.remarks.extend(other.remarks);
        self.remarks.dedup();
        Ok(())
    }

    /// Numbers those whose files would have the same name: `ls a`, `ls  a`.
    fn tell_apart(&mut self) {
        let mut taken: Vec<String> = Vec::new();
        for Benchmark { id, .. } in &mut self.benchmarks {
            let (scenario, adapter) = (id.scenario.clone(), id.adapter.clone());
            for number in 2.. {
                if !taken.contains(&id.file_name()) {
                    break;
                }
                match &adapter {
                    Some(adapter) => id.adapter = Some(format!("{adapter} ({number})")),
                    None => id.scenario = format!("{scenario} ({number})"),
                }
            }
            taken.push(id.file_name());
        }
    }
}

impl Benchmark {
    fn copy(&self) -> Self {
        Self { id: self.id.clone(), primary_metric: self.primary_metric, processes: self.processes.clone() }
    }
}

/// The id of a benchmark of this name: at these values of its parameters, of this system where several are compared.
///
/// # Errors
/// When the name is empty.
fn case(name: &str, values: &[(String, String)], system: Option<&str>) -> Result<CaseId> {
    let clean = |text: &str| visible_in_line(text.trim());
    let scenario = clean(name);
    ensure!(!scenario.is_empty(), "a benchmark has no name");
    let value = |(axis, text): &(String, String)| AxisValue {
        axis: clean(axis),
        text: clean(text),
        labelled: false,
        debug: None,
    };
    let point = Point(values.iter().map(value).collect());
    Ok(CaseId { scenario, point, adapter: system.map(clean) })
}

/// The text of a file.
fn text(file: &Path) -> Result<String> {
    let bytes = fs::read(file).context("failed to read it")?;
    String::from_utf8(bytes).ok().context("it is no text")
}

/// The document in a JSON file of a tool.
fn json<T: DeserializeOwned>(file: &Path, what: &str) -> Result<T> {
    serde_json::from_str(&text(file)?).with_context(|| format!("it is no {what}, or is cut short"))
}

/// Seconds as whole nanoseconds.
///
/// # Errors
/// For what is no time.
fn nanoseconds(seconds: f64) -> Result<u64> {
    let nanoseconds = seconds * 1e9;
    let is_time = nanoseconds.is_finite() && (0.0..1e18).contains(&nanoseconds);
    ensure!(is_time, "{seconds} s is no time that anything can take");
    Ok(nanoseconds.round() as u64)
}

fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(TOOLS.iter().map(|tool| tool.name))
}

fn help() -> String {
    let line = |tool: &Tool| format!("  {:18}{}\n", tool.name, tool.about);
    format!("Tools, and what is read of each:\n{}", TOOLS.iter().map(line).collect::<String>())
}
