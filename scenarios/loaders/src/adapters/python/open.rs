//! What is opened in a worker: a pipeline, one of several side by side, a learning task.

use std::sync::Arc;
use std::thread;

use weighbridge::worker::{PipelineTask, Worker};
use weighbridge::{Error, Result};
use weighbridge_data::{DataSet, Epochs};
use weighbridge_python::{Framework, Interpreter, LEARNER, LOADER, RemotePipeline, without_lock};

use super::learning::{LearningParts, RemoteLearning};
use super::parts::PipelineParts;
use crate::contract::LearningLoop;
use crate::workload::{Destination, ExecutionMode, LearningTask, PipelineSpec};

/// Opens a pipeline, and starts the worker if none is there.
///
/// # Errors
/// What is impossible in the pipeline; what the worker declines (a skip) or says.
pub fn open_pipeline<'a>(
    framework: &'a mut Framework,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
) -> Result<Box<dyn Epochs + 'a>> {
    open_parts(framework, spec, &PipelineParts::of(spec, data)?)
}

/// Opens a pipeline that runs its transforms in this way, and starts the worker if none is there.
pub(super) fn open_in<'a>(
    framework: &'a mut Framework,
    mode: ExecutionMode,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
) -> Result<Box<dyn Epochs + 'a>> {
    open_parts(framework, spec, &PipelineParts::of(spec, data)?.in_mode(mode))
}

fn open_parts<'a>(
    framework: &'a mut Framework,
    spec: &PipelineSpec,
    parts: &PipelineParts,
) -> Result<Box<dyn Epochs + 'a>> {
    let peer = framework.peer();
    let worker = framework.ready_by(spec.interpreter)?;
    open_in_worker(worker, peer.short, spec, parts)?;
    let pipeline = RemotePipeline::new(worker)?;
    if spec.interpreter == Interpreter::FreeThreaded {
        without_lock(peer, &pipeline.executed().environment)?;
    }
    Ok(Box::new(pipeline))
}

/// Opens a learning task, and starts the worker if none is there.
///
/// # Errors
/// What is impossible in the task; what the worker declines (a skip) or says.
pub fn open_learning<'a>(
    framework: &'a mut Framework,
    task: &LearningTask,
    data: &DataSet,
) -> Result<Box<dyn LearningLoop + 'a>> {
    let parts = LearningParts::of(task, data)?;
    let converted = framework.converted(data.digest());
    let epoch = Some(task.expected()?);
    let worker = framework.ready()?;
    let opened = PipelineTask {
        contract: LEARNER,
        converted: &converted,
        epoch,
        on_device: false,
        works_on_device: true,
    };
    worker.open(opened, &parts).map(drop)?;
    Ok(Box::new(RemoteLearning::new(worker, task)?))
}

/// Opens one pipeline in each of as many processes, as data-parallel training does. The worker that stays has
/// the first; the others are started for these pipelines, side by side, and end with them.
pub(super) fn open_many<'a>(
    framework: &'a mut Framework,
    specs: &[PipelineSpec],
    data: &Arc<DataSet>,
) -> Result<Vec<Box<dyn Epochs + Send + 'a>>> {
    let of = specs.len();
    let ranked = |(index, spec)| Ok((spec, PipelineParts::of(spec, data)?.ranked(index, of)));
    let parts: Vec<(&PipelineSpec, PipelineParts)> =
        specs.iter().enumerate().map(ranked).collect::<Result<_>>()?;
    let Some(((spec, own), others)) = parts.split_first() else { return Ok(Vec::new()) };
    let (peer, start) = (framework.peer(), framework.others()?);
    // What the first declines, no other is started for.
    let worker = framework.ready()?;
    open_in_worker(worker, peer.short, spec, own)?;
    let opened = |started: Result<Worker>, spec: &PipelineSpec, parts: &PipelineParts| {
        let mut worker = Box::new(started?);
        open_in_worker(&mut worker, peer.short, spec, parts)?;
        RemotePipeline::new(worker)
    };
    let started = start(others.len());
    let others: Vec<Result<RemotePipeline<Box<Worker>>>> = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(others.len());
        for (started, (spec, parts)) in started.into_iter().zip(others) {
            threads.push(scope.spawn(move || opened(started, spec, parts)));
        }
        let end = |thread: thread::ScopedJoinHandle<'_, Result<_>>| {
            thread.join().unwrap_or_else(|_| Err(Error::new("its thread panicked")))
        };
        threads.into_iter().map(end).collect()
    });
    let mut pipelines: Vec<Box<dyn Epochs + Send + '_>> = Vec::with_capacity(of);
    pipelines.push(Box::new(RemotePipeline::new(worker)?));
    for (index, opened) in others.into_iter().enumerate() {
        let told = |error: Error| {
            let what = format!("worker {} of {of} (from 0): {error}", index + 1);
            Error::of(error.kind().clone(), what)
        };
        pipelines.push(Box::new(opened.map_err(told)?));
    }
    Ok(pipelines)
}

/// Opens a pipeline in a worker.
fn open_in_worker(
    worker: &mut Worker,
    short: &str,
    spec: &PipelineSpec,
    parts: &PipelineParts,
) -> Result<()> {
    let converted = format!("{short}/{}", parts.digest());
    let on_device = spec.destination == Destination::Device;
    let task = PipelineTask {
        contract: LOADER,
        converted: &converted,
        epoch: Some(spec.expected()?),
        on_device,
        works_on_device: false,
    };
    worker.open(task, parts).map(drop)
}
