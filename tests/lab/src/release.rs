//! `release-check`: this harness beside an earlier one, on the same bodies in turns. What a harness does
//! between two stamps is in every figure, and a release that moves figures of unchanged code is told before
//! it is made.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use weighbridge::data::{Exit, median};

use crate::cli::ReleaseCheck;
use crate::evidence::KeptCase;
use crate::output::Output;
use crate::place::Place;
use crate::rebuilds::{KeptRebuild, RebuildEvidence, RebuiltSubject, compare};

/// The ids that every release keeps, in the root of a commit.
const LOCK: &str = "benches/scenarios.lock";

/// With so many comparisons that all point one way, chance is the reason once in 128 times.
const ONE_WAY: usize = 8;

/// Runs the command.
///
/// # Errors
/// When there is no such commit, and when one of the two programs cannot be built or run.
pub(crate) fn run(args: &ReleaseCheck, place: &Place) -> Result<Output> {
    let commit = commit(&place.root, args.earlier.as_deref())?;
    let scratch = place.target.join("release-check");
    let earlier = scratch.join("earlier");
    unpack(&place.root, &commit, &earlier)?;
    let program = |name: &str, product: &Path| -> Result<_> {
        let mut subject = RebuiltSubject::own(place, product, &scratch.join(name))?;
        let program = subject.usual()?;
        Ok((subject, program))
    };
    let (subject, now) = program("now", &place.root)?;
    let (_, before) = program("before", &earlier)?;
    let file = place.data.join("release-checks.json");
    let mut kept = if file.exists() { RebuildEvidence::read(&file)? } else { RebuildEvidence::usual() };
    let first = kept.comparisons.len();
    for round in 0..args.tries {
        eprintln!("release-check {} of {}: {}", round + 1, args.tries, &commit[..12]);
        let comparison = compare(&now, &before.path, &subject.cases, &scratch.join("data"))?;
        let layout = format!("release {commit}");
        kept.note(&comparison, KeptRebuild::of(round, &subject.name, &layout, &comparison));
        kept.write(&file)?;
    }
    let here = &kept.comparisons[first..];
    let gone = gone(&place.root, &commit)?;
    let alarms = alarms(here, &kept.comparisons, &gone);
    let text = format!("beside {}:\n{}{}", &commit[..12], table(here), alarms.join("\n"));
    let exit = if alarms.is_empty() { Exit::Fine } else { Exit::Regressed };
    let remarks = vec![format!("files: {}", file.display())];
    Ok(Output { text: format!("{}\n", text.trim_end()), remarks, exit })
}

/// The commit of a revision, or of the last release.
fn commit(root: &Path, revision: Option<&str>) -> Result<String> {
    let named = match revision {
        Some(named) => named.to_owned(),
        None => git(root, &["describe", "--tags", "--abbrev=0", "--match", "v*"])
            .context("there is no release yet (no tag `v*`): name a commit to be held against")?,
    };
    let hash = git(root, &["rev-parse", "--verify", "--quiet", &format!("{named}^{{commit}}")]);
    hash.with_context(|| format!("git knows no commit `{named}`"))
}

fn git(root: &Path, words: &[&str]) -> Result<String> {
    let said = Command::new("git").args(words).current_dir(root).stdin(Stdio::null()).output();
    let said = said.context("failed to start git")?;
    ensure!(said.status.success(), "git: {}", String::from_utf8_lossy(&said.stderr).trim());
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// The tree of a commit, in a folder of its own.
fn unpack(root: &Path, commit: &str, to: &PathBuf) -> Result<()> {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).with_context(|| format!("failed to make `{}`", to.display()))?;
    let archive = to.with_extension("tar");
    git(root, &["archive", "--format=tar", &format!("--output={}", archive.display()), commit])?;
    let status = Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(to).status();
    let _ = fs::remove_file(&archive);
    match status.context("failed to start tar")?.success() {
        true => Ok(()),
        false => bail!("tar failed to unpack the commit"),
    }
}

/// The ids of an earlier commit that are no more.
fn gone(root: &Path, commit: &str) -> Result<Vec<String>> {
    let lines = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    let earlier = lines(&git(root, &["show", &format!("{commit}:{LOCK}")])?);
    let now =
        lines(&fs::read_to_string(root.join(LOCK)).with_context(|| format!("failed to read `{LOCK}`"))?);
    Ok(earlier.difference(&now).filter(|line| !line.starts_with('#')).cloned().collect())
}

/// What is wrong, in lines.
fn alarms(here: &[KeptRebuild], all: &[KeptRebuild], gone: &[String]) -> Vec<String> {
    let cases = |kept: &[KeptRebuild]| -> Vec<KeptCase> {
        kept.iter().flat_map(|one| one.cases.iter().cloned()).collect()
    };
    let mut alarms: Vec<String> = gone.iter().map(|id| format!("alarm: an id is gone: {id}")).collect();
    for case in cases(here).iter().filter(|case| ["Regressed", "Improved"].contains(&&*case.verdict)) {
        alarms.push(format!("alarm: {} is {} though nothing of it has changed", case.case, case.verdict));
    }
    let shifts: Vec<f64> =
        cases(all).iter().map(|case| median(&case.shifts)).filter(|at| *at != 0.0).collect();
    let slower = shifts.iter().filter(|shift| **shift > 0.0).count();
    if shifts.len() >= ONE_WAY && (slower == 0 || slower == shifts.len()) {
        let way = if slower == 0 { "faster" } else { "slower" };
        alarms.push(format!("alarm: all {} comparisons that are kept point one way: {way}", shifts.len()));
    }
    alarms
}

fn table(kept: &[KeptRebuild]) -> String {
    let cases = kept.iter().flat_map(|one| &one.cases);
    cases
        .map(|case| {
            format!("  {:12} {:13} {:+.2} %\n", case.case, case.verdict, median(&case.shifts) * 100.0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(cases: &[(&str, f64)]) -> KeptRebuild {
        let case = |(verdict, shift): &(&str, f64)| KeptCase {
            case: "A".into(),
            verdict: (*verdict).into(),
            shifts: vec![*shift; 8],
            confirmation: Vec::new(),
            layouts: Vec::new(),
            by_cpu: 0,
            seconds: 1.0,
        };
        let cases = cases.iter().map(case).collect();
        KeptRebuild { round: 0, subject: "own".into(), layout: "release".into(), cases }
    }

    #[test]
    fn a_verdict_an_id_that_is_gone_and_shifts_that_all_point_one_way_are_alarms() {
        let calm = kept(&[("Unchanged", 0.001), ("Unchanged", -0.001), ("Inconclusive", 0.002)]);
        let calm = [calm.clone(), calm.clone(), calm];
        assert!(alarms(&calm, &calm, &[]).is_empty());
        assert!(alarms(&calm, &calm, &["CV-1".to_owned()])[0].contains("CV-1"));
        let slow = kept(&[("Regressed", 0.05)]);
        assert!(alarms(std::slice::from_ref(&slow), &calm, &[])[0].contains("A is Regressed"));
        let one_way: Vec<KeptRebuild> = (0..8).map(|_| kept(&[("Unchanged", 0.001)])).collect();
        assert!(alarms(&one_way[7..], &one_way, &[])[0].ends_with("slower"));
        assert!(alarms(&one_way[7..], &one_way[1..], &[]).is_empty());
    }

    #[test]
    fn a_commit_that_is_not_there_is_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = commit(root, Some("no-such-commit")).expect_err("there is none").to_string();
        assert!(error.contains("`no-such-commit`"), "{error}");
    }
}
