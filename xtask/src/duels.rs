//! The duels that are stored.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, Result};
use weighbridge::data::Comparison;

use crate::place::Place;

/// All of them, the newest first. One that cannot be read is passed over, with a remark.
///
/// # Errors
/// When their folder cannot be listed.
pub(crate) fn newest_first<'a>(
    place: &Place,
    remarks: &'a mut Vec<String>,
) -> Result<impl Iterator<Item = Comparison> + 'a> {
    let folder = place.layout.duels();
    let mut files: Vec<PathBuf> = match fs::read_dir(&folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).with_context(|| format!("failed to list `{}`", folder.display())),
    };
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    // Named by when they began: the newest is the last by name.
    files.sort();
    Ok(files.into_iter().rev().filter_map(|file| {
        let read = fs::read(&file).map_err(anyhow::Error::from);
        match read.and_then(|text| Ok(serde_json::from_slice::<Comparison>(&text)?)) {
            Ok(comparison) => Some(comparison),
            Err(error) => {
                remarks.push(format!("warning: passed over `{}`: {error}", file.display()));
                None
            }
        }
    }))
}
