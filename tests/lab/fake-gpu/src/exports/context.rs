//! Contexts: the primary one, which all share, and the one that is current in a thread.

use std::ffi::{c_int, c_uint, c_void};

use super::{Requires, call, cheap, put, wait};
use crate::code::Code;
use crate::fault::Site;
use crate::gpu::{CURRENT, PRIMARY};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> c_int {
    call(Requires::Init, Site::Context, cheap, |driver| {
        if u64::try_from(device).is_ok_and(|device| device < driver.config.devices) {
            driver.retained += 1;
            // SAFETY: the caller's pointer, as in all that follow.
            return unsafe { put(context, PRIMARY as *mut c_void) };
        }
        Err(Code::INVALID_DEVICE)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRelease_v2(_device: c_int) -> c_int {
    call(Requires::Init, Site::Other, cheap, |driver| {
        driver.retained = driver.retained.checked_sub(1).ok_or(Code::INVALID_CONTEXT)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxGetState(
    _device: c_int,
    flags: *mut c_uint,
    active: *mut c_int,
) -> c_int {
    call(Requires::Init, Site::Other, cheap, |driver| unsafe {
        // SAFETY: the caller's pointers.
        put(flags, driver.context_flags)?;
        put(active, c_int::from(driver.retained > 0))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v2(context: *mut *mut c_void, flags: c_uint, _device: c_int) -> c_int {
    call(Requires::Init, Site::Context, cheap, |driver| {
        let handle = driver.handle();
        driver.contexts.push(handle);
        driver.context_flags = flags;
        CURRENT.set(handle);
        // SAFETY: the caller's pointer.
        unsafe { put(context, handle as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v4(
    context: *mut *mut c_void,
    _parameters: *mut c_void,
    flags: c_uint,
    device: c_int,
) -> c_int {
    // SAFETY: the same call without what is not modelled.
    unsafe { cuCtxCreate_v2(context, flags, device) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxDestroy_v2(context: *mut c_void) -> c_int {
    call(Requires::Init, Site::Other, cheap, |driver| {
        let before = driver.contexts.len();
        driver.contexts.retain(|known| *known != context as usize);
        if driver.contexts.len() == before {
            return Err(Code::INVALID_CONTEXT);
        }
        if CURRENT.get() == context as usize {
            CURRENT.set(0);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(context: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's pointer.
    call(Requires::Init, Site::Other, |_| 0, |_| unsafe { put(context, CURRENT.get() as *mut c_void) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> c_int {
    call(Requires::Init, Site::Other, cheap, |driver| {
        let context = context as usize;
        if context != 0 && context != PRIMARY && !driver.contexts.contains(&context) {
            return Err(Code::INVALID_CONTEXT);
        }
        CURRENT.set(context);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevice(device: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    call(Requires::Context, Site::Other, cheap, |_| unsafe { put(device, 0) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSynchronize() -> c_int {
    call(Requires::Context, Site::Sync, cheap, |driver| {
        if driver.graphs.strict() {
            driver.graphs.spoil(None);
            return Err(Code::CAPTURE_UNSUPPORTED);
        }
        let open = driver.work.open();
        wait(driver, &open)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetFlags(flags: *mut c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    call(Requires::Context, Site::Other, cheap, |driver| unsafe { put(flags, driver.context_flags) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSetFlags(flags: c_uint) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        driver.context_flags = flags;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetLimit(value: *mut usize, limit: c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    call(Requires::Context, Site::Other, cheap, |driver| unsafe {
        put(value, driver.limits.get(&limit).copied().unwrap_or(1024))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSetLimit(limit: c_uint, value: usize) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        driver.limits.insert(limit, value);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCacheConfig(config: *mut c_uint) -> c_int {
    // SAFETY: the caller's pointer.
    call(Requires::Context, Site::Other, cheap, |_| unsafe { put(config, 0) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSetCacheConfig(_config: c_uint) -> c_int {
    call(Requires::Context, Site::Other, cheap, |_| Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> c_int {
    call(Requires::Context, Site::Other, cheap, |_| unsafe {
        // SAFETY: the caller's pointers.
        put(least, 0)?;
        put(greatest, -5)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuProfilerStart() -> c_int {
    call(Requires::Context, Site::Other, cheap, |_| Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuProfilerStop() -> c_int {
    call(Requires::Context, Site::Other, cheap, |_| Ok(()))
}
