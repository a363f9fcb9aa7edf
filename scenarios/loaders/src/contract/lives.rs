//! Whole lives of a pipeline, for the rule `growth`.

use std::hint::black_box;
use std::sync::Arc;

use weighbridge::remote::LifeData;
use weighbridge::{Bencher, Remote, RemoteEpoch, Result, UnstoppedRequest, skip};
use weighbridge_data::DataSet;

use super::deliver::deliver;
use super::each_batch::for_each_batch;
use crate::contract::{Learner, Loader};
use crate::workload::{Destination, LearningTask, Parameters, PipelineSpec, Shard};

/// A part is one of so many of the data, if there are enough batches that it has two.
const PARTS: usize = 4;
const LEAST_BATCHES: usize = 2;

/// Has the harness time lives of a pipeline, in its own time: over all of the data and over shards.
///
/// # Errors
/// What the loader says of all of the data.
pub(super) fn live(
    bencher: &Bencher,
    loader: &mut dyn Loader,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
) -> Result<()> {
    let elements = spec.source.elements;
    let parts = PARTS.min(elements / (LEAST_BATCHES * spec.batch_size).max(1));
    let is_whole = spec.shard == Shard::ALL && spec.destination == Destination::Host;
    if !is_whole || spec.structure.cache || parts < 2 {
        return Ok(());
    }
    let shard = |index: usize| Shard { index: index % parts, count: parts };
    let of_part = shard(0).of(elements).len() as u64;
    let over = |over| match over {
        LifeData::Whole => spec.clone(),
        LifeData::Part(index) => PipelineSpec { shard: shard(index), ..spec.clone() },
    };
    if loader.is_elsewhere() {
        open_beforehand(bencher, loader, spec, data);
        return bencher.lives_elsewhere([of_part, elements as u64], &mut |part| {
            let spec = over(part);
            let mut epochs = deliver(loader.open(&spec, data)?, &spec)?;
            epoch_elsewhere(bencher, epochs.remote()?)
        });
    }
    bencher.lives([of_part, elements as u64], &mut |part| {
        let spec = over(part);
        let mut epochs = deliver(loader.open(&spec, data)?, &spec)?;
        if epochs.remote()?.is_some() {
            return Err(skip("it lives in another process"));
        }
        for_each_batch(&mut *epochs, bencher.epoch(), &mut |batch| {
            black_box(batch.size());
        })
    })
}

/// The same of a learner: in an epoch each batch goes forward, backward and updates the parameters.
///
/// # Errors
/// What the learner says of all of the data.
pub(super) fn live_learning(
    bencher: &Bencher,
    learner: &mut dyn Learner,
    task: &LearningTask,
    data: &Arc<DataSet>,
) -> Result<()> {
    let LearningTask { pipeline, .. } = task;
    let elements = pipeline.source.elements;
    let parts = PARTS.min(elements / (LEAST_BATCHES * pipeline.batch_size).max(1));
    if pipeline.shard != Shard::ALL || parts < 2 {
        return Ok(());
    }
    let shard = |index: usize| Shard { index: index % parts, count: parts };
    let of_part = shard(0).of(elements).len() as u64;
    let over = |over| {
        let shard = match over {
            LifeData::Whole => Shard::ALL,
            LifeData::Part(index) => shard(index),
        };
        LearningTask { pipeline: PipelineSpec { shard, ..pipeline.clone() }, ..task.clone() }
    };
    if learner.is_elsewhere() {
        return bencher.lives_elsewhere([of_part, elements as u64], &mut |part| {
            epoch_elsewhere(bencher, learner.open(&over(part), data)?.remote()?)
        });
    }
    bencher.lives([of_part, elements as u64], &mut |part| {
        let task = over(part);
        let mut steps = learner.open(&task, data)?;
        steps.begin(bencher.epoch(), &Parameters::start(task.channels()))?;
        while steps.forward()? {
            steps.backward()?;
            steps.update()?;
            black_box(steps.batch().elements());
        }
        Ok(())
    })
}

/// An epoch of what is open in another process, by that one's clock.
fn epoch_elsewhere(bencher: &Bencher, remote: Option<&mut dyn Remote>) -> Result<RemoteEpoch> {
    match remote {
        Some(remote) if !remote.whole_pass() => {
            remote.time_epoch(bencher.epoch(), UnstoppedRequest::default())
        }
        _ => Err(skip("it has no epoch of its own, batch by batch")),
    }
}

/// Opens a pipeline over a few batches, where it lives in another process.
fn open_beforehand(bencher: &Bencher, loader: &mut dyn Loader, spec: &PipelineSpec, data: &Arc<DataSet>) {
    let count = spec.source.elements / (LEAST_BATCHES * spec.batch_size);
    let few = PipelineSpec { shard: Shard { index: 0, count }, ..spec.clone() };
    bencher.open_beforehand(|| deliver(loader.open(&few, data)?, &few)?.close().map(drop));
}
