//! The trainer contract: a model, trained step by step.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weighbridge::{ItemCopy, Result, skip};
use weighbridge_data::{DataSet, Epochs};
use weighbridge_loaders::contract::{Phases, Tensors};

use crate::workload::{Compilation, TrainingRanks, TrainingSpec};

/// A system that trains models.
pub trait Trainer {
    /// Builds the model, takes over its weights and the data. What happens here is set-up and never timed.
    ///
    /// # Errors
    /// A [`skip`](weighbridge::skip) for what the system cannot do, naming it: a mode, a precision, a layer,
    /// an optimiser. A failure for anything else.
    fn open(
        &mut self,
        spec: &TrainingSpec,
        how: Compilation,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>>;

    /// Builds the model on each of several ranks, every one a process or a thread of its own. All have the
    /// data of the whole training and its first weights; of each step a rank takes its share of the samples
    /// ([`TrainingRanks::of_batch`]), and changes its weights by the mean of all ranks' gradients. What a
    /// rank hands out for a step is the mean loss of its share.
    ///
    /// Whatever computes gradients ([`Epochs::advance`], [`TrainingLoop::train`], `phases`, `first`) is asked
    /// of all ranks at once: each waits for the others in it, and gives up with an error that names who did
    /// not come.
    ///
    /// # Errors
    /// As [`Trainer::open`]. A system that trains in one place declines, which is what happens unless it says
    /// otherwise.
    fn open_ranks(
        &mut self,
        spec: &TrainingSpec,
        how: Compilation,
        ranks: TrainingRanks,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn TrainingLoop + Send + '_>>> {
        let _ = (spec, how, data, weights);
        Err(skip(format!("ranks {}: it trains in one process alone here", ranks.count)))
    }
}

/// An open training. Its batches are its steps: [`Epochs::begin`] goes back to the weights that it was opened
/// with and to an optimiser that has seen nothing, and each [`Epochs::advance`] is one whole step on the next
/// samples of the data in the epoch's [`step_order`](crate::workload::step_order), done when it returns. The
/// batch is then, for each of those samples, the mean loss of the step's batch: a field `loss` of `f32`.
///
/// What begins anew otherwise than by [`Epochs::begin`] begins epoch 0, which has the samples as they lie.
pub trait TrainingLoop: Epochs {
    /// Returns the settings that are really in effect, read back from the system's own objects: numbers of
    /// the optimiser, precision, samples of a step, the count of numbers that are learned.
    fn settings(&self) -> BTreeMap<String, String>;

    /// The weights as the last steps have left them, and how many those were since the beginning: nothing is
    /// computed for it.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn left(&mut self) -> Result<(usize, Tensors)>;

    /// The epochs that were begun since it was opened, as the process that trains has noted them while it did
    /// their steps; `None` where that is this one, so that whoever asks for the steps notes them.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn noted(&mut self) -> Result<Option<Vec<TrainedEpoch>>> {
        Ok(None)
    }

    /// Begins anew, and does steps phase by phase, each phase complete before the next one: the first `skip`
    /// unseen, then `steps`.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn phases(&mut self, skip: usize, steps: usize) -> Result<Phases>;

    /// Begins anew, and computes on the first samples what a step would: nothing is changed.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn first(&mut self) -> Result<First>;

    /// Goes forward through the samples of so many steps, with the weights as they are, as who looks at a
    /// model does: nothing is kept for a way back, and nothing is changed.
    ///
    /// # Errors
    /// A skip where a system always keeps what the way back needs; as [`Epochs::begin`].
    fn forward(&mut self, steps: usize) -> Result<()> {
        Err(skip(format!("forward alone: through {steps} steps it keeps what the way back needs")))
    }

    /// The process that trains, where that is not this one.
    fn process(&self) -> u32 {
        std::process::id()
    }

    /// Bytes of the device that it trains on: the most that the `framework` has had, and what the `driver`
    /// says is taken now. Nothing where it trains on the host.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn device_memory(&mut self) -> Result<BTreeMap<String, u64>> {
        Ok(BTreeMap::new())
    }

    /// Does so many of the very steps that are timed, from the beginning (`anew`) or from where it is. Gives
    /// the mean loss of each.
    ///
    /// # Errors
    /// As [`Epochs::begin`]; a loss that is no number, with its step; steps beyond the data.
    fn train(&mut self, anew: bool, steps: usize) -> Result<Vec<f32>>;

    /// Begins anew, and does so many steps under the system's own profiler, after one that it does not see.
    ///
    /// # Errors
    /// A skip where there is no profiler to read; as [`Epochs::begin`].
    fn operators(&mut self, steps: usize) -> Result<OperatorTimes> {
        Err(skip(format!("operators: no profiler tells what {steps} steps are made of")))
    }

    /// Counts what compiling came to since it was opened, by what is counted: graphs that were cut in two
    /// (`graph_breaks`), and programs that were made again for other circumstances (`recompilations`).
    ///
    /// # Errors
    /// A skip where a system counts nothing; as [`Epochs::begin`].
    fn compiling(&mut self) -> Result<BTreeMap<String, u64>> {
        Err(skip("compiling: the system does not count them"))
    }

    /// One whole step, from where it is, on samples that somebody else has made instead of those of the data:
    /// fields of the same names and kinds, as many samples as a step has. Complete when it returns; gives the
    /// mean loss. `place` is a directory of the caller's, through which a system of another process takes the
    /// samples.
    ///
    /// # Errors
    /// A skip where a system trains on its own samples alone; samples that no step takes; as
    /// [`TrainingLoop::train`].
    fn feed(&mut self, batch: &ItemCopy, place: &Path) -> Result<f32> {
        let _ = (batch, place);
        Err(skip("it takes no samples from a loader"))
    }

    /// Returns the number of held-out labels that have the greatest logit, with the weights as they are.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn right(&mut self) -> Result<usize>;
}

/// The steps of an epoch, from its beginning as far as they were asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainedEpoch {
    /// The number of the epoch, which says in which order it has its samples.
    pub epoch: u64,
    /// The mean loss of each step.
    pub losses: Vec<f32>,
}

/// The operators of some steps, as a profiler sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorTimes {
    /// All steps together, by the clock, with the profiler running.
    pub took: Duration,
    /// Each operator: the time that it took itself, in all steps and threads, and how often it was called.
    pub each: BTreeMap<String, (Duration, u64)>,
}

/// The results of a step on the first samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct First {
    /// The mean loss.
    pub loss: f32,
    /// The logits of the samples, one after the other.
    pub logits: Vec<f32>,
    /// The gradient of the loss to each parameter.
    pub gradients: Tensors,
}
