//! Copies that are timed: within the device, and to and from the host.

use std::cell::{OnceCell, RefCell};
use std::ffi::c_void;

use cudarc::driver::result;
use cudarc::driver::sys::{CUstream, cuMemcpyDtoDAsync_v2, cuMemcpyDtoHAsync_v2, cuMemcpyHtoDAsync_v2};

use super::super::{Copies, CopyKind, DeviceError};
use super::error::{check, told};
use super::memory::Buffer;

/// Data that looks like noise is made once and copied on from there.
pub(super) const NOISE: usize = 1 << 20;

/// The buffers. Those of the host are made when they are asked for.
pub(super) struct CopyBuffers {
    stream: CUstream,
    from: Buffer,
    to: Buffer,
    pinned: OnceCell<PinnedBuffer>,
    pageable: RefCell<Vec<u8>>,
}

impl CopyBuffers {
    /// Two buffers of the device. The first holds noise: zeros may be copied faster than anything else.
    pub(super) fn new(stream: CUstream, bytes: usize) -> Result<Self, DeviceError> {
        let (from, to) = (Buffer::new(bytes)?, Buffer::new(bytes)?);
        let buffers = Self { stream, from, to, pinned: OnceCell::new(), pageable: RefCell::default() };
        fill(&buffers.from, &noise(NOISE.min(bytes)), stream)?;
        Ok(buffers)
    }

    fn pinned(&self) -> Result<*mut c_void, DeviceError> {
        if let Some(pinned) = self.pinned.get() {
            return Ok(pinned.0);
        }
        let made = PinnedBuffer::new(self.from.bytes)?;
        Ok(self.pinned.get_or_init(|| made).0)
    }

    fn pageable(&self) -> *mut c_void {
        let mut pageable = self.pageable.borrow_mut();
        if pageable.is_empty() {
            let part = noise(NOISE.min(self.from.bytes));
            *pageable = part.repeat(self.from.bytes.div_ceil(part.len().max(1)));
        }
        pageable.as_mut_ptr().cast()
    }
}

impl Copies for CopyBuffers {
    fn copy(&self, which: CopyKind) -> Result<u64, DeviceError> {
        let (bytes, stream) = (self.from.bytes, self.stream);
        let (from, to) = (self.from.address, self.to.address);
        let host = match which {
            CopyKind::Device => std::ptr::null_mut(),
            CopyKind::FromPinned | CopyKind::ToPinned => self.pinned()?,
            CopyKind::FromPageable | CopyKind::ToPageable => self.pageable(),
        };
        // SAFETY: all buffers are as long as `bytes`. Those of the host live as long as this, and whoever
        // times a copy synchronises before it lets go of this.
        let copied = unsafe {
            match which {
                CopyKind::Device => cuMemcpyDtoDAsync_v2(to, from, bytes, stream),
                CopyKind::FromPinned | CopyKind::FromPageable => {
                    cuMemcpyHtoDAsync_v2(to, host.cast_const(), bytes, stream)
                }
                CopyKind::ToPinned | CopyKind::ToPageable => cuMemcpyDtoHAsync_v2(host, from, bytes, stream),
            }
        };
        check("copy memory", copied)?;
        // Within the device every byte is read and written there.
        Ok(if which == CopyKind::Device { 2 * bytes as u64 } else { bytes as u64 })
    }
}

impl Drop for CopyBuffers {
    fn drop(&mut self) {
        // A copy to memory of the host that is still to come must not come after it is gone.
        // SAFETY: the stream is the device's own.
        let _ = unsafe { result::stream::synchronize(self.stream) };
    }
}

/// Fills a buffer with a pattern, again and again, and waits for it.
pub(super) fn fill(buffer: &Buffer, pattern: &[u8], stream: CUstream) -> Result<(), DeviceError> {
    let mut filled = 0;
    while filled < buffer.bytes {
        let part = pattern.len().min(buffer.bytes - filled);
        let place = buffer.address + filled as u64;
        // SAFETY: the part lies within the buffer, and the pattern outlives the synchronisation below.
        let copied = unsafe {
            match filled {
                0 => cuMemcpyHtoDAsync_v2(place, pattern.as_ptr().cast(), part, stream),
                _ => cuMemcpyDtoDAsync_v2(place, buffer.address, part, stream),
            }
        };
        check("fill a buffer", copied)?;
        filled += part;
    }
    // SAFETY: the stream is the device's own.
    told("fill a buffer", unsafe { result::stream::synchronize(stream) })
}

/// Page-locked memory of the host.
struct PinnedBuffer(*mut c_void);

impl PinnedBuffer {
    fn new(bytes: usize) -> Result<Self, DeviceError> {
        // SAFETY: no flags.
        told("allocate page-locked memory", unsafe { result::malloc_host(bytes, 0) }).map(Self)
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, and freed here alone.
        let _ = unsafe { result::free_host(self.0) };
    }
}

/// So many bytes without a pattern.
pub(super) fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut noise = Vec::with_capacity(bytes + 8);
    while noise.len() < bytes {
        // xorshift64 (Marsaglia, *Xorshift RNGs*, 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        noise.extend_from_slice(&state.to_le_bytes());
    }
    noise.truncate(bytes);
    noise
}
