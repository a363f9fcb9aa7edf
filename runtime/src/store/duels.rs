//! Duels: what came of each, with its rounds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::{read_record, replace, write_record};
use super::layout::duel_of;
use super::runs::names_or_none;
use super::{Disk, Files, Layout, Runs, StoreError};
use crate::compare::Comparison;
use crate::json;
use crate::record::RunId;

/// The duels of a data directory.
#[derive(Clone, Debug)]
pub struct Duels {
    pub(super) layout: Layout,
    pub(super) files: Arc<dyn Files>,
}

impl Duels {
    /// The duels of a data directory, which need not be there yet.
    pub fn new(layout: Layout) -> Self {
        Self { layout, files: Arc::new(Disk) }
    }

    /// The journals of duels that have not ended.
    pub fn journals(&self) -> Runs {
        Runs::on(self.files.clone(), self.layout.clone().of_duels())
    }

    /// The ids of the duels of which the result is there, the one that was begun or taken up last first.
    ///
    /// # Errors
    /// When their folder cannot be listed. Where it is not there, there are none.
    pub fn ids(&self) -> Result<Vec<RunId>, StoreError> {
        let names = names_or_none(&*self.files, &self.layout.duels())?;
        let mut ids = self.journals().ordered(names.iter().filter_map(|name| duel_of(name)).collect());
        ids.reverse();
        Ok(ids)
    }

    /// The result of a duel.
    ///
    /// # Errors
    /// When its file is not there, was changed since it was written, or says what cannot be.
    pub fn read(&self, duel: &RunId) -> Result<Comparison, StoreError> {
        read_record(&*self.files, &self.layout.duel(duel))
    }

    /// Writes what came of a duel in its envelope, and says where.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, duel: &RunId, comparison: &Comparison) -> Result<PathBuf, StoreError> {
        let path = self.layout.duel(duel);
        let folder = self.layout.duels();
        self.files.make_dirs(&folder).map_err(StoreError::io("make", &folder))?;
        write_record(&*self.files, &path, comparison)?;
        Ok(path)
    }

    /// Writes a comparison, as JSON without an envelope, to a file that the user names.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write_to(&self, path: &Path, comparison: &Comparison) -> Result<(), StoreError> {
        let content = json::write(comparison).map_err(|error| StoreError::io("write", path)(error.into()))?;
        replace(self.files.as_ref(), path, content.as_bytes())
    }
}
