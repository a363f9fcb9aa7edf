//! `--rebuild REV`: builds an earlier revision in a worktree of its own, and measures both programs in turns.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weighbridge::data::{
    Comparison, EnvironmentChange, Exit, RelinkPrograms, Verdict, fake_device, quantity,
};

use super::{GateRules, JudgedSuite, JudgedSuites};
use crate::build_facts::BuildFacts;
use crate::build_options::{BuildArgs, BuildOptions, Side};
use crate::calibrate::stored_calibration;
use crate::checkout::Checkout;
use crate::fight::{Fight, fight};
use crate::lock;
use crate::place::Place;
use crate::programs::{self, BuiltProgram};
use crate::relink::LinkedProgram;
use crate::repository::{Repository, short};
use crate::stop;
use crate::toolchain::Toolchain;

/// The folder of programs that were linked anew.
const RELINKED: &str = "relinked";

/// The duels that are asked for.
pub(super) struct DuelRequest<'a> {
    /// Of this suite alone.
    pub(super) suite: Option<&'a str>,
    /// Arguments for the bench programs.
    pub(super) bench_args: &'a [String],
    /// The ways in which the two sides are to be built.
    pub(super) build: &'a BuildArgs,
    /// In so many orders both programs are linked anew, to confirm what regressed: 1 for none.
    pub(super) layouts: u32,
    pub(super) place: &'a Place,
    pub(super) rules: &'a GateRules,
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

    let options = asked.build.of(Side::Candidate)?;
    let their_options = asked.build.of(Side::Baseline)?;
    let toolchain = options.toolchain(Toolchain::default(), &place.root)?;
    // First: a change may run anything while it is built, and the baseline is looked at after that.
    let ours = programs::build_by(toolchain.cargo(&place.root), &place.root, &options)?;
    if ours.is_empty() {
        return Err(stop::nothing("no bench target of this workspace is built on weighbridge"));
    }
    let mut checkout = Checkout::of(&repository, &commit, place)?;
    checkout.toolchain = their_options.toolchain(checkout.toolchain, &checkout.root)?;
    let theirs = checkout
        .build(&their_options)
        .with_context(|| format!("the baseline {revision} ({}) does not build", short(&commit)))?;
    remarks.push(format!("baseline: {revision} at {}: {}", short(&commit), checkout.state()));
    remarks.extend(checkout.notes.iter().map(|note| format!("note: {note}")));
    let theirs_by = BuildFacts::of(&checkout.top, &checkout.root, &checkout.toolchain, &their_options);
    let changes =
        BuildFacts::of(repository.top(), &place.root, &toolchain, &options).changes_since(&theirs_by);
    let our_cargo = || toolchain.cargo(&place.root);
    let their_cargo = || checkout.cargo();
    let meant = |program: &&BuiltProgram| asked.suite.is_none_or(|suite| suite == program.suite);
    let mut judged = JudgedSuites::default();
    for candidate in ours.iter().filter(meant) {
        match theirs.iter().find(|program| program.suite == candidate.suite) {
            Some(baseline) => {
                let against = DuelBaseline {
                    program: baseline,
                    name: format!("{revision} ({})", short(&commit)),
                    changes: &changes,
                };
                let ours = LinkedProgram { program: candidate, cargo: &our_cargo, options: &options };
                let theirs =
                    LinkedProgram { program: baseline, cargo: &their_cargo, options: &their_options };
                let relink = || relinked(asked, &checkout, &theirs, &ours);
                let relink: Option<&RelinkPrograms<'_>> = (asked.layouts > 1).then_some(&relink);
                let ended = duel(asked, candidate, against, relink);
                let _ = fs::remove_dir_all(place.layout.data().join(RELINKED));
                judged.suites.push(ended?);
            }
            None => {
                remarks.push(format!("note: {} is new since {revision} and is not judged", candidate.suite));
            }
        }
    }
    let is_gone = |program: &&BuiltProgram| !ours.iter().any(|own| own.suite == program.suite);
    for gone in theirs.iter().filter(meant).filter(is_gone) {
        let told = format!("{} was there in {revision} and is gone", gone.suite);
        match asked.rules.policy.removed_passes {
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
    let root = &asked.place.root;
    if asked.build.of(Side::Baseline)? != BuildOptions::default() {
        return Err(stop::usage(
            "the program of --program is built already: options of its build go with `b=`",
        ));
    }
    let options = asked.build.of(Side::Candidate)?;
    let toolchain = options.toolchain(Toolchain::default(), root)?;
    let ours = programs::build_by(toolchain.cargo(root), root, &options)?;
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
    let against = DuelBaseline { program: &baseline, name, changes: &[] };
    let suites = vec![duel(asked, candidate, against, None)?];
    Ok(JudgedSuites { suites, open: Vec::new() })
}

/// The baseline of a duel.
struct DuelBaseline<'a> {
    program: &'a BuiltProgram,
    /// Its name for people.
    name: String,
    /// The changes since in how the two are built.
    changes: &'a [EnvironmentChange],
}

/// One suite.
fn duel(
    asked: &DuelRequest<'_>,
    candidate: &BuiltProgram,
    against: DuelBaseline<'_>,
    relink: Option<&RelinkPrograms<'_>>,
) -> Result<JudgedSuite> {
    let DuelRequest { place, rules, bench_args: flags, .. } = asked;
    let DuelBaseline { program: baseline, name, changes } = against;
    let (policy, notes) = (&rules.policy, rules.told.clone());
    let comparison =
        fight(Fight { candidate, baseline, name, changes, policy, flags, notes, relink }, place)?;
    // What was filtered out is not missing.
    let missing = if flags.is_empty() { missing(rules, &comparison) } else { Vec::new() };
    let ids = if missing.is_empty() { Exit::Fine } else { Exit::NothingToJudge };
    let exit = Exit::from(comparison.outcome(policy)).or(ids);
    let calibrated = calibrated(place, &comparison)?;
    let fake = comparison.environment.as_ref().and_then(fake_device);
    Ok(JudgedSuite { comparison, missing, calibrated, fake, exit })
}

/// Both programs in as many orders, in a folder of the data directory: the run that asks for them holds the
/// machine, so what lies there is an earlier one's. A change may run anything while it is built: the baseline
/// is looked at after that.
fn relinked(
    asked: &DuelRequest<'_>,
    checkout: &Checkout,
    theirs: &LinkedProgram<'_>,
    ours: &LinkedProgram<'_>,
) -> Result<[Vec<PathBuf>; 2], String> {
    let folder = asked.place.layout.data().join(RELINKED);
    let _ = fs::remove_dir_all(&folder);
    let made = |of: &LinkedProgram<'_>, side: &str| of.anew(asked.layouts, &folder.join(side));
    let both = made(ours, "candidate").and_then(|ours| {
        let theirs = checkout.build_more(|| made(theirs, "baseline"))?;
        Ok([theirs, ours])
    });
    both.map_err(|error| format!("{error:#}"))
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

/// Scenarios of the committed lists that the duel has no row of.
fn missing(rules: &GateRules, comparison: &Comparison) -> Vec<String> {
    let there = comparison.rows.iter().filter(|row| row.verdict != Verdict::Removed);
    let missing = rules.missing(&comparison.suite, there.map(|row| &row.case));
    lock::known_ids(missing, comparison.rows.iter().map(|row| &row.case))
}
