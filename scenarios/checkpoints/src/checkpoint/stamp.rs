//! The files of a checkpoint as they are when its save is over: later they must be the same.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use nix::sys::statfs::{
    BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, FsType, OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC, XFS_SUPER_MAGIC, statfs,
};
use weighbridge::Result;
use weighbridge::remote::WorkFault;

use super::inventory::Inventory;
use super::lots::Lots;

/// So many places of the files are looked at.
const PLACES: usize = 64;

/// Bytes of each.
const RUN: usize = 16;

/// The files at a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct FileStamp {
    /// Drawn places, each with what was there.
    places: Vec<StampedPlace>,
    /// The files by device and number, each with its length and the room that it takes.
    files: Vec<StampedFile>,
}

#[derive(Clone, Debug)]
struct StampedPlace {
    file: PathBuf,
    offset: u64,
    found: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct StampedFile {
    identity: (u64, u64),
    bytes: u64,
    allocated: u64,
}

/// File systems that say at once which room a file takes. Others say so when it has come to the disk.
const TOLD_AT_ONCE: [FsType; 5] =
    [BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC, XFS_SUPER_MAGIC];

impl FileStamp {
    /// The files as they are.
    ///
    /// # Errors
    /// When one cannot be looked at.
    pub(super) fn of(inventory: &Inventory, lots: &Lots) -> Result<Self> {
        let mut stamp = Self::default();
        for path in &inventory.files {
            let found = fs::metadata(path)?;
            let is_told = statfs(path).is_ok_and(|of| TOLD_AT_ONCE.contains(&of.filesystem_type()));
            stamp.files.push(StampedFile {
                identity: (found.dev(), found.ino()),
                bytes: found.len(),
                allocated: if is_told { found.blocks().saturating_mul(512) } else { u64::MAX },
            });
        }
        let all: u64 = stamp.files.iter().map(|file| file.bytes).sum();
        for _ in 0..PLACES {
            let mut offset = lots.below(all as usize) as u64;
            let lies_in = inventory.files.iter().zip(&stamp.files).find(|(_, file)| {
                let is_here = offset < file.bytes;
                offset -= if is_here { 0 } else { file.bytes };
                is_here
            });
            if let Some((path, _)) = lies_in {
                let found = read(path, offset)?;
                stamp.places.push(StampedPlace { file: path.clone(), offset, found });
            }
        }
        Ok(stamp)
    }

    /// Checks that the files are what they were. One that is gone says nothing.
    ///
    /// # Errors
    /// Places that have changed.
    pub(super) fn check(&self) -> Result<(), WorkFault> {
        let now: Vec<bool> = self
            .places
            .iter()
            .filter_map(|place| Some(read(&place.file, place.offset).ok()? == place.found))
            .collect();
        let changed = now.iter().filter(|is_same| !**is_same).count() as u64;
        WorkFault::Files { looked: now.len() as u64, changed }.or_go_on()
    }

    /// Checks that what is new in the files was written when the save was over: by calls, or into room that
    /// the file system has taken. A file that one of these checkpoints has as well is not new, and a state
    /// may leave out so many bytes that are zero.
    ///
    /// # Errors
    /// Files that are not there yet.
    pub(super) fn is_written(&self, written: u64, before: &[&Self], zeros: u64) -> Result<(), WorkFault> {
        let is_old = |file: &&StampedFile| {
            before.iter().any(|stamp| stamp.files.iter().any(|old| old.identity == file.identity))
        };
        let new = || self.files.iter().filter(|file| !is_old(file));
        let files = new().map(|file| file.bytes).sum::<u64>().saturating_sub(zeros);
        let allocated = new().fold(0_u64, |sum, file| sum.saturating_add(file.allocated));
        WorkFault::Save { files, written, allocated }.or_go_on()
    }
}

/// The bytes at a place of a file; fewer at its end.
fn read(path: &PathBuf, offset: u64) -> std::io::Result<Vec<u8>> {
    let mut run = [0; RUN];
    let length = File::open(path)?.read_at(&mut run, offset)?;
    Ok(run[..length].to_vec())
}
