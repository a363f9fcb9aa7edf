//! A measured window: clock and counters between two moments, added up over many.

use std::time::Duration;

use crate::device::{Clock, Usage};

/// Adds up windows. Counters are read outside the clock: before it starts and after it has stopped.
#[derive(Debug)]
pub(super) struct Windows {
    clock: Clock,
    opened: Option<(Usage, Duration)>,
    pub(super) wall: Duration,
    pub(super) usage: Usage,
}

impl Windows {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, opened: None, wall: Duration::ZERO, usage: Usage::NONE }
    }

    /// Opens a window. The clock is read last.
    pub(super) fn open(&mut self) {
        let usage = Usage::opening();
        self.opened = Some((usage, self.clock.now()));
    }

    /// Closes the window. The clock is read first.
    pub(super) fn close(&mut self) {
        self.close_at(self.clock.now());
    }

    /// Closes the window at a moment that has just been read.
    pub(super) fn close_at(&mut self, end: Duration) {
        let usage = Usage::closing();
        if let Some((before, start)) = self.opened.take() {
            self.wall += end - start;
            self.usage += usage - before;
        }
    }
}
