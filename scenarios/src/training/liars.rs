//! Trainers that do not do what they say: for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use weighbridge::Result;

use crate::adapters::native::ByHand;
use crate::contract::{Batch, Epochs, Executed, First, Phases, Tensors, Trainer, TrainingLoop};
use crate::data::{Cache, DataSet};
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

/// What is not as it is said.
#[derive(Clone, Copy)]
pub(super) enum TrainingLie {
    /// Every second step of the stream is left out; whenever it is looked at from the beginning, all are done.
    SkipsHalf,
    /// So many labels are always right.
    KnowsAll(usize),
}

/// The trainer by hand, with a lie.
pub(super) struct Liar(pub(super) TrainingLie);

struct Lying {
    lie: TrainingLie,
    honest: ByHand<f32>,
    steps: usize,
    /// Steps that are said to be done.
    said: usize,
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
        Ok(Box::new(Lying { lie: self.0, honest, steps: spec.steps, said: 0 }))
    }
}

impl Epochs for Lying {
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

    fn executed(&self) -> Executed {
        self.honest.executed()
    }
}

impl TrainingLoop for Lying {
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
            TrainingLie::SkipsHalf => self.honest.right(),
        }
    }
}
