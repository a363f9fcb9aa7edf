//! The learner contract: rows in, transformed batches out, and the gradient of a loss through the transforms.

use std::sync::Arc;

use weighbridge::Result;

use super::{Batch, Executed};
use crate::data::DataSet;
use crate::workload::{LearningTask, Parameters};

/// A system that takes gradients through its pipeline.
pub trait Learner {
    /// Makes a learning task over data that is there. What happens here is set-up and never timed.
    ///
    /// # Errors
    /// A [`skip`](weighbridge::skip) for what the system has no gradient of, naming the transform or the parameter. A
    /// failure for anything else.
    fn open(&mut self, task: &LearningTask, data: &Arc<DataSet>) -> Result<Box<dyn LearningLoop + '_>>;
}

/// An open learning task: a cursor over steps, each of which is forward, backward, update, over one batch that the pipeline makes.
pub trait LearningLoop {
    /// Goes to before the first batch of an epoch, with these parameters. Never timed.
    ///
    /// # Errors
    /// What the system says; the repeat fails with it.
    fn begin(&mut self, epoch: u64, parameters: &Parameters) -> Result<()>;

    /// Makes the next batch through the whole pipeline and its loss; `false` at the end of the epoch. The first group of
    /// the batch becomes the current one.
    ///
    /// # Errors
    /// As [`LearningLoop::begin`].
    fn forward(&mut self) -> Result<bool>;

    /// Takes the gradient of the batch's loss: to the parameters, and to the rows that the batch was made from.
    ///
    /// # Errors
    /// When there is no batch: [`LearningLoop::forward`] comes first. As [`LearningLoop::begin`].
    fn backward(&mut self) -> Result<()>;

    /// Takes a step of gradient descent with the gradient of the batch, once.
    ///
    /// # Errors
    /// When there is none: [`LearningLoop::backward`] comes first. As [`LearningLoop::begin`].
    fn update(&mut self) -> Result<()>;

    /// Moves to the next group of the batch; `false` where there is none: the next batch is due.
    fn regroup(&mut self) -> bool;

    /// The current group: the fields of [`LearningTask::output`]. The second has no bytes until [`LearningLoop::backward`].
    fn batch(&self) -> &dyn Batch;

    /// The loss of the batch: the sum over its groups.
    fn loss(&self) -> f64;

    /// The gradient of the batch's loss to the parameters.
    fn gradient(&self) -> Parameters;

    /// The parameters as they are.
    fn parameters(&self) -> Parameters;

    /// What the learning task really does, for the work report.
    fn executed(&self) -> Executed;
}
