//! `runs prune`: removes old runs with what their ranks kept, duels, launches, rebuilt revisions and
//! listings, and what killed ones left.

use std::fmt::Write;
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use weighbridge::data::{Duels, PrunePolicy, StoreError as DataError};

use crate::checkout::{is_checkout, last_used, rebuilds as folder_of_rebuilds};
use crate::command_output::CommandOutput;
use crate::place::Place;

/// The most rebuilt revisions that are kept: each has a target directory of its own, and is built anew when
/// it is wanted.
const REBUILDS: usize = 5;

/// A listing of a program's benches that is so old is of a program that is built no more.
const FORGOTTEN: Duration = Duration::from_hours(30 * 24);

const FITS: &str = "a String takes all that is written";

/// Removes what is not to be kept. Duels go by the rule for runs; of rebuilt revisions the newest few are
/// kept, and those of them that were used within the time, if one is given.
pub(crate) fn run(
    keep: PrunePolicy,
    shared: Option<&Path>,
    place: &Place,
    now: SystemTime,
) -> Result<CommandOutput> {
    let runs = place.runs().prune(keep, now)?;
    let ranks = place.runs().prune_ranks(keep, now)?;
    let mut launches = weighbridge_launch::prune(place.layout.data(), keep, now)?;
    if let Some(shared) = shared {
        launches.extend(weighbridge_launch::prune(shared, keep, now)?);
    }
    let duels = Duels::new(place.layout.clone()).prune(keep, now)?;
    let rebuilds = rebuilds(keep, place, now)?;
    let listings = listings(keep, place, now)?;
    let mut text = String::new();
    for run in &runs.runs {
        writeln!(text, "removed {run}").expect(FITS);
    }
    let of_ranks: usize = ranks.iter().map(|rank| rank.runs.len()).sum();
    if of_ranks > 0 {
        let bytes: u64 = ranks.iter().map(|rank| rank.bytes).sum();
        writeln!(text, "removed {of_ranks} parts that ranks kept of runs, {bytes} bytes").expect(FITS);
    }
    for (launch, bytes) in &launches {
        writeln!(text, "removed launch {launch}, {bytes} bytes").expect(FITS);
    }
    for duel in &duels.runs {
        writeln!(text, "removed duel {duel}").expect(FITS);
    }
    for rebuild in &rebuilds {
        writeln!(text, "removed rebuild {rebuild}").expect(FITS);
    }
    let scratch: Vec<_> = runs
        .scratch
        .iter()
        .chain(&duels.scratch)
        .chain(ranks.iter().flat_map(|rank| &rank.scratch))
        .collect();
    for (run, bytes) in &scratch {
        writeln!(text, "freed {bytes} bytes of scratch of {run}").expect(FITS);
    }
    writeln!(
        text,
        "removed {} runs, {} duels, {} rebuilds, {listings} listings and {} leftovers; freed {} bytes of \
         scratch",
        runs.runs.len(),
        duels.runs.len(),
        rebuilds.len(),
        runs.leftovers + duels.leftovers,
        scratch.iter().map(|(_, bytes)| bytes).sum::<u64>()
    )
    .expect(FITS);
    Ok(CommandOutput::fine(text))
}

/// Removes revisions that were built for `--rebuild`.
fn rebuilds(keep: PrunePolicy, place: &Place, now: SystemTime) -> Result<Vec<String>> {
    let all = folder_of_rebuilds(place)?;
    if all.is_symlink() {
        return Err(DataError::Link(all).into());
    }
    let mut folders: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in entries(&all)? {
        // What another put there is not ours to remove, nor what a link leads to.
        if is_checkout(&entry.file_name().to_string_lossy()) && entry.file_type()?.is_dir() {
            folders.push((last_used(&entry.path()), entry.path()));
        }
    }
    folders.sort_by(|one, other| other.cmp(one));
    let mut removed = Vec::new();
    for (at, (used, folder)) in folders.iter().enumerate() {
        let unused = now.duration_since(*used).unwrap_or_default();
        if at >= REBUILDS || keep.within.is_some_and(|within| unused > within) {
            fs::remove_dir_all(folder).with_context(|| format!("failed to remove `{}`", folder.display()))?;
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

/// Removes old listings of the benches of programs, which whoever needs one makes anew.
fn listings(keep: PrunePolicy, place: &Place, now: SystemTime) -> Result<usize> {
    let folder = place.layout.found();
    if folder.is_symlink() {
        return Err(DataError::Link(folder).into());
    }
    let most = keep.within.unwrap_or(FORGOTTEN);
    let mut removed = 0;
    for entry in entries(&folder)? {
        let (name, found) = (entry.file_name(), entry.metadata()?);
        let age = now.duration_since(found.modified()?).unwrap_or_default();
        if is_listing(&name.to_string_lossy()) && found.is_file() && age > most {
            let path = entry.path();
            fs::remove_file(&path).with_context(|| format!("failed to remove `{}`", path.display()))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Tells whether a file of this name is a listing: named by the digests of a program and of what it depends
/// on.
fn is_listing(name: &str) -> bool {
    let is_hex = |part: &str, length| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let digests = name.strip_suffix(".json").and_then(|name| name.split_once('-'));
    digests.is_some_and(|(program, around)| is_hex(program, 32) && is_hex(around, 16))
}

/// Returns the entries of a folder; none where it does not exist.
fn entries(folder: &Path) -> Result<Vec<DirEntry>> {
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.and_then(Iterator::collect),
    };
    listed.with_context(|| format!("failed to list `{}`", folder.display()))
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
        let keep = PrunePolicy { newest: Some(1), within: None };
        let said = run(keep, None, &home.place, SystemTime::now()).expect("pruned");
        let expected = "removed 19700101-001640-000007\nremoved 1 runs, 0 duels, 0 rebuilds, 0 listings and \
            0 leftovers; freed 0 bytes of scratch\n";
        assert_eq!(said.text, expected);
        assert_eq!(home.place.runs().list().expect("readable").runs.len(), 1);
    }

    #[test]
    fn parts_of_ranks_go_by_the_rule_for_runs_and_launches_as_well_with_their_bytes() {
        let home = home();
        let shared = home.place.root.join("shared");
        for id in [home.store(&plain(1_000, 1.0, 1.0)), home.store(&plain(2_000, 1.0, 1.0))] {
            let of_rank = home.place.layout.data().join("ranks/00001/runs");
            fs::create_dir_all(of_rank.join(id.to_string())).expect("writable");
            let whole = home.place.layout.run(&id).join("run.json");
            fs::copy(whole, of_rank.join(id.to_string()).join("run.json")).expect("writable");
            for place in [home.place.layout.data(), &shared] {
                let launch = place.join("weighbridge-launches").join(id.to_string());
                fs::create_dir_all(&launch).expect("writable");
                fs::write(launch.join("summary.json"), "{}").expect("writable");
            }
        }
        let keep = PrunePolicy { newest: Some(1), within: None };
        let said = run(keep, Some(&shared), &home.place, SystemTime::now()).expect("pruned").text;
        assert!(said.contains("removed 1 parts that ranks kept of runs, "), "{said}");
        assert_eq!(said.matches("removed launch 19700101-").count(), 2, "{said}");
        assert_eq!(left(&home.place.layout.data().join("ranks/00001/runs")).len(), 1);
    }

    #[test]
    fn scratch_of_killed_runs_is_freed_with_its_bytes_and_old_listings_go() {
        let home = home();
        let run_id = home.store(&plain(1_000, 1.0, 1.0));
        let scratch = home.place.layout.scratches(&run_id).join("a.1");
        fs::create_dir_all(&scratch).expect("writable");
        fs::write(scratch.join("state"), vec![7; 3 << 20]).expect("writable");
        let found = home.place.layout.found();
        fs::create_dir_all(&found).expect("writable");
        let own = format!("{:032x}-{:016x}.json", 7, 7);
        for name in [own.as_str(), "notes.json"] {
            fs::write(found.join(name), "{}").expect("writable");
        }
        let said = run(PrunePolicy::default(), None, &home.place, SystemTime::now()).expect("pruned").text;
        assert!(said.contains(&format!("bytes of scratch of {run_id}")), "{said}");
        assert!(said.contains(" 0 listings") && left(&found).len() == 2, "{said}");
        let late = SystemTime::now() + 2 * FORGOTTEN;
        let said = run(PrunePolicy::default(), None, &home.place, late).expect("pruned").text;
        assert!(said.contains(" 1 listings") && said.contains("freed 0 bytes"), "{said}");
        assert_eq!(left(&found), ["notes.json"]);
    }

    /// A name as `--rebuild` gives it.
    fn rebuild(at: u64) -> String {
        format!("{at:012x}-{at:08x}")
    }

    #[test]
    fn what_another_put_among_rebuilt_revisions_stays_and_so_does_what_a_link_leads_to() {
        let home = home();
        let folder = home.place.layout.rebuilds();
        let theirs = home.place.root.join("theirs");
        fs::create_dir_all(theirs.join("sources")).expect("writable");
        fs::create_dir_all(folder.join(".git/objects")).expect("writable");
        fs::create_dir_all(folder.join("0123456789ab-01234567.mine")).expect("writable");
        std::os::unix::fs::symlink(&theirs, folder.join(rebuild(1))).expect("writable");
        let late = SystemTime::now() + Duration::from_hours(1_000);
        let keep = PrunePolicy { newest: Some(0), within: Some(Duration::ZERO) };
        assert!(rebuilds(keep, &home.place, late).expect("pruned").is_empty());
        assert_eq!(left(&folder).len(), 3);

        fs::remove_dir_all(&folder).expect("writable");
        fs::create_dir(theirs.join(rebuild(2))).expect("writable");
        std::os::unix::fs::symlink(&theirs, &folder).expect("writable");
        let said = rebuilds(keep, &home.place, late).expect_err("a link").to_string();
        assert!(said.contains("rebuilds` is a link"), "{said}");
        assert_eq!(left(&theirs), [rebuild(2), "sources".to_owned()]);
    }

    #[test]
    fn the_rebuilt_revisions_that_were_used_last_are_kept() {
        let home = home();
        let folder = home.place.layout.rebuilds();
        let now = SystemTime::now();
        for at in 0..7u64 {
            let tree = folder.join(rebuild(at));
            fs::create_dir_all(tree.join("tree")).expect("writable");
            let mark = fs::File::create(tree.join("used")).expect("writable");
            mark.set_modified(now - Duration::from_hours(at)).expect("writable");
        }
        assert_eq!(rebuilds(PrunePolicy::default(), &home.place, now).expect("pruned"), [5, 6].map(rebuild));
        let keep = PrunePolicy { newest: Some(1), within: Some(Duration::from_mins(90)) };
        assert_eq!(rebuilds(keep, &home.place, now).expect("pruned"), [2, 3, 4].map(rebuild));
        assert_eq!(left(&folder), [0, 1].map(rebuild));
    }
}
