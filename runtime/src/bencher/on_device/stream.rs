//! What a body is handed: where to enqueue its work.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::fmt;

use super::PLATFORM;
use crate::bencher::{Result, skip};
use crate::device::{Device, Queue, QueueMark};

/// The stream that is timed, and those beside it: handles of the backend, so that any crate, in any version,
/// can wrap them.
pub struct Stream<'a> {
    device: &'a dyn Device,
    beside: usize,
    call: u64,
    phases: &'a StreamPhases,
}

/// The phases that bodies began, each with its stamp. Stamps are taken while a sample is taken by the
/// device's clock.
#[derive(Debug, Default)]
pub(super) struct StreamPhases {
    begun: RefCell<Vec<(&'static str, QueueMark)>>,
    on: Cell<bool>,
}

impl StreamPhases {
    /// Begins to take stamps, or stops; forgets those that were taken.
    pub(super) fn set(&self, on: bool) {
        self.on.set(on);
        self.begun.borrow_mut().clear();
    }

    /// The names and stamps so far.
    pub(super) fn begun(&self) -> Vec<(&'static str, QueueMark)> {
        self.begun.borrow().clone()
    }
}

impl<'a> Stream<'a> {
    pub(super) fn new(device: &'a dyn Device, beside: usize, call: u64, phases: &'a StreamPhases) -> Self {
        Self { device, beside, call, phases }
    }

    /// Begins a phase of the body (`forward`, `backward`), and ends the one before: a stamp on the stream
    /// that is timed. The record has the time of each, and what came before the first as `begin`; together
    /// they are the body's time. What is enqueued beside that stream counts where the stream waits for it.
    /// Mode `sync` takes no stamps, nor does `hot` in a batch of more than two bodies.
    ///
    /// # Errors
    /// When the device failed.
    pub fn phase(&self, name: &'static str) -> Result<()> {
        if self.phases.on.get() {
            let mark = self.device.mark(Queue::MEASURED)?;
            self.phases.begun.borrow_mut().push((name, mark));
        }
        Ok(())
    }

    /// The `CUstream` to enqueue on. It belongs to the harness: it must not be destroyed, and it ends with
    /// the repeat.
    ///
    /// # Errors
    /// A skip where the device has no such handle: on the host.
    pub fn raw(&self) -> Result<*mut c_void> {
        self.handle(Queue::MEASURED)
    }

    /// As [`Stream::raw`], of the stream beside it with this number, from 0: as many as
    /// [`DeviceBencher::streams`](super::DeviceBencher::streams) declared. It begins after what came before
    /// the body, and the body ends when it has.
    ///
    /// # Errors
    /// As [`Stream::raw`]; and where so many were not declared.
    pub fn beside(&self, number: usize) -> Result<*mut c_void> {
        if number >= self.beside {
            return Err(crate::bencher::Error::new(format!(
                "the body asks for stream {number} beside its own, and {} are declared: say `.streams({})`",
                self.beside,
                number + 1
            )));
        }
        self.handle(Queue::beside(number))
    }

    /// The number of this call of the body, from 0: to take another of several inputs each time, so that none
    /// is in the cache.
    pub fn call(&self) -> u64 {
        self.call
    }

    fn handle(&self, queue: Queue) -> Result<*mut c_void> {
        self.device
            .raw(queue)
            .ok_or_else(|| skip(format!("{} has no streams: {PLATFORM}", self.device.info().name)))
    }
}

impl fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("call", &self.call).finish_non_exhaustive()
    }
}
