//! NVML, over the same state: power, clocks and memory follow what the device does.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use super::device::UUID;
use crate::fault::Site;
use crate::gpu::Driver;

const UNINITIALISED: c_int = 1;
const INVALID: c_int = 2;
const NOT_SUPPORTED: c_int = 3;
const NOT_FOUND: c_int = 6;
const INSUFFICIENT: c_int = 7;

/// The one device's handle.
const DEVICE: usize = 0x80_0000;

/// Throttle reasons: the device is idle.
const IDLE: u64 = 1;

fn call(body: impl FnOnce(&mut Driver) -> Result<(), c_int>) -> c_int {
    let mut driver = Driver::enter();
    let ns = driver.config.call_ns;
    driver.clock.spend(ns);
    driver.settle();
    let fault = driver.faults.strike(Site::Nvml).map_or(Ok(()), |(code, _)| Err(code.0));
    let ready = if driver.nvml { Ok(()) } else { Err(UNINITIALISED) };
    let result = ready.and(fault).and_then(|()| body(&mut driver));
    driver.leave();
    result.map_or_else(|code| code, |()| 0)
}

fn on(device: *mut c_void, body: impl FnOnce(&mut Driver) -> Result<(), c_int>) -> c_int {
    call(|driver| if device as usize == DEVICE { body(driver) } else { Err(INVALID) })
}

/// # Safety
///
/// `target` is null or the caller's to write.
unsafe fn put<T>(target: *mut T, value: T) -> Result<(), c_int> {
    // SAFETY: as this function demands.
    unsafe { super::put(target, value) }.map_err(|_| INVALID)
}

/// # Safety
///
/// `target` has room for `len` bytes.
unsafe fn put_text(target: *mut c_char, len: c_uint, text: &str) -> Result<(), c_int> {
    if (len as usize) <= text.len() {
        return Err(INSUFFICIENT);
    }
    // SAFETY: as this function demands.
    unsafe { super::put_text(target, len as usize, text) }.map_err(|_| INVALID)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlInit_v2() -> c_int {
    let mut driver = Driver::enter();
    let result = match driver.faults.strike(Site::Nvml) {
        Some((code, _)) => code.0,
        None => {
            driver.nvml = true;
            0
        }
    };
    driver.leave();
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlShutdown() -> c_int {
    call(|driver| {
        driver.nvml = false;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlErrorString(code: c_int) -> *const c_char {
    let text = match code {
        0 => c"Success",
        UNINITIALISED => c"Uninitialized",
        INVALID => c"Invalid Argument",
        NOT_SUPPORTED => c"Not Supported",
        NOT_FOUND => c"Not Found",
        INSUFFICIENT => c"Insufficient Size",
        _ => c"Unknown Error",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(text: *mut c_char, len: c_uint) -> c_int {
    // SAFETY: the caller's buffer, as in all that follow.
    call(|_| unsafe { put_text(text, len, "580.00 (fake)") })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetNVMLVersion(text: *mut c_char, len: c_uint) -> c_int {
    // SAFETY: the caller's buffer.
    call(|_| unsafe { put_text(text, len, "13.580.00 (fake)") })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    call(|driver| unsafe { put(version, driver.config.driver_version as c_int) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    call(|driver| unsafe { put(count, driver.config.devices as c_uint) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut *mut c_void) -> c_int {
    call(|driver| {
        if u64::from(index) >= driver.config.devices {
            return Err(INVALID);
        }
        // SAFETY: the caller's pointer.
        unsafe { put(device, DEVICE as *mut c_void) }
    })
}

/// The identity as both libraries write it.
fn uuid() -> String {
    let hex: String = UUID.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(text: *const c_char, device: *mut *mut c_void) -> c_int {
    call(|_| {
        // SAFETY: the caller's text.
        let wanted = unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy();
        if wanted != uuid() {
            return Err(NOT_FOUND);
        }
        // SAFETY: the caller's pointer.
        unsafe { put(device, DEVICE as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    _text: *const c_char,
    device: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller's pointer.
    call(|_| unsafe { put(device, DEVICE as *mut c_void) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(device: *mut c_void, text: *mut c_char, len: c_uint) -> c_int {
    // SAFETY: the caller's buffer.
    on(device, |driver| unsafe { put_text(text, len, &driver.config.name) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(device: *mut c_void, text: *mut c_char, len: c_uint) -> c_int {
    // SAFETY: the caller's buffer.
    on(device, |_| unsafe { put_text(text, len, &uuid()) })
}

/// `nvmlMemory_t`.
#[repr(C)]
pub struct MemoryInfo {
    total: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo(device: *mut c_void, info: *mut MemoryInfo) -> c_int {
    on(device, |driver| {
        let total = driver.memory.total();
        let others = if driver.config.other_process == 0 { 0 } else { driver.config.other_memory };
        let free = driver.memory.free_bytes().saturating_sub(others);
        // SAFETY: the caller's pointer.
        unsafe { put(info, MemoryInfo { total, free, used: total - free }) }
    })
}

/// Milliwatts, the mean over the last window.
fn power(driver: &Driver) -> f64 {
    let now = driver.clock.now();
    let from = now.saturating_sub(driver.config.power_window_ns);
    let (busy, idle) = (driver.config.busy_mw as f64, driver.config.idle_mw as f64);
    idle + (busy - idle) * driver.busy.between(from, now) as f64 / (now - from).max(1) as f64
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPowerUsage(device: *mut c_void, milliwatts: *mut c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    on(device, |driver| unsafe { put(milliwatts, power(driver).round() as c_uint) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetEnforcedPowerLimit(
    device: *mut c_void,
    milliwatts: *mut c_uint,
) -> c_int {
    // SAFETY: the caller's pointer.
    on(device, |driver| unsafe { put(milliwatts, driver.config.limit_mw as c_uint) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPowerManagementLimit(
    device: *mut c_void,
    milliwatts: *mut c_uint,
) -> c_int {
    // SAFETY: the same call: nobody lowered it.
    unsafe { nvmlDeviceGetEnforcedPowerLimit(device, milliwatts) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTotalEnergyConsumption(
    device: *mut c_void,
    millijoules: *mut c_ulonglong,
) -> c_int {
    on(device, |driver| {
        if driver.config.energy == 0 {
            return Err(NOT_SUPPORTED);
        }
        let energy = driver.energy(driver.clock.now()).round() as c_ulonglong;
        // SAFETY: the caller's pointer.
        unsafe { put(millijoules, energy) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetClockInfo(
    device: *mut c_void,
    kind: c_uint,
    mhz: *mut c_uint,
) -> c_int {
    on(device, |driver| {
        let now = driver.clock.now();
        let answer = match kind {
            0 | 1 => driver.speed.mhz(&driver.config, &driver.busy, now).round() as c_uint,
            2 => 2_619,
            _ => return Err(NOT_SUPPORTED),
        };
        // SAFETY: the caller's pointer.
        unsafe { put(mhz, answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxClockInfo(
    device: *mut c_void,
    kind: c_uint,
    mhz: *mut c_uint,
) -> c_int {
    on(device, |driver| {
        let answer = match kind {
            0 | 1 => driver.config.full_mhz as c_uint,
            2 => 2_619,
            _ => return Err(NOT_SUPPORTED),
        };
        // SAFETY: the caller's pointer.
        unsafe { put(mhz, answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperature(
    device: *mut c_void,
    sensor: c_uint,
    celsius: *mut c_uint,
) -> c_int {
    on(device, |driver| {
        if sensor != 0 {
            return Err(INVALID);
        }
        let hot = driver.speed.reasons(driver.clock.now()) & 0x60 != 0;
        let warm = 35.0 + power(driver) / driver.config.busy_mw.max(1) as f64 * 30.0;
        // SAFETY: the caller's pointer.
        unsafe { put(celsius, if hot { 88 } else { warm.round() as c_uint }) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons(
    device: *mut c_void,
    reasons: *mut c_ulonglong,
) -> c_int {
    on(device, |driver| {
        let now = driver.clock.now();
        let idle = if driver.busy.at(now) { 0 } else { IDLE };
        // SAFETY: the caller's pointer.
        unsafe { put(reasons, driver.speed.reasons(now) | idle) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCurrentClocksEventReasons(
    device: *mut c_void,
    reasons: *mut c_ulonglong,
) -> c_int {
    // SAFETY: the same call under its later name.
    unsafe { nvmlDeviceGetCurrentClocksThrottleReasons(device, reasons) }
}

/// `nvmlUtilization_t`: percent.
#[repr(C)]
pub struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUtilizationRates(
    device: *mut c_void,
    rates: *mut Utilization,
) -> c_int {
    on(device, |driver| {
        let now = driver.clock.now();
        let from = now.saturating_sub(driver.config.power_window_ns);
        let gpu = (driver.busy.between(from, now) * 100 / (now - from).max(1)) as c_uint;
        // SAFETY: the caller's pointer.
        unsafe { put(rates, Utilization { gpu, memory: gpu / 2 }) }
    })
}

/// `nvmlProcessInfo_t` of version 3.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ProcessInfo {
    pid: c_uint,
    used: c_ulonglong,
    instance: c_uint,
    compute_instance: c_uint,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: *mut c_void,
    count: *mut c_uint,
    processes: *mut ProcessInfo,
) -> c_int {
    on(device, |driver| {
        let process =
            |pid: u32, used| ProcessInfo { pid, used, instance: u32::MAX, compute_instance: u32::MAX };
        let mut all = Vec::new();
        if driver.retained > 0 {
            all.push(process(std::process::id(), driver.memory.total() - driver.memory.free_bytes()));
        }
        if driver.config.other_process != 0 {
            all.push(process(driver.config.other_process as u32, driver.config.other_memory));
        }
        if count.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the caller's count, and as many places behind `processes`.
        unsafe {
            let room = count.read() as usize;
            count.write(all.len() as c_uint);
            if room < all.len() {
                return Err(INSUFFICIENT);
            }
            for (place, process) in all.into_iter().enumerate() {
                processes.add(place).write(process);
            }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(
    device: *mut c_void,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> c_int {
    on(device, |driver| {
        let mode = driver.config.mig as c_uint;
        // SAFETY: the caller's pointers.
        unsafe {
            put(current, mode)?;
            put(pending, mode)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPersistenceMode(device: *mut c_void, mode: *mut c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    on(device, |driver| unsafe { put(mode, driver.config.persistence as c_uint) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetEccMode(
    device: *mut c_void,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> c_int {
    on(device, |driver| {
        let mode = driver.config.ecc as c_uint;
        // SAFETY: the caller's pointers.
        unsafe {
            put(current, mode)?;
            put(pending, mode)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPerformanceState(device: *mut c_void, state: *mut c_uint) -> c_int {
    on(device, |driver| {
        let busy = driver.busy.at(driver.clock.now());
        // SAFETY: the caller's pointer. P0 under load, P8 idle.
        unsafe { put(state, if busy { 0 } else { 8 }) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetIndex(device: *mut c_void, index: *mut c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    on(device, |_| unsafe { put(index, 0) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeMode(device: *mut c_void, mode: *mut c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    on(device, |_| unsafe { put(mode, 0) })
}
