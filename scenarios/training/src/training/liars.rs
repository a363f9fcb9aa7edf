//! Trainers that do not do what they say: for tests.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use weighbridge::{ItemCopy, Result};
use weighbridge_data::{Batch, Cache, DataSet, Epochs, ExecutedWork};
use weighbridge_loaders::contract::{Phases, Tensors};

use crate::adapters::native::{ByHand, Losses};
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
#[derive(Clone, Copy, Debug)]
pub(super) enum TrainingLie {
    /// Every second step of the stream is left out; whenever it is looked at from the beginning, all are
    /// done.
    SkipsHalf,
    /// Every fiftieth changes no weight.
    SkipsTheFiftieth,
    /// Steps of the stream, and those to a target, are noted, and done when somebody looks at the weights.
    StepsWhenAsked,
    /// The losses of the first epoch of the stream are told for all others; weights are made when somebody
    /// looks at them.
    RemembersAnEpoch,
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
    batch: usize,
    /// Steps that are said to be done.
    said: usize,
    /// The epoch, and its steps that are still to be done.
    epoch: u64,
    due: usize,
    /// The losses of the first epoch, once it has ended.
    remembered: Vec<f32>,
    told: Losses,
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
        Ok(Box::new(LyingTrainer {
            lie: self.0,
            honest,
            steps: spec.steps,
            batch: spec.batch,
            said: 0,
            epoch: 0,
            due: 0,
            remembered: Vec::new(),
            told: Losses::none(),
            first: None,
            loss: 0.0,
        }))
    }
}

impl LyingTrainer {
    fn make_up_for(&mut self) -> Result<()> {
        let due = std::mem::take(&mut self.due);
        self.honest.train(false, due).map(drop)
    }
}

impl Epochs for LyingTrainer {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        (self.said, self.due, self.epoch) = (0, 0, epoch);
        self.honest.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        if self.said == self.steps {
            return Ok(false);
        }
        self.said += 1;
        let is_done = match self.lie {
            TrainingLie::SkipsHalf => self.said % 2 == 1,
            TrainingLie::StepsWhenAsked => false,
            TrainingLie::RemembersAnEpoch => self.remembered.len() < self.steps,
            _ => true,
        };
        if is_done {
            match self.lie {
                TrainingLie::SkipsTheFiftieth if self.said == 50 => self.honest.step_without_update()?,
                _ => drop(self.honest.advance()?),
            }
            self.told.set(self.honest.mean_loss().unwrap_or_default(), self.batch);
            self.remembered.extend(self.told.mean());
        } else {
            self.due += 1;
            self.told.set(self.remembered.get(self.said - 1).copied().unwrap_or(1.0), self.batch);
        }
        Ok(true)
    }

    fn batch(&self) -> &dyn Batch {
        &self.told
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
        if matches!(self.lie, TrainingLie::StepsWhenAsked | TrainingLie::RemembersAnEpoch) {
            self.make_up_for()?;
        }
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
        if matches!(self.lie, TrainingLie::StepsWhenAsked) && !anew {
            self.due += steps;
            return Ok(vec![self.told.mean().unwrap_or(1.0); steps]);
        }
        self.due = 0;
        self.honest.train(anew, steps)
    }

    fn right(&mut self) -> Result<usize> {
        match self.lie {
            TrainingLie::KnowsAll(all) => Ok(all),
            _ => {
                self.make_up_for()?;
                self.honest.right()
            }
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
