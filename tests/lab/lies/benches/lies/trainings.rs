//! Trainings whose steps are noted and done when somebody looks, are told from memory, or are left out; and
//! an honest one, which does each of them when it is asked for.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use weighbridge::{Dtype, FieldKind, Result, adapter};
use weighbridge_data::{Batch, DataSet, Epochs, ExecutedWork};
use weighbridge_loaders::contract::{Phases, Tensors};
use weighbridge_training::adapters::native::NdarrayTrainer;
use weighbridge_training::contract::{First, Trainer, TrainingLoop};
use weighbridge_training::workload::{Compilation, TrainingSpec};

/// What becomes of a step that the harness asks for.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// It is done.
    Whole,
    /// It is noted, and done when somebody looks at the weights.
    WhenAsked,
    /// The same, and meanwhile a tenth of a step's time is let pass.
    TenthOfItsTime,
    /// The losses of the first epoch are told again in all others.
    Remembered,
    /// Each third is left out.
    LeavesOutTheThird,
}

/// A training, told otherwise than it is done. It is its own batch.
struct ToldTraining<'a> {
    way: Way,
    honest: Box<dyn TrainingLoop + 'a>,
    kind: [FieldKind; 1],
    bytes: Vec<u8>,
    batch: usize,
    steps: usize,
    /// Steps that are said to be done, and those that are still to be done.
    said: usize,
    due: usize,
    remembered: Vec<f32>,
    /// The time of a step that was done.
    step: Duration,
}

impl<'a> ToldTraining<'a> {
    fn open(
        way: Way,
        trainer: &'a mut NdarrayTrainer,
        spec: &TrainingSpec,
        how: Compilation,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + 'a>> {
        Ok(Box::new(Self {
            way,
            honest: trainer.open(spec, how, data, weights)?,
            kind: [FieldKind { name: "loss".into(), dtype: Dtype::F32, shape: Vec::new() }],
            bytes: Vec::new(),
            batch: spec.batch,
            steps: spec.steps,
            said: 0,
            due: 0,
            remembered: Vec::new(),
            step: Duration::ZERO,
        }))
    }

    fn tell(&mut self, loss: f32) {
        self.bytes = loss.to_le_bytes().repeat(self.batch);
    }

    /// Does what was put off.
    fn make_up_for(&mut self) -> Result<()> {
        let due = take(&mut self.due);
        self.honest.train(false, due).map(drop)
    }

    fn is_put_off(&self) -> bool {
        matches!(self.way, Way::WhenAsked | Way::TenthOfItsTime)
    }

    fn do_step(&mut self) -> Result<()> {
        let begun = Instant::now();
        let loss = self.honest.train(false, 1)?[0];
        self.step = begun.elapsed();
        self.remembered.push(loss);
        self.tell(loss);
        Ok(())
    }
}

impl Epochs for ToldTraining<'_> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        (self.said, self.due) = (0, 0);
        self.honest.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        if self.said == self.steps {
            return Ok(false);
        }
        self.said += 1;
        let is_done = match self.way {
            Way::Whole => true,
            Way::WhenAsked | Way::TenthOfItsTime => false,
            Way::Remembered => self.remembered.len() < self.steps,
            Way::LeavesOutTheThird => !self.said.is_multiple_of(3),
        };
        if is_done {
            self.do_step()?;
            return Ok(true);
        }
        if self.way == Way::TenthOfItsTime {
            thread::sleep(self.step / 10);
        }
        self.due += usize::from(self.way != Way::LeavesOutTheThird);
        self.tell(self.remembered.get(self.said - 1).copied().unwrap_or(1.0));
        Ok(true)
    }

    fn batch(&self) -> &dyn Batch {
        self
    }

    fn executed(&self) -> ExecutedWork {
        self.honest.executed()
    }
}

impl Batch for ToldTraining<'_> {
    fn elements(&self) -> usize {
        self.batch
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kind
    }

    fn bytes(&self, _field: usize) -> &[u8] {
        &self.bytes
    }
}

impl TrainingLoop for ToldTraining<'_> {
    fn settings(&self) -> BTreeMap<String, String> {
        self.honest.settings()
    }

    fn left(&mut self) -> Result<(usize, Tensors)> {
        self.make_up_for()?;
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
        if self.is_put_off() && !anew {
            self.due += steps;
            return Ok(vec![1.0; steps]);
        }
        self.due = 0;
        let begun = Instant::now();
        let losses = self.honest.train(anew, steps)?;
        self.step = begun.elapsed() / steps.max(1) as u32;
        Ok(losses)
    }

    fn right(&mut self) -> Result<usize> {
        self.make_up_for()?;
        self.honest.right()
    }
}

/// Makes an adapter of a way.
macro_rules! told {
    ($trainer:ident, $name:literal, $way:expr) => {
        #[doc = concat!("The trainer by hand, `", $name, "`.")]
        #[derive(Default)]
        struct $trainer(NdarrayTrainer);

        #[adapter(name = $name, tier = 1)]
        impl Trainer for $trainer {
            fn open(
                &mut self,
                spec: &TrainingSpec,
                how: Compilation,
                data: &Arc<DataSet>,
                weights: &Arc<DataSet>,
            ) -> Result<Box<dyn TrainingLoop + '_>> {
                ToldTraining::open($way, &mut self.0, spec, how, data, weights)
            }
        }
    };
}

told!(WholeSteps, "whole-steps", Way::Whole);
told!(StepsWhenAsked, "steps-when-asked", Way::WhenAsked);
told!(TenthOfAStep, "tenth-of-a-step", Way::TenthOfItsTime);
told!(RemembersAnEpoch, "remembers-an-epoch", Way::Remembered);
told!(LeavesOutTheThird, "leaves-out-the-third", Way::LeavesOutTheThird);
