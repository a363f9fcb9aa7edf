//! `export`: a stored run in the formats of other tools. Nothing is measured again.
//!
//! A format is one file with a function from a [`Job`] to an [`ExportOutput`], and a line of [`FORMATS`].

mod bencher;
mod bmf;
mod calibrax;
mod criterion;
mod csv;
mod custom;
mod job;
mod jsonl;
mod junit;
mod mlperf;
mod openmetrics;
mod tensorboard;
mod time;
mod tracker;

#[cfg(test)]
mod readers;
#[cfg(test)]
pub(crate) mod tests;

use std::path::{Component, PathBuf};

use anyhow::Result;
use clap::Args;
use weighbridge::data::replace_file;

use crate::command_output::CommandOutput;
use crate::place::Place;
use crate::{pick, stop};
pub(crate) use job::{ExportOutput, Job};

/// Arguments of `export`.
#[derive(Debug, Args)]
#[command(after_help = help())]
pub(crate) struct Export {
    /// The format: see below.
    #[arg(value_parser = names())]
    pub(crate) format: String,
    /// The run: an id, its start, or `latest` [default: the latest run].
    pub(crate) run: Option<String>,
    /// A run of this suite: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
    /// Write it to this file, or below this folder where the format is several files [default: standard
    /// output].
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Name of the run in a layout that keeps several: criterion's baseline.
    #[arg(long, value_name = "NAME", default_value = "new", value_parser = plain_name)]
    pub(crate) name: String,
    /// The project of an experiment tracker.
    #[arg(long, default_value = "weighbridge")]
    pub(crate) project: String,
    /// The interpreter that has the SDK of an experiment tracker.
    #[arg(
        long,
        value_name = "PATH",
        default_value = "python3",
        env = "WEIGHBRIDGE_TRACKER_PYTHON",
        hide_env_values = true
    )]
    pub(crate) python: PathBuf,
}

/// A format.
pub(crate) struct ExportFormat {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Its line in the help: its name, and what is in it or reads it.
    pub(crate) about: &'static str,
    write: fn(&Job<'_>) -> Result<ExportOutput>,
}

/// Every format, in the order in which help has them.
pub(crate) const FORMATS: [ExportFormat; 16] = [
    ExportFormat {
        name: "jsonl",
        about: "JSON Lines: a line for each metric of each case",
        write: jsonl::estimates,
    },
    ExportFormat {
        name: "jsonl-samples",
        about: "JSON Lines: a line for each repeat, with all its samples",
        write: jsonl::samples,
    },
    ExportFormat { name: "csv", about: "a row for each metric of each case", write: csv::estimates },
    ExportFormat { name: "csv-samples", about: "a row for each sample", write: csv::samples },
    ExportFormat {
        name: "criterion",
        about: "criterion's folders, for critcmp: --out DIR/criterion --name NAME",
        write: criterion::write,
    },
    ExportFormat {
        name: "bencher",
        about: "a line for each case in the form of libtest's benches",
        write: bencher::write,
    },
    ExportFormat { name: "bmf", about: "Bencher Metric Format", write: bmf::write },
    ExportFormat {
        name: "smaller-is-better",
        about: "customSmallerIsBetter of github-action-benchmark",
        write: custom::smaller,
    },
    ExportFormat {
        name: "bigger-is-better",
        about: "customBiggerIsBetter of github-action-benchmark",
        write: custom::bigger,
    },
    ExportFormat {
        name: "junit",
        about: "JUnit XML: a failure is a regression or work that does not verify",
        write: junit::write,
    },
    ExportFormat {
        name: "openmetrics",
        about: "OpenMetrics text, for Prometheus",
        write: openmetrics::write,
    },
    ExportFormat {
        name: "tensorboard",
        about: "event files of TensorBoard: --out LOGDIR",
        write: tensorboard::write,
    },
    ExportFormat {
        name: "wandb",
        about: "Weights & Biases through its SDK, offline: --out DIR",
        write: tracker::wandb,
    },
    ExportFormat {
        name: "mlflow",
        about: "MLflow through its SDK, a store of files: --out DIR",
        write: tracker::mlflow,
    },
    ExportFormat {
        name: "mlperf",
        about: "the log of each training to a target in MLPerf's form: --out DIR; no compliance is claimed",
        write: mlperf::write,
    },
    ExportFormat {
        name: "calibrax",
        about: "the store of calibrax: --out DIR, into which several runs go",
        write: calibrax::write,
    },
];

pub(crate) fn run(args: &Export, place: &Place) -> Result<CommandOutput> {
    let picked = pick::runs(place, args.run.as_deref(), args.suite.as_deref())?;
    let manifest = match &picked.runs[..] {
        [] => return Err(stop::nothing("there is no complete run to export: make one with `cargo bench`")),
        [one] => one,
        several => {
            let suites: Vec<&str> = several.iter().map(|run| run.suite.as_str()).collect();
            return Err(stop::usage(format!(
                "there are runs of {}: name one with --suite",
                suites.join(" and ")
            )));
        }
    };
    let run = place.runs().load(&manifest.id)?;
    let format = FORMATS.iter().find(|format| format.name == args.format);
    let format = format
        .ok_or_else(|| stop::unknown("format", &args.format, FORMATS.iter().map(|format| format.name)))?;
    let job = Job {
        run: &run,
        place,
        format: &args.format,
        out: args.out.as_deref(),
        name: &args.name,
        project: &args.project,
        python: &args.python,
    };
    let mut said = CommandOutput { remarks: picked.remarks, ..CommandOutput::fine("") };
    if manifest.status != weighbridge::data::RunStatus::Complete {
        said.remarks.push(format!("warning: run {}: {}", manifest.id, pick::state(manifest.status)));
    }
    match (format.write)(&job)? {
        ExportOutput::Text(text) => match &args.out {
            None => said.text = text,
            Some(file) => {
                replace_file(file, text.as_bytes())?;
                said.text = format!("{} is written\n", file.display());
            }
        },
        ExportOutput::Files(files) => {
            let folder = job.folder()?;
            for (path, bytes) in &files {
                // Names come from records: none of them may lead out of the folder.
                let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
                anyhow::ensure!(is_below, "`{}` is no path below a folder", path.display());
                replace_file(&folder.join(path), bytes)?;
            }
            said.text = format!("{} files are written below {}\n", files.len(), folder.display());
        }
        ExportOutput::Done(how) => said.text = format!("{how}\n"),
        ExportOutput::Skipped(why) => said.text = format!("skipped: {why}\n"),
    }
    Ok(said)
}

/// A name that may stand in a path.
fn plain_name(text: &str) -> Result<String, String> {
    let fine = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let is_plain = !text.is_empty() && text.len() <= 64 && text.chars().all(fine) && !text.starts_with('.');
    let taken = ["change", "report"].contains(&text);
    match is_plain && !taken {
        true => Ok(text.to_owned()),
        false => {
            Err("a name is letters, digits, `.`, `_` and `-`, and neither `change` nor `report`".to_owned())
        }
    }
}

fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(FORMATS.iter().map(|format| format.name))
}

fn help() -> String {
    let line = |format: &ExportFormat| format!("  {:18}{}\n", format.name, format.about);
    format!("Formats:\n{}", FORMATS.iter().map(line).collect::<String>())
}
