//! Duels: what came of each, with its rounds.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::replace;
use super::{Disk, Error, Files, Layout};
use crate::compare::Comparison;
use crate::record::RunId;

/// The duels of a data directory.
#[derive(Clone, Debug)]
pub struct Duels {
    pub(super) layout: Layout,
    pub(super) files: Arc<dyn Files>,
}

/// The directory that a duel's children use; removed when this is dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Duels {
    /// The duels of a data directory, which need not be there yet.
    pub fn new(layout: Layout) -> Self {
        Self { layout, files: Arc::new(Disk) }
    }

    /// Makes the directory for a duel's children.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn scratch(&self, duel: &RunId) -> Result<Scratch, Error> {
        let path = self.layout.duel_scratch(duel);
        self.files.make_dirs(&path).map_err(Error::io("make", &path))?;
        Ok(Scratch(path))
    }

    /// Writes what came of a duel, as JSON, and says where.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, duel: &RunId, comparison: &Comparison) -> Result<PathBuf, Error> {
        let path = self.layout.duel(duel);
        let folder = self.layout.duels();
        self.files.make_dirs(&folder).map_err(Error::io("make", &folder))?;
        self.write_to(&path, comparison)?;
        Ok(path)
    }

    /// Writes a comparison, as JSON, to a file that the user names.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write_to(&self, path: &Path, comparison: &Comparison) -> Result<(), Error> {
        let content =
            serde_json::to_vec(comparison).map_err(|error| Error::io("write", path)(error.into()))?;
        replace(self.files.as_ref(), path, &content)
    }
}
