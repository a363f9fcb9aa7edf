//! The state of the device, the lock around it, and what waits in it do to time.

#![expect(unsafe_code, reason = "copies read and write memory that callers name by address")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{self, Clock};
use crate::code::Code;
use crate::config::Config;
use crate::energy::Busy;
use crate::event::Events;
use crate::fault::{Faults, Site};
use crate::graph::Graphs;
use crate::host;
use crate::memory::Memory;
use crate::ptx::Kernel;
use crate::speed::Speed;
use crate::stream::{Key, LEGACY, Streams};
use crate::twin::{self, Twin};
use crate::work::{Cost, Effect, Id, Task, Work};

/// The primary context's handle.
pub const PRIMARY: usize = 0x70_0000;

/// A function of a module.
#[derive(Clone, Debug)]
pub struct Function {
    pub module: usize,
    pub kernel: Kernel,
    /// Whether its code was loaded, which its first launch does.
    pub loaded: bool,
}

pub struct Gpu {
    pub config: Config,
    pub clock: Clock,
    pub faults: Faults,
    pub initialised: bool,
    /// How often the primary context is retained.
    pub retained: u32,
    /// Contexts that callers created, by handle.
    pub contexts: Vec<usize>,
    pub context_flags: u32,
    pub limits: BTreeMap<u32, usize>,
    /// The error that killed the context.
    pub sticky: Option<Code>,
    pub streams: Streams,
    pub events: Events,
    pub graphs: Graphs,
    pub memory: Memory,
    pub modules: BTreeMap<usize, BTreeMap<String, usize>>,
    pub functions: BTreeMap<usize, Function>,
    pub twins: BTreeMap<String, Twin>,
    pub work: Work,
    pub speed: Speed,
    pub busy: Busy,
    pub nvml: bool,
    /// The stream of each handle of cuBLAS.
    pub products: BTreeMap<usize, usize>,
    /// Functions of the caller that are due; they run when the lock is free.
    callbacks: Vec<(usize, usize)>,
    /// Launches so far.
    pub launches: u64,
    next: usize,
}

static STATE: Mutex<Option<Gpu>> = Mutex::new(None);

thread_local! {
    /// The calling thread's context.
    pub static CURRENT: Cell<usize> = const { Cell::new(0) };
}

impl Gpu {
    fn new(twins: BTreeMap<String, Twin>) -> Self {
        let config = Config::from_environment();
        let mut faults = Faults::default();
        let text = std::env::var(crate::config::VARIABLE).unwrap_or_default();
        for fault in text.split(',').filter_map(|pair| pair.strip_prefix("fault=")) {
            faults.plant(fault).unwrap_or_else(|error| panic!("{error}"));
        }
        Self {
            clock: config.clock(),
            memory: Memory::new(config.memory),
            config,
            faults,
            initialised: false,
            retained: 0,
            contexts: Vec::new(),
            context_flags: 0,
            limits: BTreeMap::new(),
            sticky: None,
            streams: Streams::default(),
            events: Events::default(),
            graphs: Graphs::default(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            twins,
            work: Work::default(),
            speed: Speed::default(),
            busy: Busy::default(),
            nvml: false,
            products: BTreeMap::new(),
            callbacks: Vec::new(),
            launches: 0,
            next: 0x50_0000,
        }
    }

    /// As at the start of the process; twins stay, since they are code.
    pub fn reset(&mut self) {
        *self = Self::new(std::mem::take(&mut self.twins));
    }

    /// A handle for a module, a function or a context.
    pub fn handle(&mut self) -> usize {
        self.next += 16;
        self.next
    }

    /// Brings the device to the present: resolves what can be, applies what is due.
    pub fn settle(&mut self) {
        loop {
            let now = self.clock.now();
            let read = |address: u64| {
                // SAFETY: the flag of a held stream is pinned memory that its kernel was launched with.
                unsafe { std::ptr::read_volatile(address as *const u32) }
            };
            for expired in self.work.resolve(now, &self.config, &self.speed, &mut self.busy, read) {
                // SAFETY: as above, the word beside it.
                unsafe { std::ptr::write_volatile(expired as *mut u32, 1) };
            }
            let Some((end, effect)) = self.work.next_due(now) else { return };
            if let Err(code) = self.apply(end, effect) {
                self.die(code);
            }
        }
    }

    /// The context dies: nothing that was enqueued happens any more.
    pub fn die(&mut self, code: Code) {
        self.sticky.get_or_insert(code);
        self.work.abort();
    }

    fn place(&mut self, address: u64, len: u64) -> Result<*mut u8, Code> {
        self.memory.place(address, len).ok_or(Code::ILLEGAL_ADDRESS)
    }

    fn apply(&mut self, end: u64, effect: Effect) -> Result<(), Code> {
        match effect {
            Effect::Nothing => {}
            Effect::Copy { to, from, len } => {
                if !self.memory.copy_whole(to, from, len) {
                    let (source, target) = (self.place(from, len)?, self.place(to, len)?);
                    // SAFETY: both ranges were found in the device's blocks, or are the caller's to vouch
                    // for.
                    unsafe { std::ptr::copy(source, target, len as usize) };
                }
            }
            Effect::Put { to, bytes } => {
                let target = self.place(to, bytes.len() as u64)?;
                // SAFETY: the range was found.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
            }
            Effect::Fill { to, count, value, width } => {
                let bytes = value.to_le_bytes();
                let same = bytes[..width as usize].iter().all(|byte| *byte == bytes[0]);
                if !(same && self.memory.fill_whole(to, count * width, bytes[0])) {
                    let target = self.place(to, count * width)?;
                    // SAFETY: the range was found, and nobody else holds the device's memory.
                    let target = unsafe { std::slice::from_raw_parts_mut(target, (count * width) as usize) };
                    target
                        .chunks_exact_mut(width as usize)
                        .for_each(|word| word.copy_from_slice(&bytes[..width as usize]));
                }
            }
            Effect::Release(address) => self.memory.release(address).map_err(|_| Code::ILLEGAL_ADDRESS)?,
            Effect::Stamp { event, serial } => self.events.reach(event, serial, end),
            Effect::Host { function, data } => self.callbacks.push((function, data)),
            Effect::Kernel(launch) => {
                if let Some(code) = launch.fault {
                    return Err(code);
                }
                if let Some(place) = launch.kernel.stamp_arg {
                    let target = self.memory.reach(launch.number(place), 16);
                    let target = target.ok_or(Code::ILLEGAL_ADDRESS)?;
                    let cycles = self.speed.cycles(&self.config, &self.busy, end);
                    let stamp = [end.to_le_bytes(), cycles.to_le_bytes()].concat();
                    // SAFETY: 16 bytes were found there.
                    unsafe { std::ptr::copy_nonoverlapping(stamp.as_ptr(), target, 16) };
                }
                if let Some(kernel) = launch.kernel.host
                    && !host::run(kernel, &launch, &mut self.memory)
                {
                    return Err(Code::ILLEGAL_ADDRESS);
                }
                let twin = self.twins.get(&launch.kernel.name).copied();
                if twin.is_some_and(|twin| !twin::run(twin, &launch, &mut self.memory)) {
                    return Err(Code::ILLEGAL_ADDRESS);
                }
            }
        }
        Ok(())
    }

    /// Puts a task into a queue, or into the capture that the queue takes part in; `None` in a capture.
    pub fn enqueue(&mut self, key: Key, task: Task) -> Result<Option<Id>, Code> {
        if self.graphs.capturing(key).is_some() {
            self.graphs.add(key, task)?;
            return Ok(None);
        }
        if key == LEGACY && self.graphs.strict() {
            self.graphs.spoil(None);
            return Err(Code::CAPTURE_IMPLICIT);
        }
        let after = self.streams.ahead(key, &self.work);
        let ready = self.clock.now() + self.config.submit_ns;
        let id = self.work.push(after, ready, task);
        let stream = self.streams.get_mut(key);
        stream.last = Some(id);
        stream.waiting.push_back(id);
        Ok(Some(id))
    }

    /// Energy since the reset, in millijoules.
    pub fn energy(&self, time: u64) -> f64 {
        let (busy, idle) = (self.config.busy_mw as f64, self.config.idle_mw as f64);
        (idle * time as f64 + (busy - idle) * self.busy.between(0, time) as f64) / 1e9
    }
}

/// The state, held by one call.
pub struct Driver(Option<MutexGuard<'static, Option<Gpu>>>);

impl Deref for Driver {
    type Target = Gpu;

    fn deref(&self) -> &Gpu {
        self.0.as_ref().and_then(|guard| guard.as_ref()).expect("filled by `enter`, taken only by `leave`")
    }
}

impl DerefMut for Driver {
    fn deref_mut(&mut self) -> &mut Gpu {
        self.0.as_mut().and_then(|guard| guard.as_mut()).expect("filled by `enter`, taken only by `leave`")
    }
}

impl Driver {
    pub fn enter() -> Self {
        let mut guard = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        if guard.is_none() {
            *guard = Some(Gpu::new(BTreeMap::new()));
        }
        let mut driver = Self(Some(guard));
        driver.settle();
        driver
    }

    /// Gives the lock back, then calls what became due in the caller's own code.
    pub fn leave(mut self) {
        self.settle();
        let callbacks = std::mem::take(&mut self.callbacks);
        self.0 = None;
        for (function, data) in callbacks {
            // SAFETY: the caller passed this function for this data to `cuLaunchHostFunc`.
            unsafe {
                let function: unsafe extern "C" fn(*mut c_void) = std::mem::transmute(function);
                function(data as *mut c_void);
            }
        }
    }

    /// Leaves the lock to others for a moment of the host's time.
    fn pause(&mut self, time: Duration) {
        self.0 = None;
        if time.is_zero() {
            std::thread::yield_now();
        } else {
            std::thread::sleep(time);
        }
        *self = Self::enter();
    }

    /// Counts a call for faults.
    pub fn strike(&mut self, site: Site) -> Result<(), Code> {
        match self.faults.strike(site) {
            Some((code, sticky)) => {
                if sticky || (code.sticky() && site == Site::Sync) {
                    self.die(code);
                }
                Err(code)
            }
            None => Ok(()),
        }
    }

    /// Waits until all these are done.
    ///
    /// # Errors
    ///
    /// The error that killed the context, before or meanwhile; 702 when nothing can end the wait.
    pub fn wait(&mut self, ids: &[Id]) -> Result<(), Code> {
        let mut stalled_since = None;
        loop {
            self.settle();
            if let Some(code) = self.sticky {
                return Err(code);
            }
            if ids.iter().all(|id| self.work.is_done(*id)) {
                self.memory.waited();
                return Ok(());
            }
            let now = self.clock.now();
            let ends: Vec<_> =
                ids.iter().filter(|id| !self.work.is_done(**id)).map(|id| self.work.end(*id)).collect();
            let next = ends.iter().flatten().copied().max().filter(|end| *end > now);
            let known = ends.iter().all(Option::is_some);
            if let Some(end) = next.filter(|_| known).or_else(|| self.work.next_timeout()) {
                match self.clock {
                    Clock::Virtual(_) => self.clock.reach(end),
                    Clock::Real(_) => self.pause(clock::nap(end.saturating_sub(now))),
                }
                continue;
            }
            let since = *stalled_since.get_or_insert(now);
            let limit = since + self.config.stall_ns;
            match self.clock {
                // Only another thread could end it, and a test on the virtual clock does not race with
                // itself.
                Clock::Virtual(_) => self.clock.reach(limit),
                Clock::Real(_) => self.pause(Duration::from_micros(20)),
            }
            self.settle();
            if self.clock.now() >= limit && !ids.iter().all(|id| self.work.end(*id).is_some()) {
                self.die(Code::LAUNCH_TIMEOUT);
                return Err(Code::LAUNCH_TIMEOUT);
            }
        }
    }

    /// Waits for everything on the device.
    pub fn wait_all(&mut self) -> Result<(), Code> {
        let open = self.work.open();
        self.wait(&open)
    }

    /// Waits until a queue takes one more.
    pub fn wait_for_room(&mut self, key: Key) -> Result<(), Code> {
        loop {
            let driver = &mut **self;
            let (work, waiting) = (&driver.work, &mut driver.streams.get_mut(key).waiting);
            while waiting.front().is_some_and(|id| work.is_done(*id)) {
                waiting.pop_front();
            }
            match waiting.front().copied() {
                Some(first) if waiting.len() as u64 >= driver.config.queue => self.wait(&[first])?,
                _ => return Ok(()),
            }
        }
    }

    /// Enqueues a launch, first waiting for its code to be loaded and for room.
    pub fn launch(&mut self, key: Key, function: usize, task: Task) -> Result<(), Code> {
        let capturing = self.graphs.capturing(key).is_some();
        if !capturing {
            let fresh = self.config.lazy != 0
                && self.functions.get(&function).is_some_and(|function| !function.loaded);
            if fresh {
                self.wait_all()?;
            }
            self.wait_for_room(key)?;
        }
        if let Some(function) = self.functions.get_mut(&function) {
            function.loaded = true;
        }
        self.launches += 1;
        self.enqueue(key, task).map(drop)
    }

    /// The cost of a copy and whether the call waits: `Copy` with its engine, by what kind the host memory
    /// is.
    pub fn copy_cost(&self, to: u64, from: u64, len: u64) -> Cost {
        let config = &self.config;
        let time = |rate: u64| (len as f64 / rate.max(1) as f64).ceil() as u64;
        match (self.memory.is_device(to), self.memory.is_device(from)) {
            (true, true) => Cost::Time((2.0 * len as f64 / config.device_rate.max(1) as f64).ceil() as u64),
            (true, false) => Cost::Copy(crate::work::Engine::Up, time(config.up_rate)),
            (false, true) if self.memory.is_pinned(to) => {
                Cost::Copy(crate::work::Engine::Down, time(config.down_rate))
            }
            (false, true) => Cost::Copy(crate::work::Engine::Down, time(config.pageable_rate)),
            (false, false) => Cost::Time(time(config.pageable_rate)),
        }
    }
}
