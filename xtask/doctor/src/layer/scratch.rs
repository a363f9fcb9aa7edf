//! The scratch folder of one run: what the script writes, and what the hook tells.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{DoctorError, failed};

/// The folder, which goes when this does.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: Option<TempDir>,
    path: PathBuf,
}

impl Scratch {
    /// Makes one: on a disk, where the system has a folder for that.
    ///
    /// # Errors
    /// That there can be none.
    pub(crate) fn new() -> Result<Self, DoctorError> {
        let made = |at: &Path| tempfile::Builder::new().prefix("wb-doctor-").tempdir_in(at);
        let folder = made(Path::new("/var/tmp"))
            .or_else(|_| made(&std::env::temp_dir()))
            .map_err(failed("make a scratch folder"))?;
        // The layer compares it with mount points, which have no links in them.
        let path = folder.path().canonicalize().map_err(failed("find the scratch folder"))?;
        for name in ["state", "tmp"] {
            fs::create_dir(path.join(name)).map_err(failed("make a scratch folder"))?;
        }
        Ok(Self { folder: Some(folder), path })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the hook.
    pub(crate) fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    /// The folder for temporary files of the script.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Bytes on the disk that the script has written.
    pub(crate) fn written(&self) -> u64 {
        size(&self.path.join("written")) + size(&self.temporary())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = open(&self.path); // of an overlay's work folder not even its owner may list
        drop(self.folder.take());
    }
}

/// Makes all folders below this one such that their owner can remove them.
fn open(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = open(&entry.path());
        }
    }
    Ok(())
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => size(&entry.path()),
            Ok(found) => found.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}
