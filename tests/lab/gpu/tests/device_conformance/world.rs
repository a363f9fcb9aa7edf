//! What a check runs in: the fake or the device, its clock, and the kernels of the suite.

use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaModule, CudaStream, LaunchConfig, PinnedHostSlice,
    PushKernelArg, sys,
};
use fake_gpu::{FakeGpu, FakeGpuGuard};

/// Set in the process that a check starts for what leaves a process useless.
const CHILD: &str = "WEIGHBRIDGE_CONFORMANCE_CHILD";

/// One at a time: a device's time is shared.
static TURN: Mutex<()> = Mutex::new(());

pub struct World {
    pub ctx: Arc<CudaContext>,
    pub module: Arc<CudaModule>,
    pub fake: Option<FakeGpuGuard>,
    test: &'static str,
    origin: Instant,
    _turn: MutexGuard<'static, ()>,
}

impl World {
    /// On the fake, with its clock.
    pub fn fake(test: &'static str) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let held = FakeGpu::load().expect("the fake is built with these tests").lock();
        twins(&held);
        Self::new(test, Some(held), turn)
    }

    /// On the device of this machine.
    pub fn device(test: &'static str) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // Asked first: the bindings panic where there is no library.
        // SAFETY: opens libraries by their names, which initialise themselves.
        let present = unsafe { sys::is_culib_present() };
        assert!(present, "no CUDA driver: no libcuda.so and no libcuda.so.1 on the loader's path");
        // SAFETY: the library was found a line above; a symbol is looked up and not called.
        let fake = unsafe { sys::culib().get::<unsafe extern "C" fn() -> i32>(b"fakegpu_abi\0") }.is_ok();
        assert!(
            !fake,
            "the loaded driver is the fake: run `--ignored` alone, and without it on the loader's path"
        );
        Self::new(test, None, turn)
    }

    fn new(test: &'static str, fake: Option<FakeGpuGuard>, turn: MutexGuard<'static, ()>) -> Self {
        let ctx = CudaContext::new(0).unwrap_or_else(|error| panic!("no CUDA device: {error:?}"));
        // SAFETY: every check orders its own streams.
        unsafe { ctx.disable_event_tracking() };
        let module = ctx.load_module(include_str!("kernels.ptx").into()).expect("the kernels load");
        let world = Self { ctx, module, fake, test, origin: Instant::now(), _turn: turn };
        world.warm_up();
        world
    }

    /// Every kernel once, since a first launch may load code and wait for it; not those of a check's own
    /// mistakes.
    fn warm_up(&self) {
        let stream = self.stream();
        let words = self.pinned(4);
        self.spin(&stream, Duration::ZERO);
        self.store(&stream, words.device, 1);
        self.add_one(&stream, words.device, 1);
        self.launch(&stream, "stamp", |launch| launch.push(words.device));
        words.write(0, 1);
        self.block(&stream, &words, Duration::from_secs(2));
        stream.synchronize().expect("kernels of the suite run");
    }

    /// Nanoseconds of the host's clock: the fake's own, or this machine's.
    pub fn now(&self) -> u64 {
        self.fake.as_ref().map_or_else(|| self.origin.elapsed().as_nanos() as u64, |fake| fake.now())
    }

    /// A stream that ignores the NULL stream.
    pub fn stream(&self) -> Arc<CudaStream> {
        self.ctx.new_stream().expect("a stream")
    }

    pub fn function(&self, name: &str) -> CudaFunction {
        self.module.load_function(name).expect(name)
    }

    /// Launches one thread.
    fn launch(&self, stream: &Arc<CudaStream>, name: &str, arguments: impl FnOnce(&mut Arguments)) {
        self.launch_shape(stream, name, 1, 1, arguments);
    }

    fn launch_shape(
        &self,
        stream: &Arc<CudaStream>,
        name: &str,
        grid: u32,
        block: u32,
        arguments: impl FnOnce(&mut Arguments),
    ) {
        let mut given = Arguments::default();
        arguments(&mut given);
        let function = self.function(name);
        let mut builder = stream.launch_builder(&function);
        for argument in &given.0 {
            match argument {
                Argument::Wide(value) => builder.arg(value),
                Argument::Word(value) => builder.arg(value),
            };
        }
        let config = LaunchConfig { grid_dim: (grid, 1, 1), block_dim: (block, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the kernels of the suite, with the parameters that they declare.
        unsafe { builder.launch(config) }.expect(name);
    }

    /// A kernel that does nothing for so long.
    pub fn spin(&self, stream: &Arc<CudaStream>, time: Duration) {
        self.launch(stream, "spin_ns", |launch| launch.push(time.as_nanos() as u64));
    }

    /// A kernel that stores a word.
    pub fn store(&self, stream: &Arc<CudaStream>, address: u64, value: u32) {
        self.launch(stream, "store_word", |launch| {
            launch.push(address);
            launch.push_word(value);
        });
    }

    /// A kernel that adds one to words.
    pub fn add_one(&self, stream: &Arc<CudaStream>, address: u64, count: u32) {
        self.launch_shape(stream, "add_one", count.div_ceil(128), 128, |launch| {
            launch.push(address);
            launch.push_word(count);
        });
    }

    /// A kernel that stores the device's timer and its cycles.
    pub fn stamp(&self, stream: &Arc<CudaStream>, address: u64) {
        self.launch(stream, "stamp", |launch| launch.push(address));
    }

    fn block(&self, stream: &Arc<CudaStream>, words: &Words, timeout: Duration) {
        self.launch(stream, "block_on_flag", |launch| {
            launch.push(words.device);
            launch.push(timeout.as_nanos() as u64);
            launch.push(words.device + 4);
        });
    }

    /// Holds a stream until its words are released.
    pub fn hold(&self, stream: &Arc<CudaStream>, timeout: Duration) -> Hold {
        let words = self.pinned(2);
        words.write(0, 0);
        words.write(1, 0);
        self.block(stream, &words, timeout);
        Hold(words)
    }

    pub fn pinned(&self, words: usize) -> Words {
        // SAFETY: it is written before it is read; cacheable, since checks read it.
        let mut slice = unsafe { self.ctx.alloc_pinned_with_flags::<u32>(words, 0) }.expect("pinned memory");
        // Once: the bindings wait for an event in every call.
        let host = slice.as_mut_ptr().expect("its address");
        for word in 0..words {
            // SAFETY: within the slice.
            unsafe { host.add(word).write_volatile(0) };
        }
        Words { device: host as u64, host, _slice: slice }
    }

    /// Runs this check again in a process of its own.
    pub fn in_a_child(&self) {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.args(["--exact", self.test, "--include-ignored", "--nocapture"]).env(CHILD, "1");
        let output = command.output().expect("a child starts");
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && told.contains("1 passed"),
            "{told}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// An event that keeps its time, recorded.
pub fn mark(stream: &Arc<CudaStream>) -> CudaEvent {
    stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).expect("an event")
}

pub fn is_idle(stream: &Arc<CudaStream>) -> bool {
    // SAFETY: a stream that lives.
    match code(unsafe { sys::cuStreamQuery(stream.cu_stream()) }) {
        0 => true,
        600 => false,
        other => panic!("the stream answers {other}"),
    }
}

/// Whether this is the process in which a check may ruin the context.
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// A driver's result by its number.
pub fn code(result: sys::CUresult) -> u32 {
    result as u32
}

enum Argument {
    Wide(u64),
    Word(u32),
}

#[derive(Default)]
struct Arguments(Vec<Argument>);

impl Arguments {
    fn push(&mut self, value: u64) {
        self.0.push(Argument::Wide(value));
    }

    fn push_word(&mut self, value: u32) {
        self.0.push(Argument::Word(value));
    }
}

/// Pinned words that host and device share.
pub struct Words {
    pub device: u64,
    pub host: *mut u32,
    _slice: PinnedHostSlice<u32>,
}

impl Words {
    pub fn write(&self, word: usize, value: u32) {
        // SAFETY: callers name words that they asked for.
        unsafe { self.host.add(word).write_volatile(value) };
    }

    pub fn read(&self, word: usize) -> u32 {
        // SAFETY: as above.
        unsafe { self.host.add(word).read_volatile() }
    }
}

/// A held stream; released when dropped, so that a failed check ends.
pub struct Hold(Words);

impl Hold {
    pub fn release(&self) {
        self.0.write(0, 1);
    }

    /// Whether the kernel gave up waiting.
    pub fn expired(&self) -> bool {
        self.0.read(1) != 0
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release();
    }
}

/// What kernels of the suite do, for the fake; the others it knows by what they cost.
fn twins(fake: &FakeGpu) {
    fake.twin("store_word", |call| call.write(call.arg::<u64>(0), &[call.arg::<u32>(1)]));
    fake.twin("add_one", |call| {
        let (address, count) = (call.arg::<u64>(0), call.arg::<u32>(1) as usize);
        let words = call.read::<u32>(address, count.min(call.threads()));
        call.write(address, &words.iter().map(|word| word.wrapping_add(1)).collect::<Vec<_>>());
    });
}
