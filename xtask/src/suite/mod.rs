//! `suite`: reads suite files, of our own form and of Orbax's, and runs what they say.

mod orbax;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use weighbridge::data::Exit;
use weighbridge::suite::{Node, SuiteFile, Value, nodes};

use self::orbax::{OrbaxPlan, Overrides};
use crate::inert;
use crate::place::Place;
use crate::programs;
use crate::said::Said;
use crate::stop;

/// Arguments of `suite`.
#[derive(Debug, Args)]
pub(crate) struct SuiteArgs {
    #[command(subcommand)]
    action: SuiteAction,
}

/// What can be done with suite files.
#[derive(Debug, Subcommand)]
enum SuiteAction {
    /// Read suite files and say what would run: how many points, and what is refused, skipped or dropped, and why. Exit 2: a file
    /// is wrong; 4: nothing of any would run.
    Check {
        /// The files: TOML, YAML, or a suite of Orbax.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        how: ReadingFlags,
    },
    /// Run a suite file with `cargo bench`. What is refused of it is told, and the rest runs.
    Run {
        /// The file: TOML, YAML, or a suite of Orbax.
        file: PathBuf,
        #[command(flatten)]
        how: ReadingFlags,
        /// The bench target that has the scenarios.
        #[arg(long, value_name = "NAME", default_value = "suite")]
        bench: String,
        /// Arguments for the bench target: filters, `--quick`, `--dry-run`. They go over the file.
        #[arg(last = true, value_name = "BENCH ARGS")]
        bench_args: Vec<String>,
    },
}

/// How suites of Orbax are read.
#[derive(Clone, Debug, Default, Args)]
struct ReadingFlags {
    /// Ignore unknown keys of Orbax's suites, as Orbax does, and list them.
    #[arg(long)]
    lenient: bool,
    /// Save this state instead of the checkpoints that a suite of Orbax names: `default`, `a:float32[32x16]{data,-}`, or the files
    /// of safetensors at `path:/models/llama`.
    #[arg(long, value_name = "STATE")]
    input: Option<String>,
    /// Lay it on this mesh instead of those that a suite of Orbax names: `data=2+model=4`, or `none`.
    #[arg(long, value_name = "MESH")]
    mesh: Option<String>,
    /// Save the state from this mesh where a suite of Orbax loads it onto another: `data=8+fsdp=2`. Without it, the state is whole.
    #[arg(long, value_name = "MESH")]
    saved_from: Option<String>,
    /// Run this adapter beside Orbax (repeat for more).
    #[arg(long, value_name = "NAME")]
    beside: Vec<String>,
}

pub(crate) fn run(args: &SuiteArgs, place: &Place) -> Result<Said> {
    match &args.action {
        SuiteAction::Check { files, how } => check(files, how),
        SuiteAction::Run { file, how, bench, bench_args } => start(file, how, bench, bench_args, place),
    }
}

/// A suite file that was understood.
#[derive(Debug)]
enum Understood {
    /// Of our own form.
    Own(SuiteFile),
    /// Of Orbax's.
    Orbax(OrbaxPlan),
}

/// Reads a suite file, whichever form it has.
fn understand(file: &Path, how: &ReadingFlags) -> Result<Understood> {
    let name = file.display().to_string();
    let text =
        fs::read_to_string(file).map_err(|error| stop::usage(format!("failed to read {name}: {error}")))?;
    let wrong = |mistake| stop::usage(format!("{name}: {mistake}"));
    let root = nodes(&name, &text).map_err(wrong)?;
    if !is_orbax(&root) {
        return SuiteFile::read(&root).map(Understood::Own).map_err(wrong);
    }
    let read = |flag: &str, why: String| stop::usage(format!("{flag}: {why}"));
    let over = Overrides {
        input: how.input.as_deref().map(str::parse).transpose().map_err(|why| read("--input", why))?,
        mesh: how.mesh.as_deref().map(str::parse).transpose().map_err(|why| read("--mesh", why))?,
        saved_from: how
            .saved_from
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(|why| read("--saved-from", why))?,
        beside: how.beside.clone(),
    };
    let planned = orbax::plan(&root, how.lenient, &over).map(Understood::Orbax);
    planned.map_err(|mistake| {
        let is_unknown = mistake.what.starts_with("unknown key");
        let hint = if is_unknown { "; --lenient ignores such keys, as Orbax does" } else { "" };
        stop::usage(format!("{name}: {mistake}{hint}"))
    })
}

/// Whether the keys are those of Orbax. What has keys of neither is read as ours, and so refused with the key that is wrong.
fn is_orbax(root: &Node) -> bool {
    let of_orbax = ["suite_name", "checkpoint_config", "checkpoint_configs", "mesh_config", "mesh_configs"];
    matches!(&root.value, Value::Table(entries) if entries.iter().any(|(key, _)| of_orbax.contains(&&*key.name)))
}

fn check(files: &[PathBuf], how: &ReadingFlags) -> Result<Said> {
    let (mut text, mut remarks) = (String::new(), Vec::new());
    let (mut planned, mut wrong) = (0, 0);
    for file in files {
        match understand(file, how) {
            Ok(Understood::Own(suite)) => {
                let points: usize = suite.benchmarks.iter().map(points).sum();
                planned += points;
                let benchmarks = suite.benchmarks.len();
                text += &inert::lines(&format!(
                    "{}: `{}`: {benchmarks} benchmarks, {points} points",
                    file.display(),
                    suite.name
                ));
            }
            Ok(Understood::Orbax(plan)) => {
                planned += plan.points;
                text += &inert::lines(&format!("{}: {plan}", file.display()));
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
    Ok(Said { text, remarks, exit })
}

/// The points of a benchmark, where no filter of its scenario drops one.
fn points(benchmark: &weighbridge::suite::SuiteBenchmark) -> usize {
    benchmark.options.iter().map(|(_, values)| values.len()).product()
}

fn start(file: &Path, how: &ReadingFlags, bench: &str, bench_args: &[String], place: &Place) -> Result<Said> {
    let suite = match understand(file, how)? {
        Understood::Own(suite) => suite,
        Understood::Orbax(plan) => {
            let nothing = || stop::nothing(format!("nothing of {} can run here\n{plan}", file.display()));
            let suite = plan.suite.clone().ok_or_else(nothing)?;
            eprint!("{}", inert::lines(&plan.to_string())); // before the run, which takes its time
            suite
        }
    };
    // A bench target reads TOML, whatever it was built with. The file stays, for `--resume`.
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let written = place.layout.suite_file(&name);
    let failed = || format!("failed to write {}", written.display());
    fs::create_dir_all(written.parent().unwrap_or(&written)).with_context(failed)?;
    fs::write(&written, suite.to_toml()).with_context(failed)?;
    let mut command = programs::cargo(&place.root, None);
    command.args(["bench", "--bench", bench, "--", "--data"]).arg(place.layout.data());
    command.arg("--suite").arg(&written).args(bench_args).stdin(Stdio::null());
    let ended = command.status().context("failed to start cargo")?;
    let exit = Exit::BY_PRECEDENCE.into_iter().find(|exit| ended.code() == Some(exit.code().into()));
    Ok(Said { exit: exit.unwrap_or(Exit::Unexpected), ..Said::fine("") })
}
