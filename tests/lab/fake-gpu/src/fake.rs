//! The other side: a test's hand on the library, in the process that has it loaded.

#![expect(unsafe_code, reason = "loads a library and calls its symbols")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::twin::{Call, Closure, Function, call_closure};

/// Why there is no fake to hold.
#[derive(Clone, Debug)]
pub enum LoadError {
    /// The library lies beside no place of the running program.
    NotFound(Vec<PathBuf>),
    /// The loader refused it.
    Refused(PathBuf),
    /// It has no such symbol: another library came first.
    Missing(&'static str),
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotFound(places) => {
                write!(out, "found no libfake_gpu.so in {places:?}: build the package `fake-gpu`")
            }
            Self::Refused(file) => write!(out, "the loader refused {}", file.display()),
            Self::Missing(symbol) => write!(out, "the loaded driver has no `{symbol}`"),
        }
    }
}

impl std::error::Error for LoadError {}

/// The library: beside the running program, or where cargo puts what it builds. The newest of several, so
/// that a program and the child that it starts from another folder have the same one.
///
/// # Errors
///
/// When it is at none of these places.
pub fn file() -> Result<PathBuf, LoadError> {
    let program = std::env::current_exe().unwrap_or_default();
    let folders = program.ancestors().skip(1).take(3);
    let places: Vec<_> = folders
        .flat_map(|folder| [folder.join("libfake_gpu.so"), folder.join("deps/libfake_gpu.so")])
        .collect();
    let written = |place: &&PathBuf| place.metadata().and_then(|found| found.modified()).ok();
    let newest = places.iter().filter(|place| place.is_file()).max_by_key(written).cloned();
    newest.ok_or(LoadError::NotFound(places))
}

/// Puts the library into a folder under the names that programs look for: for `LD_LIBRARY_PATH` of a child.
///
/// # Errors
///
/// When the library is not there, or the links cannot be made.
pub fn links(folder: &Path) -> std::io::Result<()> {
    let file = file().map_err(std::io::Error::other)?;
    for name in ["libcuda.so", "libcuda.so.1", "libnvidia-ml.so", "libnvidia-ml.so.1"] {
        let link = folder.join(name);
        if link.symlink_metadata().is_err() {
            std::os::unix::fs::symlink(&file, link)?;
        }
    }
    Ok(())
}

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, symbol: *const c_char) -> *mut c_void;
}

const NOW: c_int = 2;

/// Opens a library by its path, for good.
fn open(file: &Path) -> Result<*mut c_void, LoadError> {
    let refused = || LoadError::Refused(file.to_owned());
    let name = CString::new(file.as_os_str().as_bytes()).map_err(|_| refused())?;
    // SAFETY: the libraries here run nothing when they are opened.
    let library = unsafe { dlopen(name.as_ptr(), NOW) };
    if library.is_null() { Err(refused()) } else { Ok(library) }
}

/// The library's controls, in this process.
#[derive(Debug)]
pub struct FakeGpu {
    reset: unsafe extern "C" fn(),
    set: unsafe extern "C" fn(*const c_char, *const c_char) -> c_int,
    fault: unsafe extern "C" fn(*const c_char) -> c_int,
    now: unsafe extern "C" fn() -> u64,
    advance: unsafe extern "C" fn(u64),
    throttle: unsafe extern "C" fn(u64, u64, u64),
    twin: unsafe extern "C" fn(*const c_char, Function, *mut c_void),
    launches: unsafe extern "C" fn() -> u64,
    turn: Mutex<()>,
}

fn c_text(text: &str) -> CString {
    CString::new(text).expect("keys, values, kernels and faults have no NUL")
}

impl FakeGpu {
    /// Opens the library, once in a process. Whoever opens `libcuda.so` from then on is given this one, by
    /// the name that it has inside; NVML's symbols are in the same file.
    ///
    /// # Errors
    ///
    /// When the library is not there or not ours.
    pub fn load() -> Result<&'static Self, LoadError> {
        static STAND: OnceLock<Result<FakeGpu, LoadError>> = OnceLock::new();
        STAND.get_or_init(|| Self::open(&file()?)).as_ref().map_err(Clone::clone)
    }

    fn open(file: &Path) -> Result<Self, LoadError> {
        let library = open(file)?;
        macro_rules! symbol {
            ($name:literal, $kind:ty) => {{
                // SAFETY: a name with its NUL.
                let found = unsafe { dlsym(library, concat!($name, "\0").as_ptr().cast()) };
                if found.is_null() {
                    return Err(LoadError::Missing($name));
                }
                // SAFETY: both sides are built from this package, where the symbol has the field's type.
                unsafe { std::mem::transmute::<*mut c_void, $kind>(found) }
            }};
        }
        Ok(Self {
            reset: symbol!("fakegpu_reset", unsafe extern "C" fn()),
            set: symbol!("fakegpu_set", unsafe extern "C" fn(*const c_char, *const c_char) -> c_int),
            fault: symbol!("fakegpu_fault", unsafe extern "C" fn(*const c_char) -> c_int),
            now: symbol!("fakegpu_now", unsafe extern "C" fn() -> u64),
            advance: symbol!("fakegpu_advance", unsafe extern "C" fn(u64)),
            throttle: symbol!("fakegpu_throttle", unsafe extern "C" fn(u64, u64, u64)),
            twin: symbol!("fakegpu_twin", unsafe extern "C" fn(*const c_char, Function, *mut c_void)),
            launches: symbol!("fakegpu_launches", unsafe extern "C" fn() -> u64),
            turn: Mutex::new(()),
        })
    }

    /// Gives the process a fake for NVRTC too, which needs the command `c++`.
    ///
    /// # Panics
    ///
    /// When it cannot be made.
    pub fn load_compiler(&self) {
        static LOADED: OnceLock<()> = OnceLock::new();
        LOADED.get_or_init(|| {
            let file = std::env::temp_dir().join(format!("libfake_nvrtc-{}.so", std::process::id()));
            crate::nvrtc::make_compiler(&file).expect("the fake for NVRTC is made");
            open(&file).expect("the fake for NVRTC is opened");
            drop(std::fs::remove_file(file)); // it stays open
        });
    }

    /// Holds the device for one test: others of the process wait, and it begins as new.
    pub fn lock(&'static self) -> FakeGpuGuard {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.reset();
        FakeGpuGuard { fake: self, _turn: turn }
    }

    /// As at the start of the process; twins stay.
    pub fn reset(&self) {
        // SAFETY: the symbol takes nothing.
        unsafe { (self.reset)() }
    }

    /// Sets a key of the configuration: `memory`, `quantum_ns`, `clock` ...
    ///
    /// # Panics
    ///
    /// When the fake has no such key or the key no such value: the test is wrong.
    pub fn set(&self, key: &str, value: impl std::fmt::Display) {
        let (name, value) = (c_text(key), c_text(&value.to_string()));
        // SAFETY: two texts.
        let refused = unsafe { (self.set)(name.as_ptr(), value.as_ptr()) };
        assert_eq!(refused, 0, "the fake has no `{key}` that can be {value:?}");
    }

    /// Plants an error: `CALL:COUNT:CODE` or `CALL:COUNT:CODE:sticky`, CALL one of `init`, `devices`,
    /// `context`, `module`, `alloc`, `copy`, `event`, `launch`, `kernel`, `sync`, `graph`, `nvml`.
    ///
    /// # Panics
    ///
    /// When the text is no fault.
    pub fn fault(&self, fault: &str) {
        // SAFETY: a text.
        let refused = unsafe { (self.fault)(c_text(fault).as_ptr()) };
        assert_eq!(refused, 0, "`{fault}` is no fault");
    }

    /// Nanoseconds since the reset.
    pub fn now(&self) -> u64 {
        // SAFETY: the symbol takes nothing.
        unsafe { (self.now)() }
    }

    /// The host works, and the device with it.
    pub fn advance(&self, time: Duration) {
        // SAFETY: a number.
        unsafe { (self.advance)(time.as_nanos() as u64) }
    }

    /// Slows the device down by `factor` from now on, for NVML's `reasons`.
    pub fn throttle(&self, time: Duration, factor: f64, reasons: u64) {
        // SAFETY: numbers.
        unsafe { (self.throttle)(time.as_nanos() as u64, (factor * 1e3) as u64, reasons) }
    }

    /// Has a function do a kernel's arithmetic when a launch of it ends.
    pub fn twin(&self, kernel: &str, twin: impl Fn(&Call<'_>) + Send + Sync + 'static) {
        // It stays for the rest of the process, as code does.
        let closure: &'static mut Closure = Box::leak(Box::new(Box::new(twin)));
        let data = std::ptr::from_mut(closure).cast();
        // SAFETY: the closure lives on, and `call_closure` knows its type.
        unsafe { (self.twin)(c_text(kernel).as_ptr(), call_closure, data) }
    }

    /// Launches since the reset.
    pub fn launches(&self) -> u64 {
        // SAFETY: the symbol takes nothing.
        unsafe { (self.launches)() }
    }
}

/// The device, held by one test.
#[derive(Debug)]
pub struct FakeGpuGuard {
    fake: &'static FakeGpu,
    _turn: MutexGuard<'static, ()>,
}

impl Deref for FakeGpuGuard {
    type Target = FakeGpu;

    fn deref(&self) -> &FakeGpu {
        self.fake
    }
}
