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

use std::fs;
use std::path::{Component, PathBuf};

use anyhow::{Context, Result};
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
    /// The format, or several with commas between them: see below.
    #[arg(value_name = "FORMAT", value_parser = Formats::read)]
    pub(crate) formats: Formats,
    /// The run: an id, its start, or `latest` [default: the latest run].
    pub(crate) run: Option<String>,
    /// A run of this suite: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
    /// Write it to this file, or below this folder where the format is several files [default: standard
    /// output].
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Write it below this folder, under the name in brackets below: `junit.xml`. For several formats at
    /// once.
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub(crate) into: Option<PathBuf>,
    /// Name of the run in a layout that keeps several: criterion's baseline.
    #[arg(long, value_name = "NAME", default_value = "new", value_parser = plain_name)]
    pub(crate) name: String,
    /// The project of an experiment tracker.
    #[arg(long, default_value = "weighbridge")]
    pub(crate) project: String,
    /// The team or user of an experiment tracker whose project it is.
    #[arg(long)]
    pub(crate) entity: Option<String>,
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

/// The formats that were asked for.
#[derive(Clone, Debug)]
pub(crate) struct Formats(pub(crate) Vec<String>);

impl Formats {
    fn read(text: &str) -> Result<Self, String> {
        let names = || FORMATS.iter().map(|format| format.name);
        let name = |name: &str| match names().find(|known| *known == name) {
            Some(known) => Ok(known.to_owned()),
            None => Err(stop::unknown("format", name, names()).to_string()),
        };
        text.split(',').map(name).collect::<Result<_, _>>().map(Self)
    }
}

/// A format.
pub(crate) struct ExportFormat {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The usual name of its file, or of the folder of its files.
    file: &'static str,
    /// Its line in the help: its name, and what is in it or reads it.
    pub(crate) about: &'static str,
    write: fn(&Job<'_>) -> Result<ExportOutput>,
}

/// Every format, in the order in which help has them.
pub(crate) const FORMATS: [ExportFormat; 16] = [
    ExportFormat {
        name: "jsonl",
        file: "metrics.jsonl",
        about: "JSON Lines: a line for each metric of each case",
        write: jsonl::estimates,
    },
    ExportFormat {
        name: "jsonl-samples",
        file: "samples.jsonl",
        about: "JSON Lines: a line for each repeat, with all its samples",
        write: jsonl::samples,
    },
    ExportFormat {
        name: "csv",
        file: "metrics.csv",
        about: "a row for each metric of each case",
        write: csv::estimates,
    },
    ExportFormat {
        name: "csv-samples",
        file: "samples.csv",
        about: "a row for each sample",
        write: csv::samples,
    },
    ExportFormat {
        name: "criterion",
        file: "criterion",
        about: "criterion's folders, for critcmp: --out DIR/criterion --name NAME",
        write: criterion::write,
    },
    ExportFormat {
        name: "bencher",
        file: "bencher.txt",
        about: "a line for each case in the form of libtest's benches",
        write: bencher::write,
    },
    ExportFormat { name: "bmf", file: "bmf.json", about: "Bencher Metric Format", write: bmf::write },
    ExportFormat {
        name: "smaller-is-better",
        file: "smaller-is-better.json",
        about: "customSmallerIsBetter of github-action-benchmark",
        write: custom::smaller,
    },
    ExportFormat {
        name: "bigger-is-better",
        file: "bigger-is-better.json",
        about: "customBiggerIsBetter of github-action-benchmark",
        write: custom::bigger,
    },
    ExportFormat {
        name: "junit",
        file: "junit.xml",
        about: "JUnit XML: a failure is a regression or work that does not verify",
        write: junit::write,
    },
    ExportFormat {
        name: "openmetrics",
        file: "openmetrics.txt",
        about: "OpenMetrics text, for Prometheus",
        write: openmetrics::write,
    },
    ExportFormat {
        name: "tensorboard",
        file: "tensorboard",
        about: "event files of TensorBoard: --out LOGDIR",
        write: tensorboard::write,
    },
    ExportFormat {
        name: "wandb",
        file: "wandb",
        about: "Weights & Biases through its SDK, offline: --out DIR",
        write: tracker::wandb,
    },
    ExportFormat {
        name: "mlflow",
        file: "mlflow",
        about: "MLflow through its SDK, a store of files: --out DIR",
        write: tracker::mlflow,
    },
    ExportFormat {
        name: "mlperf",
        file: "mlperf",
        about: "the log of each training to a target in MLPerf's form: --out DIR; no compliance is claimed",
        write: mlperf::write,
    },
    ExportFormat {
        name: "calibrax",
        file: "calibrax",
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
    let Formats(formats) = &args.formats;
    if formats.len() > 1 && args.into.is_none() {
        return Err(stop::usage("several formats are several files: name their folder with --into"));
    }
    let mut said = CommandOutput { remarks: picked.remarks, ..CommandOutput::fine("") };
    if manifest.status != weighbridge::data::RunStatus::Complete {
        said.remarks.push(format!("warning: run {}: {}", manifest.id, pick::state(manifest.status)));
    }
    for name in formats {
        let format = FORMATS.iter().find(|format| format.name == name);
        let format =
            format.ok_or_else(|| stop::unknown("format", name, FORMATS.iter().map(|format| format.name)))?;
        let out = args.into.as_ref().map(|folder| folder.join(format.file)).or_else(|| args.out.clone());
        let job = Job {
            run: &run,
            place,
            format: name,
            out: out.as_deref(),
            name: &args.name,
            project: &args.project,
            entity: args.entity.as_deref(),
            python: &args.python,
        };
        let made = (format.write)(&job)?;
        let to = match (&made, job.out) {
            (ExportOutput::Text(_), None) => &mut said.exact,
            _ => &mut said.text,
        };
        to.push_str(&written(&job, made)?);
    }
    Ok(said)
}

/// Writes what a format made of a run, and says where it lies, or hands on the text.
fn written(job: &Job<'_>, made: ExportOutput) -> Result<String> {
    Ok(match made {
        ExportOutput::Text(text) => match job.out {
            None => text,
            Some(file) => {
                if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                    fs::create_dir_all(folder)
                        .with_context(|| format!("failed to make `{}`", folder.display()))?;
                }
                replace_file(file, text.as_bytes())?;
                format!("{} is written\n", file.display())
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
            format!("{} files are written below {}\n", files.len(), folder.display())
        }
        ExportOutput::Done(how) => format!("{how}\n"),
        ExportOutput::Skipped(why) => format!("skipped: {why}\n"),
    })
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

fn help() -> String {
    let line = |format: &ExportFormat| format!("  {:18}{} [{}]\n", format.name, format.about, format.file);
    format!("Formats:\n{}", FORMATS.iter().map(line).collect::<String>())
}
