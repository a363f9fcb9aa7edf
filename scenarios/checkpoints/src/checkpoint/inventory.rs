//! What lies in a checkpoint: its files, and in which formats.

use std::collections::BTreeMap;
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
    /// By its name, how many files each format has and how many bytes.
    formats: BTreeMap<&'static str, (u64, u64)>,
}

/// The format of a database of `TensorStore`: its manifest, and the data beside that.
const OCDBT: &str = "ocdbt";

/// The format of an array whose chunks are files.
const ZARR3: &str = "zarr3";

/// The format of files that say what their checkpoint holds.
const METADATA: &str = "metadata";

/// All else: files of a system's own.
const OTHER: &str = "other";

/// Files that say what their checkpoint holds: those of Orbax, of `PyTorch` and of the reference.
const METADATA_FILES: &[&str] =
    &["_METADATA", "_CHECKPOINT_METADATA", "_sharding", "_strings.json", ".metadata", "manifest.json"];

/// The manifest of a database of `TensorStore`.
const DATABASE: &str = "manifest.ocdbt";

impl Inventory {
    /// Everything below a directory.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub(super) fn of(directory: &Path) -> Result<Self> {
        let mut inventory = Self::default();
        inventory.add(directory, None)?;
        Ok(inventory)
    }

    /// Adds a directory below one of this format.
    fn add(&mut self, directory: &Path, within: Option<&'static str>) -> io::Result<()> {
        let mut entries: Vec<DirEntry> = fs::read_dir(directory)?.collect::<io::Result<_>>()?;
        entries.sort_by_key(DirEntry::path);
        let has = |name: &str| entries.iter().any(|entry| entry.file_name() == name);
        let within = within.or_else(|| has("zarr.json").then_some(ZARR3));
        let is_database = has(DATABASE);
        for entry in &entries {
            let name = entry.file_name();
            if entry.file_type()?.is_dir() {
                let below = match name.to_str() {
                    Some("d") if is_database => Some(OCDBT),
                    Some("array_metadatas") => Some(METADATA),
                    _ => None,
                };
                self.add(&entry.path(), within.or(below))?;
                continue;
            }
            let own = match name.to_str() {
                Some(DATABASE) => Some(OCDBT),
                Some(name) if METADATA_FILES.contains(&name) => Some(METADATA),
                _ => None,
            };
            let bytes = entry.metadata()?.len();
            let format = self.formats.entry(within.or(own).unwrap_or(OTHER)).or_default();
            *format = (format.0 + 1, format.1 + bytes);
            self.bytes += bytes;
            self.largest = self.largest.max(bytes);
            self.small += usize::from(bytes < SMALL);
            self.files.push(entry.path());
        }
        Ok(())
    }

    /// Tells it as metrics of the case.
    pub(super) fn tell(&self, bencher: &Bencher) {
        let say =
            |name: &str, value: u64, unit| bencher.metric(name, value as f64, unit, Direction::Information);
        say("checkpoint size", self.bytes, Unit::BYTES);
        say("checkpoint files", self.files.len() as u64, Unit::COUNT);
        say("files below 1 MiB", self.small as u64, Unit::COUNT);
        say("largest file", self.largest, Unit::BYTES);
        for (format, (files, bytes)) in &self.formats {
            say(&format!("files: {format}"), *files, Unit::COUNT);
            say(&format!("size: {format}"), *bytes, Unit::BYTES);
        }
        let share = self.small as f64 / self.files.len().max(1) as f64;
        bencher.metric("share of files below 1 MiB", share, Unit::RATIO, Direction::Information);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_the_format_that_they_are_of() {
        let place = tempfile::tempdir().unwrap();
        let files = [
            ("manifest.ocdbt", OCDBT),
            ("d/0a1b", OCDBT),
            ("ocdbt.process_0/manifest.ocdbt", OCDBT),
            ("ocdbt.process_0/d/2c3d", OCDBT),
            ("array_metadatas/process_0", METADATA),
            ("_METADATA", METADATA),
            ("weight/zarr.json", ZARR3),
            ("weight/c/0/0", ZARR3),
            ("d2/anything", OTHER),
            ("commit_success.txt", OTHER),
        ];
        let mut expected: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (at, (file, format)) in files.iter().enumerate() {
            let path = place.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, vec![0; at + 1]).unwrap();
            let sum = expected.entry(format).or_default();
            *sum = (sum.0 + 1, sum.1 + at as u64 + 1);
        }
        assert_eq!(Inventory::of(place.path()).unwrap().formats, expected);
        // A folder `d` is a database's only beside its manifest.
        let other = tempfile::tempdir().unwrap();
        fs::create_dir(other.path().join("d")).unwrap();
        fs::write(other.path().join("d/file"), "x").unwrap();
        assert_eq!(Inventory::of(other.path()).unwrap().formats, BTreeMap::from([(OTHER, (1, 1))]));
    }
}
