//! What the tests hold: the fake, a bencher on it, streams that nobody declared.

use std::ffi::c_void;

use cudarc::driver::result;
use fake_gpu::{FakeGpu, FakeGpuGuard};
use weighbridge::{Bencher, Budget, Error, Platform, Purpose, Result, RunSettings, Settings};

/// The fake, alone and as new.
pub fn fake() -> FakeGpuGuard {
    let fake = FakeGpu::load().expect("the fake is built beside the tests").lock();
    fake.set("l2", 1 << 20); // its memory is the host's, and buffers go by the cache
    fake
}

/// A bencher on the fake.
pub fn bencher(budget: Budget) -> Bencher {
    let device = crate::mutants::device();
    Bencher::new(Settings {
        run: RunSettings { platform: Platform::Gpu, ..RunSettings::DEFAULT },
        device,
        ..Settings::new(Purpose::Measure, budget)
    })
}

/// Waits for everything.
pub fn synchronise() -> Result<()> {
    result::ctx::synchronize().map_err(|error| Error::new(format!("failed to synchronise: {error:?}")))
}

/// Takes so many bytes from the device's pool, and gives them back.
#[expect(unsafe_code, reason = "the pool is the driver's")]
pub fn take_from_the_pool(stream: *mut c_void, bytes: usize) -> Result<()> {
    let failed = |error| Error::new(format!("failed to use the pool: {error:?}"));
    // SAFETY: the stream lives, and what was taken in its order is given back in it.
    unsafe {
        let taken = result::malloc_async(stream.cast(), bytes).map_err(failed)?;
        result::free_async(taken, stream.cast()).map_err(failed)
    }
}

/// A stream that nobody declared.
pub fn private_stream() -> *mut c_void {
    result::stream::create(result::stream::StreamKind::NonBlocking).unwrap().cast()
}
