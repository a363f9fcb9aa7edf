//! Where checkpoints are kept while they are measured.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use weighbridge::{Bencher, Error, ErrorKind, Result, skip};

/// The medium that checkpoints are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// The disk that the run's data directory is on.
    Disk,
    /// Memory, as a file system: nothing waits for a disk.
    Memory,
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disk => "disk",
            Self::Memory => "memory",
        })
    }
}

impl FromStr for Medium {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = [Self::Disk, Self::Memory].into_iter().find(|medium| medium.to_string() == text);
        found.ok_or_else(|| format!("`{text}` is none of `disk`, `memory`"))
    }
}

/// The directory of the system's file system in memory.
const SHARED_MEMORY: &str = "/dev/shm";

impl Medium {
    /// A directory there, with room for `bytes`. It is removed with what it holds when it is dropped.
    ///
    /// # Errors
    /// A skip where there is no such medium; [`ErrorKind::NoRoom`] where there is not so much room on it.
    pub(super) fn place(self, bencher: &Bencher, bytes: u64) -> Result<MediumPlace> {
        // Several cases may run in one process at a time.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("checkpoints-{}-{number}", std::process::id());
        let scratch = bencher.scratch()?;
        let directory = match self {
            Self::Disk if is_in_memory(&scratch)? => {
                let what = "is in memory: `--data` or WEIGHBRIDGE_DATA names a directory on a disk";
                return Err(skip(format!("the directory {} {what}", scratch.display())));
            }
            Self::Disk => scratch.join(name),
            Self::Memory => {
                let shared = Path::new(SHARED_MEMORY);
                if !is_in_memory(shared).unwrap_or(false) {
                    return Err(skip(format!("there is no file system in memory at {SHARED_MEMORY}")));
                }
                shared.join(format!("weighbridge-{name}"))
            }
        };
        fs::create_dir(&directory)?;
        let place = MediumPlace(directory);
        let room = statfs(place.path()).map_err(|error| failed(place.path(), error))?;
        let free = room.blocks_available() * room.block_size() as u64;
        if free < bytes {
            let (free, bytes) = (free / 1_000_000, bytes / 1_000_000);
            let why = format!(
                "{} has room for {free} MB, and {bytes} MB are needed at a time",
                place.path().display()
            );
            // What a file system in memory is too small for is none of this machine's cases.
            let is_too_small = room.blocks() * room.block_size() as u64 / 1_000_000 < bytes;
            let kind = if self == Self::Memory && is_too_small { ErrorKind::Skip } else { ErrorKind::NoRoom };
            return Err(Error::of(kind, why));
        }
        Ok(place)
    }
}

/// A directory that goes with what it holds.
#[derive(Debug)]
pub(super) struct MediumPlace(PathBuf);

impl MediumPlace {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for MediumPlace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // what stays is found and told by the parent
    }
}

fn is_in_memory(directory: &Path) -> Result<bool> {
    let found = statfs(directory).map_err(|error| failed(directory, error))?;
    Ok(found.filesystem_type() == TMPFS_MAGIC)
}

fn failed(directory: &Path, error: nix::errno::Errno) -> Error {
    Error::new(format!("the file system of {} cannot be looked at: {error}", directory.display()))
}

#[cfg(test)]
mod tests {
    use weighbridge::{Budget, Purpose, Settings};

    use super::*;

    #[test]
    fn a_disk_without_room_is_no_reason_to_skip_a_case_and_a_memory_that_is_too_small_is_one() {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
        let refused = |medium: Medium| medium.place(&bencher, u64::MAX).expect_err("no disk is so large");
        assert_eq!(refused(Medium::Memory).kind(), &ErrorKind::Skip);
        let disk = refused(Medium::Disk);
        // Where the folder for temporary files is in memory, there is no disk to ask.
        let in_memory = disk.to_string().contains("is in memory");
        assert_eq!(disk.kind(), if in_memory { &ErrorKind::Skip } else { &ErrorKind::NoRoom });
    }
}
