//! The manager of a training's checkpoints: which steps are saved, which of those are kept, and which is gone
//! on with.

use std::path::Path;

use weighbridge::worker::CollectorAnswer;
use weighbridge::{ItemCopy, Result};

use super::LookedPart;

/// The factor of every number of a state in a training step. It is exact in `f32`, so that each step has one
/// rounding, and all systems have the same numbers after it. A step changes every number that is not zero.
pub const TRAINED: f32 = 1.0 + 1.0 / 1024.0;

/// Checkpoints of trainings, each in a directory of its own. The checkpoint of a step is called as the number
/// of the step is, and has the state and the number.
pub trait Manager {
    /// Begins a training: the state is as it was opened, and its checkpoints come into a directory that is
    /// there and empty. A training that was begun before has ended.
    ///
    /// # Errors
    /// What the system says; the repeat fails with it.
    fn begin(&mut self, directory: &Path) -> Result<()>;

    /// A training step: the state is multiplied by [`TRAINED`] where it lies.
    ///
    /// # Errors
    /// As [`Manager::begin`].
    fn train(&mut self) -> Result<()>;

    /// Offers the state after a step, which the manager saves if it is due. Returns when the caller may go on
    /// and change the state.
    ///
    /// # Errors
    /// As [`Manager::begin`].
    fn offer(&mut self, step: u64) -> Result<()>;

    /// Returns when what was offered is complete, and what is kept no longer is gone.
    ///
    /// # Errors
    /// As [`Manager::begin`].
    fn settle(&mut self) -> Result<()>;

    /// Deletes the checkpoint of a step, and returns when it is gone.
    ///
    /// # Errors
    /// As [`Manager::begin`].
    fn delete(&mut self, step: u64) -> Result<()>;

    /// The steps that the manager says it has, oldest first: `i64`, one field.
    ///
    /// # Errors
    /// As [`Manager::begin`].
    fn kept(&mut self) -> Result<ItemCopy>;

    /// Loads the checkpoint of a step, or the newest one, into memory that is owned and was touched, and
    /// keeps it.
    ///
    /// # Errors
    /// What the system says of a checkpoint that is damaged or is not there.
    fn restore(&mut self, step: Option<u64>) -> Result<()>;

    /// The number of the step, as the checkpoint has it that was loaded last: `i64`, one field with one
    /// number.
    ///
    /// # Errors
    /// When nothing was loaded. As [`Manager::begin`].
    fn position(&mut self) -> Result<ItemCopy>;

    /// A tensor of what was loaded last, by its position: one element of one field.
    ///
    /// # Errors
    /// When nothing was loaded. As [`Manager::begin`].
    fn loaded(&mut self, field: usize) -> Result<ItemCopy>;

    /// Shows the bytes of a tensor of what was loaded last where they lie.
    ///
    /// # Errors
    /// As [`Manager::loaded`], a copy of which is shown unless it says otherwise.
    fn view(&mut self, field: usize, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.loaded(field)?.fields.iter().for_each(|field| see(&field.bytes));
        Ok(())
    }

    /// Looks at what was loaded last, as [`Checkpoints::look`](super::Checkpoints::look) does.
    ///
    /// # Errors
    /// As [`Manager::view`].
    fn look(&mut self, parts: &[LookedPart]) -> Result<Vec<u8>> {
        let mut seen = Vec::new();
        for part in parts {
            self.view(part.field, &mut |bytes| part.read(bytes, &mut seen))?;
        }
        Ok(seen)
    }

    /// Lets go what was loaded.
    ///
    /// # Errors
    /// As [`Manager::begin`].
    fn release(&mut self) -> Result<()>;

    /// Has the system's own collectors collect, as [`Checkpoints::collect`](super::Checkpoints::collect)
    /// does.
    ///
    /// # Errors
    /// What the system says. Nothing of the case depends on it.
    fn collect(&mut self, _on: bool) -> Result<CollectorAnswer> {
        Ok(CollectorAnswer::default())
    }

    /// Returns what its collectors have found, as [`Checkpoints::collected`](super::Checkpoints::collected)
    /// does.
    ///
    /// # Errors
    /// As [`Manager::collect`].
    fn collected(&mut self) -> Result<CollectorAnswer> {
        Ok(CollectorAnswer::default())
    }

    /// The processes that do the work, as of [`Checkpoints::processes`](super::Checkpoints::processes).
    fn processes(&self) -> Vec<u32> {
        vec![std::process::id()]
    }
}
