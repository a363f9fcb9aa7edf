//! The index of runs: what a listing shows of each, so that a hundred thousand manifests need not be read for it.
//!
//! It is thrown away and made anew whenever it is missing, broken or of another version, and it is never believed over the files:
//! of every run whose manifest has another size, inode, time of change or of writing than the index says, the manifest is read.
//! A file that was written just before the index was may have been written again within the same tick of the clock, so it is
//! read as well. Nothing that decides goes by the index alone: it says which manifests to read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;

use xxhash_rust::xxh3::xxh3_64;

use super::files::replace;
use super::layout::manifest_in;
use super::runs::names_or_none;
use super::{Broken, Error, Files, Runs};
use crate::device::on_all_processors;
use crate::record::{RunId, RunManifest, RunStatus};

/// The first word of the file. Another version of the form has another one.
const FORM: &str = "weighbridge-index-1";

/// A file that was written less than so many nanoseconds before the index may change without a trace: some file systems keep
/// times of two seconds.
const SETTLED: i128 = 3_000_000_000;

/// What a listing shows of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLine {
    /// Its name.
    pub id: RunId,
    /// `<package>/<bench target>`.
    pub suite: String,
    /// The profile's name.
    pub profile: String,
    /// How it ended.
    pub status: RunStatus,
    /// Whether it was broken off and taken up again.
    pub resumed: bool,
    /// Whether another tool measured it.
    pub imported: bool,
    /// How many cases were planned.
    pub cases: usize,
    /// The machine's id.
    pub machine: String,
    /// The stand-in for a device that it was measured on; empty for a real one.
    pub stand_in: String,
    /// The commit; empty where it is not known.
    pub commit: String,
}

/// The runs that are there, as a listing shows them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RunLines {
    /// Those that can be read, newest first.
    pub runs: Vec<RunLine>,
    /// Those that cannot.
    pub broken: Vec<Broken>,
}

/// By what a file is known that was not touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    inode: u64,
    written: i128,
    changed: i128,
}

impl Stamp {
    /// The stamp of a file; `None` for what is no file of its own: what a link leads to may change behind it.
    fn of(found: &Metadata) -> Option<Self> {
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        found.file_type().is_file().then(|| Self {
            size: found.len(),
            inode: found.ino(),
            written: nanoseconds(found.mtime(), found.mtime_nsec()),
            changed: nanoseconds(found.ctime(), found.ctime_nsec()),
        })
    }

    /// Whether it was settled when the index was written at this time.
    fn is_settled(self, index: i128) -> bool {
        self.written.max(self.changed) + SETTLED < index
    }
}

impl RunLine {
    /// Whether it was measured here and came to its end.
    pub fn is_measured(&self) -> bool {
        self.status == RunStatus::Complete && !self.imported
    }

    pub(super) fn of(run: &RunManifest) -> Self {
        let environment = &run.environment;
        Self {
            id: run.id.clone(),
            suite: run.suite.clone(),
            profile: run.profile.clone(),
            status: run.status,
            resumed: run.resumed,
            imported: run.imported.is_some(),
            cases: run.planned.cases.len(),
            machine: environment.machine_id().to_string(),
            stand_in: environment.stand_in().unwrap_or_default().to_owned(),
            commit: environment.software.get("commit").cloned().unwrap_or_default(),
        }
    }

    /// The line of the file; `None` where a text would break its form, so that the run is read each time.
    fn line(&self, stamp: Stamp) -> Option<String> {
        let texts = [&self.machine, &self.stand_in, &self.commit, &self.profile, &self.suite];
        if texts.iter().any(|text| text.contains(['\t', '\n', '\r'])) {
            return None;
        }
        let status = match self.status {
            RunStatus::Running => 'r',
            RunStatus::Complete => 'c',
            RunStatus::Interrupted => 'i',
        };
        let Stamp { size, inode, written, changed } = stamp;
        let (resumed, imported) = (u8::from(self.resumed), u8::from(self.imported));
        let [machine, stand_in, commit, profile, suite] = texts;
        Some(format!(
            "{}\t{size}\t{inode}\t{written}\t{changed}\t{status}{resumed}{imported}\t{}\t{machine}\t{stand_in}\t{commit}\t\
             {profile}\t{suite}\n",
            self.id, self.cases
        ))
    }

    fn read(line: &str) -> Option<(Stamp, Self)> {
        let mut parts = line.split('\t');
        let id = parts.next()?.parse().ok()?;
        let stamp = Stamp {
            size: number(parts.next()?)?,
            inode: number(parts.next()?)?,
            written: number(parts.next()?)?,
            changed: number(parts.next()?)?,
        };
        let (status, flags) = parts.next()?.split_at_checked(1)?;
        let status = match status {
            "r" => RunStatus::Running,
            "c" => RunStatus::Complete,
            "i" => RunStatus::Interrupted,
            _ => return None,
        };
        let cases = number(parts.next()?)?;
        let mut text = || parts.next().map(str::to_owned);
        let (machine, stand_in, commit, profile, suite) = (text()?, text()?, text()?, text()?, text()?);
        let (resumed, imported) = (flags.starts_with('1'), flags.ends_with('1'));
        let line = Self { id, suite, profile, status, resumed, imported, cases, machine, stand_in, commit };
        (flags.len() == 2 && parts.next().is_none()).then_some((stamp, line))
    }
}

fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

impl Runs {
    /// All runs as a listing shows them, newest first. Manifests are read of those alone that the index does not know as they
    /// are; it is brought up to date where it can be written.
    ///
    /// # Errors
    /// When the directory cannot be read. When it is not there, there are no runs.
    pub fn lines(&self) -> Result<RunLines, Error> {
        let folder = self.layout.runs();
        let mut names = names_or_none(&*self.files, &folder)?;
        names.retain(|name| !name.starts_with('.'));
        let known = read(&*self.files, &self.layout.index());
        let count = known.len();
        let mut known = known.into_iter().peekable();
        let mut settled: Vec<(Stamp, RunLine)> = Vec::with_capacity(count);
        let mut unknown: Vec<(String, Option<Stamp>)> = Vec::new();
        for name in names {
            // Both are sorted by name: what the index knows and is not there is passed over.
            while known.next_if(|(_, line)| *line.id.as_str() < *name).is_some() {}
            let found = known.next_if(|(_, line)| *line.id.as_str() == *name);
            let manifest = manifest_in(&folder.join(&name));
            let stamp = self.files.metadata(&manifest).ok().as_ref().and_then(Stamp::of);
            match found {
                Some((then, line)) if Some(then) == stamp => settled.push((then, line)),
                _ => unknown.push((name, stamp)),
            }
        }
        let is_as_it_was = unknown.is_empty() && settled.len() == count;
        let read = on_all_processors(&unknown, |(name, _)| {
            let run = name.parse::<RunId>().map_err(|bad| bad.to_string())?;
            self.manifest(&run).map(|run| RunLine::of(&run)).map_err(|error| error.to_string())
        });
        let mut lines = RunLines::default();
        let mut all: Vec<(Option<Stamp>, RunLine)> =
            settled.into_iter().map(|(stamp, line)| (Some(stamp), line)).collect();
        for ((name, stamp), line) in unknown.into_iter().zip(read) {
            match line {
                // Read in this moment, it may be another one than was looked at: the next listing will see.
                Ok(line) => all.push((stamp, line)),
                Err(why) => lines.broken.push(Broken { name, why }),
            }
        }
        lines.broken.reverse();
        all.sort_unstable_by(|(_, a), (_, b)| a.id.cmp(&b.id));
        if !is_as_it_was {
            write(&*self.files, &self.layout.index(), &all);
        }
        lines.runs = all.into_iter().rev().map(|(_, line)| line).collect();
        Ok(lines)
    }

    /// The manifests of the runs whose lines are meant, the newest first, as they are read: what cannot be read any more is
    /// left out.
    pub(crate) fn meant<'a>(
        &'a self,
        lines: &'a [RunLine],
        meant: impl Fn(&RunLine) -> bool + 'a,
    ) -> impl Iterator<Item = RunManifest> + 'a {
        lines.iter().filter(move |line| meant(line)).filter_map(|line| self.manifest(&line.id).ok())
    }
}

/// What the index knows, sorted by name, of files that were settled when it was written. Nothing where it is missing, broken or of
/// another version.
fn read(files: &dyn Files, path: &Path) -> Vec<(Stamp, RunLine)> {
    let content = files.metadata(path).ok().as_ref().and_then(Stamp::of).zip(files.read(path).ok());
    let Some((stamp, content)) = content else { return Vec::new() };
    let lines = String::from_utf8(content).ok();
    let lines = lines.as_deref().and_then(|text| {
        let (head, lines) = text.split_once('\n')?;
        (head == self::head(lines)).then_some(lines)
    });
    let all: Option<Vec<_>> = lines.unwrap_or_default().lines().map(RunLine::read).collect();
    let mut all = all.unwrap_or_default();
    if !all.is_sorted_by(|(_, a), (_, b)| a.id < b.id) {
        return Vec::new();
    }
    all.retain(|(of, _)| of.is_settled(stamp.written));
    all
}

/// Writes the index where that can be done: without it a listing takes longer, and that is all.
fn write(files: &dyn Files, path: &Path, lines: &[(Option<Stamp>, RunLine)]) {
    let known = lines.iter().filter_map(|(stamp, line)| line.line((*stamp)?));
    let lines: String = known.collect();
    let content = format!("{}\n{lines}", head(&lines));
    drop(replace(files, path, content.as_bytes()));
}

/// The first line: the form, and a hash of the others.
fn head(lines: &str) -> String {
    format!("{FORM} {:016x}", xxh3_64(lines.as_bytes()))
}

#[cfg(test)]
mod tests {
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
        assert_eq!(
            place.listed().1,
            5,
            "written in the same moment as the index, they may have changed unseen"
        );
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
        let (text, then) =
            (fs::read_to_string(&file).unwrap(), fs::metadata(&file).unwrap().modified().unwrap());
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
            assert_eq!(
                place.listed(),
                (RunLines { runs: expected.clone(), broken: Vec::new() }, 3),
                "{text}"
            );
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
}
