//! `suite`: reads suite files of our own form, and runs what they say. What reads another form takes its
//! parts from here.

mod yaml;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use weighbridge::data::{Exit, read_text};
use weighbridge::suite::{Mistake, Node, SuiteFile, Value};

use crate::command_output::CommandOutput;
use crate::place::Place;
use crate::{programs, stop};

/// Arguments of `suite`.
#[derive(Debug, Args)]
pub(crate) struct SuiteArgs {
    #[command(subcommand)]
    action: SuiteAction,
}

/// Actions on suite files.
#[derive(Debug, Subcommand)]
enum SuiteAction {
    /// Read suite files and say what would run. Exit 2: a file is wrong; 4: nothing of any would run.
    Check {
        /// The files: TOML, JSON or YAML.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Run a suite file with `cargo bench`.
    Run {
        /// The file: TOML, JSON or YAML.
        file: PathBuf,
        #[command(flatten)]
        target: SuiteTarget,
    },
}

/// The bench target that runs a suite, and its arguments.
#[derive(Clone, Debug, Args)]
pub struct SuiteTarget {
    /// The bench target that has the scenarios.
    #[arg(long, value_name = "NAME", default_value = "suite")]
    bench: String,
    /// Arguments for the bench target: filters, `--profile quick`, `--dry-run`. They go over the file.
    #[arg(last = true, value_name = "BENCH ARGS")]
    bench_args: Vec<String>,
}

pub(crate) fn run(args: &SuiteArgs, place: &Place) -> Result<CommandOutput> {
    match &args.action {
        SuiteAction::Check { files } => Ok(checked(files, |file| {
            let suite = understand(file)?;
            let points = suite.benchmarks.iter().map(points).sum();
            let benchmarks = suite.benchmarks.len();
            Ok((points, format!("`{}`: {benchmarks} benchmarks, {points} points", suite.name)))
        })),
        SuiteAction::Run { file, target } => start(file, &understand(file)?, target, place),
    }
}

/// The keys and values of a suite file, whatever its form.
///
/// # Errors
/// A file that is not there, or is neither TOML, JSON nor YAML.
pub fn read(file: &Path) -> Result<Node> {
    let name = file.display().to_string();
    let text = read_text(file).map_err(|error| stop::usage(format!("failed to read {name}: {error}")))?;
    nodes(&name, &text).map_err(|mistake| stop::usage(format!("{name}: {mistake}")))
}

/// A file as nodes: YAML where its name ends with `.yaml` or `.yml`, and TOML otherwise.
///
/// # Errors
/// What is wrong in the text, with its place.
pub fn nodes(file: &str, text: &str) -> Result<Node, Mistake> {
    match Path::new(file).extension().and_then(OsStr::to_str) {
        Some("yaml" | "yml") => yaml::read(text),
        _ => weighbridge::suite::nodes(file, text),
    }
}

/// Returns whether the keys are those of a suite of Orbax's benchmarks.
pub fn is_of_orbax(root: &Node) -> bool {
    let of_orbax = ["suite_name", "checkpoint_config", "checkpoint_configs", "mesh_config", "mesh_configs"];
    let Value::Table(entries) = &root.value else { return false };
    entries.iter().any(|(key, _)| of_orbax.contains(&&*key.name))
}

fn understand(file: &Path) -> Result<SuiteFile> {
    let (name, root) = (file.display(), read(file)?);
    if is_of_orbax(&root) {
        return Err(stop::usage(format!(
            "{name}: this is a suite of Orbax's benchmarks; `cargo catalogue suite` reads those: \
             `cargo install --locked --git {} weighbridge-catalogue`",
            env!("CARGO_PKG_REPOSITORY")
        )));
    }
    SuiteFile::read(&root).map_err(|mistake| stop::usage(format!("{name}: {mistake}")))
}

/// Returns the answer on suite files: of each, how many points would run and what they are, or why it is
/// wrong.
pub fn checked(files: &[PathBuf], understand: impl Fn(&Path) -> Result<(usize, String)>) -> CommandOutput {
    let (mut text, mut remarks) = (String::new(), Vec::new());
    let (mut planned, mut wrong) = (0, 0);
    for file in files {
        match understand(file) {
            Ok((points, said)) => {
                planned += points;
                text += &format!("{}: {said}\n", file.display());
            }
            Err(error) => {
                wrong += 1;
                remarks.push(format!("error: {error}"));
            }
        }
    }
    let exit = match (wrong, planned) {
        (0, 0) => Exit::NothingToJudge,
        (0, _) => Exit::Fine,
        _ => Exit::Usage,
    };
    CommandOutput { remarks, exit, ..CommandOutput::fine(text) }
}

/// The points of a benchmark, where no filter of its scenario drops one.
fn points(benchmark: &weighbridge::suite::SuiteBenchmark) -> usize {
    benchmark.options.iter().map(|(_, values)| values.len()).product()
}

/// Runs a suite that was read from this file with `cargo bench`, and ends as that does.
///
/// # Errors
/// When the suite cannot be handed over, or cargo cannot be started.
pub fn start(file: &Path, suite: &SuiteFile, target: &SuiteTarget, place: &Place) -> Result<CommandOutput> {
    // A bench target reads TOML, whatever it was built with. The file stays, for `--resume`.
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let written = place.layout.suite_file(&name);
    let failed = || format!("failed to write {}", written.display());
    fs::create_dir_all(written.parent().unwrap_or(&written)).with_context(failed)?;
    fs::write(&written, suite.to_toml()).with_context(failed)?;
    let mut command = programs::cargo(&place.root);
    command.args(["bench", "--bench", &target.bench, "--", "--data"]).arg(place.layout.data());
    command.arg("--suite").arg(&written).args(&target.bench_args).stdin(Stdio::null());
    let ended = command.status().context("failed to start cargo")?;
    let exit = Exit::BY_PRECEDENCE.into_iter().find(|exit| ended.code() == Some(exit.code().into()));
    Ok(CommandOutput { exit: exit.unwrap_or(Exit::Unexpected), ..CommandOutput::fine("") })
}
