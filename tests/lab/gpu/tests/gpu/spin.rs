//! A kernel of known length, launched as an author would: through cudarc, on the handle of a stream.

use std::ffi::{CStr, CString, c_void};

use cudarc::driver::{result, sys};
use weighbridge::{Error, Result};

/// Two kernels: `spin` is busy for as many nanoseconds as its argument says, `cycles` for twice as many
/// cycles: about as many nanoseconds at the full clock, and more at a lower one. The comments tell the fake;
/// the text is what a device runs.
const PTX: &str = include_str!("../../../../../xtask/catalogue/src/device/kit/spin.ptx");

/// The kernel in the primary context, which every library of the process shares.
#[derive(Clone, Copy)]
pub struct Spin {
    function: sys::CUfunction,
}

impl Spin {
    /// Loads one of them. A device must be open.
    #[expect(unsafe_code, reason = "loading a module is a call into the driver")]
    pub fn load(name: &CStr) -> Result<Self> {
        let failed = |error| Error::new(format!("failed to load the kernel: {error:?}"));
        let text = CString::new(PTX).expect("the text has no NUL");
        // SAFETY: a text with its NUL; the context of the device that is open is current.
        let module = unsafe { result::module::load_data(text.as_ptr().cast::<c_void>()) }.map_err(failed)?;
        // SAFETY: the module is loaded, and never unloaded.
        let function = unsafe { result::module::get_function(module, name.to_owned()) }.map_err(failed)?;
        Ok(Self { function })
    }

    /// Enqueues it.
    #[expect(unsafe_code, reason = "launching is a call into the driver")]
    pub fn launch(self, stream: *mut c_void, ns: u64) -> Result<()> {
        let mut argument = ns;
        let mut places = [(&raw mut argument).cast::<c_void>()];
        // SAFETY: the kernel takes one 64-bit value, which is copied before the call returns; the stream is
        // open.
        let launched = unsafe {
            result::launch_kernel(self.function, (1, 1, 1), (1, 1, 1), 0, stream.cast(), &mut places)
        };
        launched.map_err(|error| Error::new(format!("failed to launch: {error:?}")))
    }
}
