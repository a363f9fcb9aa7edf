//! Bodies on several threads at once: a common start, and times that each thread takes of itself.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::window::Windows;
use crate::device::{Clock, own_schedule, thread_time};

/// Looks at the gate that a thread makes before it gives its processor to another one.
const LOOKS: u32 = 1_000;

/// Where threads meet before they start. Who waits here looks again and again: a thread that sleeps would start late, each by
/// another time.
#[derive(Debug, Default)]
struct Gate {
    arrived: AtomicUsize,
    open: AtomicBool,
    /// Whether nothing is to run behind it.
    closed: AtomicBool,
}

impl Gate {
    fn wait_for(threads: usize, arrived: &AtomicUsize) {
        Self::look(|| arrived.load(Ordering::Acquire) >= threads);
    }

    fn look(is_due: impl Fn() -> bool) {
        let mut looks = 0;
        while !is_due() {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

/// A thread's way to the gate. It arrives when this is dropped: a body that cannot be made does not keep the others waiting.
struct Arrival<'a>(&'a Gate);

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        self.0.arrived.fetch_add(1, Ordering::AcqRel);
    }
}

/// What one thread says of its iterations.
struct Ran {
    from: Duration,
    to: Duration,
    cpu: Duration,
    /// Nanoseconds that it was on a processor, and waited for one; `None` where the kernel does not say.
    scheduled: Option<(u64, u64)>,
}

impl Ran {
    /// How long it waited for a processor: no longer than it was on none.
    fn delayed(&self) -> Option<Duration> {
        let off = (self.to - self.from).saturating_sub(self.cpu);
        self.scheduled.map(|(_, waited)| Duration::from_nanos(waited).min(off))
    }
}

/// Runs as many iterations on each thread, and gives the time from the first one's start to the last one's end: starting the
/// threads is in no figure. The window that is open meanwhile is narrowed to that time, and to their processor time.
///
/// # Panics
/// If a body, or making one, panics: the same. If so many threads cannot be had.
pub(super) fn run<T, F: FnMut() -> T + Send>(
    threads: usize,
    iterations: u64,
    windows: &mut Windows,
    clock: &Clock,
    make: impl Fn(usize) -> F + Sync,
) -> Duration {
    let gate = Gate::default();
    let (gate, make) = (&gate, &make);
    let one = move |thread: usize| {
        let arrival = Arrival(gate);
        let mut body = make(thread);
        drop(arrival);
        Gate::look(|| gate.open.load(Ordering::Acquire));
        let (scheduled, cpu, from) = (own_schedule(), thread_time(), clock.now());
        let iterations = if gate.closed.load(Ordering::Relaxed) { 0 } else { iterations };
        for _ in 0..iterations {
            black_box(body());
        }
        let (to, cpu) = (clock.now(), thread_time().saturating_sub(cpu));
        let grown = |before: (u64, u64), after: (u64, u64)| (after.0 - before.0, after.1 - before.1);
        let scheduled = scheduled.zip(own_schedule()).map(|(before, after)| grown(before, after));
        Ran { from, to, cpu, scheduled }
    };
    let ran: Vec<Ran> = thread::scope(|scope| {
        let start = |thread| thread::Builder::new().spawn_scoped(scope, move || one(thread));
        let started: Vec<_> = (0..threads).map(start).collect();
        if let Some(error) = started.iter().find_map(|started| started.as_ref().err()) {
            // Those that did start wait at the gate.
            gate.closed.store(true, Ordering::Relaxed);
            gate.open.store(true, Ordering::Release);
            panic!("{threads} threads cannot be had: {error}");
        }
        let started = started.into_iter().flatten();
        Gate::wait_for(threads, &gate.arrived);
        windows.open();
        gate.open.store(true, Ordering::Release);
        let joined: Vec<_> = started.map(thread::ScopedJoinHandle::join).collect();
        windows.close();
        let panicked = |panic| std::panic::resume_unwind(panic);
        joined.into_iter().map(|ran| ran.unwrap_or_else(panicked)).collect()
    });
    let from = ran.iter().map(|ran| ran.from).min().unwrap_or_default();
    let to = ran.iter().map(|ran| ran.to).max().unwrap_or_default();
    let times = ran.iter().filter_map(|ran| ran.scheduled);
    let scheduled = times.fold((0, 0), |sum, time| (sum.0 + time.0, sum.1 + time.1));
    let delayed = if let [one] = &ran[..] { one.delayed() } else { None };
    windows.narrow(to - from, ran.iter().map(|ran| ran.cpu).sum(), scheduled, delayed);
    to - from
}
