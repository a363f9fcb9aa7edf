//! Events: recording, asking, waiting, and the time between two.

use std::ffi::{c_int, c_uint, c_void};

use super::{Requires, call, cheap, put, wait};
use crate::code::Code;
use crate::event::Mark;
use crate::fault::Site;
use crate::work::{Cost, Effect, Task};

const DISABLE_TIMING: c_uint = 2;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut *mut c_void, flags: c_uint) -> c_int {
    call(Requires::Context, Site::Event, cheap, |driver| {
        let handle = driver.events.create(flags & DISABLE_TIMING == 0);
        // SAFETY: the caller's pointer.
        unsafe { put(event, handle as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventDestroy_v2(event: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| driver.events.destroy(event as usize))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> c_int {
    call(
        Requires::Context,
        Site::Event,
        |driver| driver.config.event_ns,
        |driver| {
            let key = driver.streams.key(stream as usize)?;
            let handle = event as usize;
            driver.events.get(handle)?;
            if let Some(capture) = driver.graphs.capturing(key) {
                let nodes = driver.graphs.mark(capture, key);
                driver.events.get(handle)?.mark = Mark::Captured { capture, nodes };
                return Ok(());
            }
            let serial = driver.events.get(handle)?.serial + 1;
            let task = Task { cost: Cost::Nothing, effect: Effect::Stamp { event: handle, serial } };
            driver.wait_for_room(key)?;
            let queued = driver.enqueue(key, task)?;
            let event = driver.events.get(handle)?;
            event.serial = serial;
            event.mark = queued.map_or(Mark::Never, Mark::Queued);
            Ok(())
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventQuery(event: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| match driver.events.get(event as usize)?.mark {
        Mark::Never | Mark::Reached(_) => Ok(()),
        Mark::Queued(_) => Err(Code::NOT_READY),
        Mark::Captured { .. } => Err(Code::CAPTURED_EVENT),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventSynchronize(event: *mut c_void) -> c_int {
    call(Requires::Context, Site::Sync, cheap, |driver| match driver.events.get(event as usize)?.mark {
        Mark::Never | Mark::Reached(_) => Ok(()),
        Mark::Queued(id) => wait(driver, &[id]),
        Mark::Captured { .. } => Err(Code::CAPTURED_EVENT),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(ms: *mut f32, start: *mut c_void, end: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        let quantum = driver.config.quantum_ns;
        let elapsed = driver.events.elapsed(start as usize, end as usize, quantum)?;
        // SAFETY: the caller's pointer.
        unsafe { put(ms, elapsed) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime_v2(ms: *mut f32, start: *mut c_void, end: *mut c_void) -> c_int {
    // SAFETY: the same call under its later name.
    unsafe { cuEventElapsedTime(ms, start, end) }
}
