//! Devices of NVIDIA: the seam over the CUDA driver.
//!
//! The driver is found by our own `probe.rs` before anything of cudarc is called. The context is the device's
//! *primary* one: every library in the process shares it, so that nothing is sliced between contexts. All
//! unsafe code of the runtime's devices lies below this folder; handles of streams leave it as plain
//! pointers, so that whoever launches may use any crate in any version.

#![expect(unsafe_code, reason = "the driver is a C library")]

mod blas;
mod copies;
mod cudnn;
mod describe;
mod error;
mod graph;
mod kernels;
mod libraries;
mod memory;
#[cfg(feature = "nvml")]
pub(super) mod nvml;
mod pinned_words;
mod probe;

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_void;

use cudarc::driver::result;
use cudarc::driver::result::stream::StreamKind;
use cudarc::driver::sys::{
    CUdevice, CUevent, CUevent_flags, CUmemoryPool, CUresult, CUstream, cuStreamQuery,
};

use super::{
    Copies, CycleStamp, Device, DeviceError, DeviceInfo, DeviceMemory, Hold, NoDevice, Numbers, Product,
    Queue, QueueMark, Release, Replay, Telemetry,
};
use error::{check, told};
use kernels::Kernels;
use memory::Buffer;
use pinned_words::Words;
use probe::{Driver, ElapsedFn, HostClock};

/// The longest that a stream is held: then it goes on by itself, since whoever was to let it go waits for it.
const HOLD_NS: u64 = 2_000_000_000;

/// Holds that may be under way at once: one that was let go after an error may not have been seen yet.
const HOLDS: usize = 64;

/// The least that is written to empty the cache, where there is memory enough.
const FLUSH: u64 = 256 << 20;

/// Finds the device that serves the platform, without a context.
pub(super) fn find() -> Result<DeviceInfo, NoDevice> {
    let driver = Driver::find()?;
    about(&driver).map_err(|error| NoDevice(format!("no CUDA device ({error})")))
}

/// Adds the versions of the libraries that frameworks compute with on the device. It loads them.
pub(super) fn add_libraries(info: &mut DeviceInfo) {
    info.facts.extend(cudnn::version(info.fake).map(|version| ("cudnn".to_owned(), version)));
}

/// The description of the device, as the driver and its management library tell.
fn about(driver: &Driver) -> Result<DeviceInfo, DeviceError> {
    let info = describe::describe(driver, describe::device()?)?;
    #[cfg(feature = "nvml")]
    let info = match nvml::Nvml::open(driver, &info) {
        Ok(nvml) => nvml.add_facts(info),
        Err(_) => info,
    };
    Ok(info)
}

/// The management library and its handle of the device that [`find`] finds, without a context.
#[cfg(feature = "nvml")]
pub(super) fn monitor() -> Option<nvml::Nvml> {
    let driver = Driver::find().ok()?;
    let info = describe::describe(&driver, describe::device().ok()?).ok()?;
    nvml::Nvml::open(&driver, &info).ok()
}

/// An open device. It belongs to the thread that opened it.
pub(super) struct Cuda {
    info: DeviceInfo,
    clock: HostClock,
    elapsed: ElapsedFn,
    device: CUdevice,
    context: cudarc::driver::sys::CUcontext,
    pool: Option<CUmemoryPool>,
    /// The measured stream, then those beside it.
    streams: RefCell<Vec<CUstream>>,
    events: RefCell<Vec<CUevent>>,
    marked: Cell<usize>,
    // Options, since they must go before the context does.
    kernels: Option<Kernels>,
    /// A flag and a sign of expiry for each hold.
    holds: Option<Words>,
    /// Timer and cycles, before and after.
    stamps: Option<Words>,
    held: Cell<usize>,
    flush: OnceCell<Buffer>,
    #[cfg(feature = "nvml")]
    nvml: Option<nvml::Nvml>,
}

impl std::fmt::Debug for Cuda {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cuda").field("name", &self.info.name).finish_non_exhaustive()
    }
}

impl Cuda {
    /// Opens the first device that the process may see.
    pub(super) fn open() -> Result<Self, NoDevice> {
        let driver = Driver::find()?;
        Self::with(&driver).map_err(|error| NoDevice(format!("no CUDA device ({error})")))
    }

    fn with(driver: &Driver) -> Result<Self, DeviceError> {
        let info = about(driver)?;
        let device = describe::device()?;
        // SAFETY: the device was given by the driver; what is retained is released when this is dropped.
        let context = told("take the device's context", unsafe { result::primary_ctx::retain(device) })?;
        let mut opened = Self {
            clock: driver.clock(),
            elapsed: driver.elapsed,
            device,
            context,
            pool: memory::pool(device),
            streams: RefCell::default(),
            events: RefCell::default(),
            marked: Cell::new(0),
            kernels: None,
            holds: None,
            stamps: None,
            held: Cell::new(0),
            flush: OnceCell::new(),
            #[cfg(feature = "nvml")]
            nvml: nvml::Nvml::open(driver, &info).ok(),
            info,
        };
        opened.bind()?;
        opened.open_queues(0)?;
        opened.kernels = Some(Kernels::load(opened.info.processors.unwrap_or(1))?);
        opened.holds = Some(Words::new(2 * HOLDS)?);
        opened.stamps = Some(Words::new(4)?);
        // Each kernel once: what is loaded at its first launch must not be loaded behind a held stream.
        opened.occupy(0)?;
        drop(opened.hold()?);
        opened.stamp(CycleStamp::Before)?;
        opened.stamp(CycleStamp::After)?;
        opened.sync()?;
        Ok(opened)
    }

    /// The context is current per thread, and somebody else may have made another one so.
    fn bind(&self) -> Result<(), DeviceError> {
        // SAFETY: the context was retained.
        told("make the device's context current", unsafe { result::ctx::set_current(self.context) })
    }

    fn stream(&self, queue: Queue) -> Result<CUstream, DeviceError> {
        let streams = self.streams.borrow();
        streams
            .get(queue.0)
            .copied()
            .ok_or_else(|| DeviceError::refused("find a stream", "it was not opened"))
    }

    fn measured(&self) -> Result<CUstream, DeviceError> {
        self.stream(Queue::MEASURED)
    }

    fn kernels(&self) -> Result<&Kernels, DeviceError> {
        self.kernels.as_ref().ok_or_else(|| DeviceError::refused("launch a kernel", "none is loaded"))
    }

    fn event(&self, mark: QueueMark) -> Result<CUevent, DeviceError> {
        let given = mark.0 < self.marked.get();
        let event = self.events.borrow().get(mark.0).copied();
        event.filter(|_| given).ok_or_else(|| DeviceError::refused("read a mark", "it has been given back"))
    }
}

impl Release for Cuda {
    fn release(&self) {
        if let Some(holds) = &self.holds {
            holds.write(2 * (self.held.get() % HOLDS), 1);
        }
    }
}

impl Device for Cuda {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn host_ns(&self) -> u64 {
        self.clock.now()
    }

    fn mark(&self, queue: Queue) -> Result<QueueMark, DeviceError> {
        let stream = self.stream(queue)?;
        let place = self.marked.get();
        let mut events = self.events.borrow_mut();
        if place == events.len() {
            // With its clock: events without one are quicker and cannot be subtracted.
            let made = result::event::create(CUevent_flags::CU_EVENT_DEFAULT);
            events.push(told("make an event", made)?);
        }
        // SAFETY: both were made by this and live as long as it.
        told("record an event", unsafe { result::event::record(events[place], stream) })?;
        self.marked.set(place + 1);
        Ok(QueueMark(place))
    }

    fn recycle(&self) {
        self.marked.set(0);
    }

    fn elapsed_ns(&self, from: QueueMark, to: QueueMark) -> Result<f64, DeviceError> {
        let (from, to) = (self.event(from)?, self.event(to)?);
        let mut milliseconds = 0f32;
        // SAFETY: the signature is the driver's; both events live, and the place outlives the call.
        let asked =
            unsafe { (self.elapsed)(&raw mut milliseconds, from.cast::<c_void>(), to.cast::<c_void>()) };
        match asked {
            0 => Ok(f64::from(milliseconds) * 1e6),
            600 => Err(DeviceError {
                code: 600,
                ..DeviceError::refused("read the time between two events", "CUDA_ERROR_NOT_READY")
            }),
            code => {
                // What the device failed with is told by the next synchronisation under its right name.
                self.sync()?;
                let what = "read the time between two events";
                Err(DeviceError { code, ..DeviceError::refused(what, "the driver refused") })
            }
        }
    }

    fn sync(&self) -> Result<(), DeviceError> {
        self.bind()?;
        told("synchronise the device", result::ctx::synchronize())
    }

    fn is_idle(&self) -> Result<bool, DeviceError> {
        // SAFETY: the stream is the device's own.
        match unsafe { cuStreamQuery(self.measured()?) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            answer => check("ask whether the stream is idle", answer).map(|()| true),
        }
    }

    fn flush_cache(&self) -> Result<(), DeviceError> {
        let buffer = match self.flush.get() {
            Some(buffer) => buffer,
            None => {
                let twice = 2 * self.info.cache.unwrap_or(0);
                // A fake's memory is the host's: more than its cache asks for would only take time.
                let wanted = if self.info.fake { twice } else { twice.max(FLUSH) };
                let most = self.info.memory.map_or(wanted, |memory| memory / 4);
                let made = Buffer::new(wanted.min(most).max(1) as usize)?;
                self.flush.get_or_init(|| made)
            }
        };
        // SAFETY: the buffer is as long as is written.
        let filled = unsafe { result::memset_d8_async(buffer.address, 0xa5, buffer.bytes, self.measured()?) };
        told("flush the cache", filled)
    }

    fn hold(&self) -> Result<Option<Hold<'_>>, DeviceError> {
        let Some(holds) = &self.holds else { return Ok(None) };
        self.held.set(self.held.get() + 1);
        let place = 2 * (self.held.get() % HOLDS);
        holds.write(place, 0);
        holds.write(place + 1, 0);
        let (flag, expired) = (holds.address(place), holds.address(place + 1));
        self.kernels()?.hold(self.measured()?, flag, HOLD_NS, expired)?;
        Ok(Some(Hold::new(self)))
    }

    fn hold_expired(&self) -> bool {
        // The kernel writes 32 bits of the word.
        self.holds.as_ref().is_some_and(|holds| holds.read(2 * (self.held.get() % HOLDS) + 1) != 0)
    }

    fn occupy(&self, ns: u64) -> Result<bool, DeviceError> {
        self.kernels()?.spin(self.measured()?, ns)?;
        Ok(true)
    }

    fn stamp(&self, place: CycleStamp) -> Result<(), DeviceError> {
        let Some(stamps) = &self.stamps else { return Ok(()) };
        let place = if place == CycleStamp::Before { 0 } else { 2 };
        stamps.write(place, 0);
        self.kernels()?.stamp(self.measured()?, stamps.address(place))
    }

    fn clock_mhz(&self) -> Option<f64> {
        let stamps = self.stamps.as_ref()?;
        let [before, cycles_before, after, cycles_after] = [0, 1, 2, 3].map(|place| stamps.read(place));
        let (ns, cycles) = (after.checked_sub(before)?, cycles_after.checked_sub(cycles_before)?);
        // A stamp that was not written is zero: no block came to processor 0.
        (before > 0 && ns > 0).then(|| cycles as f64 / ns as f64 * 1e3)
    }

    fn telemetry(&self) -> Telemetry {
        #[cfg(feature = "nvml")]
        return self.nvml.as_ref().map_or_else(Telemetry::default, nvml::Nvml::telemetry);
        #[cfg(not(feature = "nvml"))]
        Telemetry::default()
    }

    fn memory(&self) -> Result<Option<DeviceMemory>, DeviceError> {
        memory::in_use(self.pool).map(Some)
    }

    fn reset_memory_peak(&self) {
        if let Some(pool) = self.pool {
            memory::reset_peak(pool);
        }
    }

    fn open_queues(&self, beside: usize) -> Result<(), DeviceError> {
        let mut streams = self.streams.borrow_mut();
        while streams.len() <= beside {
            // Not in the order of the legacy stream, which would wait for others and make them wait.
            let made = result::stream::create(StreamKind::NonBlocking);
            streams.push(told("make a stream", made)?);
        }
        Ok(())
    }

    fn wait(&self, queue: Queue, mark: QueueMark) -> Result<(), DeviceError> {
        let (stream, event) = (self.stream(queue)?, self.event(mark)?);
        let flags = cudarc::driver::sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: both were made by this and live as long as it.
        told("make a stream wait", unsafe { result::stream::wait_event(stream, event, flags) })
    }

    fn raw(&self, queue: Queue) -> Option<*mut c_void> {
        self.stream(queue).ok().map(<*mut _>::cast)
    }

    fn begin_capture(&self) -> Result<bool, DeviceError> {
        graph::begin(self.measured()?).map(|()| true)
    }

    fn end_capture(&self) -> Result<Box<dyn Replay + '_>, DeviceError> {
        Ok(Box::new(graph::Graph::end(self.measured()?)?))
    }

    fn product(&self, numbers: Numbers, side: usize) -> Result<Option<Box<dyn Product + '_>>, DeviceError> {
        let stream = self.measured()?;
        let blas = blas::Blas::open(self.info.fake, stream)
            .map_err(|why| DeviceError::refused("multiply matrices", &why))?;
        Ok(Some(Box::new(blas::Square::new(blas, stream, numbers, side)?)))
    }

    fn copies(&self, bytes: usize) -> Result<Option<Box<dyn Copies + '_>>, DeviceError> {
        Ok(Some(Box::new(copies::CopyBuffers::new(self.measured()?, bytes)?)))
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // On a lost device each of these fails, and there is nothing left to be given back.
        let _ = self.sync();
        drop(self.flush.take());
        self.kernels = None;
        self.holds = None;
        self.stamps = None;
        for event in self.events.take() {
            // SAFETY: made by this, and destroyed here alone.
            let _ = unsafe { result::event::destroy(event) };
        }
        for stream in self.streams.take() {
            // SAFETY: as above.
            let _ = unsafe { result::stream::destroy(stream) };
        }
        // SAFETY: retained when this was opened, and released here alone.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}
