//! Files that are there whole, or as they were.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes a file beside its place and renames it: a reader that looks meanwhile sees all of it or nothing.
/// Makes the folders above it.
pub(crate) fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut beside = file.as_os_str().to_owned();
        beside.push(".partial");
        fs::write(&beside, bytes)?;
        fs::rename(&beside, file)
    };
    write().with_context(|| format!("failed to write `{}`", file.display()))
}
