//! Steps that are timed, with a note of each while the clock runs: a loss cannot be known before its step is
//! done.

use std::hash::{BuildHasher, RandomState};

use weighbridge::{Error, Remote, Result};
use weighbridge_data::{Batch, Epochs, ExecutedWork, Rank};

use super::trainer::{TrainedEpoch, TrainingLoop};

/// The number of the first of many epochs: nobody can foresee it. It has 31 bits.
pub(crate) fn draw_epoch() -> u64 {
    1 + (RandomState::new().hash_one(0_u8) >> 33)
}

/// A training as it is timed. Each epoch that is begun is another one than those before, and none is an epoch
/// of another repeat: what was learned of one is of no use in the next.
pub(crate) struct NotedSteps<'a, T: ?Sized> {
    training: &'a mut T,
    notes: &'a mut Vec<TrainedEpoch>,
    first: u64,
}

impl<'a, T: TrainingLoop + ?Sized> NotedSteps<'a, T> {
    /// Begins with this epoch, and goes on with the numbers after it.
    pub(crate) fn from(first: u64, training: &'a mut T, notes: &'a mut Vec<TrainedEpoch>) -> Self {
        Self { training, notes, first }
    }
}

impl<T: TrainingLoop + ?Sized> Epochs for NotedSteps<'_, T> {
    fn begin(&mut self, _epoch: u64) -> Result<()> {
        let epoch = self.first + self.notes.len() as u64;
        self.notes.push(TrainedEpoch { epoch, losses: Vec::new() });
        self.training.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        let is_more = self.training.advance()?;
        if is_more && self.training.rank().is_none() {
            let loss = self.training.batch().bytes(0).first_chunk().map(|bytes| f32::from_le_bytes(*bytes));
            let loss = loss.ok_or_else(|| Error::new("a step handed out no loss"))?;
            self.notes.last_mut().ok_or_else(|| Error::new("no epoch is begun"))?.losses.push(loss);
        }
        Ok(is_more)
    }

    fn batch(&self) -> &dyn Batch {
        self.training.batch()
    }

    fn executed(&self) -> ExecutedWork {
        self.training.executed()
    }

    fn remote(&mut self) -> Result<Option<&mut dyn Remote>> {
        self.training.remote()
    }

    fn rank(&mut self) -> Option<&mut dyn Rank> {
        self.training.rank()
    }
}
