//! Memory of the device that measuring needs, and what is known of all of it.

use cudarc::driver::result;
use cudarc::driver::sys::{CUdevice, CUdeviceptr, CUmemPool_attribute, CUmemoryPool};

use super::super::{DeviceError, DeviceMemory};
use super::error::told;

/// A buffer of the device.
#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) address: CUdeviceptr,
    pub(super) bytes: usize,
}

impl Buffer {
    pub(super) fn new(bytes: usize) -> Result<Self, DeviceError> {
        // SAFETY: the context is current.
        let address = told("allocate memory of the device", unsafe { result::malloc_sync(bytes) })?;
        Ok(Self { address, bytes })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, and freed here alone; the call waits for what uses it.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// The default pool of the device; `None` where it has none.
pub(super) fn pool(device: CUdevice) -> Option<CUmemoryPool> {
    // SAFETY: the device was given by the driver.
    unsafe { result::device::get_default_mem_pool(device) }.ok()
}

/// The device's memory in use and in all, and the peak of the pool.
pub(super) fn in_use(pool: Option<CUmemoryPool>) -> Result<DeviceMemory, DeviceError> {
    let (free, total) = told("ask for the device's memory", result::mem_get_info())?;
    let peak = pool.and_then(|pool| {
        let mut bytes = 0u64;
        let which = CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        // SAFETY: the attribute is 64 bits wide, and the place outlives the call.
        let asked = unsafe { result::mem_pool::get_attribute(pool, which, (&raw mut bytes).cast()) };
        asked.ok().map(|()| bytes)
    });
    Ok(DeviceMemory { used: (total - free) as u64, total: total as u64, pool_peak: peak })
}

/// Starts the pool's high-water mark again: 0 is the only value that it takes.
pub(super) fn reset_peak(pool: CUmemoryPool) {
    let mut none = 0u64;
    let which = CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
    // SAFETY: as above.
    let _ = unsafe { result::mem_pool::set_attribute(pool, which, (&raw mut none).cast()) };
}
