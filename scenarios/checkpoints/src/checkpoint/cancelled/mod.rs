//! Saves that are cancelled: what is timed, and what may be left of them.

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell, RefMut};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use weighbridge::{Bencher, Direction, Error, Result, Unit};
use weighbridge_data::DataSet;

use super::first_failure::FirstFailure;
use super::inventory::Inventory;
use super::proof::{Proof, prove, state};
use crate::contract::Checkpoints;

/// The checkpoint that is there before any save is cancelled.
const BEFORE: &str = "before";

/// An open state whose saves are cancelled, below a directory.
pub(super) struct CancelledRounds<'a> {
    bencher: &'a Bencher,
    checkpoints: RefCell<&'a mut dyn Checkpoints>,
    data: &'a DataSet,
    place: &'a Path,
    delay: Duration,
    /// The first error, which a body cannot return.
    failed: FirstFailure,
    /// The number of saves that were cancelled.
    number: Cell<u32>,
    /// The number of them that were whole.
    whole: Cell<u32>,
    /// The most bytes that one has left in files of other names.
    left: Cell<u64>,
    /// The number of times that such files were there again after they had been removed.
    went_on: Cell<u32>,
}

impl<'a> CancelledRounds<'a> {
    pub(super) fn new(
        bencher: &'a Bencher,
        checkpoints: &'a mut dyn Checkpoints,
        data: &'a DataSet,
        place: &'a Path,
        delay: Duration,
    ) -> Self {
        Self {
            bencher,
            checkpoints: RefCell::new(checkpoints),
            data,
            place,
            delay,
            failed: FirstFailure::default(),
            number: Cell::default(),
            whole: Cell::default(),
            left: Cell::default(),
            went_on: Cell::default(),
        }
    }

    /// Measures cancels, each of a save of its own.
    ///
    /// # Errors
    /// What the system says; a cancelled save that leaves half a checkpoint, touches another, or goes on.
    pub(super) fn run(self) -> Result<()> {
        let before = self.place.join(BEFORE);
        self.checkpoints().save(&before, false)?;
        self.checkpoints().wait()?;
        let inventory = Inventory::of(&before)?;
        let begin = || {
            self.failed.try_to(|| {
                self.number.set(self.number.get() + 1);
                self.checkpoints().save(&self.directory(self.number.get()), false)?;
                thread::sleep(self.delay);
                Ok(())
            });
        };
        let body = |()| {
            self.failed.try_to(|| {
                self.bencher.measure("cancel", || self.checkpoints().cancel())?;
                self.bencher.measure("waiting", || self.checkpoints().wait())
            });
            CancelledSave(&self, &inventory)
        };
        self.bencher.batched(begin).at_once(1).iter(body);
        self.failed.result()?;
        let share = |count: &Cell<u32>| f64::from(count.get()) / f64::from(self.number.get().max(1));
        let tell = |name, value, unit| self.bencher.metric(name, value, unit, Direction::Information);
        tell("cancelled saves that were whole", share(&self.whole), Unit::RATIO);
        tell("cancelled saves that wrote on", share(&self.went_on), Unit::RATIO);
        tell("left behind", self.left.get() as f64, Unit::BYTES);
        self.end(&before)
    }

    /// Checks what is left when all is over: the checkpoint before is as it was, and a new save is as good as
    /// any.
    fn end(&self, before: &Path) -> Result<()> {
        let mut checkpoints = self.checkpoints();
        checkpoints.release()?;
        checkpoints.load(before)?;
        state(&mut **checkpoints, Proof::whole(self.data)).map_err(|error| {
            Error::new(format!("the checkpoint before those that were cancelled has changed: {error}"))
        })?;
        let after = self.place.join("after");
        checkpoints.save(&after, false)?;
        checkpoints.wait()?;
        prove(self.bencher, &mut **checkpoints, Proof::whole(self.data), &after)?;
        self.none_came_back(&self.names()?, None)
    }

    /// Checks that no save that was cancelled earlier has a checkpoint under its name by now.
    fn none_came_back(&self, names: &[String], own: Option<&str>) -> Result<()> {
        let is_checkpoint =
            |number: &u32| names.contains(&name_of(*number)) && Some(&*name_of(*number)) != own;
        let came_back = (1..=self.number.get()).find(is_checkpoint);
        came_back.map_or(Ok(()), |number| {
            let name = name_of(number);
            Err(Error::new(format!(
                "a save that was cancelled went on after it was said to have ended: `{name}` is there"
            )))
        })
    }

    fn checkpoints(&self) -> RefMut<'_, &'a mut dyn Checkpoints> {
        self.checkpoints.borrow_mut()
    }

    fn directory(&self, number: u32) -> PathBuf {
        self.place.join(name_of(number))
    }

    fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.place)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Looks at what a cancelled save has left, and removes it.
    fn look(&self, before: &Inventory) -> Result<()> {
        let directory = self.directory(self.number.get());
        let own = name_of(self.number.get());
        let names = self.names()?;
        self.none_came_back(&names, Some(&own))?;
        if names.contains(&own) {
            let mut checkpoints = self.checkpoints();
            checkpoints.release()?;
            let is_whole = checkpoints.load(&directory);
            is_whole.and_then(|()| state(&mut **checkpoints, Proof::whole(self.data))).map_err(|error| {
                Error::new(format!(
                    "a save that was cancelled has left a checkpoint under its name that is not whole: \
                     {error}"
                ))
            })?;
            checkpoints.release()?;
            self.whole.set(self.whole.get() + 1);
        }
        if Inventory::of(&self.place.join(BEFORE))? != *before {
            return Err(Error::new(
                "a save that was cancelled has changed the files of the checkpoint before it",
            ));
        }
        let (mut left, mut went_on) = (0, false);
        for name in names.iter().filter(|name| *name != BEFORE) {
            let path = self.place.join(name);
            went_on |= !name.contains(&own);
            if *name != own && name.contains(&own) {
                left += bytes_of(&path);
            }
            // What is written on cannot be removed for good: it is there again, and counted, the next time.
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
        self.went_on.set(self.went_on.get() + u32::from(went_on));
        self.left.set(self.left.get().max(left));
        Ok(())
    }
}

/// The name of a save. None is a part of another one.
fn name_of(number: u32) -> String {
    format!("cancelled-{number:06}")
}

/// The bytes of a file or of all below a directory; 0 where it is being removed.
fn bytes_of(path: &Path) -> u64 {
    if path.is_dir() {
        Inventory::of(path).map_or(0, |inventory| inventory.bytes)
    } else {
        fs::metadata(path).map_or(0, |file| file.len())
    }
}

/// A save that was just cancelled: what it has left is looked at when this is dropped, outside the clock.
struct CancelledSave<'r, 'a>(&'r CancelledRounds<'a>, &'r Inventory);

impl Drop for CancelledSave<'_, '_> {
    fn drop(&mut self) {
        self.0.failed.try_to(|| self.0.look(self.1));
    }
}
