//! Runs: made, journalled, finished, listed and read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::files::{on_its_way_to, read_record, rename_for_good, replace, write_record};
use super::layout::{directories_in, manifest_in};
use super::{Disk, Files, Layout, OutputStream, RunLock, StoreError};
use crate::compare::History;
use crate::device::on_all_processors;
use crate::plan::CaseId;
use crate::record::{
    self, Baseline, CaseRecord, JournalEntry, RoundEntry, RunId, RunManifest, RunRecord, RunStatus,
    SchemaError,
};
use crate::run::{EndedRound, Repeat, RoundId};

/// The runs of a data directory.
///
/// Each run has a directory of its own, so two that write at once do each other no harm, and nothing is
/// locked.
#[derive(Clone, Debug)]
pub struct Runs {
    pub(super) layout: Layout,
    pub(super) files: Arc<dyn Files>,
}

/// The runs that are there.
#[derive(Debug, Default)]
pub struct RunListing {
    /// Those that can be read, newest first.
    pub runs: Vec<RunManifest>,
    /// Those that cannot.
    pub broken: Vec<Unreadable>,
}

/// Something that cannot be read where a run or a baseline should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its name in its directory.
    pub name: String,
    /// The reason.
    pub why: String,
}

impl Runs {
    /// The runs of a data directory, which need not be there yet.
    pub fn new(layout: Layout) -> Self {
        Self::on(Arc::new(Disk), layout)
    }

    /// The same on another file system.
    pub fn on(files: Arc<dyn Files>, layout: Layout) -> Self {
        Self { layout, files }
    }

    /// The layout of the files of these runs.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Makes the directory of a run, with its manifest in it. It appears whole or not at all.
    ///
    /// # Errors
    /// [`StoreError::RunExists`] when there is one of that name: draw another salt. Else those of the file
    /// system.
    pub fn create(&self, manifest: &RunManifest) -> Result<(), StoreError> {
        let (unborn, run) = (self.layout.unborn(&manifest.id), self.layout.run(&manifest.id));
        let made = self.prepare(manifest).and_then(|()| {
            rename_for_good(&*self.files, &unborn, &run).map_err(|source| match source.kind() {
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
                    StoreError::RunExists(manifest.id.clone())
                }
                _ => StoreError::io("make", &run)(source),
            })
        });
        made.inspect_err(|_| drop(self.files.remove(&unborn)))
    }

    fn prepare(&self, manifest: &RunManifest) -> Result<(), StoreError> {
        let unborn = self.layout.unborn(&manifest.id);
        for directory in directories_in(&unborn) {
            self.files.make_dirs(&directory).map_err(StoreError::io("make", &directory))?;
        }
        write_record(&*self.files, &manifest_in(&unborn), manifest)?;
        self.enter(&manifest.id)
    }

    /// Puts a repeat that ended into the journal. When this returns, the disk has it.
    ///
    /// # Errors
    /// Those of the file system, and a repeat that holds what is no number.
    pub fn journal(&self, run: &RunId, case: &CaseId, repeat: &Repeat) -> Result<(), StoreError> {
        let entry = JournalEntry { case: Cow::Borrowed(case), repeat: Cow::Borrowed(repeat) };
        write_record(&*self.files, &self.layout.repeat(run, case, repeat.number), &entry)
    }

    /// Puts a round of a duel that ended into the journal. When this returns, the disk has it.
    ///
    /// # Errors
    /// Those of the file system, and a round that holds what cannot be.
    pub fn journal_round(
        &self,
        duel: &RunId,
        case: &CaseId,
        of: RoundId,
        round: &EndedRound,
    ) -> Result<(), StoreError> {
        let RoundId { confirming, number, .. } = of;
        let folder = self.layout.rounds(duel);
        self.files.make_dirs(&folder).map_err(StoreError::io("make", &folder))?;
        let entry = RoundEntry { case: Cow::Borrowed(case), confirming, number, round: Cow::Borrowed(round) };
        write_record(&*self.files, &self.layout.round(duel, case, confirming, number), &entry)
    }

    /// The rounds of a duel that have ended, with the candidate's case. `pair` gives the index of a case
    /// among the pairs of the duel; a round of another case is none of its.
    ///
    /// # Errors
    /// What is the matter with a file.
    pub fn finished_rounds(
        &self,
        duel: &RunId,
        pair: &dyn Fn(&CaseId) -> Option<usize>,
    ) -> Result<HashMap<RoundId, EndedRound>, StoreError> {
        let folder = self.layout.rounds(duel);
        let mut rounds = HashMap::new();
        for name in names_or_none(&*self.files, &folder)? {
            if on_its_way_to(&name).is_some() {
                continue;
            }
            let path = folder.join(&name);
            let RoundEntry { case, confirming, number, round } = read_record(&*self.files, &path)?;
            let place = self.layout.round(duel, &case, confirming, number);
            let Some(pair) = pair(&case).filter(|_| place == path) else {
                let found = format!("round {number} of {case}");
                return Err(StoreError::Misplaced { path, found, expected: format!("`{name}`") });
            };
            rounds.insert(RoundId { pair, confirming, number }, round.into_owned());
        }
        Ok(rounds)
    }

    /// Keeps what a child wrote to one of its streams, whatever it was. Nothing is kept of a silent one.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn log(
        &self,
        run: &RunId,
        case: &CaseId,
        number: u32,
        stream: OutputStream,
        said: &[u8],
    ) -> Result<(), StoreError> {
        if said.is_empty() {
            return Ok(());
        }
        replace(&*self.files, &self.layout.log(run, case, number, stream), said)
    }

    /// The file with what a repeat printed: to stderr, where it did, else to stdout; `None` where it printed
    /// nothing.
    pub fn log_of(&self, run: &RunId, case: &CaseId, number: u32) -> Option<PathBuf> {
        let logs = [OutputStream::Stderr, OutputStream::Stdout]
            .map(|stream| self.layout.log(run, case, number, stream));
        logs.into_iter().find(|log| log.exists())
    }

    /// Writes the record of a case, without its repeats: the journal has them.
    ///
    /// # Errors
    /// Those of the file system, and a record that holds what is no number.
    pub fn write_case(&self, run: &RunId, case: &CaseRecord) -> Result<(), StoreError> {
        write_record(&*self.files, &self.layout.case(run, &case.id), &case.summary())
    }

    /// Writes the manifest anew: with the status at the end of the run, or when one is taken up again.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write_manifest(&self, manifest: &RunManifest) -> Result<(), StoreError> {
        write_record(&*self.files, &self.layout.manifest(&manifest.id), manifest)
    }

    /// Takes the right to go on with a run; `None` where another process does.
    ///
    /// # Errors
    /// [`StoreError::NoRun`], or those of the file system.
    pub fn lock(&self, run: &RunId) -> Result<Option<RunLock>, StoreError> {
        let folder = self.layout.run(run);
        if !folder.is_dir() {
            return Err(StoreError::NoRun { run: run.clone(), data: self.layout.data().to_owned() });
        }
        RunLock::attempt(&folder)
    }

    /// The manifest of a run. One that came to its end and lacks files is [`RunStatus::Damaged`].
    ///
    /// # Errors
    /// [`StoreError::NoRun`], or what is the matter with the file.
    pub fn manifest(&self, run: &RunId) -> Result<RunManifest, StoreError> {
        let mut manifest = self.stored_manifest(run)?;
        if manifest.status == RunStatus::Complete && self.is_damaged(&manifest)? {
            manifest.status = RunStatus::Damaged;
        }
        Ok(manifest)
    }

    fn stored_manifest(&self, run: &RunId) -> Result<RunManifest, StoreError> {
        let path = self.layout.manifest(run);
        let manifest: RunManifest = read_record(&*self.files, &path).map_err(|error| {
            if error.absent() {
                StoreError::NoRun { run: run.clone(), data: self.layout.data().to_owned() }
            } else {
                error
            }
        })?;
        if manifest.id == *run {
            Ok(manifest)
        } else {
            let (found, expected) = (format!("run {}", manifest.id), format!("run {run}"));
            Err(StoreError::Misplaced { path, found, expected })
        }
    }

    /// A run with its cases, each without its repeats: enough to judge by, and quick. Of a run that was
    /// broken off, cases without a record are left out.
    ///
    /// # Errors
    /// [`StoreError::NoRun`], [`StoreError::Damaged`], or what is the matter with a file: what is damaged or
    /// gone is never passed over.
    pub fn load(&self, run: &RunId) -> Result<RunRecord, StoreError> {
        let manifest = self.manifest(run)?;
        if manifest.status == RunStatus::Damaged {
            return Err(self.damage(&manifest)?);
        }
        // A run may have ten thousand.
        let all: Vec<CaseId> =
            manifest.planned.cases.iter().chain(&manifest.planned.skipped).cloned().collect();
        let read = on_all_processors(&all, |id| self.case_of(&manifest, id));
        let cases: Result<Vec<_>, _> = read.into_iter().filter_map(Result::transpose).collect();
        Ok(RunRecord { cases: cases?, manifest })
    }

    /// A run with its cases and all their repeats.
    ///
    /// # Errors
    /// As [`Runs::load`].
    pub fn load_whole(&self, run: &RunId) -> Result<RunRecord, StoreError> {
        let mut whole = self.load(run)?;
        let mut at = 0;
        for (id, repeat) in self.finished(run)? {
            // Repeats of one case follow each other, so that a search is rare.
            if whole.cases.get(at).is_none_or(|case| case.id != id) {
                let Some(place) = whole.cases.iter().position(|case| case.id == id) else { continue };
                at = place;
            }
            whole.cases[at].repeats.push(repeat);
        }
        for case in &whole.cases {
            record::against_samples(case).map_err(|what| StoreError::Record {
                path: self.layout.case(run, &case.id),
                source: SchemaError::Impossible(what),
            })?;
        }
        Ok(whole)
    }

    /// The record of one case, without its repeats; `None` when it was not written yet.
    ///
    /// # Errors
    /// What is the matter with the file.
    pub fn case(&self, run: &RunId, case: &CaseId) -> Result<Option<CaseRecord>, StoreError> {
        self.case_of(&self.stored_manifest(run)?, case)
    }

    fn case_of(&self, run: &RunManifest, case: &CaseId) -> Result<Option<CaseRecord>, StoreError> {
        let path = self.layout.case(&run.id, case);
        match read_record::<CaseRecord>(&*self.files, &path) {
            Ok(record) if record.id != *case => Err(misplaced(path, &record.id, case)),
            Ok(record) => Ok(Some(record)),
            Err(error) if error.absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// One journalled repeat of a case; `None` when the journal has none of that number. Who goes through a
    /// large run asks for one after the other, and holds one at a time.
    ///
    /// # Errors
    /// What is the matter with the file.
    pub fn repeat(
        &self,
        run: &RunManifest,
        case: &CaseId,
        number: u32,
    ) -> Result<Option<Repeat>, StoreError> {
        let path = self.layout.repeat(&run.id, case, number);
        match read_record::<JournalEntry<'_>>(&*self.files, &path) {
            Ok(JournalEntry { case: of, repeat }) if *of == *case && repeat.number == number => {
                Ok(Some(repeat.into_owned()))
            }
            Ok(JournalEntry { case: of, .. }) => Err(misplaced(path, &of, case)),
            Err(error) if error.absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The journalled repeats of one case, by number.
    ///
    /// # Errors
    /// What is the matter with a file.
    pub fn repeats(&self, run: &RunId, case: &CaseId) -> Result<Vec<Repeat>, StoreError> {
        let prefix = format!("{}.", case.file_name());
        let entries = self.journalled(run, &|name| name.starts_with(&prefix))?;
        // `a.` is also the start of `a.b.1.json`, so the entry itself decides.
        Ok(entries.into_iter().filter(|(of, _)| of == case).map(|(_, repeat)| repeat).collect())
    }

    /// All repeats that the journal of a run holds: by case, then by number.
    ///
    /// # Errors
    /// What is the matter with a file.
    pub fn finished(&self, run: &RunId) -> Result<Vec<(CaseId, Repeat)>, StoreError> {
        self.journalled(run, &|_| true)
    }

    fn journalled(
        &self,
        run: &RunId,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<(CaseId, Repeat)>, StoreError> {
        let directory = self.layout.repeats(run);
        self.stored_manifest(run)?; // or there is no such run
        let names = self.files.names(&directory).map_err(StoreError::io("list", &directory))?;
        let mut repeats = Vec::new();
        for name in names.iter().filter(|name| on_its_way_to(name).is_none() && wanted(name)) {
            let path = directory.join(name);
            let JournalEntry { case, repeat } = read_record(&*self.files, &path)?;
            let (case, repeat): (CaseId, Repeat) = (case.into_owned(), repeat.into_owned());
            if self.layout.repeat(run, &case, repeat.number) != path {
                let found = format!("repeat {} of {case}", repeat.number);
                return Err(StoreError::Misplaced { path, found, expected: format!("`{name}`") });
            }
            repeats.push((case, repeat));
        }
        repeats.sort_by_cached_key(|(case, repeat)| format!("{} {:010}", case.file_name(), repeat.number));
        Ok(repeats)
    }

    /// All runs, newest first. One that cannot be read is told apart, and is no error: the others are fine.
    ///
    /// # Errors
    /// When the directory cannot be read. When it is not there, there are no runs.
    pub fn list(&self) -> Result<RunListing, StoreError> {
        Ok(self.newest(usize::MAX)?.0)
    }

    /// The newest so many runs, and how many there are: no manifest of an older one is read.
    ///
    /// # Errors
    /// As [`Runs::list`].
    pub fn newest(&self, most: usize) -> Result<(RunListing, usize), StoreError> {
        let mut listing = RunListing::default();
        let mut ids: Vec<RunId> = Vec::new();
        for name in names_or_none(&*self.files, &self.layout.runs())? {
            match name.parse::<RunId>() {
                Ok(id) => ids.push(id),
                Err(_) if name.starts_with('.') => {}
                Err(bad) => listing.broken.push(Unreadable { name, why: bad.to_string() }),
            }
        }
        let mut ids = self.ordered(ids);
        ids.reverse();
        let count = ids.len();
        ids.truncate(most);
        let manifests = on_all_processors(&ids, |id| self.manifest(id));
        for (id, manifest) in ids.into_iter().zip(manifests) {
            match manifest {
                Ok(manifest) => listing.runs.push(manifest),
                Err(error) => listing.broken.push(Unreadable { name: id.into(), why: error.to_string() }),
            }
        }
        Ok((listing, count))
    }

    /// The runs that can be read, newest first. Each manifest is read when it is asked for, so whoever stops
    /// early reads few.
    ///
    /// # Errors
    /// As [`Runs::list`].
    pub fn newest_first(&self) -> Result<impl Iterator<Item = RunManifest>, StoreError> {
        Ok(self.ids()?.into_iter().filter_map(|id| self.manifest(&id).ok()))
    }

    /// The ids of all runs, the one that was begun or taken up last first.
    ///
    /// # Errors
    /// As [`Runs::list`].
    pub fn ids(&self) -> Result<Vec<RunId>, StoreError> {
        let names = names_or_none(&*self.files, &self.layout.runs())?;
        let mut ids = self.ordered(names.iter().filter_map(|name| name.parse().ok()).collect());
        ids.reverse();
        Ok(ids)
    }

    /// The newest run of a suite that was measured here and came to its end.
    ///
    /// # Errors
    /// As [`Runs::list`].
    pub fn latest(&self, suite: &str) -> Result<Option<RunManifest>, StoreError> {
        Ok(self.newest_first()?.find(|run| run.suite == suite && run.is_measured()))
    }

    /// Returns the measurements of the newest `most` complete runs that belong beside a baseline: how far
    /// figures wander when nothing is compared. The candidate is not among them. What cannot be read is left
    /// out: history informs, it does not judge.
    ///
    /// # Errors
    /// As [`Runs::list`].
    pub fn history(
        &self,
        baseline: &Baseline,
        candidate: &RunId,
        most: usize,
    ) -> Result<History, StoreError> {
        let belongs = |run: &RunManifest| {
            run.status == RunStatus::Complete && run.id != *candidate && History::belongs(run, baseline)
        };
        let like: Vec<RunManifest> = self.newest_first()?.filter(belongs).take(most).collect();
        let mut history = History::default();
        for run in like.iter().rev() {
            if run.id == baseline.run {
                history.add_promoted(baseline); // it has been read already
            } else if let Ok(run) = self.load(&run.id) {
                run.cases.iter().for_each(|case| history.add(&run.manifest.id, case));
            }
        }
        Ok(history)
    }
}

/// The names in a directory; none when it is not there.
pub(super) fn names_or_none(
    files: &dyn Files,
    directory: &std::path::Path,
) -> Result<Vec<String>, StoreError> {
    match files.names(directory) {
        Ok(names) => Ok(names),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StoreError::io("list", directory)(error)),
    }
}

fn misplaced(path: std::path::PathBuf, found: &CaseId, expected: &CaseId) -> StoreError {
    StoreError::Misplaced { path, found: format!("case {found}"), expected: format!("case {expected}") }
}
