//! The index of runs: what a listing shows of each, so that a hundred thousand manifests need not be read for it.
//!
//! It is thrown away and made anew whenever it is missing, broken or of another version, and it is never believed over the files:
//! each listing asks the file system for the mark of the folder and of every manifest. Where the folder has another mark, its
//! names are read; where a manifest has another one, that is read. What was changed just before it was looked at may have been
//! changed again within the same tick of the clock, so it is read as well. Nothing that decides goes by the index alone: it says
//! which manifests to read.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::{replace, temporary};
use super::layout::MANIFEST;
use super::runs::names_or_none;
use super::{FileMark, Files, Runs, StoreError, Unreadable};
use crate::device::on_all_processors;
use crate::record::{RunId, RunManifest, RunStatus};

mod form;
#[cfg(test)]
mod tests;

/// What was changed less than so many nanoseconds before it was looked at may change without a trace: some file systems keep
/// times of two seconds.
const SETTLED: i64 = 3_000_000_000;

/// What a listing shows of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLine {
    /// Its name.
    pub id: RunId,
    /// `<package>/<bench target>`.
    pub suite: SharedText,
    /// The profile's name.
    pub profile: SharedText,
    /// How it ended.
    pub status: RunStatus,
    /// Whether it was broken off and taken up again.
    pub resumed: bool,
    /// Whether another tool measured it.
    pub imported: bool,
    /// Seconds from the Unix epoch to its start.
    pub started: u64,
    /// How many cases were planned.
    pub cases: usize,
    /// The machine's id.
    pub machine: SharedText,
    /// The fake for a device that it was measured on; empty for a real one.
    pub fake: SharedText,
    /// The commit; empty where it is not known.
    pub commit: SharedText,
}

/// A text that many runs have, and that is kept once.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct SharedText(Arc<str>);

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl<T: AsRef<str>> PartialEq<T> for SharedText {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

/// The runs that are there, as a listing shows them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RunLines {
    /// Those that can be read, newest first.
    pub runs: Vec<RunLine>,
    /// Those that cannot.
    pub broken: Vec<Unreadable>,
}

/// What a listing found, and when it looked.
#[derive(Debug, Default, PartialEq, Eq)]
struct Index {
    /// When it began to look, by the clock of the file system: nanoseconds since the Unix epoch.
    looked: i64,
    /// The mark of the folder of runs, where the names in it are those below and no others.
    folder: Option<FileMark>,
    /// By name.
    runs: Vec<(FileMark, RunLine)>,
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
            suite: run.suite.as_str().into(),
            profile: run.profile.as_str().into(),
            status: run.status,
            resumed: run.resumed,
            imported: run.imported.is_some(),
            started: run.started,
            cases: run.planned.cases.len(),
            machine: environment.machine_id().as_str().into(),
            fake: environment.fake_device().unwrap_or_default().into(),
            commit: environment.software.get("commit").map_or("", String::as_str).into(),
        }
    }
}

impl Runs {
    /// All runs as a listing shows them, newest first. Manifests are read of those alone that the index does not know as they
    /// are; it is brought up to date where it can be written.
    ///
    /// # Errors
    /// When the directory cannot be read. When it is not there, there are no runs.
    pub fn lines(&self) -> Result<RunLines, StoreError> {
        let files = &*self.files;
        let (folder, path) = (self.layout.runs(), self.layout.index());
        let mut index = Index::read(files, &path);
        let is_same_folder = index.folder.is_some() && index.folder == mark_of(files, &folder);
        let count = index.runs.len();
        index.keep_unchanged(&*files.marks(&folder));
        let mut beside = RunLines::default();
        if !is_same_folder || index.runs.len() < count {
            beside = self.bring_up_to_date(&mut index, count)?;
        }
        let mut runs: Vec<RunLine> = index.runs.into_iter().rev().map(|(_, line)| line).collect();
        if !beside.runs.is_empty() {
            runs.append(&mut beside.runs);
            runs.sort_unstable_by(|a, b| b.id.cmp(&a.id));
        }
        Ok(RunLines { runs, broken: beside.broken })
    }

    /// The newest so many of the [`lines`](Self::lines), and how many there are. Where no name came or went since the index was
    /// written, the file system is asked for these manifests alone.
    ///
    /// # Errors
    /// As [`lines`](Self::lines).
    pub fn newest_lines(&self, most: usize) -> Result<(RunLines, usize), StoreError> {
        let files = &*self.files;
        let folder = self.layout.runs();
        let mut index = Index::read(files, &self.layout.index());
        let count = index.runs.len();
        if index.folder.is_some() && index.folder == mark_of(files, &folder) {
            index.runs.drain(..count.saturating_sub(most));
            let shown = index.runs.len();
            index.keep_unchanged(&*files.marks(&folder));
            if index.runs.len() == shown {
                let runs = index.runs.into_iter().rev().map(|(_, line)| line).collect();
                return Ok((RunLines { runs, broken: Vec::new() }, count));
            }
        }
        let mut lines = self.lines()?;
        let count = lines.runs.len();
        lines.runs.truncate(most);
        Ok((lines, count))
    }

    /// Reads the manifests of those runs that the index does not have, of `count` that were in it, and writes it where it was not
    /// as the files are. Hands back what no index can hold: runs whose manifests have no mark, and what cannot be read.
    fn bring_up_to_date(&self, index: &mut Index, count: usize) -> Result<RunLines, StoreError> {
        let files = &*self.files;
        let (folder, path) = (self.layout.runs(), self.layout.index());
        // In this order: what changes after it was looked at is seen by the next listing.
        let looked = moment(files, &path);
        index.folder = mark_of(files, &folder);
        let mut names = names_or_none(files, &folder)?;
        names.retain(|name| {
            let is_known = || index.runs.binary_search_by(|(_, line)| line.id.as_str().cmp(name)).is_ok();
            !name.starts_with('.') && !is_known()
        });
        let marks = files.marks(&folder);
        let mut way = ManifestWay::default();
        let marks: Vec<Option<FileMark>> = names.iter().map(|name| marks(way.to(name))).collect();
        let read = on_all_processors(&names, |name| {
            let run = name.parse::<RunId>().map_err(|bad| bad.to_string())?;
            self.manifest(&run).map(|run| RunLine::of(&run)).map_err(|error| error.to_string())
        });
        let mut beside = RunLines::default();
        let is_less = index.runs.len() < count;
        let before = index.runs.len();
        for ((name, mark), line) in names.into_iter().zip(marks).zip(read) {
            match (line, mark) {
                (Ok(line), Some(mark)) => index.runs.push((mark, line)),
                (Ok(line), None) => beside.runs.push(line),
                (Err(why), _) => beside.broken.push(Unreadable { name, why }),
            }
        }
        let is_more = index.runs.len() > before;
        index.runs.sort_unstable_by(|(_, a), (_, b)| a.id.cmp(&b.id));
        // Names that are not in the index have to be read each time.
        if beside != RunLines::default() {
            index.folder = None;
        }
        if let Some(looked) = looked.filter(|_| is_more || is_less || index.folder.is_some()) {
            index.looked = looked;
            // Without it a listing takes longer, and that is all.
            drop(replace(files, &path, &form::write(index)));
        }
        beside.broken.reverse();
        Ok(beside)
    }

    /// The manifests of the runs whose lines are meant, the newest first, as they are read: what cannot be read any more is
    /// left out.
    pub fn meant<'a>(
        &'a self,
        lines: &'a [RunLine],
        meant: impl Fn(&RunLine) -> bool + 'a,
    ) -> impl Iterator<Item = RunManifest> + 'a {
        lines.iter().filter(move |line| meant(line)).filter_map(|line| self.manifest(&line.id).ok())
    }
}

impl Index {
    /// The index of a file; an empty one where that is missing, broken or of another version.
    fn read(files: &dyn Files, path: &Path) -> Self {
        let content = files.read(path).unwrap_or_default();
        let mut index = form::read(&content).unwrap_or_default();
        index.folder = index.folder.filter(|folder| folder.had_settled(index.looked));
        index
    }

    /// Leaves those runs alone whose manifests are as they were, and had settled when they were looked at.
    fn keep_unchanged(&mut self, mark_of: &dyn Fn(&Path) -> Option<FileMark>) {
        let mut way = ManifestWay::default();
        let looked = self.looked;
        self.runs.retain(|(then, line)| {
            then.had_settled(looked) && mark_of(way.to(line.id.as_str())) == Some(*then)
        });
    }
}

impl FileMark {
    /// Whether the last change of what it marks was long enough ago at this moment.
    fn had_settled(self, looked: i64) -> bool {
        self.written.max(self.changed).saturating_add(SETTLED) < looked
    }
}

/// The way to manifests from the folder of runs, in one buffer.
#[derive(Default)]
struct ManifestWay(PathBuf);

impl ManifestWay {
    fn to(&mut self, run: &str) -> &Path {
        self.0.as_mut_os_string().clear();
        self.0.push(run);
        self.0.push(MANIFEST);
        &self.0
    }
}

/// The mark of a folder; `None` for a link: what it leads to may change behind it.
fn mark_of(files: &dyn Files, folder: &Path) -> Option<FileMark> {
    files.metadata(folder).ok().filter(std::fs::Metadata::is_dir).map(|found| FileMark::of(&found))
}

/// What the clock of the file system says, which is the one that marks are made by: the time of a file that is written for it.
/// `None` where none can be.
fn moment(files: &dyn Files, beside: &Path) -> Option<i64> {
    let passing = temporary(beside);
    let written = files.write_new(&passing, b"").and_then(|()| files.metadata(&passing));
    drop(files.remove(&passing));
    Some(FileMark::of(&written.ok()?).written)
}
