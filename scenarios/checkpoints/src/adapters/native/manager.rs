//! The manager of `Reference (sharded)`: a directory for each step that is kept, called as its number. What
//! is there is what is kept: a training that begins again needs no list. A checkpoint that is deleted loses
//! its name first, so that no half of one has it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use weighbridge::{Dtype, Error, FieldCopy, ItemCopy, Result};

use super::owned::OwnedTensors;
use super::shard_manifest::save;
use super::sharded::ShardedCheckpoints;
use crate::contract::{Checkpoints, Manager, Moment, Retention, SaveWaiter, SavedStep, TRAINED};

/// Checkpoints of trainings of one state.
pub(super) struct ShardedManager<'a> {
    sharded: &'a mut ShardedCheckpoints,
    /// The state as it was opened.
    first: OwnedTensors,
    retention: Retention,
    directory: PathBuf,
    /// The step of what was loaded last.
    position: Option<u64>,
}

impl<'a> ShardedManager<'a> {
    pub(super) fn new(sharded: &'a mut ShardedCheckpoints, retention: Retention) -> Result<Self> {
        let first = sharded.state.again()?;
        Ok(Self { sharded, first, retention, directory: PathBuf::new(), position: None })
    }

    /// The state, which no save in the background has any more: that has a copy.
    fn state(&mut self) -> Result<&mut OwnedTensors> {
        Arc::get_mut(&mut self.sharded.state).ok_or_else(|| Error::new("the state is being saved"))
    }
}

impl Manager for ShardedManager<'_> {
    fn begin(&mut self, directory: &Path) -> Result<()> {
        self.settle()?;
        self.release()?;
        directory.clone_into(&mut self.directory);
        let state =
            Arc::get_mut(&mut self.sharded.state).ok_or_else(|| Error::new("the state is being saved"))?;
        state.bytes_mut().copy_from_slice(self.first.bytes());
        Ok(())
    }

    fn train(&mut self) -> Result<()> {
        for number in self.state()?.bytes_mut().as_chunks_mut::<4>().0 {
            *number = (f32::from_le_bytes(*number) * TRAINED).to_le_bytes();
        }
        Ok(())
    }

    fn offer(&mut self, step: u64) -> Result<()> {
        self.settle()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if self.retention.is_due(step, Moment::at(now), &there(&self.directory)?) != Some(true) {
            return Ok(());
        }
        let (threads, directory, retention) =
            (self.sharded.threads, self.directory.clone(), self.retention.clone());
        let how = self.sharded.writing(false);
        let save_and_delete = move |state: &OwnedTensors| {
            let writers = vec![state; threads];
            save(&writers, Some(step), &directory.join(step.to_string()), how)?;
            let there = there(&directory)?;
            let old = there.iter().zip(retention.kept(&there)).filter(|(_, kept)| *kept != Some(true));
            old.map(|(saved, _)| saved.step)
                .try_for_each(|step| remove(&directory, step, retention.num_deletion_threads))
        };
        match self.sharded.saving {
            SaveWaiter::Blocking => save_and_delete(&self.sharded.state),
            SaveWaiter::Background => {
                let copy = self.sharded.state.again()?;
                self.sharded.under_way.begin(move || save_and_delete(&copy));
                Ok(())
            }
        }
    }

    fn settle(&mut self) -> Result<()> {
        self.sharded.wait()
    }

    fn delete(&mut self, step: u64) -> Result<()> {
        self.settle()?;
        remove(&self.directory, step, self.retention.num_deletion_threads)
    }

    fn kept(&mut self) -> Result<ItemCopy> {
        Ok(numbers("steps", &steps(&self.directory)?))
    }

    fn restore(&mut self, step: Option<u64>) -> Result<()> {
        self.settle()?;
        let newest = || steps(&self.directory).map(|steps| steps.last().copied());
        let step = step.map_or_else(newest, |step| Ok(Some(step)))?;
        let step = step.ok_or_else(|| Error::new("there is no checkpoint to go on from"))?;
        self.position = self.sharded.load_step(&self.directory.join(step.to_string()))?;
        Ok(())
    }

    fn position(&mut self) -> Result<ItemCopy> {
        let position = self.position.ok_or_else(|| Error::new("nothing was loaded that has a step"))?;
        Ok(numbers("step", &[position]))
    }

    fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
        self.sharded.loaded(field)
    }

    fn view(&mut self, field: usize, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.sharded.view(field, None, see)
    }

    fn release(&mut self) -> Result<()> {
        self.position = None;
        self.sharded.release()
    }
}

/// The checkpoints in a directory, oldest first, with the moments when their files were complete, since the
/// epoch of Unix.
fn there(directory: &Path) -> Result<Vec<SavedStep>> {
    let mut there = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Some(step) = entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok()) else {
            continue;
        };
        let changed = entry.metadata()?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        there.push(SavedStep { step, saved: Moment::at(changed) });
    }
    there.sort_unstable_by_key(|saved| saved.step);
    Ok(there)
}

/// The steps whose checkpoints are in a directory, oldest first.
fn steps(directory: &Path) -> Result<Vec<u64>> {
    Ok(there(directory)?.into_iter().map(|saved| saved.step).collect())
}

/// Removes the checkpoint of a step: its name first, then its files, on so many threads.
fn remove(directory: &Path, step: u64, threads: u64) -> Result<()> {
    let failed = |error| Error::new(format!("the checkpoint of step {step} could not be removed: {error}"));
    let nameless = directory.join(format!(".{step}.removed"));
    fs::rename(directory.join(step.to_string()), &nameless).map_err(failed)?;
    let entries = fs::read_dir(&nameless).map_err(failed)?;
    let files: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>().map_err(failed)?;
    let each = files.len().div_ceil(threads.max(1) as usize).max(1);
    thread::scope(|scope| {
        for files in files.chunks(each) {
            // What cannot be removed here fails below, with its reason.
            scope.spawn(|| files.iter().for_each(|file| drop(fs::remove_file(file))));
        }
    });
    fs::remove_dir_all(&nameless).map_err(failed)
}

/// Numbers as content that is handed over.
fn numbers(name: &str, numbers: &[u64]) -> ItemCopy {
    let bytes = numbers.iter().flat_map(|number| number.cast_signed().to_le_bytes()).collect();
    let field = FieldCopy { name: name.to_owned(), dtype: Dtype::I64, shape: vec![numbers.len()], bytes };
    ItemCopy { elements: 1, fields: vec![field] }
}
