//! Trainers that do not do what they say: for tests.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use weighbridge::{ItemCopy, Result};
use weighbridge_data::{Batch, Cache, DataSet, Epochs, ExecutedWork};
use weighbridge_loaders::contract::{Phases, Tensors};

use crate::adapters::native::ByHand;
use crate::contract::{First, Trainer, TrainingLoop};
use crate::workload::{Compilation, TrainingSpec};

/// The trainer by hand, with another training than was asked for.
pub(super) struct Other(pub(super) fn(&mut TrainingSpec));

impl Trainer for Other {
    fn open(
        &mut self,
        spec: &TrainingSpec,
        _how: Compilation,
        data: &Arc<DataSet>,
        _weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        let mut spec = spec.clone();
        (self.0)(&mut spec);
        let weights = Arc::new(Cache::from_env().open(&spec.weights()?)?);
        Ok(Box::new(ByHand::<f32>::open(&spec, data, &weights)?))
    }
}

/// A way in which a trainer does other work than it says.
#[derive(Clone, Copy)]
pub(super) enum TrainingLie {
    /// Every second step of the stream is left out; whenever it is looked at from the beginning, all are
    /// done.
    SkipsHalf,
    /// So many labels are always right.
    KnowsAll(usize),
    /// Batches that a loader hands over are left where they are: the samples in memory are trained on.
    IgnoresTheLoader,
    /// Every batch after the first that a loader hands over is taken for the first one.
    KeepsTheFirstBatch,
    /// A step on what a loader hands over is done once, and its loss told again for the next batch.
    StepsOnHalf,
}

/// The trainer by hand, with a lie.
pub(super) struct Liar(pub(super) TrainingLie);

struct LyingTrainer {
    lie: TrainingLie,
    honest: ByHand<f32>,
    steps: usize,
    /// Steps that are said to be done.
    said: usize,
    /// The batch that was handed over first.
    first: Option<ItemCopy>,
    /// The loss that was told last.
    loss: f32,
}

impl Trainer for Liar {
    fn open(
        &mut self,
        spec: &TrainingSpec,
        _how: Compilation,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        let honest = ByHand::open(spec, data, weights)?;
        Ok(Box::new(LyingTrainer { lie: self.0, honest, steps: spec.steps, said: 0, first: None, loss: 0.0 }))
    }
}

impl Epochs for LyingTrainer {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.said = 0;
        self.honest.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        let more = self.said < self.steps;
        if more && !(matches!(self.lie, TrainingLie::SkipsHalf) && self.said % 2 == 1) {
            self.honest.advance()?;
        }
        self.said += usize::from(more);
        Ok(more)
    }

    fn batch(&self) -> &dyn Batch {
        self.honest.batch()
    }

    fn executed(&self) -> ExecutedWork {
        self.honest.executed()
    }
}

impl TrainingLoop for LyingTrainer {
    fn settings(&self) -> BTreeMap<String, String> {
        self.honest.settings()
    }

    fn left(&mut self) -> Result<(usize, Tensors)> {
        Ok((self.said, self.honest.left()?.1))
    }

    fn phases(&mut self, skip: usize, steps: usize) -> Result<Phases> {
        self.honest.phases(skip, steps)
    }

    fn first(&mut self) -> Result<First> {
        self.honest.first()
    }

    fn train(&mut self, anew: bool, steps: usize) -> Result<Vec<f32>> {
        self.said = if anew { steps } else { self.said + steps };
        self.honest.train(anew, steps)
    }

    fn right(&mut self) -> Result<usize> {
        match self.lie {
            TrainingLie::KnowsAll(all) => Ok(all),
            _ => self.honest.right(),
        }
    }

    fn feed(&mut self, batch: &ItemCopy, place: &Path) -> Result<f32> {
        let step = self.said;
        self.said += 1;
        let first = self.first.get_or_insert_with(|| batch.clone());
        match self.lie {
            TrainingLie::IgnoresTheLoader => return Ok(self.honest.train(false, 1)?[0]),
            TrainingLie::KeepsTheFirstBatch => return self.honest.feed(first, place),
            TrainingLie::StepsOnHalf if step % 2 == 1 => {}
            _ => self.loss = self.honest.feed(batch, place)?,
        }
        Ok(self.loss)
    }
}
