//! Mutants of the seam: each does one thing wrong, and a named test of the files beside this one fails with
//! it.
//!
//! A mutant stands between the bencher and the real CUDA device, so that the tests run unchanged.

use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use cudarc::driver::{result, sys};
use weighbridge::Platform;
use weighbridge::gpu::{
    Copies, CycleStamp, Device, DeviceError, DeviceInfo, DeviceMemory, Hold, Queue, QueueMark, Replay,
    Telemetry, open_device,
};

use crate::{errors, modes};

/// What is done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WrongSubject {
    /// `sync` waits for nothing.
    ForgetsToSync,
    /// `sync` waits for the measured stream alone.
    SyncsOneStream,
    /// `hold` holds nothing.
    NeverHolds,
    /// The host's clock is read before the device is drained, and not after.
    StopsTheClockEarly,
    /// An error that loses the device is one call's.
    TakesLossForHarmless,
    /// Events are made without their clock.
    LeavesEventsUntimed,
    /// The cache is flushed behind the first stamp.
    FlushesInTheWindow,
}

/// Each mutant, and the test that fails with it.
const CAUGHT: [(WrongSubject, &str, fn()); 7] = [
    (
        WrongSubject::ForgetsToSync,
        "every mode",
        modes::a_kernel_of_two_milliseconds_takes_two_milliseconds_in_every_mode,
    ),
    (
        WrongSubject::SyncsOneStream,
        "private stream",
        modes::work_on_a_private_stream_has_a_caveat_by_events_and_counts_in_mode_sync,
    ),
    (
        WrongSubject::NeverHolds,
        "short kernels",
        modes::event_times_are_within_two_percent_from_five_microseconds_up,
    ),
    (
        WrongSubject::StopsTheClockEarly,
        "every mode",
        modes::a_kernel_of_two_milliseconds_takes_two_milliseconds_in_every_mode,
    ),
    (
        WrongSubject::TakesLossForHarmless,
        "lost device",
        errors::what_a_device_fails_with_in_the_middle_is_the_bodys_error,
    ),
    (
        WrongSubject::LeavesEventsUntimed,
        "short kernels",
        modes::event_times_are_within_two_percent_from_five_microseconds_up,
    ),
    (WrongSubject::FlushesInTheWindow, "cold cache", modes::the_flush_of_mode_cold_is_in_no_window),
];

thread_local! {
    /// What the devices of this thread's tests do wrong.
    static WRONG: Cell<Option<WrongSubject>> = const { Cell::new(None) };
}

/// The device that a bencher of these tests opens, where it is not the platform's own.
pub fn device() -> Option<Rc<dyn Device>> {
    let wrong = WRONG.get()?;
    let inner = open_device(Platform::Gpu).expect("the fake has a device");
    Some(Rc::new(Mutant { inner, wrong, read: Cell::new(None), flush: Cell::new(false) }))
}

#[test]
fn every_mutant_is_caught_by_the_test_that_is_named_for_it() {
    for (wrong, name, test) in CAUGHT {
        assert!(catch_unwind(test).is_ok(), "{name} fails without a mutant");
        WRONG.set(Some(wrong));
        let survived = catch_unwind(AssertUnwindSafe(test)).is_ok();
        WRONG.set(None);
        assert!(!survived, "{wrong:?} is not caught by {name}");
    }
}

#[derive(Debug)]
struct Mutant {
    inner: Rc<dyn Device>,
    wrong: WrongSubject,
    /// What the clock said before the device was drained.
    read: Cell<Option<u64>>,
    /// A flush that is owed.
    flush: Cell<bool>,
}

impl Mutant {
    fn is(&self, wrong: WrongSubject) -> bool {
        self.wrong == wrong
    }
}

fn failed(what: &str, error: result::DriverError) -> DeviceError {
    let code = error.0 as i32;
    DeviceError { what: what.to_owned(), code, name: format!("{:?}", error.0), fatal: false }
}

#[expect(unsafe_code, reason = "the wrong calls are calls into the driver too")]
fn sync_stream(stream: *mut c_void) -> Result<(), DeviceError> {
    // SAFETY: the device's own stream.
    unsafe { result::stream::synchronize(stream.cast()) }
        .map_err(|error| failed("synchronise a stream", error))
}

/// The time between two events that were recorded without their clock.
#[expect(unsafe_code, reason = "the wrong calls are calls into the driver too")]
fn untimed(stream: *mut c_void) -> Result<f64, DeviceError> {
    let wrong = |error| failed("read the time between two events", error);
    // SAFETY: two events of the current context on the device's own stream, destroyed when they were read.
    unsafe {
        let event = || {
            let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
            result::event::record(event, stream.cast())?;
            result::event::synchronize(event)?;
            Ok::<_, result::DriverError>(event)
        };
        let (from, to) = (event().map_err(wrong)?, event().map_err(wrong)?);
        let elapsed = result::event::elapsed(from, to).map(|ms| f64::from(ms) * 1e6);
        result::event::destroy(from).and_then(|()| result::event::destroy(to)).map_err(wrong)?;
        elapsed.map_err(wrong)
    }
}

impl Device for Mutant {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn host_ns(&self) -> u64 {
        self.read.take().unwrap_or_else(|| self.inner.host_ns())
    }

    fn mark(&self, queue: Queue) -> Result<QueueMark, DeviceError> {
        let mark = self.inner.mark(queue)?;
        if self.flush.take() {
            self.inner.flush_cache()?;
        }
        Ok(mark)
    }

    fn recycle(&self) {
        self.inner.recycle();
    }

    fn elapsed_ns(&self, from: QueueMark, to: QueueMark) -> Result<f64, DeviceError> {
        if self.is(WrongSubject::LeavesEventsUntimed) {
            return untimed(self.raw(Queue::MEASURED).unwrap_or(ptr::null_mut()));
        }
        self.inner.elapsed_ns(from, to)
    }

    fn sync(&self) -> Result<(), DeviceError> {
        match self.wrong {
            WrongSubject::ForgetsToSync => Ok(()),
            WrongSubject::SyncsOneStream => sync_stream(self.raw(Queue::MEASURED).unwrap_or(ptr::null_mut())),
            WrongSubject::StopsTheClockEarly => {
                self.read.set(Some(self.inner.host_ns()));
                self.inner.sync()
            }
            WrongSubject::TakesLossForHarmless => {
                self.inner.sync().map_err(|error| DeviceError { fatal: false, ..error })
            }
            _ => self.inner.sync(),
        }
    }

    fn is_idle(&self) -> Result<bool, DeviceError> {
        let idle = self.inner.is_idle();
        if self.is(WrongSubject::TakesLossForHarmless) {
            return idle.map_err(|error| DeviceError { fatal: false, ..error });
        }
        idle
    }

    fn flush_cache(&self) -> Result<(), DeviceError> {
        if self.is(WrongSubject::FlushesInTheWindow) {
            self.flush.set(true);
            return Ok(());
        }
        self.inner.flush_cache()
    }

    fn hold(&self) -> Result<Option<Hold<'_>>, DeviceError> {
        if self.is(WrongSubject::NeverHolds) { Ok(None) } else { self.inner.hold() }
    }

    fn occupy(&self, ns: u64) -> Result<bool, DeviceError> {
        self.inner.occupy(ns)
    }

    fn stamp(&self, place: CycleStamp) -> Result<(), DeviceError> {
        self.inner.stamp(place)
    }

    fn clock_mhz(&self) -> Option<f64> {
        self.inner.clock_mhz()
    }

    fn telemetry(&self) -> Telemetry {
        self.inner.telemetry()
    }

    fn memory(&self) -> Result<Option<DeviceMemory>, DeviceError> {
        self.inner.memory()
    }

    fn reset_memory_peak(&self) {
        self.inner.reset_memory_peak();
    }

    fn open_queues(&self, beside: usize) -> Result<(), DeviceError> {
        self.inner.open_queues(beside)
    }

    fn wait(&self, queue: Queue, mark: QueueMark) -> Result<(), DeviceError> {
        self.inner.wait(queue, mark)
    }

    fn raw(&self, queue: Queue) -> Option<*mut c_void> {
        self.inner.raw(queue)
    }

    fn begin_capture(&self) -> Result<bool, DeviceError> {
        self.inner.begin_capture()
    }

    fn end_capture(&self) -> Result<Box<dyn Replay + '_>, DeviceError> {
        self.inner.end_capture()
    }

    fn copies(&self, bytes: usize) -> Result<Option<Box<dyn Copies + '_>>, DeviceError> {
        self.inner.copies(bytes)
    }
}
