//! A measured window: clock and counters between two moments, added up over many.

use std::time::Duration;

use crate::device::{Clock, Delays, HardwareCounters, Usage, thread_time, thread_waits};
use crate::metric::{Block, Hardware, TimedBy};

/// Adds up windows. Counters are read outside the clock: before it starts and after it has stopped.
#[derive(Debug)]
pub(super) struct Windows {
    clock: Clock,
    /// Only of windows that are measured.
    hardware: Option<HardwareCounters>,
    delays: Delays,
    opened: Option<OpenWindow>,
    /// Since when no window is open.
    stands: Standstill,
    pub(super) wall: Duration,
    pub(super) usage: Usage,
    /// Processor time of the measuring thread; `None` once a window was narrowed to other threads.
    own: Option<Duration>,
    /// Nanoseconds that threads which have ended were on a processor, and waited for one.
    ended: (u64, u64),
    /// The counts of the last window, its iterations aside.
    pub(super) last: Block,
    /// The processor's counts in windows that do not count.
    forgotten: [u64; 3],
}

/// The sums over all windows up to a moment.
pub(super) struct SoFar {
    wall: Duration,
    usage: Usage,
    own: Option<Duration>,
    counted: [u64; 3],
}

/// Readings at the moment when the clock was stopped.
#[derive(Debug)]
struct Standstill {
    since: Duration,
    /// Processor time of other threads than the measuring one.
    others: Duration,
}

/// While the clock stands, others than the measuring thread may use one part in so many of the time: threads
/// that wait wake up now and then.
const IDLE: u32 = 100;

/// Readings at the opening of a window.
#[derive(Debug)]
struct OpenWindow {
    usage: Usage,
    waits: u64,
    delayed: Option<u64>,
    thread: Duration,
    start: Duration,
}

impl Windows {
    pub(super) fn new(clock: Clock) -> Self {
        let stands = Standstill { since: clock.now(), others: clock.others() };
        Self {
            clock,
            hardware: None,
            delays: Delays::of_this_thread(),
            opened: None,
            stands,
            wall: Duration::ZERO,
            usage: Usage::NONE,
            own: Some(Duration::ZERO),
            ended: (0, 0),
            last: Block::default(),
            forgotten: [0; 3],
        }
    }

    /// Windows that are measured: the processor counts in them as well.
    pub(super) fn measured(clock: Clock) -> Self {
        Self { hardware: Some(HardwareCounters::open()), ..Self::new(clock) }
    }

    /// The processor's counts over the windows that count.
    pub(super) fn hardware(&mut self) -> Hardware {
        let Some(counters) = &mut self.hardware else { return Hardware::default() };
        let mut counts = counters.read();
        for (count, forgotten) in counts.iter_mut().zip(self.forgotten) {
            if let Ok(count) = count {
                *count -= forgotten;
            }
        }
        Hardware::of(counts)
    }

    /// The sums over the windows so far.
    pub(super) fn so_far(&mut self) -> SoFar {
        SoFar { wall: self.wall, usage: self.usage, own: self.own, counted: self.counted() }
    }

    /// Forgets the windows since then: of a sample that does not count, its counters do not either.
    pub(super) fn back_to(&mut self, then: &SoFar) {
        (self.wall, self.usage, self.own) = (then.wall, then.usage, then.own);
        let now = self.counted();
        for (forgotten, (now, then)) in self.forgotten.iter_mut().zip(now.into_iter().zip(then.counted)) {
            *forgotten += now - then;
        }
    }

    /// The processor's counts, those that do not count among them; 0 of what is not counted.
    fn counted(&mut self) -> [u64; 3] {
        let Some(counters) = &mut self.hardware else { return [0; 3] };
        counters.read().map(Result::unwrap_or_default)
    }

    /// The clock stands from now on: what went on before is told otherwise.
    pub(super) fn stand(&mut self) {
        self.stands = Standstill { since: self.clock.now(), others: self.clock.others() };
    }

    /// The time that the clock has stood, and whether other threads were at work meanwhile.
    pub(super) fn stood(&self) -> (Duration, bool) {
        let stood = self.clock.now() - self.stands.since;
        (stood, self.clock.others().saturating_sub(self.stands.others) > stood / IDLE)
    }

    /// Narrows the window that has just been closed to what was measured in it: so much wall time, and so
    /// much processor time of threads that have ended, with what the scheduler counted for them. `delayed` is
    /// how long the one that there was waited for a processor; several that did have not run at once, and no
    /// sum tells what they take where they do.
    pub(super) fn narrow(
        &mut self,
        wall: Duration,
        cpu: Duration,
        scheduled: (u64, u64),
        delayed: Option<Duration>,
    ) {
        let last = |nanoseconds| Duration::from_nanos(nanoseconds);
        self.wall = self.wall.saturating_sub(last(self.last.wall)) + wall;
        self.usage.cpu = self.usage.cpu.saturating_sub(last(self.last.cpu)) + cpu;
        (self.last.wall, self.last.cpu) = (wall.as_nanos() as u64, cpu.as_nanos() as u64);
        self.own = None;
        self.last.delayed = delayed.map(|delayed| delayed.as_nanos() as u64);
        self.ended = (self.ended.0 + scheduled.0, self.ended.1 + scheduled.1);
    }

    /// Nanoseconds that the measuring thread was on a processor; `None` where others were measured.
    pub(super) fn own_cpu(&self) -> Option<u64> {
        self.own.map(|own| own.as_nanos() as u64)
    }

    /// Nanoseconds that threads which have ended were on a processor in the windows, and waited for one.
    pub(super) fn ended_threads(&self) -> (u64, u64) {
        self.ended
    }

    /// Opens a window. The clock is read last: that moment is given, so that nothing lies between the
    /// window's start and the first thing in it.
    pub(super) fn open(&mut self) -> Duration {
        // First and last, since reading it is what counters of the process see.
        let delayed = self.delays.read();
        let usage = Usage::opening();
        if let Some(hardware) = &mut self.hardware {
            hardware.start();
        }
        // Of the measuring thread alone: the one that listens to the parent waits all the time.
        let waits = thread_waits();
        let thread = thread_time();
        let start = self.clock.now();
        self.opened = Some(OpenWindow { usage, waits, delayed, thread, start });
        start
    }

    /// Closes the window. The clock is read first.
    pub(super) fn close(&mut self) {
        self.close_at(self.clock.now());
    }

    /// Closes the window at a moment that has just been read.
    pub(super) fn close_at(&mut self, end: Duration) {
        let thread_now = thread_time();
        if let Some(hardware) = &mut self.hardware {
            hardware.stop();
        }
        let waits_now = thread_waits();
        let usage = Usage::closing();
        let delayed_now = self.delays.read();
        if let Some(OpenWindow { usage: before, waits, delayed, thread, start }) = self.opened.take() {
            let used = usage - before;
            // What passed beside the window, between a reading of one clock and of another, is none of it: a
            // thread often loses its processor there, and it did not wait while it ran.
            let off = (end - start).saturating_sub(thread_now.saturating_sub(thread)).as_nanos() as u64;
            let delayed = delayed_now.zip(delayed).map(|(now, then)| now.saturating_sub(then).min(off));
            self.stands = Standstill { since: end, others: self.clock.others() };
            self.wall += end - start;
            self.last = Block {
                iterations: 0,
                wall: (end - start).as_nanos() as u64,
                thread: thread_now.saturating_sub(thread).as_nanos() as u64,
                cpu: used.cpu.as_nanos() as u64,
                preemptions: used.involuntary_switches,
                waits: waits_now - waits,
                faults: used.minor_faults,
                delayed,
                by: TimedBy::Host,
            };
            self.usage += used;
            self.own = self.own.map(|own| own + thread_now.saturating_sub(thread));
        }
    }
}
