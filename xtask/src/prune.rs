//! `runs prune`: removes old runs, duels and rebuilt revisions, and what killed ones left.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use serde::Deserialize;
use weighbridge::data::{Keep, RunId};

use crate::place::Place;
use crate::repository::last_used;
use crate::said::Said;

/// How many rebuilt revisions are kept: each has a target directory of its own, and is built anew when it is wanted.
const REBUILDS: usize = 5;

/// What a duel writes for itself is taken for a leftover after this long.
const LEFTOVER: Duration = Duration::from_hours(24);

const FITS: &str = "a String takes all that is written";

/// Removes what is not to be kept. Duels go by the rule for runs; of rebuilt revisions the newest few are kept, and those
/// of them that were used within the time, if one is given.
pub(crate) fn run(keep: Keep, place: &Place, now: SystemTime) -> Result<Said> {
    let runs = place.runs().prune(keep, now)?;
    let (duels, leftovers) = duels(keep, &place.layout.duels(), now)?;
    let rebuilds = rebuilds(keep, place, now)?;
    let mut text = String::new();
    for run in &runs.runs {
        writeln!(text, "removed {run}").expect(FITS);
    }
    for (kind, names) in [("duel", &duels), ("rebuild", &rebuilds)] {
        for name in names {
            writeln!(text, "removed {kind} {name}").expect(FITS);
        }
    }
    writeln!(
        text,
        "removed {} runs, {} duels, {} rebuilds and {} leftovers",
        runs.runs.len(),
        duels.len(),
        rebuilds.len(),
        runs.leftovers + leftovers
    )
    .expect(FITS);
    Ok(Said::fine(text))
}

/// What is read of a duel.
#[derive(Deserialize)]
struct Duel {
    suite: String,
}

/// Removes duels, and scratch directories and half-written files. Spares what cannot be read: a person should see that
/// first.
fn duels(keep: Keep, folder: &Path, now: SystemTime) -> Result<(Vec<String>, usize)> {
    let mut files = entries(folder)?;
    files.sort_by_key(|file| std::cmp::Reverse(file.file_name())); // an id begins with its start
    let mut newer: HashMap<String, usize> = HashMap::new();
    let (mut removed, mut leftovers) = (Vec::new(), 0);
    for file in files {
        let (path, name) = (file.path(), file.file_name().to_string_lossy().into_owned());
        if name.starts_with('.') {
            if age(&path, now) > LEFTOVER {
                remove(&path)?;
                leftovers += 1;
            }
            continue;
        }
        let Some(id) = name.strip_suffix(".json").filter(|id| id.parse::<RunId>().is_ok()) else { continue };
        let Some(duel) = fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Duel>(&text).ok())
        else {
            continue;
        };
        let newer = newer.entry(duel.suite).or_default();
        if keep.newest.is_some_and(|most| *newer >= most) || is_old(keep, &path, now) {
            remove(&path)?;
            removed.push(id.to_owned());
        }
        *newer += 1;
    }
    Ok((removed, leftovers))
}

/// Removes revisions that were built for `--rebuild`.
fn rebuilds(keep: Keep, place: &Place, now: SystemTime) -> Result<Vec<String>> {
    let mut folders: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in entries(&place.layout.rebuilds())? {
        folders.push((last_used(&entry.path()), entry.path()));
    }
    folders.sort_by(|one, other| other.cmp(one));
    let mut removed = Vec::new();
    for (at, (used, folder)) in folders.iter().enumerate() {
        let unused = now.duration_since(*used).unwrap_or_default();
        if at >= REBUILDS || keep.within.is_some_and(|within| unused > within) {
            remove(folder)?;
            removed.push(folder.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    if !removed.is_empty() {
        // git keeps a list of worktrees; where there is no repository any more, there is no list either.
        let mut git = Command::new("git");
        git.args(["worktree", "prune"]).current_dir(&place.root);
        drop(git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status());
    }
    Ok(removed)
}

/// What lies in a folder; nothing where there is none.
fn entries(folder: &Path) -> Result<Vec<DirEntry>> {
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.and_then(Iterator::collect),
    };
    listed.with_context(|| format!("failed to list `{}`", folder.display()))
}

fn is_old(keep: Keep, path: &Path, now: SystemTime) -> bool {
    keep.within.is_some_and(|within| age(path, now) > within)
}

/// How long ago something was written; no time at all where that cannot be told.
fn age(path: &Path, now: SystemTime) -> Duration {
    let written = fs::metadata(path).and_then(|data| data.modified());
    written.ok().and_then(|written| now.duration_since(written).ok()).unwrap_or_default()
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.with_context(|| format!("failed to remove `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{home, plain};

    fn left(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = entries(folder)
            .expect("readable")
            .iter()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn pruning_says_what_it_removed() {
        let home = home();
        home.store(&plain(1_000, 1.0, 1.0));
        home.store(&plain(2_000, 1.0, 1.0));
        let keep = Keep { newest: Some(1), within: None };
        let said = run(keep, &home.place, SystemTime::now()).expect("pruned");
        let expected =
            "removed 19700101-001640-000007\nremoved 1 runs, 0 duels, 0 rebuilds and 0 leftovers\n";
        assert_eq!(said.text, expected);
        assert_eq!(home.place.runs().list().expect("readable").runs.len(), 1);
    }

    #[test]
    fn as_many_duels_of_each_suite_are_kept_as_runs_and_what_cannot_be_read_is_spared() {
        let home = home();
        let folder = home.place.layout.duels();
        fs::create_dir_all(folder.join(".scratch-20260101-000000-000009")).expect("writable");
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("writable");
        for (at, suite) in ["p/a", "p/b", "p/a", "p/a"].iter().enumerate() {
            write(&format!("20260101-00000{at}-00000{at}.json"), &format!("{{\"suite\":\"{suite}\"}}"));
        }
        write("20250101-000000-000000.json", "half of a du");
        write("notes.txt", "mine");
        let keep = |newest, within| Keep { newest, within };
        let now = SystemTime::now();
        let (removed, leftovers) = duels(keep(Some(2), None), &folder, now).expect("pruned");
        assert_eq!((removed, leftovers), (vec!["20260101-000000-000000".to_owned()], 0));
        assert_eq!(left(&folder).len(), 6);
        let later = now + Duration::from_hours(48);
        let (removed, leftovers) = duels(keep(None, Some(LEFTOVER)), &folder, later).expect("pruned");
        assert_eq!((removed.len(), leftovers), (3, 1));
        assert_eq!(left(&folder), ["20250101-000000-000000.json", "notes.txt"]);
    }

    #[test]
    fn the_rebuilt_revisions_that_were_used_last_are_kept() {
        let home = home();
        let folder = home.place.layout.rebuilds();
        let now = SystemTime::now();
        for at in 0..7u64 {
            let tree = folder.join(format!("c{at}"));
            fs::create_dir_all(tree.join("tree")).expect("writable");
            let mark = fs::File::create(tree.join("used")).expect("writable");
            mark.set_modified(now - Duration::from_hours(at)).expect("writable");
        }
        assert_eq!(rebuilds(Keep::default(), &home.place, now).expect("pruned"), ["c5", "c6"]);
        let keep = Keep { newest: Some(1), within: Some(Duration::from_mins(90)) };
        assert_eq!(rebuilds(keep, &home.place, now).expect("pruned"), ["c2", "c3", "c4"]);
        assert_eq!(left(&folder), ["c0", "c1"]);
    }
}
