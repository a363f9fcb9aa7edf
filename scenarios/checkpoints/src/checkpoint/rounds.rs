//! Saves and loads, again and again: what is timed, and what is looked at between.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use weighbridge::{Bencher, Error, Result};

use super::first_failure::FirstFailure;
use super::inventory::Inventory;
use super::spoil::spoil;
use crate::contract::Checkpoints;

/// An open state that is saved and loaded below a directory.
pub(super) struct SaveRounds<'a> {
    bencher: &'a Bencher,
    checkpoints: RefCell<&'a mut dyn Checkpoints>,
    place: &'a Path,
    /// The first error, which a body cannot return.
    failed: FirstFailure,
    number: Cell<u64>,
    /// The least that a measured checkpoint had, in bytes.
    least: Cell<u64>,
    /// The last two that were saved.
    last: RefCell<[Option<PathBuf>; 2]>,
}

impl<'a> SaveRounds<'a> {
    pub(super) fn new(bencher: &'a Bencher, checkpoints: &'a mut dyn Checkpoints, place: &'a Path) -> Self {
        Self {
            bencher,
            checkpoints: RefCell::new(checkpoints),
            place,
            failed: FirstFailure::default(),
            number: Cell::default(),
            least: Cell::new(u64::MAX),
            last: RefCell::default(),
        }
    }

    /// Measures saves, each in a directory of its own: until a reader finds the checkpoint, and where it is
    /// to be `durable`, until its file system is flushed. The block `blocking` is what the caller waits for.
    ///
    /// # Errors
    /// What the system says; a checkpoint that is smaller than the last one by a tenth.
    pub(super) fn save(self, durable: bool) -> Result<SavedRound> {
        let file_system = File::open(self.place)?;
        let body = |directory: PathBuf| {
            let saved = self.try_to(|checkpoints| {
                self.bencher.measure("blocking", || checkpoints.save(&directory, durable))?;
                self.bencher.measure("waiting", || checkpoints.wait())?;
                if durable {
                    self.bencher.measure("flush", || flush(&file_system))?;
                }
                Ok(())
            });
            // Dropped outside the clock.
            SaveRound { rounds: &self, directory: saved.is_some().then_some(directory) }
        };
        self.bencher.batched(|| self.next()).at_once(1).iter(body);
        self.end()
    }

    /// Measures loads of one checkpoint, which is saved first. What was loaded is let go before the next one.
    /// `prepare` comes before each load and `look` after it, both outside the clock.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn load(
        self,
        prepare: &dyn Fn(&Path, &dyn Checkpoints) -> Result<()>,
        look: &dyn Fn() -> Result<()>,
    ) -> Result<SavedRound> {
        self.read(prepare, &|checkpoints, directory| checkpoints.load(directory), look)
    }

    /// Measures how long it takes to read what one checkpoint says of its tensors, which is saved first.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn metadata(self) -> Result<SavedRound> {
        let read = |checkpoints: &mut dyn Checkpoints, directory: &Path| checkpoints.read_metadata(directory);
        self.read(&|_, _| Ok(()), &read, &|| Ok(()))
    }

    /// Measures reads of one checkpoint, which is saved first.
    fn read(
        self,
        prepare: &dyn Fn(&Path, &dyn Checkpoints) -> Result<()>,
        read: &dyn Fn(&mut dyn Checkpoints, &Path) -> Result<()>,
        look: &dyn Fn() -> Result<()>,
    ) -> Result<SavedRound> {
        for _ in 0..2 {
            let directory = self.next();
            let saved = self.try_to(|checkpoints| {
                checkpoints.save(&directory, true)?;
                checkpoints.wait()
            });
            if saved.is_some() {
                self.keep(directory);
            }
        }
        let file_system = File::open(self.place)?;
        self.try_to(|_| flush(&file_system));
        let last = self.last.borrow()[1].clone();
        let setup = || {
            if let Some(last) = &last {
                self.try_to(|checkpoints| {
                    checkpoints.release()?;
                    prepare(last, checkpoints)
                });
            }
        };
        let body = |()| {
            if let Some(last) = &last {
                self.try_to(|checkpoints| read(checkpoints, last));
            }
            EndedLoad(&self, look)
        };
        self.bencher.batched(setup).at_once(1).iter(body);
        self.end()
    }

    /// Runs something unless something before it failed.
    fn try_to<T>(&self, run: impl FnOnce(&mut dyn Checkpoints) -> Result<T>) -> Option<T> {
        self.failed.try_to(|| run(&mut **self.checkpoints.borrow_mut()))
    }

    /// A directory that is not there.
    fn next(&self) -> PathBuf {
        self.number.set(self.number.get() + 1);
        self.place.join(format!("step-{}", self.number.get()))
    }

    /// Keeps a checkpoint that was saved, and removes the one before the one before it.
    fn keep(&self, directory: PathBuf) {
        self.try_to(|_| {
            let bytes = Inventory::of(&directory)?.bytes;
            self.least.set(self.least.get().min(bytes));
            let [oldest, before] = std::mem::take(&mut *self.last.borrow_mut());
            *self.last.borrow_mut() = [before, Some(directory)];
            oldest.map_or(Ok(()), |oldest| fs::remove_dir_all(oldest).map_err(Error::from))
        });
    }

    /// The last checkpoint, on its own: the files of the one before it are overwritten, so that none of them
    /// is in both.
    fn end(self) -> Result<SavedRound> {
        self.failed.result()?;
        let [before, last] = self.last.into_inner();
        let last = last.ok_or_else(|| Error::new("no checkpoint was saved"))?;
        if let Some(before) = before {
            spoil(&Inventory::of(&before)?)?;
            fs::remove_dir_all(before)?;
        }
        let inventory = Inventory::of(&last)?;
        let least = self.least.get();
        if is_less(least, inventory.bytes) {
            let bytes = inventory.bytes;
            return Err(Error::new(format!(
                "a measured checkpoint had {least} bytes and the last one {bytes}: the others were not whole"
            )));
        }
        Ok(SavedRound { directory: last, inventory })
    }
}

/// Bytes of a checkpoint that may be there or not: metadata, with times in them, and pieces that are not
/// merged yet.
const BESIDE_TENSORS: u64 = 16 << 10;

/// Returns whether a checkpoint has so much less than another of the same state that something of it is
/// missing: a tenth. What is written beside the tensors is not always as long, and of a few kilobytes it is
/// more than that, but never a quarter of all.
fn is_less(bytes: u64, whole: u64) -> bool {
    let beside = BESIDE_TENSORS.min(whole / 4);
    (bytes.saturating_add(beside) as f64) < 0.9 * whole as f64
}

/// A checkpoint that is left.
pub(super) struct SavedRound {
    pub(super) directory: PathBuf,
    pub(super) inventory: Inventory,
}

/// A checkpoint that was just saved: what is looked at comes when it is dropped, outside the clock.
struct SaveRound<'r, 'a> {
    rounds: &'r SaveRounds<'a>,
    directory: Option<PathBuf>,
}

impl Drop for SaveRound<'_, '_> {
    fn drop(&mut self) {
        if let Some(directory) = self.directory.take() {
            self.rounds.keep(directory);
        }
    }
}

/// A load that has just ended, likewise.
struct EndedLoad<'r, 'a>(&'r SaveRounds<'a>, &'r dyn Fn() -> Result<()>);

impl Drop for EndedLoad<'_, '_> {
    fn drop(&mut self) {
        self.0.try_to(|_| (self.1)());
    }
}

/// Flushes a file system: what was written to it is on its device.
pub(super) fn flush(file_system: &File) -> Result<()> {
    nix::unistd::syncfs(file_system.as_fd())
        .map_err(|error| Error::new(format!("the file system could not be flushed: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_that_lacks_a_tenth_is_less_and_an_honest_small_one_is_not() {
        for (bytes, whole) in
            [(0, 5_015), (3_000, 5_015), (0, 1), (240_000, 300_000), (8_900_000, 10_000_000)]
        {
            assert!(is_less(bytes, whole), "{bytes} of {whole}");
        }
        // Two saves of one state of 300 bytes by Orbax had 4,428 and 5,015.
        for (bytes, whole) in [(4_428, 5_015), (290_000, 300_000), (9_000_000, 10_000_000), (0, 0)] {
            assert!(!is_less(bytes, whole), "{bytes} of {whole}");
        }
    }
}
