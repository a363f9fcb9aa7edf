//! Files that are overwritten where they lie: what was made of them before must not change, and what is made
//! of them after must.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use weighbridge::{Error, Result};

use super::inventory::Inventory;

/// In every so many bytes one run is inverted.
const EVERY: usize = 64 << 10;

/// Bytes of a run.
const RUN: usize = 64;

/// Inverts runs of bytes all over the files, at their beginnings and ends too. Nothing is truncated or
/// replaced: a mapping of a file shows it.
///
/// # Errors
/// When a file cannot be read or written.
pub(super) fn spoil(checkpoint: &Inventory) -> Result<()> {
    for path in &checkpoint.files {
        let spoilt = File::options().read(true).write(true).open(path).and_then(|file| invert(&file));
        spoilt.map_err(|error| Error::new(format!("{} cannot be overwritten: {error}", path.display())))?;
    }
    Ok(())
}

fn invert(file: &File) -> io::Result<()> {
    let length = file.metadata()?.len();
    let last = length.saturating_sub(RUN as u64);
    let mut run = [0; RUN];
    let places = (0..=last).step_by(EVERY).chain((last % EVERY as u64 != 0).then_some(last));
    for at in places {
        let run = &mut run[..RUN.min((length - at) as usize)];
        file.read_exact_at(run, at)?;
        for byte in run.iter_mut() {
            *byte = !*byte;
        }
        file.write_all_at(run, at)?;
    }
    Ok(())
}
