//! Memory of the device and of the host, and copies between them.

use std::ffi::{c_int, c_uchar, c_uint, c_void};
use std::sync::Arc;

use super::stream::refuse_capturing;
use super::{Requires, call, cheap, put, wait};
use crate::code::Code;
use crate::fault::Site;
use crate::gpu::Driver;
use crate::memory::POOL;
use crate::stream::LEGACY;
use crate::work::{Cost, Effect, Task};

/// Up to here a copy from pageable memory is staged without waiting.
const STAGED: u64 = 64 << 10;

/// Calls that a watching capture does not allow.
fn refuse_under_capture(driver: &mut Driver) -> Result<(), Code> {
    if driver.graphs.strict() {
        driver.graphs.spoil(None);
        return Err(Code::CAPTURE_UNSUPPORTED);
    }
    Ok(())
}

fn memory_ns(driver: &Driver) -> u64 {
    driver.config.memory_ns
}

fn copy_ns(driver: &Driver) -> u64 {
    driver.config.copy_ns
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, len: usize) -> c_int {
    call(Requires::Context, Site::Alloc, memory_ns, |driver| {
        refuse_under_capture(driver)?;
        let block = driver.memory.allocate(len as u64)?;
        // SAFETY: the caller's pointer.
        unsafe { put(address, block) }
    })
}

/// Waits for everything, as the driver does: the memory may be in use by any stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFree_v2(address: u64) -> c_int {
    call(Requires::Context, Site::Other, memory_ns, |driver| {
        refuse_under_capture(driver)?;
        if address == 0 {
            return Ok(());
        }
        driver.wait_all()?;
        driver.memory.release(address)
    })
}

/// Managed memory is plain memory here: the host cannot follow its addresses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocManaged(_address: *mut u64, _len: usize, _flags: c_uint) -> c_int {
    call(Requires::Context, Site::Alloc, memory_ns, |_| Err(Code::NOT_SUPPORTED))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(address: *mut u64, len: usize, stream: *mut c_void) -> c_int {
    // SAFETY: the same call with the device's own pool.
    unsafe { cuMemAllocFromPoolAsync(address, len, POOL as *mut c_void, stream) }
}

/// Allocations in a capture are not modelled: they are refused, as any other call that a capture does not
/// allow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocFromPoolAsync(
    address: *mut u64,
    len: usize,
    pool: *mut c_void,
    stream: *mut c_void,
) -> c_int {
    call(Requires::Context, Site::Alloc, copy_ns, |driver| {
        let key = driver.streams.key(stream as usize)?;
        refuse_capturing(driver, key)?;
        if driver.config.pools == 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        let block = driver.memory.allocate_from(len as u64, pool as usize)?;
        // SAFETY: the caller's pointer.
        unsafe { put(address, block) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFreeAsync(address: u64, stream: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, copy_ns, |driver| {
        let key = driver.streams.key(stream as usize)?;
        if address == 0 {
            return Ok(());
        }
        if !driver.memory.owns(address) {
            return Err(Code::INVALID_VALUE);
        }
        refuse_capturing(driver, key)?;
        driver.enqueue(key, Task { cost: Cost::Nothing, effect: Effect::Release(address) }).map(drop)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        let held_by_others = if driver.config.other_process == 0 { 0 } else { driver.config.other_memory };
        let left = driver.memory.free_bytes().saturating_sub(held_by_others);
        // SAFETY: the caller's pointers.
        unsafe {
            put(free, left as usize)?;
            put(total, driver.memory.total() as usize)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(address: *mut *mut c_void, len: usize, _flags: c_uint) -> c_int {
    call(Requires::Context, Site::Alloc, memory_ns, |driver| {
        let block = driver.memory.pin(len as u64)?;
        // SAFETY: the caller's pointer.
        unsafe { put(address, block as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocHost_v2(address: *mut *mut c_void, len: usize) -> c_int {
    // SAFETY: the same call without flags.
    unsafe { cuMemHostAlloc(address, len, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFreeHost(address: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, memory_ns, |driver| {
        // The device may still read it.
        driver.wait_all()?;
        driver.memory.unpin(address as u64)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostGetDevicePointer_v2(
    device: *mut u64,
    host: *mut c_void,
    _flags: c_uint,
) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        if !driver.memory.is_pinned(host as u64) {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller's pointer. One address space, as on every 64-bit system.
        unsafe { put(device, host as u64) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostRegister_v2(host: *mut c_void, len: usize, _flags: c_uint) -> c_int {
    call(Requires::Context, Site::Other, memory_ns, |driver| driver.memory.register(host as u64, len as u64))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostUnregister(host: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, memory_ns, |driver| {
        driver.wait_all()?;
        driver.memory.unregister(host as u64)
    })
}

/// How a copy treats its caller.
#[derive(Clone, Copy, PartialEq)]
enum Caller {
    Waits,
    GoesOn,
}

fn copy(
    driver: &mut Driver,
    to: u64,
    from: u64,
    len: usize,
    stream: usize,
    caller: Caller,
) -> Result<(), Code> {
    let len = len as u64;
    if len == 0 {
        return Ok(());
    }
    if to == 0 || from == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let key = driver.streams.key(stream)?;
    let host = |address| !driver.memory.is_device(address);
    let pageable = |address| host(address) && !driver.memory.is_pinned(address);
    let (from_pageable, to_pageable) = (pageable(from), pageable(to));
    let between = host(from) != host(to);
    if driver.graphs.capturing(key).is_some() && (from_pageable || to_pageable || caller == Caller::Waits) {
        driver.graphs.spoil(Some(key));
        return Err(Code::CAPTURE_UNSUPPORTED);
    }
    if caller == Caller::Waits {
        refuse_under_capture(driver)?;
    }
    let cost = driver.copy_cost(to, from, len);
    let effect = if from_pageable {
        let place = from as *const u8;
        // SAFETY: the caller's memory; the driver stages it before it returns.
        let bytes: Arc<[u8]> = unsafe { std::slice::from_raw_parts(place, len as usize) }.into();
        if len > STAGED {
            let staging = len / driver.config.pageable_rate.max(1);
            driver.clock.spend(staging);
        }
        Effect::Put { to, bytes }
    } else {
        Effect::Copy { to, from, len }
    };
    driver.wait_for_room(key)?;
    let queued = driver.enqueue(key, Task { cost, effect })?;
    let pageable_waits = to_pageable && driver.config.pageable_waits != 0;
    match queued {
        Some(id) if (caller == Caller::Waits && between) || pageable_waits => wait(driver, &[id]),
        _ => Ok(()),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, len: usize) -> c_int {
    call(Requires::Context, Site::Copy, copy_ns, |driver| {
        copy(driver, to, from as u64, len, LEGACY, Caller::Waits)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, len: usize) -> c_int {
    call(Requires::Context, Site::Copy, copy_ns, |driver| {
        copy(driver, to as u64, from, len, LEGACY, Caller::Waits)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoD_v2(to: u64, from: u64, len: usize) -> c_int {
    call(Requires::Context, Site::Copy, copy_ns, |driver| copy(driver, to, from, len, LEGACY, Caller::Waits))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: u64,
    from: *const c_void,
    len: usize,
    stream: *mut c_void,
) -> c_int {
    call(Requires::Context, Site::Copy, copy_ns, |driver| {
        copy(driver, to, from as u64, len, stream as usize, Caller::GoesOn)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: u64,
    len: usize,
    stream: *mut c_void,
) -> c_int {
    call(Requires::Context, Site::Copy, copy_ns, |driver| {
        copy(driver, to as u64, from, len, stream as usize, Caller::GoesOn)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, len: usize, stream: *mut c_void) -> c_int {
    call(Requires::Context, Site::Copy, copy_ns, |driver| {
        copy(driver, to, from, len, stream as usize, Caller::GoesOn)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyAsync(to: u64, from: u64, len: usize, stream: *mut c_void) -> c_int {
    call(Requires::Context, Site::Copy, copy_ns, |driver| {
        copy(driver, to, from, len, stream as usize, Caller::GoesOn)
    })
}

fn fill(
    driver: &mut Driver,
    to: u64,
    count: usize,
    value: u32,
    width: u64,
    stream: usize,
) -> Result<(), Code> {
    if count == 0 {
        return Ok(());
    }
    let count = count as u64;
    let key = driver.streams.key(stream)?;
    let ns = count * width / driver.config.device_rate.max(1);
    let effect = Effect::Fill { to, count, value, width };
    driver.wait_for_room(key)?;
    driver.enqueue(key, Task { cost: Cost::Time(ns), effect }).map(drop)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD8_v2(to: u64, value: c_uchar, count: usize) -> c_int {
    call(Requires::Context, Site::Copy, copy_ns, |driver| fill(driver, to, count, value.into(), 1, LEGACY))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD8Async(
    to: u64,
    value: c_uchar,
    count: usize,
    stream: *mut c_void,
) -> c_int {
    call(Requires::Context, Site::Copy, copy_ns, |driver| {
        fill(driver, to, count, value.into(), 1, stream as usize)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD32_v2(to: u64, value: c_uint, count: usize) -> c_int {
    call(Requires::Context, Site::Copy, copy_ns, |driver| fill(driver, to, count, value, 4, LEGACY))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD32Async(
    to: u64,
    value: c_uint,
    count: usize,
    stream: *mut c_void,
) -> c_int {
    call(Requires::Context, Site::Copy, copy_ns, |driver| fill(driver, to, count, value, 4, stream as usize))
}
