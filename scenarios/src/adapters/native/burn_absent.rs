//! What stands for `burn` in a build without its feature: listed, with the command that brings it.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter, skip};

use crate::contract::{Epochs, Learner, LearningLoop, Loader, Trainer, TrainingLoop};
use crate::data::DataSet;
use crate::workload::{Compilation, LearningTask, PipelineSpec, TrainingSpec};

/// Stands for the data loader of `burn`, which this build does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurnData;

/// The data loader of `burn`: rows one by one, put together and transformed by a batcher.
#[adapter(name = "burn (data)", tier = 1, probe = missing)]
impl Loader for BurnData {
    fn open(&mut self, _spec: &PipelineSpec, _data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Err(skip(REASON))
    }
}

/// Stands for the autodiff of `burn`, which this build does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurnLearner;

/// The tensors of `burn`, with gradients that it derives itself.
#[adapter(name = "burn", tier = 1, probe = missing)]
impl Learner for BurnLearner {
    fn open(&mut self, _task: &LearningTask, _data: &Arc<DataSet>) -> Result<Box<dyn LearningLoop + '_>> {
        Err(skip(REASON))
    }
}

/// Stands for trainings with the autodiff of `burn`, which this build does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurnTrainer;

/// The tensors of `burn`, with gradients that it derives itself.
#[adapter(name = "burn (training)", tier = 1, probe = missing)]
impl Trainer for BurnTrainer {
    fn open(
        &mut self,
        _spec: &TrainingSpec,
        _how: Compilation,
        _data: &Arc<DataSet>,
        _weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        Err(skip(REASON))
    }
}

const REASON: &str = "this build is without the feature `burn`";

fn missing() -> Availability {
    Availability::Missing { reason: REASON.into(), install: "cargo bench --features burn".into() }
}
