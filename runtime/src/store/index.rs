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
    /// The fake for a device that it was measured on; empty for a real one.
    pub fake: String,
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
struct FileMark {
    size: u64,
    inode: u64,
    written: i128,
    changed: i128,
}

impl FileMark {
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
            fake: environment.fake_device().unwrap_or_default().to_owned(),
            commit: environment.software.get("commit").cloned().unwrap_or_default(),
        }
    }

    /// The line of the file; `None` where a text would break its form, so that the run is read each time.
    fn line(&self, stamp: FileMark) -> Option<String> {
        let texts = [&self.machine, &self.fake, &self.commit, &self.profile, &self.suite];
        if texts.iter().any(|text| text.contains(['\t', '\n', '\r'])) {
            return None;
        }
        let status = match self.status {
            RunStatus::Running => 'r',
            RunStatus::Complete => 'c',
            RunStatus::Interrupted => 'i',
        };
        let FileMark { size, inode, written, changed } = stamp;
        let (resumed, imported) = (u8::from(self.resumed), u8::from(self.imported));
        let [machine, fake, commit, profile, suite] = texts;
        Some(format!(
            "{}\t{size}\t{inode}\t{written}\t{changed}\t{status}{resumed}{imported}\t{}\t{machine}\t{fake}\t{commit}\t\
             {profile}\t{suite}\n",
            self.id, self.cases
        ))
    }

    fn read(line: &str) -> Option<(FileMark, Self)> {
        let mut parts = line.split('\t');
        let id = parts.next()?.parse().ok()?;
        let stamp = FileMark {
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
        let (machine, fake, commit, profile, suite) = (text()?, text()?, text()?, text()?, text()?);
        let (resumed, imported) = (flags.starts_with('1'), flags.ends_with('1'));
        let line = Self { id, suite, profile, status, resumed, imported, cases, machine, fake, commit };
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
        let mut settled: Vec<(FileMark, RunLine)> = Vec::with_capacity(count);
        let mut unknown: Vec<(String, Option<FileMark>)> = Vec::new();
        for name in names {
            // Both are sorted by name: what the index knows and is not there is passed over.
            while known.next_if(|(_, line)| *line.id.as_str() < *name).is_some() {}
            let found = known.next_if(|(_, line)| *line.id.as_str() == *name);
            let manifest = manifest_in(&folder.join(&name));
            let stamp = self.files.metadata(&manifest).ok().as_ref().and_then(FileMark::of);
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
        let mut all: Vec<(Option<FileMark>, RunLine)> =
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
fn read(files: &dyn Files, path: &Path) -> Vec<(FileMark, RunLine)> {
    let content = files.metadata(path).ok().as_ref().and_then(FileMark::of).zip(files.read(path).ok());
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
fn write(files: &dyn Files, path: &Path, lines: &[(Option<FileMark>, RunLine)]) {
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
mod tests;
