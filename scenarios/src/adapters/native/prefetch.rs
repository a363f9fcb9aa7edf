//! Worker threads that make batches ahead of the consumer, in order.
//!
//! Batch `i` is made by worker `i mod n`. Each worker has two buffers that go round between it and the consumer, so a
//! fast worker waits instead of filling memory, and nothing is allocated once they are there.

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use weighbridge::{Error, Result};

use super::buffer::Buffers;
use super::maker::Maker;

/// Buffers of one worker.
const AHEAD: usize = 2;

/// Where an epoch is taken up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) epoch: u64,
    /// The first batch to make.
    pub(super) batch: usize,
}

/// The workers of one epoch.
#[derive(Debug)]
pub(super) struct Prefetch {
    workers: Vec<Worker>,
    /// The next batch to hand out.
    next: usize,
}

#[derive(Debug)]
struct Worker {
    /// `None` only while it is being stopped.
    ends: Option<(SyncSender<Buffers>, Receiver<Result<Buffers>>)>,
    thread: Option<JoinHandle<()>>,
}

impl Prefetch {
    /// Starts `count` workers on these batches, from `from` on; `buffers` makes an empty one.
    pub(super) fn start(
        maker: &Maker,
        count: usize,
        from: Start,
        batches: &Batches,
        buffers: &dyn Fn() -> Buffers,
    ) -> Result<Self> {
        let workers = (0..count).map(|index| {
            let (empty, to_fill) = sync_channel::<Buffers>(AHEAD + 1); // the consumer's spare one may come on top
            let (filled, full) = sync_channel(AHEAD + 1);
            for _ in 0..AHEAD {
                empty.send(buffers()).expect("the other end is still here");
            }
            // The first of its batches that is not behind the start.
            let first = from.batch + (index + count - from.batch % count) % count;
            let (mut maker, batches) = (maker.another(), batches.clone());
            let work = move || {
                for batch in (first..batches.count()).step_by(count) {
                    let Ok(mut buffers) = to_fill.recv() else { return }; // the consumer stopped
                    let made = maker.make(from.epoch, batches.elements(batch), &mut buffers);
                    if filled.send(made.map(|()| buffers)).is_err() {
                        return;
                    }
                }
            };
            let thread = Builder::new().name(format!("loader-{index}")).spawn(work);
            let thread =
                thread.map_err(|error| Error::new(format!("failed to start worker {index}: {error}")))?;
            Ok(Worker { ends: Some((empty, full)), thread: Some(thread) })
        });
        Ok(Self { workers: workers.collect::<Result<_>>()?, next: from.batch })
    }

    /// Swaps the current batch for the next one.
    pub(super) fn next(&mut self, current: &mut Buffers) -> Result<()> {
        let index = self.next % self.workers.len();
        let gone = || Error::new(format!("worker {index} ended early: it panicked"));
        let (_, full) = self.workers[index].ends.as_ref().ok_or_else(gone)?;
        let made = full.recv().map_err(|_| gone())??;
        let used = std::mem::replace(current, made);
        // It goes to the worker whose batch was just taken: each has as many as before. One that is done needs none.
        if let Some((empty, _)) = &self.workers[index].ends {
            let _ = empty.send(used);
        }
        self.next += 1;
        Ok(())
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.ends = None; // wakes it
        }
        for worker in &mut self.workers {
            // A worker's panic was told by the batch that did not come.
            let _ = worker.thread.take().map(JoinHandle::join);
        }
    }
}

/// Which elements make up which batch.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    /// The elements of the shard.
    pub(super) all: Range<usize>,
    /// Elements in a batch.
    pub(super) size: usize,
}

impl Batches {
    /// How many batches there are; the last one may be short.
    pub(super) fn count(&self) -> usize {
        self.all.len().div_ceil(self.size)
    }

    /// The elements of one batch.
    pub(super) fn elements(&self, batch: usize) -> Range<usize> {
        let start = self.all.start + batch * self.size;
        start..(start + self.size).min(self.all.end)
    }
}
