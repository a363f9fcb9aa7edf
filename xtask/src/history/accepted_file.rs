//! `benches/accepted.toml`, read and written.

use std::path::Path;

use anyhow::{Context, Result};
use weighbridge::data::{Acceptance, read_text, replace_file};

use crate::stop;

/// The comment above the entries.
const HEAD: &str = "# Changes that were accepted. A comparison judges what comes on top of them.\n\
                    # Written by `accept`; a baseline that is measured later needs no entry.\n\n";

/// The changes that are accepted so far; none where there is no file.
///
/// # Errors
/// When the file cannot be read, or says what cannot be.
pub(crate) fn read(file: &Path) -> Result<Vec<Acceptance>> {
    match read_text(file) {
        Ok(text) => Acceptance::read(&text).map_err(|why| stop::usage(format!("{}: {why}", file.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("failed to read `{}`", file.display())),
    }
}

/// Writes the file.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(file: &Path, all: &[Acceptance]) -> Result<()> {
    let text = Acceptance::write(all).map_err(anyhow::Error::msg)?;
    Ok(replace_file(file, format!("{HEAD}{text}").as_bytes())?)
}
