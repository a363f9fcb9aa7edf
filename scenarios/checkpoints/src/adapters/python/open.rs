//! What is opened in a worker: a state, a state on several ranks, a stored checkpoint.

use std::sync::Arc;

use weighbridge::Result;
use weighbridge::worker::PipelineTask;
use weighbridge_data::DataSet;
use weighbridge_python::{CHECKPOINTER, Framework, RankMessage, free_address};

use super::state::{OpenState, StateParts};
use super::stored::{OpenStored, StoredParts};
use crate::contract::{Checkpoints, SaveOptions, StoredCheckpoint, StoredFiles};

/// Opens a state, and starts the worker if none is there.
pub(super) fn open_state<'a>(
    framework: &'a mut Framework,
    options: &SaveOptions,
    data: &Arc<DataSet>,
) -> Result<Box<dyn Checkpoints + 'a>> {
    let parts = StateParts::of(options, data);
    let converted = framework.converted(data.digest());
    let worker = framework.ready()?;
    worker.open(task(&converted), &parts).map(drop)?;
    Ok(Box::new(OpenState::new(worker)?))
}

/// Opens a state that lies on several ranks, each in a process that is started for it and ends with it.
pub(super) fn open_state_ranks(
    framework: &Framework,
    options: &SaveOptions,
    data: &Arc<DataSet>,
) -> Result<Vec<Box<dyn Checkpoints + Send + 'static>>> {
    let converted = framework.converted(data.digest());
    let (count, meet) = (options.placement.devices(), free_address()?);
    let own = options.own_ranks();
    let opened = framework.on_ranks(own.len(), |index, mut worker| {
        let rank = RankMessage::new(own.start + index, count, meet).placed(options.place);
        let parts = StateParts::of(options, data).ranked(rank);
        worker.open(task(&converted), &parts)?;
        OpenState::new(worker)
    })?;
    Ok(opened.into_iter().map(|rank| Box::new(rank) as Box<dyn Checkpoints + Send>).collect())
}

/// Opens a checkpoint that lies somewhere, and starts the worker if none is there.
pub(super) fn open_stored<'a>(
    framework: &'a mut Framework,
    files: StoredFiles<'_>,
) -> Result<Box<dyn StoredCheckpoint + 'a>> {
    let parts = StoredParts::of(files)?;
    let converted = framework.converted("stored");
    let worker = framework.ready()?;
    worker.open(task(&converted), &parts).map(drop)?;
    Ok(Box::new(OpenStored::new(worker)?))
}

fn task(converted: &str) -> PipelineTask<'_> {
    PipelineTask { contract: CHECKPOINTER, converted, epoch: None, on_device: false, works_on_device: true }
}
