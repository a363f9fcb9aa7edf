//! The driver's codes as errors of a device: which of them end the process's use of it.

use cudarc::driver::result::DriverError;
use cudarc::driver::sys::CUresult;

use super::super::DeviceError;

/// After these the context is gone, the one of every library in the process: whatever is asked next fails
/// too. (711 to 713 lie among them and are mistakes of one call.)
const FATAL: &[i32] = &[46, 214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999];

/// The error of an attempt to do `what`.
pub(super) fn failed(what: &str, error: DriverError) -> DeviceError {
    let name =
        error.error_name().map_or_else(|_| "unknown".to_owned(), |name| name.to_string_lossy().into_owned());
    DeviceError::of_cuda(what, error.0 as i32, name)
}

impl DeviceError {
    /// The failure of a call of CUDA's driver, with its code and the code's name: for adapters that call the
    /// driver themselves, by whatever crate. After some codes the process has lost the device; such an error,
    /// given back by a scenario, ends the process and not the run.
    pub fn of_cuda(what: impl Into<String>, code: i32, name: impl Into<String>) -> Self {
        Self { what: what.into(), code, name: name.into(), fatal: FATAL.contains(&code) }
    }
}

/// Checks the result of an attempt to do `what`.
pub(super) fn check(what: &str, result: CUresult) -> Result<(), DeviceError> {
    result.result().map_err(|error| failed(what, error))
}

/// As [`check`], of a call that cudarc has wrapped.
pub(super) fn told<T>(what: &str, result: Result<T, DriverError>) -> Result<T, DeviceError> {
    result.map_err(|error| failed(what, error))
}
