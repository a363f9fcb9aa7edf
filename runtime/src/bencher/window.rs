//! A measured window: clock and counters between two moments, added up over many.

use std::time::Duration;

use crate::device::{Clock, HardwareCounters, Usage, thread_time, thread_waits};
use crate::metric::{Block, Hardware};

/// Adds up windows. Counters are read outside the clock: before it starts and after it has stopped.
#[derive(Debug)]
pub(super) struct Windows {
    clock: Clock,
    /// Only of windows that are measured.
    hardware: Option<HardwareCounters>,
    opened: Option<Opened>,
    pub(super) wall: Duration,
    pub(super) usage: Usage,
    /// What the last window saw, its iterations aside.
    pub(super) last: Block,
}

/// What was read when a window was opened.
#[derive(Debug)]
struct Opened {
    usage: Usage,
    waits: u64,
    thread: Duration,
    start: Duration,
}

impl Windows {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            hardware: None,
            opened: None,
            wall: Duration::ZERO,
            usage: Usage::NONE,
            last: Block::default(),
        }
    }

    /// Windows that are measured: the processor counts in them as well.
    pub(super) fn measured(clock: Clock) -> Self {
        Self { hardware: Some(HardwareCounters::open()), ..Self::new(clock) }
    }

    /// What the processor counted.
    pub(super) fn hardware(&mut self) -> Hardware {
        self.hardware.as_mut().map_or_else(Hardware::default, |counters| Hardware::of(counters.read()))
    }

    /// Opens a window. The clock is read last.
    pub(super) fn open(&mut self) {
        let usage = Usage::opening();
        if let Some(hardware) = &mut self.hardware {
            hardware.start();
        }
        // Of the measuring thread alone: the one that listens to the parent waits all the time.
        let waits = thread_waits();
        let thread = thread_time();
        self.opened = Some(Opened { usage, waits, thread, start: self.clock.now() });
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
        if let Some(Opened { usage: before, waits, thread, start }) = self.opened.take() {
            let used = usage - before;
            self.wall += end - start;
            self.last = Block {
                iterations: 0,
                wall: (end - start).as_nanos() as u64,
                thread: thread_now.saturating_sub(thread).as_nanos() as u64,
                cpu: used.cpu.as_nanos() as u64,
                preemptions: used.involuntary_switches,
                waits: waits_now - waits,
                faults: used.minor_faults,
            };
            self.usage += used;
        }
    }
}
