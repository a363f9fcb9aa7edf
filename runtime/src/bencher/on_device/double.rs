//! A device of its own clock, for tests: queues with known ends, costs that are set, nothing that waits.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::device::{
    Backend, Copies, CopyKind, CycleStamp, Device, DeviceError, DeviceInfo, DeviceMemory, Hold, Queue,
    QueueMark, Release, Replay, Telemetry,
};

/// The cost to the host of enqueueing, in nanoseconds as all that follow.
pub(super) const LAUNCH: u64 = 2_000;
/// The cost to the host of a synchronisation, beside the wait.
pub(super) const SYNC: u64 = 4_000;
/// From letting a held queue go until it goes on.
pub(super) const RELEASE: u64 = 1_000;
/// The cost to the host of looking at a queue.
pub(super) const LOOK: u64 = 50;
/// One step of the device's clock.
pub(super) const QUANTUM: u64 = 500;
/// The cost to the host of asking for the memory in use.
pub(super) const ASK: u64 = 10_000;
/// The time of a stamp on the device.
pub(super) const STAMP: u64 = 1_000;

/// The double.
#[derive(Debug)]
pub(super) struct Double {
    info: DeviceInfo,
    now: Cell<u64>,
    /// The moment when each queue has nothing left to do.
    ends: RefCell<Vec<u64>>,
    marks: RefCell<Vec<Option<u64>>>,
    /// Work behind a hold: marks and kernels in order.
    held: RefCell<Option<VecDeque<QueuedWork>>>,
    recording: RefCell<Option<Vec<u64>>>,
    /// A queue of somebody else in the same process.
    hidden: Cell<u64>,
    pub(super) flushes: Cell<u64>,
    pub(super) holds: Cell<u64>,
    /// Megahertz of the next sample.
    pub(super) clocks: RefCell<VecDeque<f64>>,
    clock: Cell<Option<f64>>,
    pub(super) telemetry: RefCell<Telemetry>,
    pub(super) watts: Cell<f64>,
    pub(super) used: Cell<u64>,
    /// The pool's high-water mark, which bodies raise.
    pub(super) peak: Cell<u64>,
    /// Bytes a second of a copy.
    pub(super) bandwidth: Cell<f64>,
    /// Fails the synchronisation after so many more.
    pub(super) fails_in: Cell<Option<u64>>,
    pub(super) can_record: Cell<bool>,
    /// Says once that the queue that was held went on by itself.
    pub(super) expired: Cell<bool>,
}

#[derive(Clone, Copy, Debug)]
enum QueuedWork {
    Kernel(u64),
    Mark(usize),
}

impl Double {
    pub(super) fn new() -> Rc<Self> {
        let info = DeviceInfo {
            backend: Backend::Cuda,
            name: "double".to_owned(),
            has_clock: true,
            max_clock_mhz: Some(2_000.0),
            cache: Some(1 << 20),
            memory: Some(1 << 34),
            ..DeviceInfo::default()
        };
        Rc::new(Self {
            info,
            now: Cell::new(1_000_000),
            ends: RefCell::new(vec![0]),
            marks: RefCell::default(),
            held: RefCell::default(),
            recording: RefCell::default(),
            hidden: Cell::new(0),
            flushes: Cell::new(0),
            holds: Cell::new(0),
            clocks: RefCell::default(),
            clock: Cell::new(None),
            telemetry: RefCell::default(),
            watts: Cell::new(0.0),
            used: Cell::new(1 << 20),
            peak: Cell::new(0),
            bandwidth: Cell::new(1e12),
            fails_in: Cell::new(None),
            can_record: Cell::new(true),
            expired: Cell::new(false),
        })
    }

    /// The host spends time.
    pub(super) fn host(&self, ns: u64) {
        self.now.set(self.now.get() + ns);
    }

    /// Launches work of so many nanoseconds.
    pub(super) fn kernel(&self, queue: Queue, ns: u64) {
        self.host(LAUNCH);
        self.enqueue(queue, ns);
    }

    /// Launches work on a queue that nobody knows of.
    pub(super) fn hidden(&self, ns: u64) {
        self.host(LAUNCH);
        self.hidden.set(self.hidden.get().max(self.now.get()) + ns);
    }

    fn enqueue(&self, queue: Queue, ns: u64) {
        if queue == Queue::MEASURED {
            if let Some(recorded) = &mut *self.recording.borrow_mut() {
                recorded.push(ns);
                return;
            }
            if let Some(held) = &mut *self.held.borrow_mut() {
                held.push_back(QueuedWork::Kernel(ns));
                return;
            }
        }
        let end = &mut self.ends.borrow_mut()[queue.0];
        *end = (*end).max(self.now.get()) + ns;
    }

    fn reach(&self, mark: usize, queue: usize) {
        let end = &mut self.ends.borrow_mut()[queue];
        *end = (*end).max(self.now.get()) + STAMP / 2;
        self.marks.borrow_mut()[mark] = Some((*end).div_ceil(QUANTUM) * QUANTUM);
        *end += STAMP / 2;
    }
}

impl Release for Double {
    fn release(&self) {
        self.host(LAUNCH);
        let held = self.held.borrow_mut().take().unwrap_or_default();
        let begin = self.now.get() + RELEASE;
        {
            let end = &mut self.ends.borrow_mut()[0];
            *end = (*end).max(begin);
        }
        for work in held {
            match work {
                QueuedWork::Kernel(ns) => self.enqueue(Queue::MEASURED, ns),
                QueuedWork::Mark(mark) => self.reach(mark, 0),
            }
        }
    }
}

impl Device for Double {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn host_ns(&self) -> u64 {
        self.now.get()
    }

    fn mark(&self, queue: Queue) -> Result<QueueMark, DeviceError> {
        self.host(LAUNCH / 2);
        let mark = self.marks.borrow().len();
        self.marks.borrow_mut().push(None);
        if let (Queue::MEASURED, Some(held)) = (queue, &mut *self.held.borrow_mut()) {
            held.push_back(QueuedWork::Mark(mark));
            return Ok(QueueMark(mark));
        }
        self.reach(mark, queue.0);
        Ok(QueueMark(mark))
    }

    fn recycle(&self) {
        self.marks.borrow_mut().clear();
    }

    fn elapsed_ns(&self, from: QueueMark, to: QueueMark) -> Result<f64, DeviceError> {
        let marks = self.marks.borrow();
        match (marks[from.0], marks[to.0]) {
            (Some(from), Some(to)) if to <= self.now.get() => Ok(to as f64 - from as f64),
            _ => Err(DeviceError::refused("read a mark", "not reached")),
        }
    }

    fn sync(&self) -> Result<(), DeviceError> {
        assert!(self.held.borrow().is_none(), "a synchronisation while the queue is held would never end");
        let end = self.ends.borrow().iter().copied().max().unwrap_or(0).max(self.hidden.get());
        self.now.set(self.now.get().max(end) + SYNC);
        match self.fails_in.get() {
            Some(0) => Err(DeviceError {
                what: "synchronise the device".to_owned(),
                code: 700,
                name: "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned(),
                fatal: true,
            }),
            Some(more) => {
                self.fails_in.set(Some(more - 1));
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn is_idle(&self) -> Result<bool, DeviceError> {
        self.host(LOOK);
        Ok(self.ends.borrow()[0] <= self.now.get())
    }

    fn flush_cache(&self) -> Result<(), DeviceError> {
        self.flushes.set(self.flushes.get() + 1);
        self.kernel(Queue::MEASURED, 50_000);
        Ok(())
    }

    fn hold(&self) -> Result<Option<Hold<'_>>, DeviceError> {
        self.host(LAUNCH);
        self.holds.set(self.holds.get() + 1);
        *self.held.borrow_mut() = Some(VecDeque::new());
        Ok(Some(Hold::new(self)))
    }

    fn hold_expired(&self) -> bool {
        self.expired.take()
    }

    fn occupy(&self, ns: u64) -> Result<bool, DeviceError> {
        self.kernel(Queue::MEASURED, ns);
        Ok(true)
    }

    fn stamp(&self, place: CycleStamp) -> Result<(), DeviceError> {
        if place == CycleStamp::Before {
            let next = self.clocks.borrow_mut().pop_front();
            self.clock.set(next.or(self.clock.get()));
        }
        Ok(())
    }

    fn clock_mhz(&self) -> Option<f64> {
        self.clock.get()
    }

    fn telemetry(&self) -> Telemetry {
        let energy = self.watts.get() * self.now.get() as f64 * 1e-9;
        let energy_joules = (self.watts.get() > 0.0).then_some(energy);
        Telemetry { energy_joules, ..self.telemetry.borrow().clone() }
    }

    fn memory(&self) -> Result<Option<DeviceMemory>, DeviceError> {
        self.host(ASK);
        Ok(Some(DeviceMemory { used: self.used.get(), total: 1 << 34, pool_peak: Some(self.peak.get()) }))
    }

    fn reset_memory_peak(&self) {
        self.peak.set(0);
    }

    fn open_queues(&self, beside: usize) -> Result<(), DeviceError> {
        let mut ends = self.ends.borrow_mut();
        let count = ends.len().max(beside + 1);
        ends.resize(count, 0);
        Ok(())
    }

    fn wait(&self, queue: Queue, mark: QueueMark) -> Result<(), DeviceError> {
        let reached = self.marks.borrow()[mark.0].expect("tests do not fork a held queue");
        let end = &mut self.ends.borrow_mut()[queue.0];
        *end = (*end).max(reached);
        Ok(())
    }

    fn begin_capture(&self) -> Result<bool, DeviceError> {
        if self.can_record.get() {
            *self.recording.borrow_mut() = Some(Vec::new());
        }
        Ok(self.can_record.get())
    }

    fn end_capture(&self) -> Result<Box<dyn Replay + '_>, DeviceError> {
        let work = self.recording.borrow_mut().take().unwrap_or_default();
        Ok(Box::new(RecordedGraph { device: self, work }))
    }

    fn copies(&self, bytes: usize) -> Result<Option<Box<dyn Copies + '_>>, DeviceError> {
        Ok(Some(Box::new(DoubleBuffers { device: self, bytes: bytes as u64 })))
    }
}

struct RecordedGraph<'a> {
    device: &'a Double,
    work: Vec<u64>,
}

impl Replay for RecordedGraph<'_> {
    fn replay(&self) -> Result<(), DeviceError> {
        self.device.kernel(Queue::MEASURED, self.work.iter().sum());
        Ok(())
    }
}

struct DoubleBuffers<'a> {
    device: &'a Double,
    bytes: u64,
}

impl Copies for DoubleBuffers<'_> {
    fn copy(&self, which: CopyKind) -> Result<u64, DeviceError> {
        let bytes = if which == CopyKind::Device { 2 * self.bytes } else { self.bytes };
        let share = if which == CopyKind::Device { 1.0 } else { 0.01 };
        let ns = bytes as f64 / (self.device.bandwidth.get() * share) * 1e9;
        self.device.kernel(Queue::MEASURED, ns as u64);
        Ok(bytes)
    }
}
