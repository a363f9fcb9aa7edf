//! `lock`: the ids that every suite must find, so that a suite that lost its scenarios cannot pass for a fast
//! one.
//!
//! A scenario whose crate is no longer linked vanishes without a word; against the committed list it is
//! missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use weighbridge::data::{CaseId, Layout, read_text};

use crate::command_output::CommandOutput;
use crate::place::{Place, suite_of};
use weighbridge::data::Exit;

/// Arguments of `lock`.
#[derive(Debug, Args)]
pub(crate) struct Lock {
    /// Write nothing; fail when an id is missing or new.
    #[arg(long)]
    pub(crate) check: bool,
}

const HEAD: &str =
    "# The cases that every suite must find. Written by `cargo xtask lock`, checked by `--check`.\n";
const FITS: &str = "a String takes all that is written";

/// The ids of each suite, in the form that other programs use: `cv_1::small::workers=2::google_grain`.
pub(crate) type Ids = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn run(args: &Lock, place: &Place) -> Result<CommandOutput> {
    let mut found = Ids::new();
    for suite in &place.suites {
        // What a plain run has: the rest of a large suite is nothing that a gate waits for.
        let ids = listed(&suite.list(place, &["--format", "terse", "--profile", "ci_cpu"])?);
        if !ids.is_empty() {
            found.insert(suite.suite(), ids);
        }
    }
    let path = path(place);
    if args.check {
        return Ok(check(&read(place)?.unwrap_or_default(), &found));
    }
    fs::write(&path, print(&found)).with_context(|| format!("failed to write `{}`", path.display()))?;
    Ok(CommandOutput::fine(format!("{} lists {}\n", path.display(), count(&found))))
}

/// Scenarios of a committed list that have none of these cases. None where it does not know the suite.
pub(crate) fn missing_of<'a>(
    locked: &Ids,
    suite: &str,
    cases: impl IntoIterator<Item = &'a CaseId>,
) -> Vec<String> {
    let Some(locked) = locked.get(suite) else { return Vec::new() };
    let planned: Vec<String> = cases.into_iter().map(CaseId::slug).collect();
    let planned: BTreeSet<&str> = planned.iter().map(|slug| scenario(slug)).collect();
    let expected: BTreeSet<&str> = locked.iter().map(|slug| scenario(slug)).collect();
    expected.difference(&planned).map(|id| (*id).to_owned()).collect()
}

/// Scenarios of the committed list by the ids that people know, where one of these cases has it: the list has
/// them in the form for other programs.
pub(crate) fn known_ids<'a>(
    listed: Vec<String>,
    cases: impl IntoIterator<Item = &'a CaseId> + Clone,
) -> Vec<String> {
    let known = |listed: String| {
        let case = cases.clone().into_iter().find(|case| scenario(&case.slug()) == listed);
        case.map_or(listed, |case| case.scenario.clone())
    };
    listed.into_iter().map(known).collect()
}

/// Ids that are missing fail; ids that are new are said.
fn check(locked: &Ids, found: &Ids) -> CommandOutput {
    let mut said = CommandOutput::fine("");
    let none = BTreeSet::new();
    let suites: BTreeSet<&String> = locked.keys().chain(found.keys()).collect();
    for suite in suites {
        let (expected, there) = (locked.get(suite).unwrap_or(&none), found.get(suite).unwrap_or(&none));
        for id in expected.difference(there) {
            writeln!(said.text, "missing: {suite} has no {id} any more").expect(FITS);
            said.exit = Exit::NothingToJudge;
        }
        for id in there.difference(expected) {
            writeln!(said.text, "added: {suite} has {id}, which is not in the list").expect(FITS);
        }
    }
    let state = if said.text.is_empty() {
        "is true"
    } else {
        &format!("differs: `{} lock` writes it anew", weighbridge::tool())
    };
    writeln!(said.text, "benches/scenarios.lock {state} ({})", count(found)).expect(FITS);
    said
}

fn count(ids: &Ids) -> String {
    let cases: usize = ids.values().map(BTreeSet::len).sum();
    let scenarios: usize =
        ids.values().map(|ids| ids.iter().map(|id| scenario(id)).collect::<BTreeSet<_>>().len()).sum();
    format!("{} suites, {scenarios} scenarios, {cases} cases", ids.len())
}

/// The scenario's part of an id.
fn scenario(id: &str) -> &str {
    id.split("::").next().unwrap_or(id)
}

/// The ids in a terse listing: `id: benchmark`.
fn listed(listing: &str) -> BTreeSet<String> {
    let id = |line: &str| {
        let id = line.strip_suffix(": benchmark").or_else(|| line.strip_suffix(": test"))?;
        Some(id.to_owned())
    };
    listing.lines().filter_map(id).collect()
}

/// The path of the committed list.
pub(crate) fn path(place: &Place) -> PathBuf {
    Layout::lock_file(&place.root)
}

/// The committed list; `None` when there is none.
fn read(place: &Place) -> Result<Option<Ids>> {
    let path = path(place);
    match read_text(&path) {
        Ok(text) => Ok(Some(parse(&text).with_context(|| format!("failed to read `{}`", path.display()))?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("failed to read `{}`", path.display())),
    }
}

/// The list of this text.
///
/// # Errors
/// When a case stands before any suite.
pub(crate) fn parse(text: &str) -> Result<Ids> {
    let mut ids = Ids::new();
    let mut suite = None;
    for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let name = name
                .rsplit_once('/')
                .map_or_else(|| name.to_owned(), |(package, target)| suite_of(package, target));
            suite = Some(ids.entry(name).or_default());
        } else if let Some(suite) = &mut suite {
            suite.insert(line.to_owned());
        } else {
            bail!("line {number}: `{line}` stands before any `[package/bench target]`");
        }
    }
    Ok(ids)
}

fn print(ids: &Ids) -> String {
    let mut text = HEAD.to_owned();
    for (suite, ids) in ids {
        writeln!(text, "\n[{suite}]").expect(FITS);
        for id in ids {
            writeln!(text, "{id}").expect(FITS);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(suites: &[(&str, &[&str])]) -> Ids {
        let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        suites.iter().map(|(suite, ids)| ((*suite).to_owned(), set(ids))).collect()
    }

    #[test]
    fn a_list_comes_back_as_it_was_written() {
        let list = ids(&[("p/suite", &["cv_1::small::reference", "pc_1::depth=1"]), ("p/other", &["sort"])]);
        let text = print(&list);
        assert_eq!(parse(&text).expect("written"), list);
        assert!(
            text.ends_with("\n[p/other]\nsort\n\n[p/suite]\ncv_1::small::reference\npc_1::depth=1\n"),
            "{text}"
        );
        assert_eq!(
            parse("[p/hyphen-ated]\na\n").expect("as cargo writes it"),
            ids(&[("p/hyphen_ated", &["a"])])
        );
        assert!(parse("cv_1\n").expect_err("no suite").to_string().contains("line 1"));
    }

    #[test]
    fn ids_are_read_off_a_terse_listing() {
        let listing = "cv_1::small: benchmark\nsort::len=1: benchmark\n\n2 tests, 0 benchmarks\n";
        assert_eq!(listed(listing).into_iter().collect::<Vec<_>>(), ["cv_1::small", "sort::len=1"]);
    }

    #[test]
    fn a_missing_id_fails_and_a_new_one_is_said() {
        let locked = ids(&[("p/suite", &["a", "b"])]);
        let said = check(&locked, &ids(&[("p/suite", &["a", "b", "c"])]));
        assert!(said.exit == Exit::Fine && said.text.contains("added: p/suite has c"), "{}", said.text);
        let said = check(&locked, &ids(&[("p/suite", &["a"])]));
        assert!(said.exit == Exit::NothingToJudge && said.text.contains("missing: p/suite has no b"));
        let said = check(&locked, &Ids::new());
        assert_eq!(said.exit, Exit::NothingToJudge, "a suite that found nothing at all");
        assert_eq!(
            check(&locked, &locked).text,
            "benches/scenarios.lock is true (1 suites, 2 scenarios, 2 cases)\n"
        );
    }
}
