//! Errors of the crate `safetensors`.

use weighbridge::Error;

pub(super) fn told(error: safetensors::SafeTensorError) -> Error {
    Error::new(format!("safetensors: {error}"))
}
