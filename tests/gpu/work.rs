//! Kernels of known length, launched as an author would: through cudarc, on the handle of a stream.

use std::ffi::{CString, c_void};

use cudarc::driver::{result, sys};
use fake_gpu::{Held, Stand};
use weighbridge::{Bencher, Limits, Platform, Purpose, Settings};

/// The kernel: busy for as long as its argument says. `ns_arg` tells the stand-in; the text is what a device runs.
const PTX: &str = "\
// fake spin ns_arg=0 timer
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 spin_ns)
{
    .reg .pred %p<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [spin_ns];
    mov.u64 %rd2, %globaltimer;
LOOP:
    mov.u64 %rd3, %globaltimer;
    sub.u64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p1, %rd4, %rd1;
    @%p1 bra LOOP;
    ret;
}
";

/// The stand-in, alone and as new.
pub fn stand() -> Held {
    let stand = Stand::load().expect("the stand-in is built beside the tests").lock();
    stand.set("l2", 1 << 20); // its memory is the host's, and buffers go by the cache
    stand
}

/// A bencher on the stand-in, or whatever the driver is.
pub fn bencher(limits: Limits) -> Bencher {
    Bencher::new(Settings { platform: Platform::Gpu, ..Settings::new(Purpose::Measure, limits) })
}

/// The kernel in the primary context, which every library of the process shares.
#[derive(Clone, Copy)]
pub struct Spin {
    function: sys::CUfunction,
}

impl Spin {
    /// Loads it. A device must be open.
    #[expect(unsafe_code, reason = "loading a module is a call into the driver")]
    pub fn load() -> Self {
        let text = CString::new(PTX).unwrap();
        // SAFETY: a text with its NUL; the context of the device that is open is current.
        let module = unsafe { result::module::load_data(text.as_ptr().cast::<c_void>()) }.unwrap();
        // SAFETY: the module is loaded, and never unloaded.
        let function =
            unsafe { result::module::get_function(module, CString::new("spin").unwrap()) }.unwrap();
        Self { function }
    }

    /// Enqueues it.
    #[expect(unsafe_code, reason = "launching is a call into the driver")]
    pub fn launch(self, stream: *mut c_void, ns: u64) -> weighbridge::Result<()> {
        let mut argument = ns;
        let mut places = [(&raw mut argument).cast::<c_void>()];
        let stream: sys::CUstream = stream.cast();
        // SAFETY: the kernel takes one 64-bit value, which is copied before the call returns; the stream is open.
        let launched =
            unsafe { result::launch_kernel(self.function, (1, 1, 1), (1, 1, 1), 0, stream, &mut places) };
        launched.map_err(|error| weighbridge::Error::new(format!("failed to launch: {error:?}")))
    }
}

/// Waits for everything.
pub fn synchronise() -> weighbridge::Result<()> {
    result::ctx::synchronize()
        .map_err(|error| weighbridge::Error::new(format!("failed to synchronise: {error:?}")))
}

/// A stream that nobody declared.
pub fn private_stream() -> *mut c_void {
    result::stream::create(result::stream::StreamKind::NonBlocking).unwrap().cast()
}
