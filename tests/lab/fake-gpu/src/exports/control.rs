//! What only a fake has: a test's hand on the device.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::gpu::{CURRENT, Driver};
use crate::twin::{Function, Twin};

/// Says by its presence that this is no real driver, and which layout its calls have.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakegpu_abi() -> c_int {
    1
}

/// Back to the state at the start of the process, twins apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakegpu_reset() {
    let mut driver = Driver::enter();
    driver.reset();
    CURRENT.set(0);
    driver.leave();
}

/// # Safety
///
/// `text` is a text with its NUL.
unsafe fn text(text: *const c_char) -> String {
    // SAFETY: as demanded.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Sets a key of the configuration; 1 when there is no such key or value. The clock's kind and the memory's
/// size take effect when nothing was done yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakegpu_set(key: *const c_char, value: *const c_char) -> c_int {
    // SAFETY: the caller's texts.
    let (key, value) = unsafe { (text(key), text(value)) };
    let mut driver = Driver::enter();
    let set = driver.config.set(&key, &value);
    if set.is_ok() && key == "clock" {
        driver.clock = driver.config.clock();
    }
    if set.is_ok() && key == "memory" {
        driver.memory = crate::memory::Memory::new(driver.config.memory);
    }
    driver.leave();
    c_int::from(set.is_err())
}

/// Plants a fault; 1 when the text is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakegpu_fault(fault: *const c_char) -> c_int {
    // SAFETY: the caller's text.
    let fault = unsafe { text(fault) };
    let mut driver = Driver::enter();
    let planted = driver.faults.plant(&fault);
    driver.leave();
    c_int::from(planted.is_err())
}

/// Nanoseconds since the reset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakegpu_now() -> u64 {
    let driver = Driver::enter();
    let now = driver.clock.now();
    driver.leave();
    now
}

/// The host works for so long.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakegpu_advance(ns: u64) {
    let mut driver = Driver::enter();
    driver.clock.spend(ns);
    driver.leave();
}

/// From now on, and for so long, the device is slower by a factor in thousandths, for NVML's reasons.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakegpu_throttle(ns: u64, factor: u64, reasons: u64) {
    let mut driver = Driver::enter();
    let now = driver.clock.now();
    driver.speed.throttle(now, now.saturating_add(ns), factor as f64 / 1e3, reasons);
    driver.leave();
}

/// Registers a function that does a kernel's arithmetic.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakegpu_twin(kernel: *const c_char, function: Function, data: *mut c_void) {
    // SAFETY: the caller's text.
    let kernel = unsafe { text(kernel) };
    let mut driver = Driver::enter();
    driver.twins.insert(kernel, Twin { function, data: data as usize });
    driver.leave();
}

/// Launches since the reset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakegpu_launches() -> u64 {
    let driver = Driver::enter();
    let launches = driver.launches;
    driver.leave();
    launches
}
