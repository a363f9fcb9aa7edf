//! Streams: making them, waiting for them, asking them, and waiting in them.

use std::ffi::{c_int, c_uint, c_void};

use super::{Requires, call, cheap, put, wait};
use crate::code::Code;
use crate::event::Mark;
use crate::fault::Site;
use crate::gpu::Driver;
use crate::stream::{Key, LEGACY};
use crate::work::{Cost, Effect, Task};

const NON_BLOCKING: c_uint = 1;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(stream: *mut *mut c_void, flags: c_uint) -> c_int {
    // SAFETY: the same call with the default priority.
    unsafe { cuStreamCreateWithPriority(stream, flags, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreateWithPriority(
    stream: *mut *mut c_void,
    flags: c_uint,
    priority: c_int,
) -> c_int {
    call(
        Requires::Context,
        Site::Other,
        |driver| driver.config.memory_ns,
        |driver| {
            let key = driver.streams.create(flags & NON_BLOCKING == 0, priority);
            // SAFETY: the caller's pointer.
            unsafe { put(stream, key as *mut c_void) }
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamDestroy_v2(stream: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| driver.streams.destroy(stream as usize))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetFlags(stream: *mut c_void, flags: *mut c_uint) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        let key = driver.streams.key(stream as usize)?;
        let flag = if driver.streams.get(key).blocking { 0 } else { NON_BLOCKING };
        // SAFETY: the caller's pointer.
        unsafe { put(flags, flag) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetPriority(stream: *mut c_void, priority: *mut c_int) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        let key = driver.streams.key(stream as usize)?;
        // SAFETY: the caller's pointer.
        unsafe { put(priority, driver.streams.get(key).priority) }
    })
}

/// No call may wait for, or ask after, a stream that captures: the capture is lost.
pub(super) fn refuse_capturing(driver: &mut Driver, key: Key) -> Result<(), Code> {
    if driver.graphs.capturing(key).is_some() {
        driver.graphs.spoil(Some(key));
        return Err(Code::CAPTURE_UNSUPPORTED);
    }
    if key == LEGACY && driver.graphs.strict() {
        driver.graphs.spoil(None);
        return Err(Code::CAPTURE_IMPLICIT);
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamSynchronize(stream: *mut c_void) -> c_int {
    call(Requires::Context, Site::Sync, cheap, |driver| {
        let key = driver.streams.key(stream as usize)?;
        refuse_capturing(driver, key)?;
        let ahead = driver.streams.ahead(key, &driver.work);
        wait(driver, &ahead)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamQuery(stream: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        let key = driver.streams.key(stream as usize)?;
        refuse_capturing(driver, key)?;
        if driver.streams.ahead(key, &driver.work).is_empty() { Ok(()) } else { Err(Code::NOT_READY) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _flags: c_uint) -> c_int {
    call(
        Requires::Context,
        Site::Event,
        |driver| driver.config.event_ns,
        |driver| {
            let key = driver.streams.key(stream as usize)?;
            let mark = driver.events.get(event as usize)?.mark.clone();
            if let Mark::Captured { capture, nodes } = mark {
                return driver.graphs.join(capture, key, &nodes);
            }
            if driver.graphs.capturing(key).is_some() {
                // Work from outside of a capture cannot be waited for inside of it.
                driver.graphs.spoil(Some(key));
                return Err(Code(905));
            }
            let Mark::Queued(awaited) = mark else { return Ok(()) };
            let mut after = driver.streams.ahead(key, &driver.work);
            after.push(awaited);
            let ready = driver.clock.now() + driver.config.submit_ns;
            let id = driver.work.push(after, ready, Task::JOIN);
            driver.streams.get_mut(key).last = Some(id);
            Ok(())
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchHostFunc(
    stream: *mut c_void,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> c_int {
    call(
        Requires::Context,
        Site::Launch,
        |driver| driver.config.launch_ns,
        |driver| {
            let key = driver.streams.key(stream as usize)?;
            let function = function.ok_or(Code::INVALID_VALUE)? as usize;
            let effect = Effect::Host { function, data: data as usize };
            driver.enqueue(key, Task { cost: Cost::Time(1_000), effect }).map(drop)
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamAttachMemAsync(
    _stream: *mut c_void,
    _address: u64,
    _len: usize,
    _flags: c_uint,
) -> c_int {
    call(Requires::Context, Site::Other, cheap, |_| Err(Code::NOT_SUPPORTED))
}
