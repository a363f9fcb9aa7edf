//! `cuInit`, versions, devices and what they are, names of errors.

use std::ffi::{c_char, c_int, c_uint};

use super::{Requires, call, cheap, put, put_text};
use crate::code::{self, Code};
use crate::fault::Site;
use crate::gpu::Driver;

/// The identity that both libraries tell.
pub const UUID: [u8; 16] = [0xfa, 0x6e, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1];

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuInit(_flags: c_uint) -> c_int {
    call(Requires::Nothing, Site::Init, cheap, |driver| {
        if driver.config.devices == 0 {
            return Err(Code(100));
        }
        driver.initialised = true;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer, as in all that follow.
    call(Requires::Nothing, Site::Other, cheap, |driver| unsafe {
        put(version, driver.config.driver_version as c_int)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    call(Requires::Init, Site::Devices, cheap, |driver| unsafe { put(count, driver.config.devices as c_int) })
}

fn known(driver: &Driver, device: c_int) -> Result<(), Code> {
    let known = u64::try_from(device).is_ok_and(|device| device < driver.config.devices);
    known.then_some(()).ok_or(Code::INVALID_DEVICE)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_int {
    call(Requires::Init, Site::Devices, cheap, |driver| {
        known(driver, ordinal)?;
        // SAFETY: the caller's pointer.
        unsafe { put(device, ordinal) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) -> c_int {
    call(Requires::Init, Site::Other, cheap, |driver| {
        known(driver, device)?;
        // SAFETY: the caller's buffer.
        unsafe { put_text(name, len.max(0) as usize, &driver.config.name) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) -> c_int {
    call(Requires::Init, Site::Other, cheap, |driver| {
        known(driver, device)?;
        // SAFETY: the caller's pointer.
        unsafe { put(uuid, UUID) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) -> c_int {
    // SAFETY: the same call under its later name.
    unsafe { cuDeviceGetUuid(uuid, device) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> c_int {
    call(Requires::Init, Site::Other, cheap, |driver| {
        known(driver, device)?;
        // SAFETY: the caller's pointer.
        unsafe { put(bytes, driver.memory.total() as usize) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: c_int) -> c_int {
    call(Requires::Init, Site::Other, cheap, |driver| {
        known(driver, device)?;
        // SAFETY: the caller's buffer.
        unsafe { put_text(text, len.max(0) as usize, "0000:FA:00.0") }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) -> c_int {
    call(Requires::Init, Site::Other, cheap, |driver| {
        known(driver, device)?;
        let config = &driver.config;
        // By number, as in the driver's header; what is not modelled is 0, as for a device without it.
        let answer = match attribute {
            1..=3 => [1024, 1024, 64][attribute as usize - 1],
            5 => i32::MAX as u64,
            6 | 7 => 65_535,
            8 => 48 << 10,
            10 => 32,
            12 | 82 => 65_536,
            13 => config.full_mhz * 1000,
            15 | 19 | 31 | 35 | 41 | 78 | 83 | 90 => 1,
            16 => config.sms,
            32 => config.ecc,
            33 => 0xfa,
            36 => 2_619_000,
            37 => 5_120,
            38 => config.l2,
            39 => 2048,
            40 => 3,
            75 => config.capability / 10,
            76 => config.capability % 10,
            81 => 228 << 10,
            97 => 227 << 10,
            115 => config.pools,
            _ => 0,
        };
        // SAFETY: the caller's pointer.
        unsafe { put(value, answer as c_int) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: c_int, text: *mut *const c_char) -> c_int {
    match code::name(code) {
        // SAFETY: the caller's pointer.
        Some(name) => unsafe { put(text, name.as_ptr().cast()) }.map_or_else(|code| code.0, |()| 0),
        None => Code::INVALID_VALUE.0,
    }
}

/// The name again: nobody compares the sentences.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: c_int, text: *mut *const c_char) -> c_int {
    // SAFETY: the same call.
    unsafe { cuGetErrorName(code, text) }
}
