//! `rebuilds`: one commit, built again with what no change of its source brings, and compared with itself.
//!
//! An identical program says nothing about layout. Here each comparison has another program on its other
//! side: built in another folder, linked in another order, or with a function more that nobody calls. The
//! bodies are those of `evidence` and the bench files of published crates. Every round is kept, so that
//! anyone can decide again.

mod kept;
mod layout;
mod subject;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use weighbridge::data::{Comparison, DuelOrder, DuelProgram, Policy, RelinkPrograms, judge_duel};

use crate::cli::Rebuilds;
use crate::evidence::KeptCase;
use crate::output::Output;
use crate::place::Place;
use crate::programs::BuiltProgram;
pub(crate) use kept::{KeptRebuild, RebuildEvidence};
use layout::Layout;
pub(crate) use subject::{RebuiltSubject, names};

/// Runs the command.
///
/// # Errors
/// When a subject cannot be fetched, built or run.
pub(crate) fn run(args: &Rebuilds, place: &Place) -> Result<Output> {
    let scratch = place.target.join("rebuilds");
    let mut subjects = subject::all(&args.subjects, place, &scratch)?;
    let file = args.out.clone().unwrap_or_else(|| place.data.join("rebuilds.json"));
    let mut evidence = RebuildEvidence::usual();
    if args.go_on {
        evidence = RebuildEvidence::read(&file)?;
    }
    let first = evidence.rounds();
    for round in first..first + args.rounds {
        for subject in &mut subjects {
            let layout = Layout::drawn(args.seed, round, &subject.name);
            eprintln!("rebuild {round} of {}: {layout}", subject.name);
            let (usual, other) = subject.both(&layout)?;
            let relink = || subject.relinked(&layout, LAYOUTS).map_err(|error| format!("{error:#}"));
            let sides = [&usual, &other];
            let comparison = judge(sides, subject, &scratch.join("data"), &relink)?;
            evidence.note(&comparison, KeptRebuild::of(round, &subject.name, &layout, &comparison));
            evidence.write(&file)?;
        }
    }
    let mut said = Output::fine(evidence.report());
    said.remarks.push(format!("files: {}", file.display()));
    Ok(said)
}

/// As `compare-baseline --rebuild` has it: in so many orders what regressed is confirmed.
const LAYOUTS: u32 = 12;

/// Has two builds of a subject measured in turns and judged, as the tool does it.
fn judge(
    sides: [&BuiltProgram; 2],
    subject: &RebuiltSubject,
    data: &Path,
    relink: &RelinkPrograms<'_>,
) -> Result<Comparison> {
    let flags = [&["--quiet".to_owned()][..], &subject.cases].concat();
    let programs = sides.map(|side| DuelProgram { path: &side.path, directory: &side.directory });
    let order = DuelOrder {
        suite: &format!("{}/{}", subject.name, subject.target),
        programs,
        name: "the usual build".to_owned(),
        flags: &flags,
        data,
        policy: &Policy::default(),
        changes: &[],
        notes: Vec::new(),
        relink: Some(relink),
    };
    judge_duel(order).with_context(|| format!("{} was not judged", subject.name))
}

/// Lets a program be measured in turns with what it became.
///
/// # Errors
/// When it cannot be started, and when it ends without a comparison.
pub(crate) fn compare(
    program: &BuiltProgram,
    other: &Path,
    cases: &[String],
    data: &Path,
) -> Result<Comparison> {
    fs::create_dir_all(data).with_context(|| format!("failed to make `{}`", data.display()))?;
    let file = data.join("comparison.json");
    let mut command = Command::new(&program.path);
    command.current_dir(&program.directory).args(["--bench", "--quiet", "--versus"]).arg(other);
    command.arg("--comparison").arg(&file).arg("--data").arg(data);
    command.args(cases).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().with_context(|| format!("failed to start {}", program.path.display()))?;
    let text = fs::read(&file).with_context(|| format!("it ended with {status} and no comparison"))?;
    // The next one is not to be taken for it.
    fs::remove_file(&file).context("failed to remove the comparison")?;
    serde_json::from_slice(&text).context("failed to read the comparison")
}

impl KeptRebuild {
    /// What is kept of a comparison.
    pub(crate) fn of(round: u32, subject: &str, layout: &impl Display, comparison: &Comparison) -> Self {
        Self {
            round,
            subject: subject.to_owned(),
            layout: layout.to_string(),
            cases: comparison.rows.iter().map(KeptCase::of).collect(),
        }
    }
}
