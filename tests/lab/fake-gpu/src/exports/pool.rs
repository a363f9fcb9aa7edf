//! Pools of stream-ordered memory: what they hold, and giving it back.

use std::ffi::{c_int, c_uint, c_void};

use super::{Requires, call, cheap, put};
use crate::code::Code;
use crate::fault::Site;
use crate::memory::POOL;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetDefaultMemPool(pool: *mut *mut c_void, _device: c_int) -> c_int {
    // SAFETY: the caller's pointer.
    call(Requires::Init, Site::Other, cheap, |_| unsafe { put(pool, POOL as *mut c_void) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetMemPool(pool: *mut *mut c_void, device: c_int) -> c_int {
    // SAFETY: the same call: the current pool cannot be changed here.
    unsafe { cuDeviceGetDefaultMemPool(pool, device) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolCreate(pool: *mut *mut c_void, _properties: *const c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        let handle = driver.memory.create_pool();
        // SAFETY: the caller's pointer.
        unsafe { put(pool, handle as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolDestroy(pool: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        if pool as usize == POOL {
            return Err(Code::INVALID_VALUE);
        }
        driver.memory.pools.remove(&(pool as usize)).map(drop).ok_or(Code::INVALID_VALUE)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolTrimTo(pool: *mut c_void, keep: usize) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| driver.memory.trim(pool as usize, keep as u64))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolGetAttribute(
    pool: *mut c_void,
    attribute: c_uint,
    value: *mut c_void,
) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        let pool = driver.memory.pools.get(&(pool as usize)).ok_or(Code::INVALID_VALUE)?;
        let answer = match attribute {
            // Ways of reuse: 32-bit switches, all on.
            // SAFETY: the caller's pointer.
            1..=3 => return unsafe { put(value.cast::<c_int>(), 1) },
            4 => pool.threshold,
            5 => pool.reserved,
            6 => pool.reserved_high,
            7 => pool.used,
            8 => pool.used_high,
            _ => return Err(Code::INVALID_VALUE),
        };
        // SAFETY: the caller's pointer.
        unsafe { put(value.cast::<u64>(), answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolSetAttribute(
    pool: *mut c_void,
    attribute: c_uint,
    value: *mut c_void,
) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        let pool = driver.memory.pools.get_mut(&(pool as usize)).ok_or(Code::INVALID_VALUE)?;
        if (1..=3).contains(&attribute) {
            return Ok(());
        }
        // SAFETY: the caller's value, 64 bits for all but the switches above.
        let value = unsafe { value.cast::<u64>().read() };
        match (attribute, value) {
            (4, threshold) => pool.threshold = threshold,
            // High-water marks can only be set back.
            (6, 0) => pool.reserved_high = pool.reserved,
            (8, 0) => pool.used_high = pool.used,
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    })
}
