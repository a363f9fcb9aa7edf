//! Worker threads that make batches ahead of the consumer, in order.
//!
//! Batch `i` is made by worker `i mod n`, one for each request: so a worker never fills memory, and one epoch
//! is like the next to it. Threads, their room and their buffers last as long as the pipeline. A buffer goes
//! back to the worker that filled it, whose cache knows it; nothing is allocated once all are there.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use weighbridge::{Error, Result};

use super::buffer::Buffers;
use super::maker::{MadeEpoch, Maker};

/// Batches that one worker is asked for ahead.
const AHEAD: usize = 2;

/// Buffers of one worker: one more is with the consumer.
const OWN: usize = AHEAD + 1;

/// The workers of a pipeline.
#[derive(Debug)]
pub(super) struct Prefetch {
    workers: Vec<PrefetchWorker>,
    /// The epoch that workers are asked for, and its next batch; `None` between epochs.
    progress: Option<EpochProgress>,
    /// The index of the worker that made the batch that the consumer has.
    lender: Option<usize>,
    /// `true` while what is asked for is not wanted any more.
    recalled: Arc<AtomicBool>,
}

#[derive(Debug)]
struct EpochProgress {
    epoch: MadeEpoch,
    batches: Batches,
    /// The next batch to hand out.
    next: usize,
}

#[derive(Debug)]
struct PrefetchWorker {
    /// Buffers that nobody uses.
    spare: Vec<Buffers>,
    /// The number of batches that it was asked for and has not handed over.
    asked: usize,
    /// `None` only while it is being stopped.
    ends: Option<(SyncSender<BatchRequest>, Receiver<Reply>)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct BatchRequest {
    epoch: MadeEpoch,
    elements: Range<usize>,
    buffers: Buffers,
}

/// The buffers of a request, and whether the batch is in them.
type Reply = (Buffers, Result<()>);

impl Prefetch {
    /// Starts `count` workers, each with its buffers for `room` elements.
    pub(super) fn start(maker: &Maker, count: usize, room: usize) -> Result<Self> {
        let recalled = Arc::new(AtomicBool::new(false));
        let workers = (0..count).map(|index| {
            let (ask, asked) = sync_channel::<BatchRequest>(AHEAD);
            let (hand_over, made) = sync_channel::<Reply>(OWN);
            let (mut maker, recalled) = (maker.another(), recalled.clone());
            let work = move || {
                for _ in 0..OWN {
                    // Here, so that memory is near this worker.
                    let buffers = Buffers::new(&maker.kinds(), room);
                    if hand_over.send((buffers, Ok(()))).is_err() {
                        return;
                    }
                }
                for BatchRequest { epoch, elements, mut buffers } in asked {
                    let made = if recalled.load(Ordering::Relaxed) {
                        Ok(()) // nobody looks into it
                    } else {
                        maker.make(&epoch, elements, &mut buffers)
                    };
                    drop(epoch); // whoever gets the reply may have the epoch to itself
                    if hand_over.send((buffers, made)).is_err() {
                        return;
                    }
                }
            };
            let thread = Builder::new().name(format!("loader-{index}")).spawn(work);
            let thread =
                thread.map_err(|error| Error::new(format!("failed to start worker {index}: {error}")))?;
            // What it sends unasked are its buffers.
            Ok(PrefetchWorker {
                spare: Vec::new(),
                asked: OWN,
                ends: Some((ask, made)),
                thread: Some(thread),
            })
        });
        let mut all =
            Self { workers: workers.collect::<Result<_>>()?, progress: None, lender: None, recalled };
        all.collect();
        Ok(all)
    }

    /// Asks for the first batches of an epoch, from `next` on.
    pub(super) fn begin(&mut self, epoch: &MadeEpoch, batches: &Batches, next: usize) {
        let progress =
            self.progress.insert(EpochProgress { epoch: epoch.clone(), batches: batches.clone(), next });
        for batch in next..next + AHEAD * self.workers.len() {
            progress.ask(&mut self.workers, batch);
        }
    }

    /// Takes back what was asked for, made or not: an epoch is over or is left.
    pub(super) fn recall(&mut self) {
        self.progress = None;
        self.recalled.store(true, Ordering::Relaxed);
        self.collect();
        self.recalled.store(false, Ordering::Relaxed);
    }

    /// Waits for all buffers that workers have.
    fn collect(&mut self) {
        for worker in &mut self.workers {
            for _ in 0..std::mem::take(&mut worker.asked) {
                // One that panicked is told of by the next epoch's first batch.
                let reply = worker.ends.as_ref().and_then(|(_, made)| made.recv().ok());
                worker.spare.extend(reply.map(|(buffers, _)| buffers));
            }
        }
    }

    /// Swaps the current batch for the next one.
    ///
    /// # Panics
    ///
    /// If no epoch has begun, or if it has no further batch.
    pub(super) fn next(&mut self, current: &mut Buffers) -> Result<()> {
        let progress = self.progress.as_mut().expect("an epoch has begun");
        let index = progress.next % self.workers.len();
        let worker = &mut self.workers[index];
        let gone = || Error::new(format!("worker {index} ended early: it panicked"));
        let (_, replies) = worker.ends.as_ref().ok_or_else(gone)?;
        let (buffers, made) = replies.recv().map_err(|_| gone())?;
        worker.asked -= 1;
        if let Err(error) = made {
            worker.spare.push(buffers);
            return Err(error);
        }
        let used = std::mem::replace(current, buffers);
        // The first one that comes back is not a worker's.
        if let Some(lender) = self.lender.replace(index) {
            self.workers[lender].spare.push(used);
        }
        let ahead = progress.next + AHEAD * self.workers.len();
        progress.ask(&mut self.workers, ahead);
        progress.next += 1;
        Ok(())
    }
}

impl EpochProgress {
    /// Asks the worker whose it is for a batch, if there is such a batch.
    fn ask(&self, workers: &mut [PrefetchWorker], batch: usize) {
        if batch >= self.batches.count() {
            return;
        }
        let worker = &mut workers[batch % workers.len()];
        let Some(((ask, _), buffers)) = worker.ends.as_ref().zip(worker.spare.pop()) else { return };
        let elements = self.batches.elements(batch);
        // One that panicked is told of by the batch that does not come.
        if ask.send(BatchRequest { epoch: self.epoch.clone(), elements, buffers }).is_ok() {
            worker.asked += 1;
        }
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        self.recalled.store(true, Ordering::Relaxed);
        for worker in &mut self.workers {
            worker.ends = None; // wakes it
        }
        for worker in &mut self.workers {
            // A worker's panic was told by the batch that did not come.
            let _ = worker.thread.take().map(JoinHandle::join);
        }
    }
}

/// The split of a shard's elements into batches.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    /// The elements of the shard.
    pub(super) all: Range<usize>,
    /// Elements in a batch.
    pub(super) size: usize,
}

impl Batches {
    /// Returns the number of batches; the last one may be short.
    pub(super) fn count(&self) -> usize {
        self.all.len().div_ceil(self.size)
    }

    /// The elements of one batch.
    pub(super) fn elements(&self, batch: usize) -> Range<usize> {
        let start = self.all.start + batch * self.size;
        start..(start + self.size).min(self.all.end)
    }
}
