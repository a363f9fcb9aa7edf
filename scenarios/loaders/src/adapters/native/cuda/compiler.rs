//! NVRTC, the compiler of the kernels: a library of NVIDIA that is no part of the driver.

use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx_with_opts, sys};
use weighbridge::{Error, Result};

/// The reason for a skip without it.
pub(super) const MISSING: &str = "no NVRTC, which compiles the kernels: there is no library `libnvrtc`";

/// Tells whether it is there. The bindings panic if it is not: it is looked for first.
#[expect(unsafe_code, reason = "a library runs code of its own when it is opened")]
pub(super) fn is_there() -> bool {
    // SAFETY: NVIDIA's library may be opened at any time.
    unsafe { sys::is_culib_present() }
}

/// Compiles a program for the earliest device that the compiler knows: every later one takes that.
///
/// Each operation is rounded by itself, as the host does it.
///
/// # Errors
///
/// What the compiler says.
pub(super) fn compile(program: &str) -> Result<Ptx> {
    let options = CompileOptions {
        ftz: Some(false),
        fmad: Some(false),
        prec_div: Some(true),
        prec_sqrt: Some(true),
        options: vec!["--std=c++17".to_owned()],
        name: Some("kernels.cu".to_owned()),
        ..CompileOptions::default()
    };
    compile_ptx_with_opts(program, options).map_err(|error| {
        let said = match error {
            CompileError::CompileError { nvrtc, log, .. } => format!("{nvrtc:?}: {}", log.to_string_lossy()),
            other => other.to_string(),
        };
        Error::new(format!("NVRTC does not compile the kernels of the pipeline: {said}"))
    })
}
