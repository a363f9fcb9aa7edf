//! The checkpointer contract: a state in memory to files, and back.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use weighbridge::{Kept, Result};

use super::Executed;
use crate::data::DataSet;

/// A system that saves states and loads them.
pub trait Checkpointer {
    /// Takes a state, whose tensors are the fields of `data` (one element), into memory of its own, in the form that its users
    /// have there. What happens here is set-up and never timed.
    ///
    /// # Errors
    /// A [`skip`](weighbridge::skip) for a way to save that the system does not have. A failure for anything else.
    fn open(&mut self, saving: Saving, data: &Arc<DataSet>) -> Result<Box<dyn Checkpoints + '_>>;
}

/// Who waits until a state is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saving {
    /// Whoever saves it.
    Blocking,
    /// Nobody: it is copied, and written beside the work that follows.
    Background,
}

impl fmt::Display for Saving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocking => "blocking",
            Self::Background => "background",
        })
    }
}

/// A state that is saved again and again, and loaded.
pub trait Checkpoints {
    /// Saves the state in a directory that is not there yet, below one that is. Returns when the caller may go on and change
    /// the state. `durable` says that the caller flushes the file system after [`Checkpoints::wait`]: a system may write in the
    /// way that is best then.
    ///
    /// # Errors
    /// What the system says; the repeat fails with it.
    fn save(&mut self, directory: &Path, durable: bool) -> Result<()>;

    /// Returns when what [`Checkpoints::save`] began is complete: a reader finds it.
    ///
    /// # Errors
    /// As [`Checkpoints::save`].
    fn wait(&mut self) -> Result<()> {
        Ok(())
    }

    /// Loads what lies in a directory into memory that is owned and was touched, and keeps it.
    ///
    /// # Errors
    /// What the system says of a checkpoint that is damaged, is another state's or is not there.
    fn load(&mut self, directory: &Path) -> Result<()>;

    /// A tensor of what was loaded last, by its position: one element of one field.
    ///
    /// # Errors
    /// When nothing was loaded. As [`Checkpoints::save`].
    fn loaded(&mut self, field: usize) -> Result<Kept>;

    /// Lets go what was loaded.
    ///
    /// # Errors
    /// As [`Checkpoints::save`].
    fn release(&mut self) -> Result<()>;

    /// The processes that do the work, where that is not this one alone.
    fn processes(&self) -> Vec<u32> {
        vec![std::process::id()]
    }

    /// What really happens, for the work ticket.
    fn executed(&self) -> Executed;

    /// What does the work, where it comes from, and its version: of a system that is not the adapter itself.
    fn entry_point(&self) -> Option<String> {
        None
    }
}
