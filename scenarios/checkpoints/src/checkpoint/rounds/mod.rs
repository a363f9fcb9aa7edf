//! Saves and loads, again and again: what is timed, and what is looked at between.

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use weighbridge::remote::WorkFault;
use weighbridge::{Bencher, Error, Result};
use weighbridge_data::DataSet;

use super::first_failure::FirstFailure;
use super::inventory::Inventory;
use super::looks::LookedState;
use super::lots::Lots;
use super::proof::Proof;
use super::spoil::spoil;
use super::stamp::FileStamp;
use super::watched::{MemoryGrowth, ProcessWatch, WatchedUse};
use crate::contract::{Checkpoints, LookedPart};
use crate::workload::StateChange;

/// An open state that is saved and loaded below a directory.
pub(super) struct SaveRounds<'a> {
    bencher: &'a Bencher,
    checkpoints: RefCell<&'a mut dyn Checkpoints>,
    place: &'a Path,
    state: LookedState<'a>,
    lots: Lots,
    /// The first error, which a body cannot return.
    failed: FirstFailure,
    number: Cell<u64>,
    /// The change of the state since it was opened.
    change: RefCell<StateChange>,
    /// The least that a measured checkpoint had, in bytes.
    least: Cell<u64>,
    /// Bytes of the state in pages of zeros, which a file may leave out.
    zeros: u64,
    /// The last two that were saved.
    last: RefCell<[Option<SavedCheckpoint>; 2]>,
    /// The watch over the system in the round that is measured.
    watched: RefCell<Option<ProcessWatch>>,
    memory: MemoryGrowth,
}

/// A checkpoint that lies there.
#[derive(Clone, Debug)]
struct SavedCheckpoint {
    directory: PathBuf,
    bytes: u64,
    /// The change of the state that it holds.
    change: StateChange,
    stamp: FileStamp,
}

/// One of so many saves that are measured is loaded at once, and one of so many loads is of a checkpoint
/// that was saved right before.
const AT_ONCE: usize = 6;

/// A look at a load, and the state that it must have seen.
struct TakenLook {
    change: StateChange,
    files: u64,
    parts: Vec<LookedPart>,
    seen: Vec<u8>,
}

impl<'a> SaveRounds<'a> {
    pub(super) fn new(
        bencher: &'a Bencher,
        checkpoints: &'a mut dyn Checkpoints,
        place: &'a Path,
        state: LookedState<'a>,
    ) -> Self {
        let memory = MemoryGrowth::begin(&checkpoints.processes());
        Self {
            bencher,
            checkpoints: RefCell::new(checkpoints),
            place,
            state,
            lots: Lots::new(),
            failed: FirstFailure::default(),
            number: Cell::default(),
            change: RefCell::default(),
            least: Cell::new(u64::MAX),
            zeros: zeros(state.data),
            last: RefCell::default(),
            watched: RefCell::default(),
            memory,
        }
    }

    /// Measures saves, each of another state and in a directory of its own: until a reader finds the
    /// checkpoint, and where it is to be `durable`, until its file system is flushed. The block `blocking` is
    /// what the caller waits for.
    ///
    /// # Errors
    /// What the system says; a checkpoint that is smaller than the last one by a tenth; one that was not
    /// there when its time was over, or holds another state.
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
        let setup = || {
            self.try_to(|checkpoints| self.change(checkpoints));
            let directory = self.next();
            self.watch();
            directory
        };
        self.bencher.batched(setup).at_once(1).iter(body);
        self.end()
    }

    /// Measures loads of checkpoints that are saved first, in drawn order; now and then one is saved right
    /// before. What was loaded is looked at while the clock runs, the block `look` after the block `load`,
    /// and is let go before the next one. `prepare` comes before each load and `look` after it, both outside
    /// the clock.
    ///
    /// # Errors
    /// What the system says; a load that has not brought the state when its time is over.
    pub(super) fn load(
        self,
        prepare: &dyn Fn(&Path, &dyn Checkpoints) -> Result<()>,
        look: &dyn Fn() -> Result<()>,
    ) -> Result<SavedRound> {
        self.save_two();
        let setup = || {
            if self.lots.below(AT_ONCE) == 0 {
                self.save_one();
            }
            let drawn = self.drawn()?;
            self.try_to(|checkpoints| {
                checkpoints.release()?;
                prepare(&drawn.directory, checkpoints)
            });
            self.watch();
            Some(drawn)
        };
        let body = |drawn: Option<SavedCheckpoint>| {
            let taken = drawn.and_then(|drawn| self.try_to(|checkpoints| self.loaded(checkpoints, drawn)));
            EndedLoad(&self, look, taken)
        };
        self.bencher.batched(setup).at_once(1).iter(body);
        self.end()
    }

    /// Measures how long it takes to read what a checkpoint says of its tensors, of two that are saved first.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn metadata(self) -> Result<SavedRound> {
        self.save_two();
        let setup = || {
            self.try_to(|checkpoints| checkpoints.release());
            self.drawn()
        };
        let body = |drawn: Option<SavedCheckpoint>| {
            if let Some(drawn) = drawn {
                self.try_to(|checkpoints| checkpoints.read_metadata(&drawn.directory));
            }
        };
        self.bencher.batched(setup).at_once(1).iter(body);
        self.end()
    }

    /// Loads a checkpoint and looks at it.
    fn loaded(&self, checkpoints: &mut dyn Checkpoints, drawn: SavedCheckpoint) -> Result<TakenLook> {
        self.bencher.measure("load", || checkpoints.load(&drawn.directory))?;
        self.bencher.measure("look", || {
            let parts = self.state.draw(&self.lots);
            let seen = checkpoints.look(&parts)?;
            Ok(TakenLook { change: drawn.change, files: drawn.bytes, parts, seen })
        })
    }

    /// Saves two checkpoints of two states, which are flushed.
    fn save_two(&self) {
        for _ in 0..2 {
            self.save_one();
        }
    }

    /// Saves a checkpoint of another state outside the clock, and flushes it.
    fn save_one(&self) {
        let directory = self.next();
        let saved = self.try_to(|checkpoints| {
            self.change(checkpoints)?;
            checkpoints.save(&directory, true)?;
            checkpoints.wait()?;
            flush(&File::open(self.place)?)
        });
        if let Some(saved) = saved.and_then(|()| self.try_to(|_| self.stamped(directory))) {
            self.keep(saved);
        }
    }

    /// Changes the state.
    fn change(&self, checkpoints: &mut dyn Checkpoints) -> Result<()> {
        let change = self.lots.part(self.state.data);
        checkpoints.change(&change)?;
        let all = self.change.borrow().and(&change);
        *self.change.borrow_mut() = all;
        Ok(())
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

    /// Begins to watch what the system uses: the last thing before the clock starts.
    fn watch(&self) {
        *self.watched.borrow_mut() = Some(ProcessWatch::begin(self.checkpoints.borrow().processes()));
    }

    /// The resources that were used since: the first thing after the clock has stopped.
    fn used(&self) -> Option<WatchedUse> {
        let watched = self.watched.take()?;
        let used = watched.end();
        self.memory.add(&watched, &used);
        Some(used)
    }

    /// One of the checkpoints that lie there.
    fn drawn(&self) -> Option<SavedCheckpoint> {
        let last = self.last.borrow();
        let there: Vec<_> = last.iter().flatten().collect();
        there.get(self.lots.below(there.len())).map(|drawn| (*drawn).clone())
    }

    /// A checkpoint whose save is over, with its files as they are now.
    fn stamped(&self, directory: PathBuf) -> Result<SavedCheckpoint> {
        let inventory = Inventory::of(&directory)?;
        let stamp = FileStamp::of(&inventory, &self.lots)?;
        Ok(SavedCheckpoint { directory, bytes: inventory.bytes, change: self.change.borrow().clone(), stamp })
    }

    /// Looks at a checkpoint whose measured save has just ended, and loads it now and then.
    fn saved(&self, directory: PathBuf) {
        let used = self.used();
        let Some(saved) = self.try_to(|_| self.stamped(directory)) else { return };
        let written = used.and_then(|used| used.bytes[1]);
        self.try_to(|_| {
            let last = self.last.borrow();
            let before: Vec<&FileStamp> = last.iter().flatten().map(|saved| &saved.stamp).collect();
            written.map_or(Ok(()), |written| saved.stamp.is_written(written, &before, self.zeros))?;
            Ok(())
        });
        if self.lots.below(AT_ONCE) == 0 {
            self.try_to(|checkpoints| {
                checkpoints.release()?;
                checkpoints.load(&saved.directory)?;
                let parts = self.state.draw(&self.lots);
                let seen = checkpoints.look(&parts)?;
                checkpoints.release()?;
                self.state.check(&saved.change, &parts, &seen)
            });
        }
        self.keep(saved);
    }

    /// Holds a load that has just ended against the state and the files of its checkpoint.
    fn is_loaded(&self, taken: &TakenLook, used: Option<WatchedUse>) -> Result<()> {
        let TakenLook { change, files, parts, seen } = taken;
        self.state.check(change, parts, seen)?;
        load_fault(*files, bytes(self.state.data), used).map_or(Ok(()), WorkFault::or_go_on)?;
        Ok(())
    }

    /// Keeps a checkpoint that was saved, and removes the one before the one before it, whose files must be
    /// what they were.
    fn keep(&self, saved: SavedCheckpoint) {
        self.try_to(|_| {
            self.least.set(self.least.get().min(saved.bytes));
            let [oldest, before] = std::mem::take(&mut *self.last.borrow_mut());
            *self.last.borrow_mut() = [before, Some(saved)];
            let Some(oldest) = oldest else { return Ok(()) };
            oldest.stamp.check()?;
            fs::remove_dir_all(oldest.directory).map_err(Error::from)
        });
    }

    /// The last checkpoint, on its own: the files of the one before it are overwritten, so that none of them
    /// is in both.
    fn end(self) -> Result<SavedRound> {
        self.failed.result()?;
        let [before, last] = self.last.into_inner();
        let last = last.ok_or_else(|| Error::new("no checkpoint was saved"))?;
        last.stamp.check()?;
        if let Some(before) = before {
            before.stamp.check()?;
            spoil(&Inventory::of(&before.directory)?)?;
            fs::remove_dir_all(before.directory)?;
        }
        let SavedCheckpoint { directory, change, stamp, .. } = last;
        let inventory = Inventory::of(&directory)?;
        let least = self.least.get();
        if is_less(least, inventory.bytes) {
            let bytes = inventory.bytes;
            return Err(Error::new(format!(
                "a measured checkpoint had {least} bytes and the last one {bytes}: the others were not whole"
            )));
        }
        Ok(SavedRound { directory, inventory, change, stamp, more_memory: self.memory.most() })
    }
}

/// The fault of a load that has brought so little, where the system tells what it has used.
pub(super) fn load_fault(files: u64, state: u64, used: Option<WatchedUse>) -> Option<WorkFault> {
    let WatchedUse { bytes: [read, _], more_memory, .. } = used?;
    Some(WorkFault::Load { files, read: read?, state, grown: more_memory? })
}

/// Bytes of a state.
pub(super) fn bytes(data: &DataSet) -> u64 {
    (0..data.kinds().count()).map(|field| data.rows(field, 0..1).len() as u64).sum()
}

/// Bytes of a state in pages that are zero all over.
fn zeros(data: &DataSet) -> u64 {
    const PAGE: usize = 4096;
    let of = |field| {
        let pages = data.rows(field, 0..1).chunks(PAGE);
        pages.filter(|page| page.iter().all(|byte| *byte == 0)).map(|page| page.len() as u64).sum::<u64>()
    };
    (0..data.kinds().count()).map(of).sum()
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
    /// The change of the state that it holds.
    change: StateChange,
    stamp: FileStamp,
    /// The most that was resident in a round beyond what was before the first, in bytes.
    pub(super) more_memory: Option<u64>,
}

impl SavedRound {
    /// The proof of a state, as this checkpoint must hold it.
    pub(super) fn proof<'a>(&'a self, proof: Proof<'a>) -> Proof<'a> {
        proof.changed(&self.change).stamped(&self.stamp)
    }
}

/// A checkpoint that was just saved: what is looked at comes when it is dropped, outside the clock.
struct SaveRound<'r, 'a> {
    rounds: &'r SaveRounds<'a>,
    directory: Option<PathBuf>,
}

impl Drop for SaveRound<'_, '_> {
    fn drop(&mut self) {
        if let Some(directory) = self.directory.take() {
            self.rounds.saved(directory);
        }
    }
}

/// A load that has just ended, likewise.
struct EndedLoad<'r, 'a>(&'r SaveRounds<'a>, &'r dyn Fn() -> Result<()>, Option<TakenLook>);

impl Drop for EndedLoad<'_, '_> {
    fn drop(&mut self) {
        let Self(rounds, look, taken) = self;
        let used = rounds.used();
        if let Some(taken) = taken.take() {
            rounds.try_to(|_| rounds.is_loaded(&taken, used));
        }
        rounds.try_to(|_| look());
    }
}

/// Flushes a file system: what was written to it is on its device.
pub(super) fn flush(file_system: &File) -> Result<()> {
    nix::unistd::syncfs(file_system.as_fd())
        .map_err(|error| Error::new(format!("the file system could not be flushed: {error}")))
}
