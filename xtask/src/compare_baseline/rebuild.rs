//! `--rebuild REV`: builds an earlier revision in a worktree of its own, and measures both programs in turns.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use weighbridge::data::{Comparison, Exit, Policy, Verdict, fake_device, quantity};

use super::Judged;
use crate::calibrate::stored;
use crate::cli::CompareBaseline;
use crate::fight::fight;
use crate::lock;
use crate::place::Place;
use crate::programs::{self, Program};
use crate::stop;

/// Measures the work tree in turns with a revision, suite by suite.
pub(super) fn judge_all(
    args: &CompareBaseline,
    revision: &str,
    place: &Place,
    policy: &Policy,
    remarks: &mut Vec<String>,
) -> Result<Vec<Judged>> {
    let repository = Repository::find(&place.root)?;
    let commit = repository.commit(revision)?;
    let state = if repository.is_dirty()? { ", with changes that are not committed" } else { "" };
    remarks.push(format!("candidate: the work tree at {}{state}", short(&repository.commit("HEAD")?)));
    remarks.push(format!("baseline: {revision} at {}", short(&commit)));

    let tree = repository.tree(&commit, place)?;
    let theirs = programs::build(&tree.root, Some(&tree.target), &[])
        .with_context(|| format!("the baseline {revision} ({}) does not build", short(&commit)))?;
    let ours = programs::build(&place.root, None, &[])?;
    if ours.is_empty() {
        return Err(stop::nothing("no bench target of this workspace is built on weighbridge"));
    }
    let meant = |program: &&Program| args.suite.as_ref().is_none_or(|suite| *suite == program.suite);
    let mut judged = Vec::new();
    for candidate in ours.iter().filter(meant) {
        match theirs.iter().find(|program| program.suite == candidate.suite) {
            Some(baseline) => {
                let name = format!("{revision} ({})", short(&commit));
                judged.push(duel(args, place, policy, candidate, baseline, name)?);
            }
            None => {
                remarks.push(format!("note: {} is new since {revision} and is not judged", candidate.suite));
            }
        }
    }
    for gone in theirs.iter().filter(|program| !ours.iter().any(|own| own.suite == program.suite)) {
        remarks.push(format!("note: {} was there in {revision} and is gone", gone.suite));
    }
    if judged.is_empty() {
        return Err(stop::nothing(format!("no suite is there in {revision} and now")));
    }
    Ok(judged)
}

/// Measures the work tree's program of one suite in turns with one that was built earlier.
pub(super) fn judge_program(
    args: &CompareBaseline,
    program: &Path,
    place: &Place,
    policy: &Policy,
) -> Result<Vec<Judged>> {
    let path = fs::canonicalize(program)
        .map_err(|error| stop::usage(format!("--program {}: {error}", program.display())))?;
    let ours = programs::build(&place.root, None, &[])?;
    let mut meant = ours.iter().filter(|own| args.suite.as_ref().is_none_or(|suite| *suite == own.suite));
    let candidate = match (meant.next(), meant.next()) {
        (Some(candidate), None) => candidate,
        (None, _) => return Err(stop::nothing("no bench target of this workspace is meant")),
        (Some(_), Some(_)) => {
            return Err(stop::usage("--program is of one suite and there are several: name it with --suite"));
        }
    };
    let baseline = Program { path, ..candidate.clone() };
    let name = program.display().to_string();
    Ok(vec![duel(args, place, policy, candidate, &baseline, name)?])
}

/// One suite: the candidate's program measures both.
fn duel(
    args: &CompareBaseline,
    place: &Place,
    policy: &Policy,
    candidate: &Program,
    baseline: &Program,
    name: String,
) -> Result<Judged> {
    let mut comparison = fight(candidate, baseline, place, &flags(args))?;
    comparison.baseline.name = name;
    // What was filtered out is not missing.
    let missing = if args.bench_args.is_empty() { missing(place, &comparison)? } else { Vec::new() };
    let ids = if missing.is_empty() { Exit::Fine } else { Exit::NothingToJudge };
    let exit = Exit::from(comparison.outcome(policy)).or(ids);
    let calibrated = calibrated(place, &comparison)?;
    let fake = comparison.environment.as_ref().and_then(fake_device);
    Ok(Judged { comparison, missing, calibrated, fake, exit })
}

/// What is known of this machine: how often it errs, and what it finds of the cases that were not decided.
fn calibrated(place: &Place, comparison: &Comparison) -> Result<Vec<String>> {
    let Some(calibration) = stored::read(place, comparison)? else {
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
fn flags(args: &CompareBaseline) -> Vec<String> {
    let mut flags = args.bench_args.clone();
    if let Some(threshold) = args.threshold {
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

/// The workspace's repository.
struct Repository {
    /// Its top folder.
    top: PathBuf,
    /// The workspace below it.
    workspace: PathBuf,
}

/// An earlier revision, checked out.
struct Tree {
    /// The workspace in it.
    root: PathBuf,
    /// Its own target directory.
    target: PathBuf,
}

impl Repository {
    fn find(root: &Path) -> Result<Self> {
        let top = git(root, &["rev-parse", "--show-toplevel"])
            .map_err(|error| stop::usage(format!("--rebuild needs a git repository: {error:#}")))?;
        let top = PathBuf::from(top);
        let root = fs::canonicalize(root).context("failed to find the workspace")?;
        let workspace = root.strip_prefix(fs::canonicalize(&top)?).unwrap_or(Path::new("")).to_owned();
        Ok(Self { top, workspace })
    }

    fn commit(&self, revision: &str) -> Result<String> {
        let wanted = format!("{revision}^{{commit}}");
        git(&self.top, &["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])
            .map_err(|_| stop::usage(format!("there is no revision `{revision}` in this repository")))
    }

    fn is_dirty(&self) -> Result<bool> {
        Ok(!git(&self.top, &["status", "--porcelain"])?.is_empty())
    }

    /// The revision in a worktree that is kept: one folder per commit and lock file, so that a second comparison
    /// builds nothing.
    fn tree(&self, commit: &str, place: &Place) -> Result<Tree> {
        let lock = place.root.join("Cargo.lock");
        let committed =
            git(&self.top, &["show", &format!("{commit}:{}", self.workspace.join("Cargo.lock").display())]);
        let mut hash = DefaultHasher::new();
        match &committed {
            Ok(text) => hash.write(text.as_bytes()),
            Err(_) => hash.write(&fs::read(&lock).unwrap_or_default()),
        }
        let folder = place.layout.rebuilds().join(format!(
            "{}-{:08x}",
            &commit[..12.min(commit.len())],
            hash.finish() as u32
        ));
        let tree = folder.join("tree");
        let root = tree.join(&self.workspace);
        // The mark comes after the last file: what was checked out in part is no revision.
        if !folder.join(USED).exists() || !root.join("Cargo.toml").exists() {
            drop(fs::remove_dir_all(&tree));
            fs::create_dir_all(&folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
            // A folder that was removed by hand is still on git's list.
            drop(git(&self.top, &["worktree", "prune"]));
            let path = tree.display().to_string();
            git(&self.top, &["worktree", "add", "--force", "--detach", &path, commit])
                .context("failed to check the baseline out")?;
        }
        if committed.is_err() && lock.exists() {
            // The same dependencies on both sides, where the repository does not keep them.
            fs::copy(&lock, root.join("Cargo.lock")).context("failed to copy Cargo.lock")?;
        }
        // Which ones are in use is what pruning goes by.
        fs::write(folder.join(USED), b"").context("failed to mark the baseline as used")?;
        Ok(Tree { root, target: folder.join("target") })
    }
}

/// Whether a folder's name is that of a rebuilt revision: twelve digits of its commit and eight of its lock file.
pub(crate) fn is_rebuild(name: &str) -> bool {
    let digits =
        |part: &str, n| part.len() == n && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    name.split_once('-').is_some_and(|(commit, lock)| digits(commit, 12) && digits(lock, 8))
}

/// The file that is written whenever a rebuilt revision is used.
const USED: &str = "used";

/// When a rebuilt revision was last used, by its folder.
pub(crate) fn last_used(folder: &Path) -> SystemTime {
    let written = |path: &Path| fs::metadata(path).and_then(|data| data.modified());
    written(&folder.join(USED)).or_else(|_| written(folder)).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let asked = Command::new("git").current_dir(folder).args(arguments).stdin(Stdio::null()).output();
    let asked = asked.context("failed to start git")?;
    if !asked.status.success() {
        bail!("git {}: {}", arguments[0], String::from_utf8_lossy(&asked.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&asked.stdout).trim().to_owned())
}

fn short(commit: &str) -> &str {
    &commit[..12.min(commit.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::home;

    #[test]
    fn a_revision_that_was_checked_out_in_part_is_checked_out_again() {
        let home = home();
        let root = &home.place.root;
        fs::create_dir(root.join("src")).expect("writable");
        for file in ["Cargo.toml", "Cargo.lock", "src/lib.rs"] {
            fs::write(root.join(file), "").expect("writable");
        }
        let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        git(root, &["init", "--quiet"]).expect("a repository");
        git(root, &["add", "--all"]).expect("added");
        git(root, &[&who[..], &["commit", "--quiet", "--message", "all"]].concat()).expect("committed");
        let repository = Repository::find(root).expect("found");
        let commit = repository.commit("HEAD").expect("there is one");

        let tree = || repository.tree(&commit, &home.place).expect("checked out");
        let first = tree();
        let last = first.root.join("src/lib.rs");
        fs::write(&last, "whoever has built here knows it").expect("writable");
        tree();
        assert!(!fs::read(&last).expect("there").is_empty(), "a whole one is used as it is");
        // Killed before the last file was there.
        fs::remove_file(&last).expect("it is there");
        fs::remove_file(first.root.parent().expect("a folder").join(USED)).expect("it is there");
        tree();
        assert!(last.exists());
    }
}
