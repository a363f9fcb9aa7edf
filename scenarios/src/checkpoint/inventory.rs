//! What lies in a checkpoint: its files.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use weighbridge::{Bencher, Direction, Result, Unit};

/// A file below so many bytes is small: many of them cost a store that is far away.
const SMALL: u64 = 1 << 20;

/// The files of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inventory {
    pub(super) files: Vec<PathBuf>,
    pub(super) bytes: u64,
    largest: u64,
    small: usize,
}

impl Inventory {
    /// Everything below a directory.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub(super) fn of(directory: &Path) -> Result<Self> {
        let mut inventory = Self::default();
        inventory.add(directory)?;
        Ok(inventory)
    }

    fn add(&mut self, directory: &Path) -> io::Result<()> {
        let mut entries: Vec<DirEntry> = fs::read_dir(directory)?.collect::<io::Result<_>>()?;
        entries.sort_by_key(DirEntry::path);
        for entry in entries {
            if entry.file_type()?.is_dir() {
                self.add(&entry.path())?;
                continue;
            }
            let bytes = entry.metadata()?.len();
            self.bytes += bytes;
            self.largest = self.largest.max(bytes);
            self.small += usize::from(bytes < SMALL);
            self.files.push(entry.path());
        }
        Ok(())
    }

    /// Tells it as metrics of the case.
    pub(super) fn tell(&self, bencher: &Bencher) {
        let say = |name, value: u64, unit| bencher.metric(name, value as f64, unit, Direction::Information);
        say("checkpoint size", self.bytes, Unit::BYTES);
        say("checkpoint files", self.files.len() as u64, Unit::COUNT);
        say("files below 1 MiB", self.small as u64, Unit::COUNT);
        say("largest file", self.largest, Unit::BYTES);
    }
}
