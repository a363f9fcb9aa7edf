//! The seam between `export` and the formats.

use std::path::{Path, PathBuf};

use anyhow::Result;
use weighbridge::data::{CaseRecord, Repeat, RunRecord};

use crate::place::Place;
use crate::stop;

/// A run that is to be exported, and what was asked for.
pub(crate) struct Job<'a> {
    pub(crate) run: &'a RunRecord,
    pub(crate) place: &'a Place,
    /// The format's name.
    pub(crate) format: &'a str,
    /// The file, or the folder of several.
    pub(crate) out: Option<&'a Path>,
    /// The name of the run in a layout that keeps several.
    pub(crate) name: &'a str,
    /// The project of an experiment tracker.
    pub(crate) project: &'a str,
    /// The team or user whose project it is.
    pub(crate) entity: Option<&'a str>,
    /// The interpreter that has the tracker's SDK.
    pub(crate) python: &'a Path,
}

/// The form that a format gave a run.
pub(crate) enum ExportOutput {
    /// One text.
    Text(String),
    /// Files below a folder, in the order in which they are to appear there.
    Files(Vec<(PathBuf, Vec<u8>)>),
    /// It was handed over: how.
    Done(String),
    /// Something that it needs is not there, which is no failure: what, and how to get it.
    Skipped(String),
}

impl Job<'_> {
    /// The measured repeats of a case, one after the other.
    pub(crate) fn repeats(&self, case: &CaseRecord) -> impl Iterator<Item = Result<Repeat>> + '_ {
        let (runs, run, id) = (self.place.runs(), &self.run.manifest, case.id.clone());
        let mut ended = false;
        (1..).map_while(move |number| {
            if ended {
                return None;
            }
            match runs.repeat(run, &id, number) {
                Ok(repeat) => repeat.map(Ok),
                Err(error) => {
                    ended = true;
                    Some(Err(error.into()))
                }
            }
        })
    }

    /// The folder that several files need.
    ///
    /// # Errors
    /// Where none is named.
    pub(crate) fn folder(&self) -> Result<&Path> {
        let missing = || {
            stop::usage(format!("`export {}` is several files: name their folder with --out", self.format))
        };
        self.out.ok_or_else(missing)
    }
}
