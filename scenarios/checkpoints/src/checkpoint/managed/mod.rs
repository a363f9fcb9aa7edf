//! Trainings whose checkpoints a manager keeps: what is timed, and what must be in their directory after each
//! step.

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weighbridge::remote::WorkFault;
use weighbridge::{Bencher, Error, FieldKind, ItemCopy, Result};
use weighbridge_data::DataSet;
use xxhash_rust::xxh3::xxh3_128;

use super::collected::{over, region};
use super::first_failure::FirstFailure;
use super::inventory::Inventory;
use super::looks::LookedState;
use super::lots::Lots;
use super::proof::{content, deliver};
use super::rounds::{bytes, load_fault};
use super::spoil::spoil;
use super::watched::ProcessWatch;
use crate::contract::{Manager, Moment, Retention, SavedStep, TRAINED};

/// Trainings of a state, one after another, each in a directory of its own.
pub(super) struct ManagedRounds<'a> {
    bencher: &'a Bencher,
    manager: RefCell<&'a mut dyn Manager>,
    data: &'a DataSet,
    place: &'a Path,
    retention: Retention,
    train_steps: u64,
    training: RefCell<Option<ManagedRun>>,
    trainings: Cell<u64>,
    /// The number of times that a tensor of what was loaded was looked at.
    looks: Cell<usize>,
    /// The first error, which a body cannot return.
    failed: FirstFailure,
}

/// A training that was begun.
struct ManagedRun {
    directory: PathBuf,
    began: Instant,
    /// The step that comes next.
    next: u64,
    /// The checkpoints that must be there, oldest first.
    there: Vec<SavedStep>,
}

/// The lag of the clock that file systems keep times by: a tick of the kernel, of which there are a hundred a
/// second at least. A manager may go by those times.
const FILE_CLOCK: Duration = Duration::from_millis(10);

impl ManagedRun {
    /// The moment since a tick before the training began, so that what is told by such a tick is no moment
    /// before it.
    fn now(&self) -> Duration {
        FILE_CLOCK + self.began.elapsed()
    }

    /// The moment at which what was offered after `known`, and is complete now, may say that it was saved.
    fn saved_since(&self, known: Duration) -> Moment {
        Moment { earliest: known.saturating_sub(FILE_CLOCK), latest: self.now() }
    }

    fn steps(&self) -> Vec<u64> {
        self.there.iter().map(|saved| saved.step).collect()
    }

    /// The names of what is in the directory.
    fn found(&self) -> Result<Vec<String>> {
        let mut found: Vec<String> = fs::read_dir(&self.directory)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<Result<_>>()?;
        found.sort_by_key(|name| (name.len(), name.clone()));
        Ok(found)
    }
}

/// A step that is to be saved, and when that was known: it is saved after that.
#[derive(Clone, Copy)]
struct DueStep {
    step: u64,
    known: Duration,
}

impl<'a> ManagedRounds<'a> {
    pub(super) fn new(
        bencher: &'a Bencher,
        manager: &'a mut dyn Manager,
        data: &'a DataSet,
        place: &'a Path,
        retention: Retention,
        train_steps: u64,
    ) -> Self {
        Self {
            bencher,
            manager: RefCell::new(manager),
            data,
            place,
            retention,
            train_steps,
            training: RefCell::default(),
            trainings: Cell::default(),
            looks: Cell::default(),
            failed: FirstFailure::default(),
        }
    }

    /// Measures saves of the steps that are due, until they are complete and what is kept no longer is gone.
    /// The block `blocking` is what the training waits for.
    ///
    /// # Errors
    /// What the system says; a checkpoint that is not as it must be.
    pub(super) fn save(self) -> Result<()> {
        let body = |due: Option<DueStep>| {
            if let Some(due) = due {
                self.failed.try_to(|| {
                    self.bencher.measure("blocking", || self.manager().offer(due.step))?;
                    self.bencher.measure("waiting", || self.manager().settle())
                });
            }
            self.after(move |rounds| due.map_or(Ok(()), |due| rounds.saved(due)))
        };
        self.bencher.batched(|| self.failed.try_to(|| self.next_due())).at_once(1).iter(body);
        self.end()
    }

    /// Measures deletions: of each checkpoint, as soon as the next one is complete.
    ///
    /// # Errors
    /// As [`ManagedRounds::save`].
    pub(super) fn delete(self) -> Result<()> {
        let body = |before: Option<u64>| {
            if let Some(before) = before {
                self.failed.try_to(|| self.manager().delete(before));
            }
            self.after(move |rounds| {
                rounds.with(|training| {
                    training.there.retain(|saved| Some(saved.step) != before);
                    Ok(())
                })?;
                rounds.look()
            })
        };
        self.bencher.batched(|| self.failed.try_to(|| self.next_deletable())).at_once(1).iter(body);
        self.end()
    }

    /// Measures loads of the newest checkpoint, after one training. What was loaded is looked at while the
    /// clock runs, the block `look` after the block `restore`.
    ///
    /// # Errors
    /// As [`ManagedRounds::save`].
    pub(super) fn restore(self) -> Result<()> {
        self.failed.try_to(|| {
            self.begin()?;
            self.run_to_the_end()
        });
        let (lots, looked) = (Lots::new(), LookedState { data: self.data, onto: None });
        let files = self.failed.try_to(|| {
            let newest = self.newest()?;
            let directory = self.with(|training| Ok(training.directory.join(newest.to_string())))?;
            Ok(Inventory::of(&directory)?.bytes)
        });
        let body = |watched: Option<ProcessWatch>| {
            let taken = self.failed.try_to(|| {
                self.bencher.measure("restore", || self.manager().restore(None))?;
                self.bencher.measure("look", || {
                    let parts = looked.draw(&lots);
                    let seen = self.manager().look(&parts)?;
                    Ok((parts, seen))
                })
            });
            self.after(move |rounds| {
                let used = watched.map(|watched| watched.end());
                rounds.newest_is_loaded()?;
                let newest = rounds.newest()?;
                if let Some((parts, seen)) = taken {
                    looked.check_by(&parts, &seen, |_, number| {
                        number.copy_from_slice(&after_step(number, newest));
                    })?;
                }
                let fault = files.and_then(|files| load_fault(files, bytes(rounds.data), used));
                Ok(fault.map_or(Ok(()), WorkFault::or_go_on)?)
            })
        };
        let setup = || {
            self.failed.try_to(|| {
                self.manager().release()?;
                Ok(ProcessWatch::begin(self.manager().processes()))
            })
        };
        self.bencher.batched(setup).at_once(1).iter(body);
        self.end()
    }

    /// Saves one step with collectors: the regions `blocking` and `waiting`. Nothing is measured.
    ///
    /// # Errors
    /// As [`ManagedRounds::save`].
    pub(super) fn collect_save(self) -> Result<()> {
        let due = self.next_due()?;
        over(self.bencher, &mut **self.manager(), |manager| {
            region(self.bencher, manager, "blocking", &mut |manager| manager.offer(due.step))?;
            region(self.bencher, manager, "waiting", &mut |manager| manager.settle())
        })
    }

    /// Loads the newest checkpoint of one training with collectors: the region `restore`. Nothing is
    /// measured.
    ///
    /// # Errors
    /// As [`ManagedRounds::save`].
    pub(super) fn collect_restore(self) -> Result<()> {
        self.begin()?;
        self.run_to_the_end()?;
        self.manager().release()?;
        over(self.bencher, &mut **self.manager(), |manager| {
            region(self.bencher, manager, "restore", &mut |manager| manager.restore(None))?;
            manager.release()
        })
    }

    /// Deletes one checkpoint with collectors: the region `delete`. Nothing is measured.
    ///
    /// # Errors
    /// As [`ManagedRounds::save`].
    pub(super) fn collect_delete(self) -> Result<()> {
        let before = self.next_deletable()?;
        over(self.bencher, &mut **self.manager(), |manager| {
            region(self.bencher, manager, "delete", &mut |manager| manager.delete(before))
        })
    }

    fn manager(&self) -> std::cell::RefMut<'_, &'a mut dyn Manager> {
        self.manager.borrow_mut()
    }

    /// Runs something when what is returned is dropped, outside the clock.
    fn after<F: FnOnce(&Self) -> Result<()>>(&self, look: F) -> After<'_, 'a, F> {
        After { rounds: self, look: Some(look) }
    }

    fn with<T>(&self, run: impl FnOnce(&mut ManagedRun) -> Result<T>) -> Result<T> {
        run(self.training.borrow_mut().as_mut().ok_or_else(|| Error::new("no training was begun"))?)
    }

    /// Begins a training in a directory of its own.
    fn begin(&self) -> Result<()> {
        self.trainings.set(self.trainings.get() + 1);
        let directory = self.place.join(format!("training-{}", self.trainings.get()));
        fs::create_dir(&directory)?;
        self.manager().begin(&directory)?;
        *self.training.borrow_mut() =
            Some(ManagedRun { directory, began: Instant::now(), next: 0, there: Vec::new() });
        Ok(())
    }

    /// Trains until a step is to be saved, in the next training where this one has no more.
    fn next_due(&self) -> Result<DueStep> {
        loop {
            if self.training.borrow().is_none() {
                self.begin()?;
            }
            if let Some(due) = self.trained()? {
                return Ok(due);
            }
            // The training has ended.
            self.look()?;
            self.manager().release()?;
            self.manager().restore(None)?;
            self.newest_is_loaded()?;
            let ended = self.training.take();
            ended.map_or(Ok(()), |training| fs::remove_dir_all(training.directory))?;
        }
    }

    /// Trains until there is a checkpoint before the newest, whose step is returned.
    fn next_deletable(&self) -> Result<u64> {
        loop {
            let due = self.next_due()?;
            self.saved_by(due)?;
            if let [before, _] = self.with(|training| Ok(training.steps()))?[..] {
                return Ok(before);
            }
        }
    }

    /// Trains until a step is to be saved; `None` where the training ends before.
    fn trained(&self) -> Result<Option<DueStep>> {
        loop {
            let step = self.with(|training| Ok(training.next))?;
            if step >= self.train_steps {
                return Ok(None);
            }
            self.manager().train()?;
            let (known, is_due) = self.with(|training| {
                training.next += 1;
                let known = training.now();
                Ok((known, self.retention.is_due(step, Moment::at(known), &training.there)))
            })?;
            // What is due by then is due later, when it is offered.
            if is_due == Some(true) {
                return Ok(Some(DueStep { step, known }));
            }
            self.manager().offer(step)?;
            self.manager().settle()?;
            if self.was_due(step, known)? {
                self.saved(DueStep { step, known })?;
            } else {
                self.look()?;
            }
        }
    }

    /// Returns whether a step was due that was offered after a moment. Where that went by time which passed
    /// while it was offered, both may be, and the directory tells.
    fn was_due(&self, step: u64, known: Duration) -> Result<bool> {
        self.with(|training| {
            let offered = Moment { earliest: known, latest: training.now() };
            let is_due = self.retention.is_due(step, offered, &training.there);
            is_due.map_or_else(|| Ok(training.found()?.contains(&step.to_string())), Ok)
        })
    }

    /// Saves a step outside the clock.
    fn saved_by(&self, due: DueStep) -> Result<()> {
        self.manager().offer(due.step)?;
        self.manager().settle()?;
        self.saved(due)
    }

    /// A step was saved: what is kept no longer must be gone. Where that goes by moments that are known too
    /// roughly, the directory tells.
    fn saved(&self, due: DueStep) -> Result<()> {
        self.with(|training| {
            let saved = training.saved_since(due.known);
            training.there.push(SavedStep { step: due.step, saved });
            let found = training.found()?;
            let mut kept = self.retention.kept(&training.there).into_iter();
            training.there.retain(|saved| {
                kept.next().flatten().unwrap_or_else(|| found.contains(&saved.step.to_string()))
            });
            Ok(())
        })?;
        self.look()
    }

    /// Ends the training that is under way, whose checkpoints stay.
    fn run_to_the_end(&self) -> Result<()> {
        while let Some(due) = self.trained()? {
            self.saved_by(due)?;
        }
        Ok(())
    }

    /// Checks that the checkpoints that must be there are all that is in the directory, and all that the
    /// manager says it has.
    fn look(&self) -> Result<()> {
        let (found, there, done) =
            self.with(|training| Ok((training.found()?, training.steps(), training.next)))?;
        let names: Vec<String> = there.iter().map(u64::to_string).collect();
        if found != names {
            return Err(Error::new(format!(
                "after {done} steps the directory has {found:?}, \
                 and the checkpoints of the steps {there:?} are to be kept"
            )));
        }
        let said = numbers(&self.manager().kept()?)?;
        if said != there {
            return Err(Error::new(format!(
                "after {done} steps the manager says that it has the steps {said:?}, and {there:?} are there"
            )));
        }
        Ok(())
    }

    /// Checks that what was loaded is of the newest step that is kept: by its number and by one tensor,
    /// another one each time.
    fn newest_is_loaded(&self) -> Result<()> {
        let newest = self.newest()?;
        self.has_position(newest)?;
        let look = self.looks.replace(self.looks.get() + 1) % self.data.kinds().count().max(1);
        let tensor = self.data.kinds().enumerate().nth(look);
        tensor.map_or(Ok(()), |(field, kind)| self.tensor_of(newest, field, kind).map(drop))
    }

    /// The newest step that is kept.
    fn newest(&self) -> Result<u64> {
        let newest = self.with(|training| Ok(training.steps().last().copied()))?;
        newest.ok_or_else(|| Error::new("no step was saved"))
    }

    fn has_position(&self, step: u64) -> Result<()> {
        let position = numbers(&self.manager().position()?)?;
        if position != [step] {
            return Err(Error::new(format!("the checkpoint of step {step} says that it is of {position:?}")));
        }
        Ok(())
    }

    /// The digest of a tensor that was loaded, which must be as it was after a step.
    fn tensor_of(&self, step: u64, field: usize, kind: &FieldKind) -> Result<[u8; 16]> {
        let wrong = |what: String| Error::new(format!("the tensor `{}` of step {step} {what}", kind.name));
        let loaded = self.manager().loaded(field)?;
        let bytes = content(loaded, kind, &kind.shape).map_err(wrong)?;
        if bytes != after_step(self.data.rows(field, 0..1), step) {
            return Err(wrong("has not the numbers that it had after that step".into()));
        }
        Ok(xxh3_128(&bytes).to_le_bytes())
    }

    /// The digests of a state that was loaded, which must be as it was after a step.
    fn state_of(&self, step: u64) -> Result<Vec<[u8; 16]>> {
        self.has_position(step)?;
        self.data.kinds().enumerate().map(|(field, kind)| self.tensor_of(step, field, kind)).collect()
    }

    /// Ends the last training and proves what it has left:
    ///
    /// 1. What is kept is what must be kept, and nothing else is in the directory.
    /// 2. The oldest and the newest checkpoint have the states after their steps.
    /// 3. The newest is then overwritten. What was loaded stays, and what is loaded then is not that state.
    fn end(self) -> Result<()> {
        self.failed.try_to(|| self.run_to_the_end());
        self.failed.result()?;
        self.look()?;
        let (directory, there) = self.with(|training| Ok((training.directory.clone(), training.steps())))?;
        let (Some(oldest), Some(newest)) = (there.first().copied(), there.last().copied()) else {
            return Err(Error::new("no step was saved"));
        };
        self.manager().release()?;
        self.manager().restore(Some(oldest))?;
        self.state_of(oldest)?;
        self.manager().release()?;
        self.manager().restore(None)?;
        let digests = self.state_of(newest)?;
        let inventory = Inventory::of(&directory.join(newest.to_string()))?;
        inventory.tell(self.bencher);
        spoil(&inventory)?;
        self.state_of(newest).map_err(|error| {
            Error::new(format!(
                "what was loaded changed when its files were overwritten ({error}): \
                 it is a view of them, and no memory of its own"
            ))
        })?;
        self.manager().release()?;
        let again = self.manager().restore(None);
        if again.is_ok() && self.state_of(newest).is_ok() {
            return Err(Error::new(
                "all files of the newest checkpoint were overwritten, and its state is loaded: \
                 it was kept elsewhere",
            ));
        }
        let _ = self.manager().release(); // there may be nothing
        fs::remove_dir_all(&directory)?;
        self.data.check_unchanged()?;
        deliver(self.bencher, &digests);
        Ok(())
    }
}

/// A guard that looks at something when a measured call has ended, outside the clock.
struct After<'r, 'a, F: FnOnce(&ManagedRounds<'a>) -> Result<()>> {
    rounds: &'r ManagedRounds<'a>,
    look: Option<F>,
}

impl<'a, F: FnOnce(&ManagedRounds<'a>) -> Result<()>> Drop for After<'_, 'a, F> {
    fn drop(&mut self) {
        if let Some(look) = self.look.take() {
            self.rounds.failed.try_to(|| look(self.rounds));
        }
    }
}

/// The numbers of content that has one field of `i64`.
fn numbers(kept: &ItemCopy) -> Result<Vec<u64>> {
    let [field] = &kept.fields[..] else {
        return Err(Error::new("steps came as no field or as several"));
    };
    let number = |bytes: &[u8; 8]| u64::try_from(i64::from_le_bytes(*bytes));
    let numbers = field.bytes.as_chunks().0.iter().map(number).collect::<Result<_, _>>();
    numbers.map_err(|_| Error::new("the number of a step is below 0"))
}

/// The bytes of `f32` numbers after a step: there is one more training step than its number says.
fn after_step(numbers: &[u8], step: u64) -> Vec<u8> {
    let trained = |bytes: &[u8; 4]| {
        let first = f32::from_le_bytes(*bytes);
        (0..=step).fold(first, |number, _| number * TRAINED).to_le_bytes()
    };
    numbers.as_chunks().0.iter().flat_map(trained).collect()
}
