//! The kernels that measuring needs, as PTX that any device since Volta takes: no compiler is needed at run
//! time.
//!
//! The comments that begin with `fake` tell a fake what a kernel costs; a driver does not read them.

use std::ffi::{CStr, CString, c_void};
use std::ptr;

use cudarc::driver::result;
use cudarc::driver::sys::{CUfunction, CUmodule, CUstream, cuLaunchKernel};

use super::super::DeviceError;
use super::error::{check, told};

/// - `weighbridge_spin(ns)` is busy for so many nanoseconds by the device's timer.
/// - `weighbridge_hold(flag, ns, expired)` waits until the 32-bit word at `flag` is not zero; when so many
///   nanoseconds have passed before, it goes on after writing 1 to `expired`.
/// - `weighbridge_stamp(place)` writes the timer and the cycles, 64 bits each, as the processor 0 has them:
///   cycles of two processors cannot be subtracted.
const PTX: &str = "\
// fake weighbridge_spin ns_arg=0 timer
// fake weighbridge_hold hold_arg=0 timeout_arg=1 expired_arg=2
// fake weighbridge_stamp stamp_arg=0
.version 7.0
.target sm_70
.address_size 64

.visible .entry weighbridge_spin(
    .param .u64 spin_ns
)
{
    .reg .pred %p<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [spin_ns];
    mov.u64 %rd2, %globaltimer;
SPIN:
    mov.u64 %rd3, %globaltimer;
    sub.u64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p1, %rd4, %rd1;
    @%p1 bra SPIN;
    ret;
}

.visible .entry weighbridge_hold(
    .param .u64 hold_flag,
    .param .u64 hold_ns,
    .param .u64 hold_expired
)
{
    .reg .pred %p<3>;
    .reg .b32 %r<3>;
    .reg .b64 %rd<7>;
    ld.param.u64 %rd1, [hold_flag];
    ld.param.u64 %rd2, [hold_ns];
    ld.param.u64 %rd3, [hold_expired];
    mov.u64 %rd4, %globaltimer;
WAIT:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    mov.u64 %rd5, %globaltimer;
    sub.u64 %rd6, %rd5, %rd4;
    setp.lt.u64 %p2, %rd6, %rd2;
    @%p2 bra WAIT;
    mov.u32 %r2, 1;
    st.volatile.global.u32 [%rd3], %r2;
DONE:
    ret;
}

.visible .entry weighbridge_stamp(
    .param .u64 stamp_place
)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %smid;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra LEAVE;
    ld.param.u64 %rd1, [stamp_place];
    mov.u64 %rd2, %globaltimer;
    mov.u64 %rd3, %clock64;
    st.volatile.global.u64 [%rd1], %rd2;
    st.volatile.global.u64 [%rd1+8], %rd3;
LEAVE:
    ret;
}
";

/// The kernels, loaded.
#[derive(Debug)]
pub(super) struct Kernels {
    module: CUmodule,
    spin: CUfunction,
    hold: CUfunction,
    stamp: CUfunction,
    /// The number of blocks a stamp needs so that one lands on processor 0.
    processors: u32,
}

impl Kernels {
    /// Loads them into the current context.
    pub(super) fn load(processors: u32) -> Result<Self, DeviceError> {
        let text = CString::new(PTX).expect("the text has no NUL");
        // SAFETY: a text that ends with a NUL, as the driver wants PTX.
        let loaded = unsafe { result::module::load_data(text.as_ptr().cast::<c_void>()) };
        let module = told("load the kernels that measuring needs", loaded)?;
        let function = |name: &CStr| {
            // SAFETY: the module is loaded.
            let found = unsafe { result::module::get_function(module, name.to_owned()) };
            told("find a kernel that measuring needs", found)
        };
        Ok(Self {
            spin: function(c"weighbridge_spin")?,
            hold: function(c"weighbridge_hold")?,
            stamp: function(c"weighbridge_stamp")?,
            module,
            processors: processors.max(1),
        })
    }

    pub(super) fn spin(&self, stream: CUstream, ns: u64) -> Result<(), DeviceError> {
        launch("keep the device busy", self.spin, 1, stream, [ns])
    }

    pub(super) fn hold(&self, stream: CUstream, flag: u64, ns: u64, expired: u64) -> Result<(), DeviceError> {
        launch("hold the stream", self.hold, 1, stream, [flag, ns, expired])
    }

    pub(super) fn stamp(&self, stream: CUstream, place: u64) -> Result<(), DeviceError> {
        launch("stamp the device's cycles", self.stamp, self.processors, stream, [place])
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        // SAFETY: the module is loaded, and nothing of it runs: its device has been synchronised, or is lost.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

/// Launches so many blocks of one thread.
fn launch<const N: usize>(
    what: &str,
    function: CUfunction,
    blocks: u32,
    stream: CUstream,
    mut arguments: [u64; N],
) -> Result<(), DeviceError> {
    let mut places = arguments.each_mut().map(|argument| ptr::from_mut(argument).cast::<c_void>());
    // SAFETY: every kernel of ours takes as many 64-bit values as it is given here; the driver copies them
    // before it returns.
    let launched = unsafe {
        cuLaunchKernel(function, blocks, 1, 1, 1, 1, 1, 0, stream, places.as_mut_ptr(), ptr::null_mut())
    };
    check(what, launched)
}
