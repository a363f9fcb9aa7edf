//! Words of the host that the device sees: flags that hold a stream, and places for its stamps.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::result;
use cudarc::driver::sys::cuMemHostGetDevicePointer_v2;

use super::super::DeviceError;
use super::error::{check, told};

/// `CU_MEMHOSTALLOC_DEVICEMAP`: the device has an address of it.
const MAPPED: u32 = 0x02;

/// 64-bit words in page-locked memory.
#[derive(Debug)]
pub(super) struct Words {
    host: *mut u64,
    device: u64,
    count: usize,
}

impl Words {
    /// So many, all zero.
    pub(super) fn new(count: usize) -> Result<Self, DeviceError> {
        let what = "allocate page-locked memory";
        // SAFETY: the flag is one that the driver knows.
        let host = told(what, unsafe { result::malloc_host(count * 8, MAPPED) })?;
        let mut device = 0;
        // SAFETY: the memory was allocated as mapped right above; the place outlives the call.
        let found = unsafe { cuMemHostGetDevicePointer_v2(&raw mut device, host, 0) };
        let words = Self { host: host.cast(), device, count };
        check(what, found)?;
        for place in 0..count {
            words.write(place, 0);
        }
        Ok(words)
    }

    /// The device's address of a word.
    pub(super) fn address(&self, place: usize) -> u64 {
        assert!(place < self.count, "a word that there is not");
        self.device + place as u64 * 8
    }

    pub(super) fn write(&self, place: usize, value: u64) {
        assert!(place < self.count, "a word that there is not");
        // SAFETY: the place lies within the allocation and is aligned as the driver aligns; the device may
        // read it at any time, which a volatile write of a word takes into account.
        unsafe { ptr::write_volatile(self.host.add(place), value) }
    }

    pub(super) fn read(&self, place: usize) -> u64 {
        assert!(place < self.count, "a word that there is not");
        // SAFETY: as above; the device may write it at any time.
        unsafe { ptr::read_volatile(self.host.add(place)) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, and freed here alone.
        let _ = unsafe { result::free_host(self.host.cast::<c_void>()) };
    }
}
