//! A checkpoint that lies somewhere: what it is, and a copy of it that may be overwritten.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weighbridge::{Error, Result};
use weighbridge_data::no_file_missing;

use crate::contract::CheckpointFormat;

/// The files of a checkpoint, each with its place below it. Links are followed: a cache of models is full of
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::checkpoint) struct StoredInventory {
    files: Vec<(PathBuf, PathBuf)>,
    pub(in crate::checkpoint) bytes: u64,
}

/// Lists the files at a path: of a directory, or one file of safetensors.
///
/// # Errors
/// When nothing is there, or it cannot be looked at.
pub(in crate::checkpoint) fn inventory(path: &Path) -> Result<StoredInventory> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Error::new(format!("there is no checkpoint at {}", path.display())),
        _ => Error::new(format!("the checkpoint {} cannot be looked at: {error}", path.display())),
    };
    let mut inventory = StoredInventory::default();
    let found = fs::metadata(path).map_err(failed)?;
    if found.is_file() {
        inventory.files.push((path.to_owned(), path.file_name().unwrap_or_default().into()));
        inventory.bytes = found.len();
    } else {
        inventory.add(path, Path::new(""), 0).map_err(failed)?;
    }
    Ok(inventory)
}

/// A checkpoint is not deeper than this: a link to a directory above it would be without end.
const DEEPEST: usize = 64;

impl StoredInventory {
    fn add(&mut self, directory: &Path, below: &Path, depth: usize) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::Error::other("its directories have no end"));
        }
        let mut entries: Vec<_> = fs::read_dir(directory)?.collect::<io::Result<_>>()?;
        entries.sort_by_key(fs::DirEntry::path);
        for entry in entries {
            let (path, place) = (entry.path(), below.join(entry.file_name()));
            let found = fs::metadata(&path)?;
            if found.is_dir() {
                self.add(&path, &place, depth + 1)?;
            } else {
                self.bytes += found.len();
                self.files.push((path, place));
            }
        }
        Ok(())
    }
}

/// Copies a checkpoint into a directory that is not there yet.
///
/// # Errors
/// When there is none, or it cannot be copied.
pub(in crate::checkpoint) fn copy(path: &Path, directory: &Path) -> Result<()> {
    for (from, place) in inventory(path)?.files {
        let to = directory.join(place);
        let copied = fs::create_dir_all(to.parent().unwrap_or(directory)).and_then(|()| fs::copy(&from, &to));
        copied.map_err(|error| Error::new(format!("{} cannot be copied: {error}", from.display())))?;
    }
    Ok(())
}

/// Returns the format of a checkpoint.
///
/// # Errors
/// When it is none that is known, or files are missing that it says it has.
pub(in crate::checkpoint) fn format(directory: &Path) -> Result<CheckpointFormat> {
    let mut names = BTreeSet::new();
    if directory.is_dir() {
        for entry in fs::read_dir(directory)? {
            names.insert(entry?.file_name().to_string_lossy().into_owned());
        }
    }
    if names.iter().any(|name| name.ends_with(".safetensors")) {
        no_file_missing(directory, &names)?;
        return Ok(CheckpointFormat::Safetensors);
    }
    if ["_CHECKPOINT_METADATA", "_METADATA", "manifest.ocdbt"].iter().any(|name| names.contains(*name)) {
        return Ok(CheckpointFormat::Orbax);
    }
    if names.contains("manifest.json") || names.iter().any(|name| name.starts_with("shard-")) {
        return Ok(CheckpointFormat::Sharded);
    }
    Err(Error::new(
        "what lies there is no checkpoint that is known: there are no files of safetensors, and no metadata \
         of Orbax or of Reference (sharded)",
    ))
}
