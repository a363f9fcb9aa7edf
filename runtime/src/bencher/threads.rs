//! Bodies on several threads at once: a common start, and times that each thread takes of itself.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::window::Windows;
use crate::device::{Clock, own_schedule, thread_time};

/// Looks at the gate that a thread makes before it gives its processor to another one.
const LOOKS: u32 = 1_000;

/// A spinning barrier at which threads meet before they start, and may meet again when they have ended. Who
/// waits here looks again and again: a thread that sleeps would start late, each by another time.
#[derive(Debug, Default)]
struct StartGate {
    threads: usize,
    arrived: AtomicUsize,
    ended: AtomicUsize,
    open: AtomicBool,
    /// Tells whether nothing is to run behind it.
    closed: AtomicBool,
}

impl StartGate {
    fn wait_for_all(&self, counted: &AtomicUsize) {
        Self::look(|| counted.load(Ordering::Acquire) >= self.threads);
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn look(is_due: impl Fn() -> bool) {
        let mut looks = 0;
        while !is_due() {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

/// Counts a thread when it is dropped: one that panics does not keep the others waiting.
#[derive(Debug)]
struct ThreadCount<'a>(&'a AtomicUsize);

impl Drop for ThreadCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// One thread's way through a sample: what it prepares, what is timed of it, what it leaves behind.
#[derive(Debug)]
pub(super) struct Lane<'a> {
    gate: &'a StartGate,
    clock: &'a Clock,
    arrival: Option<ThreadCount<'a>>,
    ending: Option<ThreadCount<'a>>,
    ran: ThreadRun,
}

impl<'a> Lane<'a> {
    fn new(gate: &'a StartGate, clock: &'a Clock) -> Self {
        let (arrival, ending) = (Some(ThreadCount(&gate.arrived)), Some(ThreadCount(&gate.ended)));
        Self { gate, clock, arrival, ending, ran: ThreadRun::default() }
    }

    /// Runs the block behind the gate, once all threads have come to it. What was done before it is in no
    /// figure.
    pub(super) fn timed(&mut self, block: impl FnOnce()) {
        self.arrival = None;
        StartGate::look(|| self.gate.open.load(Ordering::Acquire));
        if self.gate.is_closed() {
            return;
        }
        let (scheduled, cpu, from) = (own_schedule(), thread_time(), self.clock.now());
        block();
        let (to, cpu) = (self.clock.now(), thread_time().saturating_sub(cpu));
        let grown = |before: (u64, u64), after: (u64, u64)| (after.0 - before.0, after.1 - before.1);
        let scheduled = scheduled.zip(own_schedule()).map(|(before, after)| grown(before, after));
        self.ran = ThreadRun { from, to, cpu, scheduled };
        self.ending = None;
    }

    /// Waits for the other threads to end what is timed: what follows would disturb them.
    pub(super) fn wait_for_the_others(&self) {
        if !self.gate.is_closed() {
            self.gate.wait_for_all(&self.gate.ended);
        }
    }
}

/// One thread's times of its iterations.
#[derive(Debug, Default)]
struct ThreadRun {
    from: Duration,
    to: Duration,
    cpu: Duration,
    /// Nanoseconds that it was on a processor, and waited for one; `None` where the kernel does not say.
    scheduled: Option<(u64, u64)>,
}

impl ThreadRun {
    /// The time that it waited for a processor: no longer than it was on none.
    fn delayed(&self) -> Option<Duration> {
        let off = (self.to - self.from).saturating_sub(self.cpu);
        self.scheduled.map(|(_, waited)| Duration::from_nanos(waited).min(off))
    }
}

/// Runs the same work on so many threads, and gives the time from the first one's start to the last one's
/// end, and what each gave: starting the threads and what they prepare is in no figure. The window that is
/// open meanwhile is narrowed to that time, and to their processor time.
///
/// # Panics
/// If the work panics: the same. If so many threads cannot be had.
pub(super) fn run<R: Send>(
    threads: usize,
    windows: &mut Windows,
    clock: &Clock,
    work: impl Fn(usize, &mut Lane<'_>) -> R + Sync,
) -> (Duration, Vec<R>) {
    let gate = StartGate { threads, ..StartGate::default() };
    let (gate, work) = (&gate, &work);
    let one = move |thread: usize| {
        let mut lane = Lane::new(gate, clock);
        let given = work(thread, &mut lane);
        (std::mem::take(&mut lane.ran), given)
    };
    let (ran, given): (Vec<ThreadRun>, Vec<R>) = thread::scope(|scope| {
        let start = |thread| thread::Builder::new().spawn_scoped(scope, move || one(thread));
        let started: Vec<_> = (0..threads).map(start).collect();
        if let Some(error) = started.iter().find_map(|started| started.as_ref().err()) {
            // Those that did start wait at the gate.
            gate.closed.store(true, Ordering::Relaxed);
            gate.open.store(true, Ordering::Release);
            panic!("{threads} threads cannot be had: {error}");
        }
        let started = started.into_iter().flatten();
        gate.wait_for_all(&gate.arrived);
        windows.open();
        gate.open.store(true, Ordering::Release);
        let joined: Vec<_> = started.map(thread::ScopedJoinHandle::join).collect();
        windows.close();
        let panicked = |panic| std::panic::resume_unwind(panic);
        joined.into_iter().map(|ran| ran.unwrap_or_else(panicked)).unzip()
    });
    let from = ran.iter().map(|ran| ran.from).min().unwrap_or_default();
    let to = ran.iter().map(|ran| ran.to).max().unwrap_or_default();
    let times = ran.iter().filter_map(|ran| ran.scheduled);
    let scheduled = times.fold((0, 0), |sum, time| (sum.0 + time.0, sum.1 + time.1));
    let delayed = if let [one] = &ran[..] { one.delayed() } else { None };
    windows.narrow(to - from, ran.iter().map(|ran| ran.cpu).sum(), scheduled, delayed);
    (to - from, given)
}
