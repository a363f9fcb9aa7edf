//! `doctor`: scripts with planted stalls, and what `cargo weighbridge doctor` says of each.

mod planted;

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use weighbridge::data::Exit;

use crate::cli::DoctorTruth;
use crate::output::Output;
use crate::place::Place;
use crate::programs;
use planted::PlantedScript;

/// A prediction is right if it is off the realised factor by no more than this share.
const NEAR: f64 = 0.1;

/// The doctor's word on a script.
#[derive(Debug)]
struct Said {
    script: PlantedScript,
    outcome: String,
    limit: Option<String>,
    predicted: Option<f64>,
    realised: Option<f64>,
}

impl Said {
    /// Tells whether the stall is named, or a clean script is not accused.
    fn is_right(&self) -> bool {
        match &self.limit {
            None => self.script.right.is_empty() && self.outcome != "unseen",
            Some(limit) => self.script.right.contains(&limit.as_str()),
        }
    }

    fn is_near(&self) -> Option<bool> {
        Some((self.predicted? / self.realised? - 1.0).abs() <= NEAR)
    }
}

/// # Errors
/// No Python of a framework; a program that cannot be built or started.
pub(crate) fn run(args: &DoctorTruth, place: &Place) -> Result<Output> {
    let wanted = |script: &PlantedScript| {
        args.filter.is_empty() || args.filter.iter().any(|word| script.name().contains(word))
    };
    let scripts: Vec<PlantedScript> = planted::all().into_iter().filter(wanted).collect();
    let program = match &args.program {
        Some(program) => program.clone(),
        None => {
            let line = ["build", "--package", "weighbridge-xtask", "--bin", "xtask"];
            programs::of_target(&programs::build(&place.root, &place.target, &line)?, "xtask")?.path
        }
    };
    let (mut all, mut remarks) = (Vec::new(), Vec::new());
    for framework in planted::FRAMEWORKS {
        let of: Vec<&PlantedScript> = scripts.iter().filter(|script| script.framework == framework).collect();
        let Some(python) = python(&args.python, framework) else {
            if !of.is_empty() {
                remarks.push(format!(
                    "{} scripts of {framework} were not run: name a Python, --python {framework}=FILE",
                    of.len()
                ));
            }
            continue;
        };
        for script in of {
            let said = ask(&program, python, script, args.seconds, place)?;
            eprintln!("{}", line(&said));
            all.push(said);
        }
    }
    if all.is_empty() {
        bail!("no script was run: {}", remarks.join("; "));
    }
    let is_fine = all.iter().all(Said::is_right);
    let exit = if is_fine { Exit::Fine } else { Exit::Failed };
    Ok(Output { remarks, exit, ..Output::fine(table(&all)) })
}

/// The Python that is named for a framework, or for all.
fn python<'a>(named: &'a [String], framework: &str) -> Option<&'a str> {
    let of = |wanted: &str| {
        named.iter().find_map(|named| named.split_once('=').filter(|(name, _)| *name == wanted))
    };
    of(framework).or_else(|| of("all")).map(|(_, python)| python)
}

/// Asks the doctor, and tries its remedy by hand where that is a number of workers.
fn ask(program: &Path, python: &str, script: &PlantedScript, seconds: u32, place: &Place) -> Result<Said> {
    let seconds = seconds.to_string();
    let answer = doctor(program, python, script, 0, &["--seconds", &seconds], place)?;
    let verdict = &answer["verdict"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let remedy = &verdict["remedy"];
    let workers =
        text(&remedy["after"]).and_then(|after| after.strip_prefix("num_workers=")?.parse::<u32>().ok());
    let mut said = Said {
        script: script.clone(),
        outcome: text(&verdict["outcome"]).unwrap_or_default(),
        limit: text(&verdict["limit"]),
        predicted: remedy["gain"]["factor"].as_f64(),
        realised: None,
    };
    if let Some(workers) = workers {
        let look = ["--only-look", "--seconds", &seconds];
        let step = |workers| -> Result<Option<f64>> {
            Ok(doctor(program, python, script, workers, &look, place)?["verdict"]["step"].as_f64())
        };
        // Before and after in turns, so that a machine that changes meanwhile changes both.
        let steps = [step(0)?, step(workers)?, step(workers)?, step(0)?];
        if let [Some(first), Some(one), Some(two), Some(last)] = steps {
            said.realised = Some((first + last) / (one + two));
        }
    }
    Ok(said)
}

fn doctor(
    program: &Path,
    python: &str,
    script: &PlantedScript,
    workers: u32,
    flags: &[&str],
    place: &Place,
) -> Result<Value> {
    let folder = place.lab().join("doctor");
    let file = tempfile::NamedTempFile::new().context("failed to make a file for the answer")?;
    let mut command = Command::new(program);
    command.arg("doctor").args(flags).arg("--json").arg(file.path()).args(["--", python]);
    command.arg(folder.join(format!("{}_loop.py", script.framework)));
    command.env("STALL", script.stall).env("SIZE", script.size.to_string());
    command.env("WORKERS", workers.to_string()).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("OMP_NUM_THREADS", "1").env("TF_CPP_MIN_LOG_LEVEL", "3");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().context("failed to start the doctor")?;
    let text = std::fs::read_to_string(file.path()).unwrap_or_default();
    serde_json::from_str(&text)
        .with_context(|| format!("{} ended with {status} and gave no answer", script.name()))
}

fn line(said: &Said) -> String {
    let factor = |factor: Option<f64>| factor.map_or_else(|| "-".to_owned(), |factor| format!("{factor:.2}"));
    format!(
        "{} {:32} {:12} {:14} {:>9} {:>9}",
        if said.is_right() { "right" } else { "WRONG" },
        said.script.name(),
        said.outcome,
        said.limit.as_deref().unwrap_or("-"),
        factor(said.predicted),
        factor(said.realised)
    )
}

fn table(all: &[Said]) -> String {
    let mut text = format!(
        "      {:32} {:12} {:14} {:>9} {:>9}\n",
        "script", "outcome", "limit", "predicted", "realised"
    );
    for said in all {
        let _ = writeln!(text, "{}", line(said));
    }
    let (clean, stalled): (Vec<&Said>, Vec<&Said>) =
        all.iter().partition(|said| said.script.right.is_empty());
    let right = |of: &[&Said]| of.iter().filter(|said| said.is_right()).count();
    let near: Vec<bool> = all.iter().filter_map(Said::is_near).collect();
    let _ = writeln!(
        text,
        "{} of {} planted stalls named; {} of {} clean scripts accused; {} of {} predictions within {:.0} %",
        right(&stalled),
        stalled.len(),
        clean.len() - right(&clean),
        clean.len(),
        near.iter().filter(|is_near| **is_near).count(),
        near.len(),
        NEAR * 100.0
    );
    text
}
