//! What is opened in a worker: a training, in one process or on several ranks.

use weighbridge::Result;
use weighbridge::worker::PipelineTask;
use weighbridge_data::DataSet;
use weighbridge_python::{Framework, RemotePipeline, TRAINER, free_address};

use super::training::TrainingParts;
use crate::contract::TrainingLoop;
use crate::workload::{Compilation, TrainingRanks, TrainingSpec};

/// Opens a training, and starts the worker if none is there.
pub(super) fn open_training<'a>(
    framework: &'a mut Framework,
    spec: &TrainingSpec,
    how: Compilation,
    data: &DataSet,
    weights: &DataSet,
) -> Result<Box<dyn TrainingLoop + 'a>> {
    let parts = TrainingParts::of(spec, how, data, weights)?;
    let converted = framework.converted(data.digest());
    let epoch = Some(spec.expected()?);
    let worker = framework.ready()?;
    let task = PipelineTask {
        contract: TRAINER,
        converted: &converted,
        epoch,
        on_device: false,
        works_on_device: true,
    };
    worker.open(task, &parts).map(drop)?;
    Ok(Box::new(RemotePipeline::new(worker)?))
}

/// Opens a training on several ranks, each in a process that is started for it and ends with it: none has
/// trained before, since a framework may meet others once in the life of a process.
pub(super) fn open_ranks(
    framework: &Framework,
    spec: &TrainingSpec,
    how: Compilation,
    ranks: TrainingRanks,
    data: &DataSet,
    weights: &DataSet,
) -> Result<Vec<Box<dyn TrainingLoop + Send + 'static>>> {
    let share = TrainingSpec { batch: ranks.share(spec), ..spec.clone() };
    let (epoch, meet) = (share.expected()?, free_address()?);
    let converted = framework.converted(data.digest());
    let own = ranks.own();
    let opened = framework.on_ranks(own.len(), |index, mut worker| {
        let parts = TrainingParts::of(spec, how, data, weights)?.ranked(own.start + index, ranks, meet);
        let task = PipelineTask {
            contract: TRAINER,
            converted: &converted,
            epoch: Some(epoch),
            on_device: false,
            works_on_device: true,
        };
        worker.open(task, &parts)?;
        RemotePipeline::new(worker)
    })?;
    Ok(opened.into_iter().map(|rank| Box::new(rank) as Box<dyn TrainingLoop + Send>).collect())
}
