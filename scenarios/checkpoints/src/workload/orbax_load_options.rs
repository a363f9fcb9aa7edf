//! Options of Orbax's loads, as axes.

use weighbridge::Sweep;

use super::{Setting, SystemOptions};

/// Options of Orbax for reading a checkpoint that lies somewhere. The names are those of its benchmarks.
#[derive(Clone, Debug, PartialEq, Sweep)]
pub struct OrbaxLoadOptions {
    /// The most gigabytes that are read at a time.
    #[sweep(implied, Setting::Own, Setting::Set(1))]
    pub restore_concurrent_gb: Setting<u64>,
    /// Of safetensors: the most megabytes that are read by one request.
    #[sweep(implied, Setting::Own, Setting::Set(64))]
    pub safetensors_read_chunk_mb: Setting<u64>,
    /// Of safetensors: how many bytes are read at most for each that is needed.
    #[sweep(implied, Setting::Own, Setting::Set(2.0))]
    pub safetensors_max_over_read_ratio: Setting<f64>,
}

impl OrbaxLoadOptions {
    /// As Orbax has them itself.
    pub const OWN: Self = Self {
        restore_concurrent_gb: Setting::Own,
        safetensors_read_chunk_mb: Setting::Own,
        safetensors_max_over_read_ratio: Setting::Own,
    };
}

impl From<&OrbaxLoadOptions> for SystemOptions {
    fn from(options: &OrbaxLoadOptions) -> Self {
        SystemOptions::NONE
            .with("restore_concurrent_gb", options.restore_concurrent_gb)
            .with("safetensors_read_chunk_mb", options.safetensors_read_chunk_mb)
            .with("safetensors_max_over_read_ratio", options.safetensors_max_over_read_ratio)
    }
}
