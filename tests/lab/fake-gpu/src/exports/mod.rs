//! The symbols: what they are called, what they need, and that they answer with a code.

#![expect(unsafe_code, reason = "this is the C boundary that the module is for")]

pub mod blas;
pub mod context;
pub mod control;
pub mod cudnn;
pub mod device;
pub mod event;
pub mod graph;
pub mod launch;
pub mod memory;
pub mod module;
pub mod nvml;
pub mod pool;
pub mod shape;
pub mod stream;

use crate::code::Code;
use crate::fault::Site;
use crate::gpu::{CURRENT, Driver, PRIMARY};
use crate::work::Id;

/// What a call asks for before it does anything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Requires {
    Nothing,
    Init,
    /// A context, current in the calling thread and alive.
    Context,
}

/// What every driver call is: enter, check, count faults, take its time, do it, leave.
fn call(
    needs: Requires,
    site: Site,
    cost: impl Fn(&Driver) -> u64,
    body: impl FnOnce(&mut Driver) -> Result<(), Code>,
) -> i32 {
    let mut driver = Driver::enter();
    let result = check(needs, &driver).and_then(|()| driver.strike(site)).and_then(|()| {
        // What a call enqueues reaches the device at its end.
        let ns = cost(&driver);
        driver.clock.spend(ns);
        driver.settle();
        // An error of work that ended meanwhile is told by the next call that waits or checks.
        body(&mut driver)
    });
    driver.leave();
    result.map_or_else(|code| code.0, |()| 0)
}

/// Waits as a call for its caller does: it returns a moment after the end.
fn wait(driver: &mut Driver, ids: &[Id]) -> Result<(), Code> {
    driver.wait(ids)?;
    let ns = driver.config.sync_ns;
    driver.clock.spend(ns);
    Ok(())
}

fn check(needs: Requires, driver: &Driver) -> Result<(), Code> {
    if needs != Requires::Nothing && !driver.initialised {
        return Err(Code::NOT_INITIALIZED);
    }
    if needs == Requires::Context {
        if let Some(code) = driver.sticky {
            return Err(code);
        }
        let current = CURRENT.get();
        let alive = (current == PRIMARY && driver.retained > 0) || driver.contexts.contains(&current);
        if !alive {
            return Err(Code::INVALID_CONTEXT);
        }
    }
    Ok(())
}

fn cheap(driver: &Driver) -> u64 {
    driver.config.call_ns
}

/// Writes an answer.
///
/// # Safety
///
/// `target` is null or the caller's to write.
unsafe fn put<T>(target: *mut T, value: T) -> Result<(), Code> {
    if target.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: as this function demands.
    unsafe { target.write(value) };
    Ok(())
}

/// Writes a text with its NUL into a buffer, cut to its length.
///
/// # Safety
///
/// `target` has room for `len` bytes.
unsafe fn put_text(target: *mut std::ffi::c_char, len: usize, text: &str) -> Result<(), Code> {
    if target.is_null() || len == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let text = &text.as_bytes()[..text.len().min(len - 1)];
    // SAFETY: one byte less than the buffer, and the NUL.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), target, text.len());
        target.add(text.len()).write(0);
    }
    Ok(())
}
