//! What the index knows, and what it is not believed.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use super::*;
use crate::store::fixtures::manifest;
use crate::store::{Disk, Layout};

/// The disk, counting the manifests that are read.
#[derive(Debug, Default)]
struct CountingDisk(AtomicUsize);

impl Files for CountingDisk {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.0.fetch_add(usize::from(path.ends_with("run.json")), Ordering::Relaxed);
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
        Disk.names(path)
    }
    fn metadata(&self, path: &Path) -> std::io::Result<Metadata> {
        Disk.metadata(path)
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
        self.files.0.store(0, Ordering::Relaxed);
        let lines = self.runs.lines().unwrap();
        (lines, self.files.0.load(Ordering::Relaxed))
    }

    /// As if the index had been written some time after the runs were.
    fn settle(&self) {
        let index = fs::File::options().append(true).open(self.runs.layout.index()).unwrap();
        index.set_modified(SystemTime::now() + Duration::from_secs(10)).unwrap();
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
    let place = place(1);
    let file = place.runs.layout().manifest(&place.by_the_files()[0].id);
    let other = file.with_file_name("elsewhere");
    fs::rename(&file, &other).unwrap();
    std::os::unix::fs::symlink(&other, &file).unwrap();
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
    let good = fs::read_to_string(&index).unwrap();
    let expected = place.by_the_files();
    let (head, lines) = good.split_once('\n').unwrap();
    let sealed = |lines: &str| format!("{}\n{lines}", super::head(lines));
    let twice = format!("{lines}{lines}");
    let mut bad = vec![
        String::new(),
        "\u{0}".into(),
        good[..good.len() / 2].to_owned(),
        good.replace(FORM, "weighbridge-index-0"),
        good.replace("toy/suite", "toy/other"),
        format!("{head}\n"),
        sealed(&twice),
        sealed(&lines.replace('\t', " ")),
        sealed(&lines.replace("\tr00\t", "\tz00\t")),
    ];
    bad.extend((0..good.len()).step_by(37).map(|at| good[..at].to_owned()));
    for text in bad {
        fs::write(&index, &text).unwrap();
        place.settle();
        assert_eq!(place.listed(), (RunLines { runs: expected.clone(), broken: Vec::new() }, 3), "{text}");
    }
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    assert_eq!(place.listed().0.runs, expected, "where it cannot be written it is done without");
}

#[test]
fn a_run_with_a_text_that_breaks_a_line_is_read_each_time_and_spoils_the_index_of_no_other() {
    let place = place(3);
    let mut odd = manifest(9_000, 1);
    odd.profile = "x\n19700101-001641-000000\t1\t1\t1\t1\tc00\t1\tm\t\t\tp\ts".into();
    place.runs.create(&odd).unwrap();
    place.listed();
    place.settle();
    let (lines, read) = place.listed();
    assert_eq!((lines.runs, read), (place.by_the_files(), 1));
}
