//! Runs that came to their end and lack files of it: a run is complete only if its plan, its journal and its
//! cases agree.

use std::collections::{BTreeMap, HashSet};

use super::files::on_its_way_to;
use super::runs::names_or_none;
use super::{Runs, StoreError};
use crate::bencher::visible_in_line;
use crate::plan::CaseId;
use crate::record::RunManifest;

/// So many things that are gone are named.
const NAMED: usize = 5;

impl Runs {
    /// Tells whether files of a run that came to its end are gone: the record of a case that it planned, or
    /// a repeat.
    pub(super) fn is_damaged(&self, run: &RunManifest) -> Result<bool, StoreError> {
        Ok(!self.has_its_journal(run)? || !self.lost_cases(run)?.is_empty())
    }

    /// Tells whether the journal has as many repeats as it had when the run came to its end.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn has_its_journal(&self, run: &RunManifest) -> Result<bool, StoreError> {
        let there = self.files_in(&self.layout.repeats(&run.id))?.len();
        Ok(run.journalled.is_none_or(|journalled| journalled == there))
    }

    /// The cases of a run that came to its end of which the record is gone.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn lost_cases(&self, run: &RunManifest) -> Result<Vec<CaseId>, StoreError> {
        let there: HashSet<String> = self.files_in(&self.layout.cases(&run.id))?.into_iter().collect();
        let gone = |id: &&CaseId| {
            !run.planned.only_verified.contains(id) && !there.contains(&format!("{}.json", id.file_name()))
        };
        Ok(run.planned.cases.iter().filter(gone).cloned().collect())
    }

    /// The error that says what a run has lost, and how it is whole again.
    pub(super) fn damage(&self, run: &RunManifest) -> Result<StoreError, StoreError> {
        let mut gone: Vec<String> =
            self.lost_cases(run)?.iter().map(|id| format!("the record of {id}")).collect();
        let names = self.files_in(&self.layout.repeats(&run.id))?;
        if let Some(journalled) = run.journalled.filter(|journalled| *journalled != names.len()) {
            let gaps = gaps(run, &names);
            gone.push(format!("its journal has {} repeats of {journalled}{gaps}", names.len()));
        }
        let more = gone.len().saturating_sub(NAMED);
        gone.truncate(NAMED);
        gone.extend((more > 0).then(|| format!("{more} more")));
        let target = run.suite.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(StoreError::Damaged { run: run.id.clone(), gone: visible_in_line(&gone.join(", ")), target })
    }

    /// The names in a folder of a run without those on their way to their place.
    fn files_in(&self, folder: &std::path::Path) -> Result<Vec<String>, StoreError> {
        let mut names = names_or_none(&*self.files, folder)?;
        names.retain(|name| on_its_way_to(name).is_none());
        Ok(names)
    }
}

/// The numbers that are missing between those that are there, case by case, in words.
fn gaps(run: &RunManifest, names: &[String]) -> String {
    let mut numbers: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for name in names {
        let parts = name.strip_suffix(".json").and_then(|name| name.rsplit_once('.'));
        if let Some((case, Ok(number))) = parts.map(|(case, number)| (case, number.parse())) {
            numbers.entry(case).or_default().push(number);
        }
    }
    let mut told = String::new();
    for id in &run.planned.cases {
        let there = numbers.remove(&*id.file_name()).unwrap_or_default();
        let first = there.iter().copied().min().unwrap_or_default();
        let last = there.iter().copied().max().unwrap_or_default();
        let lacks: Vec<String> =
            (first..last).filter(|number| !there.contains(number)).map(|number| number.to_string()).collect();
        if !lacks.is_empty() {
            told.push_str(&format!("; of {id} it lacks {}", lacks.join(", ")));
        }
    }
    told
}
