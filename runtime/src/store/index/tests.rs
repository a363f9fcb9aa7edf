//! What the index knows, and what it is not believed.

use std::fs::{self, Metadata};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use super::*;
use crate::store::fixtures::{Failing, StoreFault, manifest};
use crate::store::{Disk, Layout, MarkOf, PrunePolicy};

/// The disk, counting the manifests that are read and the folders whose names are.
#[derive(Debug, Default)]
struct CountingDisk {
    manifests: AtomicUsize,
    names: AtomicUsize,
}

impl Files for CountingDisk {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.manifests.fetch_add(usize::from(path.ends_with("run.json")), Ordering::Relaxed);
        Disk.read(path)
    }
    fn write_new(&self, path: &Path, content: &[u8]) -> std::io::Result<()> {
        Disk.write_new(path, content)
    }
    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        Disk.rename(from, to)
    }
    fn sync(&self, directory: &Path) -> std::io::Result<()> {
        Disk.sync(directory)
    }
    fn make_dirs(&self, path: &Path) -> std::io::Result<()> {
        Disk.make_dirs(path)
    }
    fn names(&self, path: &Path) -> std::io::Result<Vec<String>> {
        self.names.fetch_add(1, Ordering::Relaxed);
        Disk.names(path)
    }
    fn metadata(&self, path: &Path) -> std::io::Result<Metadata> {
        Disk.metadata(path)
    }
    fn marks<'a>(&'a self, folder: &'a Path) -> MarkOf<'a> {
        Disk.marks(folder)
    }
    fn remove(&self, path: &Path) -> std::io::Result<()> {
        Disk.remove(path)
    }
}

struct IndexedHome {
    _home: tempfile::TempDir,
    files: Arc<CountingDisk>,
    runs: Runs,
}

fn place(count: u64) -> IndexedHome {
    let home = tempfile::tempdir().unwrap();
    let files = Arc::new(CountingDisk::default());
    let runs = Runs::on(files.clone(), Layout::new(home.path()));
    for second in 0..count {
        runs.create(&manifest(1_000 + second, 1)).unwrap();
    }
    IndexedHome { _home: home, files, runs }
}

impl IndexedHome {
    /// What is listed, and how many manifests were read for it.
    fn listed(&self) -> (RunLines, usize) {
        self.files.manifests.store(0, Ordering::Relaxed);
        self.files.names.store(0, Ordering::Relaxed);
        let lines = self.runs.lines().unwrap();
        (lines, self.files.manifests.load(Ordering::Relaxed))
    }

    /// As if the listing that wrote the index had looked so many seconds later than it did.
    fn look_later(&self, seconds: i64) {
        let path = self.runs.layout.index();
        let mut index = form::read(&fs::read(&path).unwrap()).unwrap();
        index.looked += seconds * 1_000_000_000;
        fs::write(path, form::write(&index)).unwrap();
    }

    /// As if the index had been written some time after the runs were.
    fn settle(&self) {
        self.look_later(10);
    }

    /// What a listing by the files alone says.
    fn by_the_files(&self) -> Vec<RunLine> {
        self.runs.list().unwrap().runs.iter().map(RunLine::of).collect()
    }
}

#[test]
fn what_is_settled_is_listed_without_reading_a_manifest_and_as_the_files_have_it() {
    let place = place(5);
    let (first, read) = place.listed();
    assert_eq!((first.runs.len(), read), (5, 5));
    assert_eq!(first.runs, place.by_the_files());
    assert_eq!(place.listed().1, 5, "written in the same moment as the index, they may have changed unseen");
    place.settle();
    assert_eq!(place.listed(), (first, 0));
}

#[test]
fn what_was_changed_added_or_removed_by_hand_is_seen() {
    let place = place(5);
    place.listed();
    place.settle();
    let layout = place.runs.layout().clone();
    let ids: Vec<RunId> = place.by_the_files().into_iter().map(|line| line.id).collect();
    // The same length, and the time of writing put back: the time of change gives it away.
    let file = layout.manifest(&ids[1]);
    let (text, then) = (fs::read_to_string(&file).unwrap(), fs::metadata(&file).unwrap().modified().unwrap());
    let edited = text.replace("toy/suite", "toy/sweet");
    assert_eq!(edited.len(), text.len());
    fs::write(&file, crate::record::fitting(&edited)).unwrap();
    fs::File::options().append(true).open(&file).unwrap().set_modified(then).unwrap();
    fs::remove_dir_all(layout.run(&ids[3])).unwrap();
    place.runs.create(&manifest(5_000, 2)).unwrap();
    fs::write(layout.manifest(&ids[4]), "{").unwrap();
    let (lines, read) = place.listed();
    assert_eq!(lines.runs, place.by_the_files());
    assert_eq!((lines.runs.len(), lines.broken.len(), read), (4, 1, 3));
    assert!(lines.runs.iter().any(|line| line.suite == "toy/sweet"));
    assert_eq!(lines.broken[0].name, ids[4].as_str());
}

#[test]
fn a_manifest_that_is_a_link_is_read_each_time() {
    let place = place(2);
    let file = place.runs.layout().manifest(&place.by_the_files()[0].id);
    let other = file.with_file_name("elsewhere");
    fs::rename(&file, &other).unwrap();
    symlink(&other, &file).unwrap();
    place.listed();
    place.settle();
    assert_eq!(place.listed().1, 1, "what it leads to may change behind it");
}

#[test]
fn an_index_that_is_broken_cut_forged_or_of_another_version_is_thrown_away() {
    let place = place(3);
    place.listed();
    place.settle();
    let index = place.runs.layout().index();
    let good = fs::read(&index).unwrap();
    let expected = place.by_the_files();
    let body = &good[good.iter().position(|byte| *byte == b'\n').unwrap() + 1..];
    let mut bad = vec![
        Vec::new(),
        b"\0".to_vec(),
        // What the version before wrote.
        b"weighbridge-index-1 2d06800538d394c2\n".to_vec(),
        [b"weighbridge-index-9", &good[19..]].concat(),
        [&good[..good.len() - body.len()], b""].concat(),
        form::sealed(b""),
        form::sealed(&[body, body].concat()),
        form::sealed(&[body, b"\0"].concat()),
        // A count that no file holds.
        form::sealed(&[&body[..41], &[255; 4], &body[45..]].concat()),
    ];
    bad.extend((0..good.len()).step_by(7).map(|at| good[..at].to_vec()));
    bad.extend((0..body.len()).step_by(5).map(|at| form::sealed(&body[..at])));
    bad.extend((0..good.len()).step_by(3).map(|at| {
        let mut other = good.clone();
        other[at] ^= 0x10;
        other
    }));
    // Runs that are not in order, or that stand there twice.
    let mut swapped = form::read(&good).unwrap();
    swapped.runs.reverse();
    bad.push(form::write(&swapped));
    let mut twice = form::read(&good).unwrap();
    twice.runs.insert(0, twice.runs[0].clone());
    bad.push(form::write(&twice));
    for content in bad {
        fs::write(&index, &content).unwrap();
        assert_eq!(
            place.listed(),
            (RunLines { runs: expected.clone(), broken: Vec::new() }, 3),
            "{content:?}"
        );
    }
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    assert_eq!(place.listed().0.runs, expected, "where it cannot be written it is done without");
}

#[test]
fn any_text_of_a_manifest_comes_back_out_of_the_index() {
    let place = place(3);
    let mut odd = manifest(9_000, 1);
    odd.profile = "x\n19700101-001641-000000\t1\t\0\u{202e}".into();
    place.runs.create(&odd).unwrap();
    place.listed();
    place.settle();
    assert_eq!(place.listed(), (RunLines { runs: place.by_the_files(), broken: Vec::new() }, 0));
}

#[test]
fn the_names_in_the_folder_are_read_only_where_one_may_have_come_or_gone() {
    let place = place(3);
    place.listed();
    place.settle();
    let names = || place.files.names.load(Ordering::Relaxed);
    place.listed();
    assert_eq!(names(), 0);
    // As many as before, of other names.
    let layout = place.runs.layout().clone();
    let [first, .., last] = &place.by_the_files()[..] else { unreachable!() };
    let (mut moved, old) = (manifest(7_000, 1), layout.run(&last.id));
    fs::rename(&old, layout.run(&moved.id)).unwrap();
    moved.suite = "toy/moved".into();
    place.runs.write_manifest(&moved).unwrap();
    let (lines, read) = place.listed();
    assert_eq!((lines.runs, read, names()), (place.by_the_files(), 1, 1));
    assert_eq!(place.runs.lines().unwrap().runs[1].id, first.id);
    // What cannot be read stands in no index: its name is found each time, and told each time.
    place.settle();
    fs::create_dir(layout.runs().join("notes")).unwrap();
    for _ in 0..3 {
        let (lines, read) = place.listed();
        assert_eq!((lines.broken.len(), names(), read), (1, 1, 0));
    }
}

#[test]
fn a_folder_of_runs_that_is_a_link_is_read_each_time() {
    let (place, elsewhere) = (place(2), place(3));
    let layout = place.runs.layout().clone();
    fs::rename(layout.runs(), layout.runs().with_file_name("moved")).unwrap();
    symlink(elsewhere.runs.layout().runs(), layout.runs()).unwrap();
    place.listed();
    place.settle();
    elsewhere.runs.create(&manifest(8_000, 1)).unwrap();
    assert_eq!(place.listed().0.runs, elsewhere.by_the_files());
    assert_eq!(place.files.names.load(Ordering::Relaxed), 1);
}

#[test]
fn an_older_index_that_a_slow_writer_puts_over_a_newer_one_deceives_nobody() {
    let place = place(2);
    place.listed();
    place.settle();
    let index = place.runs.layout().index();
    let older = fs::read(&index).unwrap();
    let ids: Vec<RunId> = place.by_the_files().into_iter().map(|line| line.id).collect();
    place.runs.create(&manifest(6_000, 1)).unwrap();
    place.runs.remove(&ids[0]).unwrap();
    let mut ended = manifest(1_000, 1);
    assert_eq!(ended.id, ids[1]);
    ended.status = RunStatus::Complete;
    place.runs.write_manifest(&ended).unwrap();
    place.listed();
    fs::write(&index, older).unwrap();
    assert_eq!(place.listed().0.runs, place.by_the_files());
    assert_eq!(place.runs.lines().unwrap().runs[1].status, RunStatus::Complete);
}

#[test]
fn a_clock_that_stands_or_that_was_set_back_lets_nothing_settle() {
    let place = place(2);
    place.listed();
    let index = form::read(&fs::read(place.runs.layout().index()).unwrap()).unwrap();
    assert!(index.runs.iter().all(|(mark, _)| mark.changed <= index.looked), "one clock tells both times");
    for seconds in [0, 2, -1_000] {
        place.look_later(seconds);
        assert_eq!(place.listed().1, 2, "looked at {seconds} s later");
    }
    // However late a slow listing writes the file, it counts when it looked.
    let file = fs::File::options().append(true).open(place.runs.layout().index()).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_hours(1)).unwrap();
    assert_eq!(place.listed().1, 2);
}

#[test]
fn a_writer_that_is_killed_leaves_the_index_whole_and_what_else_it_left_is_pruned() {
    let place = place(2);
    place.listed();
    place.settle();
    place.runs.create(&manifest(6_000, 1)).unwrap();
    let expected = place.by_the_files();
    let layout = place.runs.layout().clone();
    let files = |now| {
        let killed = fs::read_dir(layout.data()).unwrap().count();
        (killed, place.runs.prune(PrunePolicy::default(), now).unwrap().leftovers)
    };
    let mut left = 0;
    for at in 0..6 {
        let failing = Arc::new(Failing::new(StoreFault::Killed(at)));
        let lines = Runs::on(failing, layout.clone()).lines().unwrap();
        assert_eq!(lines.runs, expected, "killed at change {at}");
        assert_eq!(place.runs.lines().unwrap().runs, expected, "after a kill at change {at}");
        let (found, swept) = files(SystemTime::now() + Duration::from_hours(2));
        left += swept;
        assert_eq!(found - swept, 2, "the folder of runs and the index are left");
        fs::remove_file(layout.index()).unwrap();
    }
    assert!(left > 1, "some of the kills have left something: {left}");
}

#[test]
fn the_newest_lines_are_those_of_the_files_whatever_was_done_to_them_or_to_others() {
    let place = place(9);
    place.listed();
    place.settle();
    let newest = || {
        place.files.manifests.store(0, Ordering::Relaxed);
        let (lines, count) = place.runs.newest_lines(3).unwrap();
        (lines, count, place.files.manifests.load(Ordering::Relaxed))
    };
    let expect = |read: usize, broken: usize| {
        let (lines, count, was_read) = newest();
        let all = place.by_the_files();
        assert_eq!(
            (&lines.runs[..], count, lines.broken.len(), was_read),
            (&all[..3], all.len(), broken, read)
        );
        place.settle();
    };
    expect(0, 0);
    let layout = place.runs.layout().clone();
    let ids: Vec<RunId> = place.by_the_files().into_iter().map(|line| line.id).collect();
    // One of those shown is edited by hand, one is removed, and a new one comes.
    let text = fs::read_to_string(layout.manifest(&ids[1])).unwrap().replace("toy/suite", "toy/sweet");
    fs::write(layout.manifest(&ids[1]), crate::record::fitting(&text)).unwrap();
    assert_eq!(newest().0.runs[1].suite, "toy/sweet");
    place.settle();
    fs::remove_dir_all(layout.run(&ids[0])).unwrap();
    place.runs.create(&manifest(5_000, 2)).unwrap();
    assert_eq!(newest().0.runs[0].cases, 2);
    place.settle();
    expect(0, 0);
    // One that is not shown cannot be read: that is told once its name is looked for, as for any of them.
    fs::remove_file(layout.manifest(&ids[8])).unwrap();
    assert_eq!(place.runs.lines().unwrap().broken.len(), 1);
    assert_eq!(newest().0.broken.len(), 1);
    assert_eq!(place.runs.newest_lines(0).unwrap().0.runs, []);
    assert_eq!(place.runs.newest_lines(99).unwrap().0.runs, place.by_the_files());
}
