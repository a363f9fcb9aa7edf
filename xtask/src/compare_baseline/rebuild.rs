//! `--rebuild REV`: builds an earlier revision in a worktree of its own, and measures both programs in turns.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weighbridge::data::{
    Acceptance, Comparison, EnvironmentChange, Exit, Layout, Policy, Verdict, fake_device, quantity,
    replace_file,
};

use super::{JudgedSuite, JudgedSuites};
use crate::build_facts::BuildFacts;
use crate::calibrate::stored_calibration;
use crate::checkout::Checkout;
use crate::fight::fight;
use crate::lock;
use crate::place::Place;
use crate::programs::{self, BuiltProgram};
use crate::repository::{Repository, short};
use crate::stop;
use crate::toolchain::Toolchain;

/// The duels that are asked for.
pub(super) struct DuelRequest<'a> {
    /// Of this suite alone.
    pub(super) suite: Option<&'a str>,
    /// Arguments for the bench programs.
    pub(super) bench_args: &'a [String],
    pub(super) place: &'a Place,
    pub(super) policy: &'a Policy,
}

/// Measures the work tree in turns with a revision, suite by suite.
pub(super) fn judge_all(
    asked: &DuelRequest<'_>,
    revision: &str,
    remarks: &mut Vec<String>,
) -> Result<JudgedSuites> {
    let place = asked.place;
    let repository = Repository::find(&place.root)?;
    let commit = repository.commit(revision)?;
    let state = if repository.is_dirty()? { ", with changes that are not committed" } else { "" };
    remarks.push(format!("candidate: the work tree at {}{state}", short(&repository.commit("HEAD")?)));
    remarks.push(format!("baseline: {revision} at {}", short(&commit)));

    let mut checkout = Checkout::of(&repository, &commit, place)?;
    let accepted = since(&repository, &commit, &checkout.folder, asked.policy)?;
    let theirs = checkout
        .build()
        .with_context(|| format!("the baseline {revision} ({}) does not build", short(&commit)))?;
    remarks.extend(checkout.notes.iter().map(|note| format!("note: {note}")));
    let ours = programs::build(&place.root)?;
    if ours.is_empty() {
        return Err(stop::nothing("no bench target of this workspace is built on weighbridge"));
    }
    let changes = BuildFacts::of(repository.top(), &place.root, &Toolchain::default())
        .changes_since(&BuildFacts::of(&checkout.top, &checkout.root, &checkout.toolchain));
    let meant = |program: &&BuiltProgram| asked.suite.is_none_or(|suite| suite == program.suite);
    let mut judged = JudgedSuites::default();
    for candidate in ours.iter().filter(meant) {
        match theirs.iter().find(|program| program.suite == candidate.suite) {
            Some(baseline) => {
                let against = DuelBaseline {
                    program: baseline,
                    name: format!("{revision} ({})", short(&commit)),
                    changes: &changes,
                    accepted: accepted.as_deref(),
                };
                judged.suites.push(duel(asked, candidate, against)?);
            }
            None => {
                remarks.push(format!("note: {} is new since {revision} and is not judged", candidate.suite));
            }
        }
    }
    let is_gone = |program: &&BuiltProgram| !ours.iter().any(|own| own.suite == program.suite);
    for gone in theirs.iter().filter(meant).filter(is_gone) {
        let told = format!("{} was there in {revision} and is gone", gone.suite);
        match asked.policy.removed_passes {
            true => remarks.push(format!("note: {told}")),
            false => judged.open.push(format!("{told}: `--removed pass` lets it go")),
        }
    }
    if judged.suites.is_empty() {
        return Err(stop::nothing(format!("no suite is there in {revision} and now")));
    }
    Ok(judged)
}

/// Measures the work tree's program of one suite in turns with one that was built earlier.
pub(super) fn judge_program(asked: &DuelRequest<'_>, program: &Path) -> Result<JudgedSuites> {
    let path = fs::canonicalize(program)
        .map_err(|error| stop::usage(format!("--program {}: {error}", program.display())))?;
    let ours = programs::build(&asked.place.root)?;
    let mut meant = ours.iter().filter(|own| asked.suite.is_none_or(|suite| suite == own.suite));
    let candidate = match (meant.next(), meant.next()) {
        (Some(candidate), None) => candidate,
        (None, _) => return Err(stop::nothing("no bench target of this workspace is meant")),
        (Some(_), Some(_)) => {
            return Err(stop::usage("--program is of one suite and there are several: name it with --suite"));
        }
    };
    let baseline = BuiltProgram { path, ..candidate.clone() };
    let name = program.display().to_string();
    let against = DuelBaseline { program: &baseline, name, changes: &[], accepted: None };
    let suites = vec![duel(asked, candidate, against)?];
    Ok(JudgedSuites { suites, open: Vec::new() })
}

/// The baseline of a duel.
struct DuelBaseline<'a> {
    program: &'a BuiltProgram,
    /// Its name for people.
    name: String,
    /// The changes since in how the two are built.
    changes: &'a [EnvironmentChange],
    /// The file of what was accepted since.
    accepted: Option<&'a Path>,
}

/// One suite: the candidate's program measures both.
fn duel(asked: &DuelRequest<'_>, candidate: &BuiltProgram, against: DuelBaseline<'_>) -> Result<JudgedSuite> {
    let DuelRequest { place, policy, bench_args, .. } = asked;
    let mut flags = flags(bench_args, policy);
    flags.extend(against.accepted.map(|file| format!("--accepted={}", file.display())));
    let DuelBaseline { program, name, changes, .. } = against;
    let comparison = fight(candidate, program, name, changes, place, &flags)?;
    // What was filtered out is not missing.
    let missing = if bench_args.is_empty() { missing(place, &comparison)? } else { Vec::new() };
    let ids = if missing.is_empty() { Exit::Fine } else { Exit::NothingToJudge };
    let exit = Exit::from(comparison.outcome(policy)).or(ids);
    let calibrated = calibrated(place, &comparison)?;
    let fake = comparison.environment.as_ref().and_then(fake_device);
    Ok(JudgedSuite { comparison, missing, calibrated, fake, exit })
}

/// The file of those changes that were accepted since a commit; `None` where none were.
fn since(repository: &Repository, commit: &str, folder: &Path, policy: &Policy) -> Result<Option<PathBuf>> {
    let relative = Layout::accepted_file(Path::new(""));
    let before =
        repository.file(commit, &relative).map_or_else(|| Ok(Vec::new()), |text| Acceptance::read(&text));
    // What cannot be read there accepts nothing there.
    let before = before.unwrap_or_default();
    let new: Vec<Acceptance> = policy.accepted.iter().filter(|one| !before.contains(one)).cloned().collect();
    if new.is_empty() {
        return Ok(None);
    }
    let file = folder.join("accepted-since.toml");
    replace_file(&file, Acceptance::write(&new).map_err(anyhow::Error::msg)?.as_bytes())?;
    Ok(Some(file))
}

/// The calibration of this machine, in lines: its error rate, and what it finds of the cases that were not
/// decided.
fn calibrated(place: &Place, comparison: &Comparison) -> Result<Vec<String>> {
    let Some(calibration) = stored_calibration::read(place, comparison)? else {
        let tool = weighbridge::tool();
        return Ok(vec![format!(
            "error rate: not measured on this machine yet; `{tool} calibrate` does that"
        )]);
    };
    let mut lines = vec![format!("error rate on this machine: {}", calibration.error_rate())];
    for row in &comparison.rows {
        let Some(known) = calibration.case(&row.case.to_string()) else { continue };
        if matches!(row.verdict, Verdict::Inconclusive(_)) {
            let rounds = known.rounds.map_or_else(|| "more than 24".to_owned(), |rounds| rounds.to_string());
            lines.push(format!(
                "{}: calibrated to need {rounds} rounds for no change, and to find {} nine times of ten",
                row.case,
                quantity::change(known.detectable)
            ));
        }
    }
    Ok(lines)
}

/// The flags that a bench program is given.
fn flags(bench_args: &[String], policy: &Policy) -> Vec<String> {
    let mut flags = bench_args.to_vec();
    if let Some(threshold) = policy.threshold {
        flags.push(format!("--threshold={}%", threshold * 100.0));
    }
    flags
}

/// Scenarios of the committed list that the duel has no row of.
fn missing(place: &Place, comparison: &Comparison) -> Result<Vec<String>> {
    let there = comparison.rows.iter().filter(|row| row.verdict != Verdict::Removed);
    let missing = lock::missing_of(place, &comparison.suite, there.map(|row| &row.case))?;
    Ok(lock::known_ids(missing, comparison.rows.iter().map(|row| &row.case)))
}
