//! The scratch folder of one run: what the script writes, and what the hook tells.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{DoctorError, failed};

/// The beginning of its name, before the doctor's process.
const PREFIX: &str = "wb-doctor-";

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
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let made = |at: &Path| tempfile::Builder::new().prefix(&prefix).tempdir_in(at);
        let places = [PathBuf::from("/var/tmp"), std::env::temp_dir()];
        for place in &places {
            remove_abandoned(place);
        }
        let folder =
            made(&places[0]).or_else(|_| made(&places[1])).map_err(failed("make a scratch folder"))?;
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

/// Removes a scratch folder; nothing else.
pub(crate) fn remove(folder: &Path) {
    if folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX)) {
        let _ = open(folder); // it may be gone
        let _ = fs::remove_dir_all(folder);
    }
}

/// Removes what doctors have left that were killed.
fn remove_abandoned(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            let _ = open(&entry.path()); // that of another user stays
            let _ = fs::remove_dir_all(entry.path());
        }
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

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_doctor_has_left_goes_and_that_of_a_living_one_and_of_others_stays() {
        let place = tempfile::tempdir().unwrap();
        let living = format!("{PREFIX}{}-a", std::process::id());
        let names = [living.as_str(), "wb-doctor-4294967295-b", "wb-doctor-x", "other"];
        for name in names {
            fs::create_dir_all(place.path().join(name).join("work")).unwrap();
        }
        let closed = place.path().join("wb-doctor-4294967295-b/work");
        fs::set_permissions(closed, fs::Permissions::from_mode(0o0)).unwrap();
        remove_abandoned(place.path());
        let left: Vec<bool> = names.iter().map(|name| place.path().join(name).exists()).collect();
        assert_eq!(left, [true, false, true, true]);
    }
}
