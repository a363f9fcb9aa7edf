//! Bodies whose work runs on a device: calibrated, audited, timed in one of four modes, with their caveats.
//!
//! `handle.rs` is what authors hold, `sampling.rs` the stages of a repeat, `sample.rs` the timed regions.

mod audit;
mod calibrate;
#[cfg(test)]
mod double;
mod energy;
mod graph;
mod handle;
mod roofline;
mod sample;
mod sampling;
mod stop;
mod stream;
mod warm;

pub use handle::DeviceBencher;
pub use stream::Stream;

/// Advice for where a device is missing.
const PLATFORM: &str = "run with --platform gpu";
