//! Faults of the disk that the harness gives to cases: they are of no case, and no verdict on one.

use std::path::Path;

use nix::sys::statvfs::{FsFlags, statvfs};

use super::{ChildFault, Failure, How};

/// The words of the system for a disk that is full or cannot be written, whichever language repeats them.
const SAID: [&str; 3] = ["No space left on device", "Disk quota exceeded", "Read-only file system"];

/// A file system with less room than this is full: whoever failed to write may have removed a part.
const FULL: f64 = (1 << 20) as f64;

/// Tells why a failure is that of the harness's own disk, where it is. `used` is true if the repeat has asked
/// for its scratch directory.
pub(super) fn fault(failure: &Failure, scratch: &Path, used: bool) -> Option<String> {
    let said = |text: &str| SAID.iter().find(|said| text.contains(**said)).map(|said| (*said).to_owned());
    let is_full = || [scratch, &std::env::temp_dir()].into_iter().any(is_full);
    match &failure.how {
        How::NoRoom => Some(failure.detail.clone()),
        How::Child(ChildFault::NotStarted { why, .. }) => said(why),
        // A mapped file that the disk has no room for ends who writes it.
        How::Signal(name) if name == "SIGBUS" && used && is_full() => said(SAID[0]),
        _ => said(&failure.detail).or_else(|| said(&failure.stderr)).filter(|_| used || is_full()),
    }
}

/// Tells whether nothing can be written to the file system that holds a folder, or would hold it.
fn is_full(folder: &Path) -> bool {
    let Some(there) = folder.ancestors().find(|above| above.exists()) else { return false };
    statvfs(there).is_ok_and(|disk| {
        // Counts of blocks are narrower on some systems.
        let free = disk.blocks_available() as f64 * disk.fragment_size() as f64;
        free < FULL || disk.flags().contains(FsFlags::ST_RDONLY)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::Phase;

    #[test]
    fn a_full_disk_of_the_harness_is_no_failure_of_the_case_and_another_error_is() {
        let folder = tempfile::tempdir().unwrap();
        let failure =
            |how, detail: &str| Failure { detail: detail.to_owned(), ..Failure::plain(how, Phase::Timed) };
        let full = "called `unwrap` on Os { code: 28, message: \"No space left on device\" }";
        let of = |failure: &Failure, used| fault(failure, folder.path(), used);
        assert_eq!(of(&failure(How::Panic, full), true).as_deref(), Some(SAID[0]));
        assert_eq!(
            of(&failure(How::Error, "Disk quota exceeded (os error 122)"), true).as_deref(),
            Some(SAID[1])
        );
        assert_eq!(of(&failure(How::NoRoom, "it needs 8 GB"), false).as_deref(), Some("it needs 8 GB"));
        // Somewhere else, of which the harness knows nothing.
        assert_eq!(of(&failure(How::Panic, full), false), None);
        assert_eq!(of(&failure(How::Panic, "index out of bounds"), true), None);
        assert!(!is_full(&folder.path().join("not/there/yet")));
        assert!(is_full(Path::new("/proc/self")), "a file system that cannot be written");
    }
}
