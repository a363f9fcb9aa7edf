//! The learner contract: rows in, transformed batches out, and the gradient of a loss through the transforms.

use std::sync::Arc;
use std::time::Duration;

use weighbridge::{Remote, Result};
use weighbridge_data::{Batch, DataSet, ExecutedWork};

use super::{NotedEpoch, Phases};
use crate::workload::{LearningTask, Parameters};

/// A system that takes gradients through its pipeline.
pub trait Learner {
    /// Returns whether its steps are done in another process.
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// Makes a learning task over data that is there. What happens here is set-up and never timed.
    ///
    /// # Errors
    /// A [`skip`](weighbridge::skip) for what the system has no gradient of, naming the transform or the
    /// parameter. A failure for anything else.
    fn open(&mut self, task: &LearningTask, data: &Arc<DataSet>) -> Result<Box<dyn LearningLoop + '_>>;
}

/// An open learning task: a cursor over steps, each of which is forward, backward, update, over one batch
/// that the pipeline makes.
pub trait LearningLoop {
    /// Goes to before the first batch of an epoch, with these parameters. Never timed.
    ///
    /// # Errors
    /// What the system says; the repeat fails with it.
    fn begin(&mut self, epoch: u64, parameters: &Parameters) -> Result<()>;

    /// Makes the next batch through the whole pipeline and its loss; `false` at the end of the epoch. The
    /// first group of the batch becomes the current one.
    ///
    /// # Errors
    /// As [`LearningLoop::begin`].
    fn forward(&mut self) -> Result<bool>;

    /// Takes the gradient of the batch's loss: to the parameters, and to the rows that the batch was made
    /// from.
    ///
    /// # Errors
    /// When there is no batch: [`LearningLoop::forward`] comes first. As [`LearningLoop::begin`].
    fn backward(&mut self) -> Result<()>;

    /// Takes a step of gradient descent with the gradient of the batch, once.
    ///
    /// # Errors
    /// When there is none: [`LearningLoop::backward`] comes first. As [`LearningLoop::begin`].
    fn update(&mut self) -> Result<()>;

    /// Does the first step of epoch 0 from these parameters, as the steps are done that are timed.
    ///
    /// # Errors
    /// As [`LearningLoop::begin`].
    fn step(&mut self, parameters: &Parameters) -> Result<()> {
        self.begin(0, parameters)?;
        self.forward()?;
        self.backward()?;
        self.update()
    }

    /// Moves to the next group of the batch; `false` where there is none: the next batch is due.
    fn regroup(&mut self) -> bool;

    /// The current group: the fields of [`LearningTask::output`]. The second has no bytes until
    /// [`LearningLoop::backward`].
    fn batch(&self) -> &dyn Batch;

    /// The loss of the batch: the sum over its groups.
    fn loss(&self) -> f64;

    /// The gradient of the batch's loss to the parameters.
    fn gradient(&self) -> Parameters;

    /// The parameters as they are.
    fn parameters(&self) -> Parameters;

    /// Returns what the learning task really does, for the work report.
    fn executed(&self) -> ExecutedWork;

    /// Returns the name, the origin and the version of what takes the gradient: for a system that is not the
    /// adapter itself.
    fn entry_point(&self) -> Option<String> {
        None
    }

    /// The steps of an epoch as a stream that is timed where it runs, if that is another process.
    ///
    /// # Errors
    /// As [`LearningLoop::begin`].
    fn remote(&mut self) -> Result<Option<&mut dyn Remote>> {
        Ok(None)
    }

    /// Returns what was noted of the steps of each epoch that was begun, while they ran, where that is
    /// another process; nothing where it is this one, in which they are noted by whoever asks for them.
    ///
    /// # Errors
    /// As [`LearningLoop::begin`]; fewer steps than it says.
    fn noted(&mut self) -> Result<Vec<NotedEpoch>> {
        Ok(Vec::new())
    }

    /// Returns the number of times that the system has compiled in its process so far; `None` where it
    /// compiles nothing, or does not tell.
    ///
    /// # Errors
    /// As [`LearningLoop::begin`].
    fn compilations(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Returns the time that so many of the timed steps take from the beginning, after as many that do not
    /// count, by the clock of the process that they run in; `None` where that is this one.
    ///
    /// # Errors
    /// As [`LearningLoop::begin`]; that more time is claimed than has passed.
    fn time(&mut self, steps: usize) -> Result<Option<Duration>> {
        let _ = steps;
        Ok(None)
    }

    /// Returns the times of so many steps part by part, after some that are not told (`skip`), each part
    /// complete before the next one, by the clock of the process that they run in; `None` where that is this
    /// one.
    ///
    /// # Errors
    /// As [`LearningLoop::time`].
    fn phases(&mut self, skip: usize, steps: usize) -> Result<Option<Phases>> {
        let _ = (skip, steps);
        Ok(None)
    }
}

/// Numbers of each parameter of a model, by its name, in the order of the model.
pub type Tensors = Vec<(String, Vec<f32>)>;
