//! Looking for the driver before anything of cudarc is called: cudarc panics where there is none, or where it
//! lacks a symbol.

use std::ffi::{c_char, c_int, c_void};

use libloading::os::unix::Library;

use super::super::{Clock, NoDevice};

/// The names under which the driver is opened, in cudarc's order: it must be the same library.
const NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// The functions that this backend calls through cudarc. One that a driver lacks would be a panic at its
/// first call.
const NEEDED: &[&str] = &[
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetDefaultMemPool",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuGetErrorName",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuLaunchKernel",
    "cuMemAlloc_v2",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemHostGetDevicePointer_v2",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAttribute",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuStreamBeginCapture_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
];

type InitDriver = unsafe extern "C" fn(u32) -> c_int;
type CountDevices = unsafe extern "C" fn(*mut c_int) -> c_int;
type ErrorName = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
pub(super) type ElapsedFn = unsafe extern "C" fn(*mut f32, *mut c_void, *mut c_void) -> c_int;
pub(super) type Uuid = unsafe extern "C" fn(*mut [u8; 16], c_int) -> c_int;
type Now = unsafe extern "C" fn() -> u64;

/// The driver, found and initialised.
#[derive(Debug)]
pub(super) struct Driver {
    loaded: Library,
    /// `cuEventElapsedTime` under either of its names: which of them cudarc calls depends on the version that
    /// it was built for.
    pub(super) elapsed: ElapsedFn,
    pub(super) uuid: Option<Uuid>,
    /// True if it is a fake that says so.
    pub(super) fake: bool,
}

impl Driver {
    /// Finds the driver, initialises it, and sees that there is a device.
    pub(super) fn find() -> Result<Self, NoDevice> {
        let no = |why: String| NoDevice(format!("no CUDA device ({why})"));
        let library = open().map_err(no)?;
        let lacks = NEEDED.iter().find(|name| !has(&library, name));
        if let Some(name) = lacks {
            return Err(no(format!("the driver is too old: it has no {name}")));
        }
        // SAFETY: the signature is the driver's under both names, and it stays open.
        let elapsed: Option<ElapsedFn> = unsafe {
            symbol(&library, "cuEventElapsedTime_v2").or_else(|| symbol(&library, "cuEventElapsedTime"))
        };
        let elapsed = elapsed.ok_or_else(|| no("the driver has no cuEventElapsedTime".to_owned()))?;
        // SAFETY: as above.
        let init = unsafe { symbol::<InitDriver>(&library, "cuInit") };
        let init = init.ok_or_else(|| no("it has no cuInit".to_owned()))?;
        // SAFETY: the signature is the driver's, and 0 the only flag that it takes.
        match unsafe { init(0) } {
            0 => {}
            34 => {
                return Err(no(
                    "a toolkit's stub library stands before the driver: take its folder `stubs` off \
                     LD_LIBRARY_PATH"
                        .to_owned(),
                ));
            }
            100 => return Err(no("the driver sees none".to_owned())),
            code => return Err(no(format!("cuInit failed: {}", name_of(&library, code)))),
        }
        if count(&library) == Some(0) {
            return Err(no("the driver shows none to this process; see CUDA_VISIBLE_DEVICES".to_owned()));
        }
        // SAFETY: the signature is the driver's under both names.
        let uuid: Option<Uuid> =
            unsafe { symbol(&library, "cuDeviceGetUuid_v2").or_else(|| symbol(&library, "cuDeviceGetUuid")) };
        let fake = has(&library, "fakegpu_abi");
        Ok(Self { loaded: library, elapsed, uuid, fake })
    }

    /// The host's clock: that of the fake where it has one of its own.
    pub(super) fn clock(&self) -> HostClock {
        // SAFETY: the signature is the fake's own, and it stays open.
        match unsafe { symbol::<Now>(&self.loaded, "fakegpu_now") }.filter(|_| self.fake) {
            Some(now) => HostClock::Fake(now),
            None => HostClock::Monotonic(Clock::monotonic()),
        }
    }

    /// The library, for those who look for more in it.
    #[cfg(feature = "nvml")]
    pub(super) fn loaded(&self) -> &Library {
        &self.loaded
    }
}

/// The host's clock.
#[derive(Debug)]
pub(super) enum HostClock {
    Monotonic(Clock),
    Fake(Now),
}

impl HostClock {
    pub(super) fn now(&self) -> u64 {
        match self {
            Self::Monotonic(clock) => clock.now().as_nanos() as u64,
            // SAFETY: the fake's own, without arguments; the library stays open for as long as the process
            // runs.
            Self::Fake(now) => unsafe { now() },
        }
    }
}

/// Opens the driver, without another word to it.
pub(super) fn open() -> Result<Library, String> {
    let mut why = String::new();
    for name in NAMES {
        // SAFETY: the driver's initialisers run; they are those that any program of CUDA runs.
        match unsafe { Library::new(name) } {
            Ok(library) => {
                // One more reference that is never given back: functions of it are kept as plain pointers.
                // SAFETY: as above, of a library that is open.
                std::mem::forget(unsafe { Library::new(name) });
                return Ok(library);
            }
            Err(error) => why = format!("{name} cannot be opened: {}", reason(&error)),
        }
    }
    Err(why)
}

/// The loader's message, without the name that is said already.
fn reason(error: &libloading::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = cause.to_string();
        source = cause.source();
    }
    text.rsplit(": ").next().unwrap_or_default().to_owned()
}

fn has(library: &Library, name: &str) -> bool {
    // SAFETY: its address is asked for, and never called.
    unsafe { symbol::<InitDriver>(library, name) }.is_some()
}

/// A function of the library.
///
/// # Safety
/// `T` is a pointer to a function with the signature that the library's documentation gives this name. The
/// library is never closed while the pointer is there.
pub(super) unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Option<T> {
    // SAFETY: as the caller promises.
    unsafe { library.get::<T>(name) }.ok().map(|found| *found)
}

fn count(library: &Library) -> Option<i32> {
    // SAFETY: the signature is the driver's, which stays open.
    let ask = unsafe { symbol::<CountDevices>(library, "cuDeviceGetCount") }?;
    let mut count = 0;
    // SAFETY: as above, and the place outlives the call.
    (unsafe { ask(&raw mut count) } == 0).then_some(count)
}

fn name_of(library: &Library, code: i32) -> String {
    // SAFETY: the signature is the driver's, which stays open.
    let named = unsafe { symbol::<ErrorName>(library, "cuGetErrorName") }.and_then(|ask| {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: as above; the text is a constant of its own.
        let known = unsafe { ask(code, &raw mut text) } == 0 && !text.is_null();
        // SAFETY: as above: it ends with a NUL.
        known.then(|| unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned())
    });
    format!("{} (code {code})", named.unwrap_or_else(|| "unknown".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_what_the_loader_says_last() {
        // SAFETY: there is no such library.
        let error = unsafe { Library::new("libno-such-driver.so") }.unwrap_err();
        assert_eq!(reason(&error), "No such file or directory");
    }
}
