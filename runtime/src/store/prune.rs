//! Removing old runs and duels, and what killed writers left.
//!
//! Only what this crate makes goes, by the exact form of its name, and never through a link: a data directory
//! may hold what is not its own.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Deserialize;

use super::files::on_its_way_to;
use super::layout::{directories_in, duel_of, is_of_run, rank_of, scratch_of, unborn_or_dying};
use super::runs::names_or_none;
use super::{Duels, Files, Runs, StoreError};
use crate::device::on_all_processors;
use crate::record::{RunId, RunStatus};

/// A run or a duel that has not ended is taken for one that still runs this long after its start.
const MAY_STILL_RUN: Duration = Duration::from_hours(24);
/// A file on its way to its place is taken for a leftover after this long.
const LEFTOVER: Duration = Duration::from_hours(1);

/// The rules by which runs are kept. A run goes when either rule says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrunePolicy {
    /// The newest so many of each suite.
    pub newest: Option<usize>,
    /// Those that started within this time.
    pub within: Option<Duration>,
}

/// The things that were removed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PruneResult {
    /// The runs or the duels.
    pub runs: Vec<RunId>,
    /// The leftovers of killed writers.
    pub leftovers: usize,
    /// The bytes on disk that the runs had.
    pub bytes: u64,
    /// The bytes of scratch that killed runs had left, and that were freed.
    pub scratch: Vec<(RunId, u64)>,
}

/// The part of a duel that is read.
#[derive(Deserialize)]
struct OfSuite {
    suite: String,
}

impl Runs {
    /// Removes runs and leftovers. Spares runs that may still be running, what cannot be read (a person
    /// should see that first), and links.
    ///
    /// # Errors
    /// [`StoreError::Link`] where the folder of runs is one, and those of the file system.
    pub fn prune(&self, keep: PrunePolicy, now: SystemTime) -> Result<PruneResult, StoreError> {
        let files = &*self.files;
        let folder = self.layout.runs();
        let mut pruned = PruneResult::default();
        if !is_folder(files, &folder)? {
            return Ok(pruned);
        }
        let mut seen: HashMap<String, usize> = HashMap::new();
        for run in self.list()?.runs {
            let path = self.layout.run(&run.id);
            if !files.metadata(&path).is_ok_and(|found| found.is_dir()) {
                continue;
            }
            let age = age(run.started, now);
            let newer = seen.entry(run.suite.clone()).or_default();
            let superfluous = keep.newest.is_some_and(|most| *newer >= most);
            *newer += 1;
            let old = keep.within.is_some_and(|within| age > within);
            let may_run = run.status == RunStatus::Running && age < MAY_STILL_RUN;
            // One that was taken up again may have started long ago.
            let runs = || self.lock(&run.id).is_ok_and(|lock| lock.is_none());
            if (superfluous || old) && !may_run && !runs() {
                pruned.runs.push(run.id);
            } else {
                let freed = self.free_scratch(&run.id)?;
                pruned.scratch.extend((freed > 0).then(|| (run.id.clone(), freed)));
                for directory in std::iter::once(path.clone()).chain(directories_in(&path)) {
                    pruned.leftovers += sweep(files, &directory, now, LEFTOVER, is_of_run, |_| false)?;
                }
            }
        }
        pruned.bytes = pruned.runs.iter().map(|run| room(files, &self.layout.run(run))).sum();
        self.remove_all(&pruned.runs)?;
        let made_or_removed = |name: &str| unborn_or_dying(name).is_some();
        pruned.leftovers += sweep(files, &folder, now, LEFTOVER, |_| false, made_or_removed)?;
        Ok(pruned)
    }

    /// Removes the parts that ranks of runs of several have kept, by the same rules as if each rank's were
    /// runs of their own. Returns what was removed of each rank.
    ///
    /// # Errors
    /// As [`Runs::prune`].
    pub fn prune_ranks(&self, keep: PrunePolicy, now: SystemTime) -> Result<Vec<PruneResult>, StoreError> {
        let folder = self.layout.ranks();
        if !is_folder(&*self.files, &folder)? {
            return Ok(Vec::new());
        }
        let ranks = names_or_none(&*self.files, &folder)?.into_iter().filter_map(|name| rank_of(&name));
        ranks.map(|rank| Self::new(self.layout.of_rank(rank)).prune(keep, now)).collect()
    }

    /// Removes what children of a run have left in their scratch directories, unless a process goes on with
    /// it, and says how many bytes that frees.
    fn free_scratch(&self, run: &RunId) -> Result<u64, StoreError> {
        let files = &*self.files;
        let folder = self.layout.scratches(run);
        let names = if is_own_folder(files, &folder) { names_or_none(files, &folder)? } else { Vec::new() };
        if names.is_empty() {
            return Ok(0);
        }
        let Some(_lock) = self.lock(run)? else { return Ok(0) };
        let mut freed = 0;
        for name in names {
            let path = folder.join(name);
            freed += room(files, &path);
            files.remove(&path).map_err(StoreError::io("remove", &path))?;
        }
        Ok(freed)
    }

    /// Removes a run.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn remove(&self, run: &RunId) -> Result<(), StoreError> {
        self.remove_all(std::slice::from_ref(run))
    }

    /// Takes their names from all runs, waits once until the disk has that, and removes what they were.
    fn remove_all(&self, runs: &[RunId]) -> Result<(), StoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        for run in runs {
            let path = self.layout.run(run);
            self.files.rename(&path, &self.layout.dying(run)).map_err(StoreError::io("remove", &path))?;
        }
        let folder = self.layout.runs();
        self.files.sync(&folder).map_err(StoreError::io("write", &folder))?;
        let removed = on_all_processors(runs, |run| {
            let dying = self.layout.dying(run);
            self.files.remove(&dying).map_err(StoreError::io("remove", &dying))
        });
        removed.into_iter().collect()
    }
}

impl Duels {
    /// Removes duels, by the rule for runs, and what killed ones left. Spares what cannot be read (a person
    /// should see that first), and links.
    ///
    /// # Errors
    /// [`StoreError::Link`] where the folder of duels is one, and those of the file system.
    pub fn prune(&self, keep: PrunePolicy, now: SystemTime) -> Result<PruneResult, StoreError> {
        let files = &*self.files;
        let folder = self.layout.duels();
        let mut pruned = PruneResult::default();
        if !is_folder(files, &folder)? {
            return Ok(pruned);
        }
        let mut seen: HashMap<String, usize> = HashMap::new();
        for duel in self.ids()? {
            let path = self.layout.duel(&duel);
            let Some(age) = files
                .metadata(&path)
                .ok()
                .filter(std::fs::Metadata::is_file)
                .and_then(|found| age_of(&found, now))
            else {
                continue;
            };
            let Some(read) =
                files.read(&path).ok().and_then(|text| serde_json::from_slice::<OfSuite>(&text).ok())
            else {
                continue;
            };
            let newer = seen.entry(read.suite).or_default();
            if keep.newest.is_some_and(|most| *newer >= most)
                || keep.within.is_some_and(|within| age > within)
            {
                files.remove(&path).map_err(StoreError::io("remove", &path))?;
                pruned.runs.push(duel);
            }
            *newer += 1;
        }
        let own = |name: &str| duel_of(name).is_some();
        let scratch = |name: &str| scratch_of(name).is_some();
        pruned.leftovers = sweep(files, &folder, now, MAY_STILL_RUN, own, scratch)?;
        let unended = self.journals().prune(keep, now)?;
        pruned.runs.extend(unended.runs);
        pruned.leftovers += unended.leftovers;
        pruned.scratch = unended.scratch;
        Ok(pruned)
    }
}

/// Removes what killed writers left in one directory: files on their way to a name that `is_file_of` it, and
/// the directories that `is_directory_of` it.
fn sweep(
    files: &dyn Files,
    directory: &Path,
    now: SystemTime,
    after: Duration,
    is_file_of: impl Fn(&str) -> bool,
    is_directory_of: impl Fn(&str) -> bool,
) -> Result<usize, StoreError> {
    let mut leftovers = 0;
    if !is_own_folder(files, directory) {
        return Ok(0);
    }
    for name in names_or_none(files, directory)? {
        let file = on_its_way_to(&name).is_some_and(&is_file_of);
        if !file && !is_directory_of(&name) {
            continue;
        }
        let path = directory.join(&name);
        // One that vanishes meanwhile has found its place.
        let Ok(found) = files.metadata(&path) else { continue };
        let own = if file { found.is_file() } else { found.is_dir() };
        if own && age_of(&found, now).is_some_and(|age| age > after) {
            files.remove(&path).map_err(StoreError::io("remove", &path))?;
            leftovers += 1;
        }
    }
    Ok(leftovers)
}

/// Tells whether a folder is there and is no link.
fn is_own_folder(files: &dyn Files, path: &Path) -> bool {
    files.metadata(path).is_ok_and(|found| found.is_dir())
}

/// The bytes that a file, or a folder with all in it, takes on the disk.
fn room(files: &dyn Files, path: &Path) -> u64 {
    const BLOCK: u64 = 512; // whatever the file system's own is
    let Ok(found) = files.metadata(path) else { return 0 };
    let own = found.blocks() * BLOCK;
    if !found.is_dir() {
        return own;
    }
    let names = files.names(path).unwrap_or_default();
    own + names.iter().map(|name| room(files, &path.join(name))).sum::<u64>()
}

/// Tells whether a folder of the data directory is there.
///
/// # Errors
/// [`StoreError::Link`] where it is one: what lies behind it is not of this data directory.
fn is_folder(files: &dyn Files, path: &Path) -> Result<bool, StoreError> {
    match files.metadata(path) {
        Ok(found) if found.is_symlink() => Err(StoreError::Link(PathBuf::from(path))),
        Ok(found) => Ok(found.is_dir()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io("look at", path)(error)),
    }
}

fn age(started: u64, now: SystemTime) -> Duration {
    let started = Duration::from_secs(started);
    now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().saturating_sub(started)
}

/// The time since something was written; no time at all where that lies ahead, `None` where it is not
/// told.
fn age_of(found: &std::fs::Metadata, now: SystemTime) -> Option<Duration> {
    Some(now.duration_since(found.modified().ok()?).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::Layout;
    use super::super::fixtures::{manifest, run};
    use super::*;

    /// Names that a person or another tool may give, each near to one that is ours.
    const THEIRS: [&str; 9] = [
        ".git",
        ".new-notes",
        ".old-20260101-000000-000009.bak",
        ".scratch-work",
        ".scratch-20260101-000000-00000X",
        ".run.json.0123456789abcde.tmp",
        ".notes.txt.0123456789abcdef.tmp",
        "..0123456789abcdef.tmp",
        ".swp.tmp",
    ];
    const ID: &str = "20260101-000000-000009";

    fn late() -> SystemTime {
        SystemTime::now() + Duration::from_hours(1_000)
    }

    fn everything() -> PrunePolicy {
        PrunePolicy { newest: Some(0), within: Some(Duration::ZERO) }
    }

    fn names(folder: &Path) -> Vec<String> {
        names_or_none(&super::super::Disk, folder).expect("readable")
    }

    /// Files and directories of their names, and what looks like ours and is of the other kind.
    fn furnish(folder: &Path) -> usize {
        for name in THEIRS {
            if Path::new(name).extension().is_some_and(|end| end == "tmp") {
                fs::write(folder.join(name), "mine").expect("writable");
            } else {
                fs::create_dir_all(folder.join(name).join("objects")).expect("writable");
            }
        }
        fs::create_dir(folder.join(format!(".{ID}.json.0123456789abcdef.tmp"))).expect("writable");
        for name in [".new-", ".old-", ".scratch-"] {
            fs::write(folder.join(format!("{name}{ID}")), "a file").expect("writable");
        }
        names(folder).len()
    }

    #[test]
    fn pruning_takes_only_names_of_its_own() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let layout = Layout::new(home.path());
        let (runs, duels) = (Runs::new(layout.clone()), Duels::new(layout.clone()));
        let kept = manifest(1_000, 1);
        runs.create(&kept).expect("writable");
        fs::create_dir_all(layout.duels()).expect("writable");
        let folders = [
            layout.runs(),
            layout.duels(),
            layout.run(&kept.id),
            layout.repeats(&kept.id),
            layout.logs(&kept.id),
        ];
        let before = folders.each_ref().map(|folder| furnish(folder));

        // What is ours: one leftover of each kind.
        fs::create_dir(layout.runs().join(".new-20260101-000000-000008")).expect("writable");
        fs::create_dir(layout.runs().join(".old-20260101-000000-000008")).expect("writable");
        for left in [
            layout.run(&kept.id).join(".run.json.0123456789abcdef.tmp"),
            layout.repeats(&kept.id).join(".a@b.1.json.0123456789abcdef.tmp"),
            layout.logs(&kept.id).join(".a@b.1.stderr.0123456789abcdef.tmp"),
            layout.duels().join(".20260101-000000-000008.json.0123456789abcdef.tmp"),
        ] {
            fs::write(left, "half").expect("writable");
        }
        fs::create_dir_all(layout.duels().join(".scratch-20260101-000000-000008/deep")).expect("writable");

        assert_eq!(runs.prune(PrunePolicy::default(), late()).expect("pruned").leftovers, 5);
        assert_eq!(
            duels.prune(everything(), late()).expect("pruned"),
            PruneResult { leftovers: 2, ..PruneResult::default() }
        );
        assert_eq!(folders.each_ref().map(|folder| names(folder).len()), before);
    }

    #[test]
    fn a_run_that_another_process_goes_on_with_is_spared_however_old_it_is() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let runs = Runs::new(Layout::new(home.path()));
        let old = manifest(1_000, 1).id;
        runs.create(&manifest(1_000, 1)).expect("writable");
        let lock = runs.lock(&old).expect("lockable").expect("nobody has it");
        assert_eq!(runs.prune(everything(), late()).expect("pruned").runs, []);
        drop(lock);
        assert_eq!(runs.prune(everything(), late()).expect("pruned").runs, [old]);
    }

    #[test]
    fn the_scratch_of_a_killed_run_is_freed_and_that_of_a_running_one_is_not() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let runs = Runs::new(Layout::new(home.path()));
        let [killed, running] = [1_000, 2_000].map(|second| manifest(second, 1).id);
        for second in [1_000, 2_000] {
            runs.create(&manifest(second, 1)).expect("writable");
        }
        for run in [&killed, &running] {
            let left = runs.layout().scratches(run).join("a.1/deep");
            fs::create_dir_all(&left).expect("writable");
            fs::write(left.join("state"), vec![7; 1 << 20]).expect("writable");
        }
        let _lock = runs.lock(&running).expect("lockable").expect("nobody has it");
        let pruned = runs.prune(PrunePolicy::default(), SystemTime::now()).expect("pruned");
        assert!(
            matches!(&pruned.scratch[..], [(run, freed)] if *run == killed && *freed >= 1 << 20),
            "{pruned:?}"
        );
        assert_eq!(names(&runs.layout().scratches(&killed)), [""; 0]);
        assert_eq!(names(&runs.layout().scratches(&running)), ["a.1"]);
        assert_eq!(runs.list().expect("readable").runs.len(), 2);
    }

    #[test]
    fn pruning_follows_no_link() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let theirs = tempfile::tempdir().expect("a temporary directory");
        let layout = Layout::new(home.path());
        let (runs, duels) = (Runs::new(layout.clone()), Duels::new(layout.clone()));
        let elsewhere = Runs::new(Layout::new(theirs.path()));
        let old = run(1_000, 1).manifest;
        elsewhere.create(&old).expect("writable");
        let there = elsewhere.layout().run(&old.id);
        let temporary = there.join("repeats/.a@b.1.json.0123456789abcdef.tmp");
        fs::write(&temporary, "theirs").expect("writable");

        // A run, a leftover, a duel and a folder of a run that are links.
        fs::create_dir_all(layout.runs()).expect("writable");
        fs::create_dir_all(layout.duels()).expect("writable");
        let mine = manifest(2_000, 1);
        runs.create(&mine).expect("writable");
        fs::remove_dir(layout.repeats(&mine.id)).expect("empty");
        symlink(there.join("repeats"), layout.repeats(&mine.id)).expect("writable");
        fs::remove_dir(layout.scratches(&mine.id)).expect("empty");
        symlink(there.join("repeats"), layout.scratches(&mine.id)).expect("writable");
        symlink(&there, layout.run(&old.id)).expect("writable");
        symlink(&there, layout.runs().join(format!(".old-{ID}"))).expect("writable");
        symlink(&there, layout.duels().join(format!(".scratch-{ID}"))).expect("writable");
        let duel = theirs.path().join("duel.json");
        fs::write(&duel, "{\"suite\":\"p/a\"}").expect("writable");
        symlink(&duel, layout.duels().join(format!("{ID}.json"))).expect("writable");

        let nothing = PruneResult::default();
        assert_eq!(runs.prune(PrunePolicy::default(), late()).expect("pruned"), nothing);
        assert_eq!(duels.prune(everything(), late()).expect("pruned"), nothing);
        assert_eq!(runs.prune(everything(), late()).expect("pruned").runs, [mine.id]);
        assert!(temporary.exists() && duel.exists() && layout.run(&old.id).is_symlink());

        // The folders themselves.
        for folder in [layout.runs(), layout.duels()] {
            fs::remove_dir_all(&folder).expect("writable");
            symlink(theirs.path().join("runs"), &folder).expect("writable");
        }
        for said in [
            runs.prune(everything(), late()).expect_err("a link").to_string(),
            duels.prune(everything(), late()).expect_err("a link").to_string(),
        ] {
            assert!(said.contains("is a link, and nothing is removed through one"), "{said}");
        }
        assert!(temporary.exists());
    }

    #[test]
    fn as_many_duels_of_each_suite_are_kept_as_runs_and_what_cannot_be_read_is_spared() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let layout = Layout::new(home.path());
        let (folder, duels) = (layout.duels(), Duels::new(layout));
        fs::create_dir_all(folder.join(".scratch-20260101-000000-000009")).expect("writable");
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("writable");
        for (at, suite) in ["p/a", "p/b", "p/a", "p/a"].iter().enumerate() {
            write(&format!("20260101-00000{at}-00000{at}.json"), &format!("{{\"suite\":\"{suite}\"}}"));
        }
        write("20250101-000000-000000.json", "half of a du");
        write("notes.txt", "mine");
        let now = SystemTime::now();
        let pruned = duels.prune(PrunePolicy { newest: Some(2), within: None }, now).expect("pruned");
        let oldest = "20260101-000000-000000".parse().expect("an id");
        assert_eq!(pruned, PruneResult { runs: vec![oldest], ..PruneResult::default() });
        let later = now + Duration::from_hours(48);
        let keep = PrunePolicy { newest: None, within: Some(Duration::from_hours(24)) };
        let pruned = duels.prune(keep, later).expect("pruned");
        assert_eq!((pruned.runs.len(), pruned.leftovers), (3, 1));
        assert_eq!(names(&folder), ["20250101-000000-000000.json", "notes.txt"]);
    }

    #[test]
    fn the_disk_is_waited_for_once_however_many_runs_go() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let runs = Runs::new(Layout::new(home.path()));
        for second in 0..30 {
            runs.create(&run(second, 1).manifest).expect("writable");
        }
        let files = std::sync::Arc::new(super::super::fixtures::FailingDisk::new(
            super::super::fixtures::StoreFault::Full(usize::MAX),
        ));
        let counted = Runs::on(files.clone(), runs.layout().clone());
        assert_eq!(
            counted.prune(PrunePolicy { newest: Some(5), within: None }, late()).expect("pruned").runs.len(),
            25
        );
        assert_eq!(files.syncs(), 1);
    }
}
