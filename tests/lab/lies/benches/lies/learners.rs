//! Learners whose gradients are old, whose parameters stay as they are, or that do all steps of an epoch with
//! its first batch; and an honest one.

use std::collections::VecDeque;
use std::sync::Arc;

use weighbridge::{Result, adapter};
use weighbridge_data::{Batch, DataSet, ExecutedWork};
use weighbridge_loaders::adapters::native::ReferenceLearner;
use weighbridge_loaders::contract::{Learner, LearningLoop};
use weighbridge_loaders::workload::{LearningTask, Parameters};

use crate::copied::BatchCopy;

/// What becomes of a step that the harness asks for. All are honest in epoch 0, by which a gradient is held
/// against finite differences.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// It is done.
    Whole,
    /// The gradient of every second batch is that of the one before.
    OldGradients,
    /// The parameters stay as they are.
    NoUpdate,
    /// All steps of an epoch are done with its first batch.
    WithTheFirst,
}

/// A step that was done: its batch, its loss and the parameters after it.
struct DoneStep(BatchCopy, f64, Parameters);

/// A learning task, done otherwise than it is asked for.
struct ToldLoop<'a> {
    way: Way,
    honest: Box<dyn LearningLoop + 'a>,
    epoch: u64,
    step: usize,
    /// The gradient to the rows of the batch before.
    old: Vec<u8>,
    shown: BatchCopy,
    done: VecDeque<DoneStep>,
    now: Option<DoneStep>,
}

impl<'a> ToldLoop<'a> {
    fn open(
        way: Way,
        learner: &'a mut ReferenceLearner,
        task: &LearningTask,
        data: &Arc<DataSet>,
    ) -> Result<Box<dyn LearningLoop + 'a>> {
        let honest = learner.open(task, data)?;
        let (shown, done) = (BatchCopy::default(), VecDeque::new());
        Ok(Box::new(Self { way, honest, epoch: 0, step: 0, old: Vec::new(), shown, done, now: None }))
    }

    /// Returns the way of this epoch.
    fn way(&self) -> Way {
        if self.epoch == 0 { Way::Whole } else { self.way }
    }

    fn do_all(&mut self) -> Result<()> {
        while self.honest.forward()? {
            self.honest.backward()?;
            self.honest.update()?;
            let batch = BatchCopy::of(self.honest.batch());
            self.done.push_back(DoneStep(batch, self.honest.loss(), self.honest.parameters()));
        }
        Ok(())
    }
}

impl LearningLoop for ToldLoop<'_> {
    fn begin(&mut self, epoch: u64, parameters: &Parameters) -> Result<()> {
        (self.epoch, self.step, self.now) = (epoch, 0, None);
        self.done.clear();
        self.honest.begin(epoch, parameters)
    }

    fn forward(&mut self) -> Result<bool> {
        if self.way() != Way::WithTheFirst {
            self.step += 1;
            return self.honest.forward();
        }
        if self.step == 0 {
            self.do_all()?;
        }
        self.step += 1;
        self.now = self.done.pop_front();
        Ok(self.now.is_some())
    }

    fn backward(&mut self) -> Result<()> {
        match self.way() {
            Way::WithTheFirst => return Ok(()),
            Way::OldGradients if self.step.is_multiple_of(2) => {
                self.shown.take(self.honest.batch());
                self.shown.take_field(1, &self.old);
                return Ok(());
            }
            _ => self.honest.backward()?,
        }
        if self.way() == Way::OldGradients {
            self.old.clear();
            self.old.extend_from_slice(self.honest.batch().bytes(1));
        }
        Ok(())
    }

    fn update(&mut self) -> Result<()> {
        match self.way() {
            Way::WithTheFirst | Way::NoUpdate => Ok(()),
            Way::OldGradients if self.step.is_multiple_of(2) => Ok(()),
            _ => self.honest.update(),
        }
    }

    fn regroup(&mut self) -> bool {
        self.way() != Way::WithTheFirst && self.honest.regroup()
    }

    fn batch(&self) -> &dyn Batch {
        match (&self.now, self.way()) {
            (Some(done), _) => &done.0,
            (None, Way::OldGradients) if self.step > 0 && self.step.is_multiple_of(2) => &self.shown,
            _ => self.honest.batch(),
        }
    }

    fn loss(&self) -> f64 {
        self.now.as_ref().map_or_else(|| self.honest.loss(), |done| done.1)
    }

    fn gradient(&self) -> Parameters {
        self.honest.gradient()
    }

    fn parameters(&self) -> Parameters {
        self.now.as_ref().map_or_else(|| self.honest.parameters(), |done| done.2.clone())
    }

    fn executed(&self) -> ExecutedWork {
        self.honest.executed()
    }
}

macro_rules! learner {
    ($type:ident, $name:literal, $way:expr) => {
        #[derive(Default)]
        struct $type(ReferenceLearner);

        #[adapter(name = $name, tier = 2)]
        impl Learner for $type {
            fn open(
                &mut self,
                task: &LearningTask,
                data: &Arc<DataSet>,
            ) -> Result<Box<dyn LearningLoop + '_>> {
                ToldLoop::open($way, &mut self.0, task, data)
            }
        }
    };
}

learner!(OldGradients, "old-gradients", Way::OldGradients);
learner!(NoUpdate, "no-update", Way::NoUpdate);
learner!(WithTheFirst, "steps-with-the-first", Way::WithTheFirst);
learner!(Whole, "whole-learning", Way::Whole);
