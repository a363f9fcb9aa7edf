//! A loader and a training step: each alone, and both at once.
//!
//! The loader makes batches in a thread of its own, so that it is at work while a step is. It is some batches
//! ahead and no more: one that could keep a whole epoch would hide what it costs.

use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use weighbridge::{Error, ItemCopy, Result};
use weighbridge_data::Epochs;
use weighbridge_loaders::contract::for_each_batch;

use crate::contract::TrainingLoop;

/// The time of one experiment, and the batches or steps that it went through.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FeedTimes {
    /// From when the first batch was there.
    pub(super) whole: Duration,
    /// Of that, how long the step waited for batches.
    pub(super) waited: Duration,
    /// Batches, or steps, in that time.
    pub(super) count: usize,
}

impl FeedTimes {
    /// Returns the batches, or steps, in a second.
    pub(super) fn rate(&self) -> f64 {
        self.count as f64 / self.whole.as_secs_f64()
    }
}

/// The result of an experiment: its time, the batches that were handed over, and the loss of each step.
#[derive(Default)]
pub(super) struct FedStep {
    pub(super) times: FeedTimes,
    pub(super) batches: Vec<ItemCopy>,
    pub(super) losses: Vec<f32>,
}

/// The loader alone: batches are taken as they come, and nothing is done with them. The first one, for which
/// everything is set up, does not count.
///
/// # Errors
/// What the loader says; a batch that is missing.
pub(super) fn load_alone(loader: &mut (dyn Epochs + Send), epoch: u64, ahead: usize) -> Result<FedStep> {
    let mut fed = beside(loader, epoch, ahead, &mut |_| Ok(None))?;
    fed.times.count = fed.batches.len() - 1;
    Ok(fed)
}

/// The step alone, on batches that are there.
///
/// # Errors
/// As [`TrainingLoop::feed`].
pub(super) fn step_alone(
    training: &mut dyn TrainingLoop,
    batches: &[ItemCopy],
    place: &Path,
) -> Result<FedStep> {
    training.train(true, 0)?;
    let begun = Instant::now();
    let losses: Vec<f32> = batches.iter().map(|batch| training.feed(batch, place)).collect::<Result<_>>()?;
    let times = FeedTimes { whole: begun.elapsed(), waited: Duration::ZERO, count: losses.len() };
    Ok(FedStep { times, batches: Vec::new(), losses })
}

/// Both at once: while a step is at work, the loader makes the next batch.
///
/// # Errors
/// What either says.
pub(super) fn both_at_once(
    loader: &mut (dyn Epochs + Send),
    epoch: u64,
    ahead: usize,
    training: &mut dyn TrainingLoop,
    place: &Path,
) -> Result<FedStep> {
    training.train(true, 0)?;
    let mut fed = beside(loader, epoch, ahead, &mut |batch| training.feed(batch, place).map(Some))?;
    fed.times.count = fed.losses.len();
    Ok(fed)
}

/// Runs an epoch of the loader beside `each`, which takes its batches.
fn beside(
    loader: &mut (dyn Epochs + Send),
    epoch: u64,
    ahead: usize,
    each: &mut dyn FnMut(&ItemCopy) -> Result<Option<f32>>,
) -> Result<FedStep> {
    // A batch that nobody has room for is held by the loader's thread: it is the one ahead.
    let (give, take) = sync_channel::<ItemCopy>(ahead.saturating_sub(1));
    std::thread::scope(|scope| {
        let loading = scope.spawn(move || {
            for_each_batch(loader, epoch, &mut |batch| {
                // Where a step has failed nobody takes batches any more, and that failure is told.
                let _ = give.send(batch.keep());
            })
        });
        let fed = consume(&take, each);
        drop(take);
        let loaded = loading.join().map_err(|_| Error::new("the loader's thread panicked"))?;
        let fed = fed?;
        loaded?;
        fed.ok_or_else(|| Error::new("the loader has no batch"))
    })
}

fn consume(
    take: &Receiver<ItemCopy>,
    each: &mut dyn FnMut(&ItemCopy) -> Result<Option<f32>>,
) -> Result<Option<FedStep>> {
    let Ok(first) = take.recv() else { return Ok(None) };
    let begun = Instant::now();
    let mut fed = FedStep::default();
    let mut next = Some(first);
    while let Some(batch) = next {
        fed.losses.extend(each(&batch)?);
        fed.times.whole = begun.elapsed();
        fed.batches.push(batch);
        let asked = Instant::now();
        next = take.recv().ok();
        if next.is_some() {
            fed.times.waited += asked.elapsed();
        }
    }
    Ok(Some(fed))
}
