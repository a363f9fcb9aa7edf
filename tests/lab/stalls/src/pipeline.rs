//! A small pipeline of real threads, with parts that can be slow: workers make batches, a step takes them.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// What each part of a pipeline does for a batch. Times are waits: nothing runs meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pipeline {
    /// Threads that make batches.
    pub(super) workers: usize,
    /// How long a worker waits for its rows.
    pub(super) disk: Duration,
    /// How long a worker waits for something of its own: a service, a decoder elsewhere.
    pub(super) waits: Duration,
    /// How long a worker holds the lock that all workers share.
    pub(super) locked: Duration,
    /// Whether each worker has a lock of its own instead.
    pub(super) own_locks: bool,
    /// Rounds of arithmetic that a worker does on a processor.
    pub(super) rounds: u64,
    /// How long a device computes in a step.
    pub(super) computes: Duration,
    /// Bytes that a step copies, a block after the other.
    pub(super) copied: usize,
    /// Whether it copies the same block again and again, which a cache holds.
    pub(super) in_cache: bool,
    /// How long after its work a step waits until it is told that it is done.
    pub(super) waited_for: Duration,
    /// How long another rank takes until it answers.
    pub(super) answers: Duration,
    /// Whether batches are there before the clock starts.
    pub(super) cached: bool,
}

/// What a run of a pipeline took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PipelineRun {
    /// Seconds a step.
    pub(super) step: f64,
    /// Of the time in which workers made batches, the share that they ran.
    pub(super) workers_ran: f64,
}

/// Steps of a run before the clock starts.
const UNSEEN: usize = 2;

/// Batches that may lie ready.
const READY: usize = 2;

/// Bytes of a block that is copied at a time: less than a cache has.
const BLOCK: usize = 64 << 10;

impl Pipeline {
    /// Runs so many steps.
    pub(super) fn run(&self, steps: usize, buffers: &mut StepBuffers) -> PipelineRun {
        let (give, take) = sync_channel::<u64>(READY);
        let (next, lock) = (AtomicUsize::new(0), Mutex::new(()));
        let all = steps + UNSEEN;
        let (ask, asked) = channel::<()>();
        let (answer, answered) = channel::<()>();
        thread::scope(|scope| {
            let rank = scope.spawn(move || self.other_rank(&asked, &answer));
            let made: Vec<_> = (0..if self.cached { 0 } else { self.workers })
                .map(|_| {
                    let (give, next, lock) = (give.clone(), &next, &lock);
                    scope.spawn(move || {
                        let mut busy = Duration::ZERO;
                        while next.fetch_add(1, Ordering::Relaxed) < all {
                            let begun = Instant::now();
                            let batch = self.make(lock);
                            busy += begun.elapsed();
                            if give.send(batch).is_err() {
                                break;
                            }
                        }
                        (processor_time(), busy.as_secs_f64())
                    })
                })
                .collect();
            drop(give);
            let mut begun = Instant::now();
            for step in 0..all {
                if step == UNSEEN {
                    begun = Instant::now();
                }
                if !self.cached {
                    black_box(take.recv().unwrap_or_default());
                }
                self.step(buffers, &ask, &answered);
            }
            let took = begun.elapsed().as_secs_f64();
            drop((ask, take));
            let times = made.into_iter().filter_map(|worker| worker.join().ok());
            let (ran, busy) = times.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
            drop(rank.join());
            PipelineRun { step: took / steps as f64, workers_ran: if busy > 0.0 { ran / busy } else { 0.0 } }
        })
    }

    fn make(&self, lock: &Mutex<()>) -> u64 {
        wait(self.disk);
        wait(self.waits);
        if self.own_locks {
            wait(self.locked);
        } else if !self.locked.is_zero() {
            let _held = lock.lock().unwrap_or_else(PoisonError::into_inner);
            wait(self.locked);
        }
        work(self.rounds)
    }

    fn step(&self, buffers: &mut StepBuffers, ask: &Sender<()>, answered: &Receiver<()>) {
        wait(self.computes);
        buffers.copy(self.copied, self.in_cache);
        if !self.answers.is_zero() && ask.send(()).is_ok() {
            let _ = answered.recv();
        }
        wait(self.waited_for);
    }

    /// The other rank: it answers each step after its time.
    fn other_rank(&self, asked: &Receiver<()>, answer: &Sender<()>) {
        while asked.recv().is_ok() {
            wait(self.answers);
            if answer.send(()).is_err() {
                break;
            }
        }
    }
}

/// What steps copy from and to.
pub(super) struct StepBuffers {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl StepBuffers {
    /// Of so many bytes each, all touched.
    pub(super) fn new(bytes: usize) -> Self {
        Self { from: vec![1; bytes], to: vec![2; bytes] }
    }

    fn copy(&mut self, bytes: usize, in_cache: bool) {
        for start in (0..bytes.min(self.from.len())).step_by(BLOCK) {
            let start = if in_cache { 0 } else { start };
            let end = (start + BLOCK).min(self.from.len());
            self.to[start..end].copy_from_slice(black_box(&self.from[start..end]));
        }
        black_box(&mut self.to);
    }
}

fn wait(time: Duration) {
    if !time.is_zero() {
        thread::sleep(time);
    }
}

/// So many rounds of arithmetic that depend on each other.
pub(super) fn work(rounds: u64) -> u64 {
    (0..rounds).fold(1, |state: u64, round| {
        black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round))
    })
}

/// Seconds that this thread has run.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(0.0, |time| Duration::from(time).as_secs_f64())
}
