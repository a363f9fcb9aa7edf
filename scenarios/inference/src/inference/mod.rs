//! Predictions: how long a call takes, how many a second come of batches, and what a generation takes.
//!
//! The answers of a call are numbers that rounding may part, so `equivalence` is `shape`, and the proof is
//! the scenario's own: inputs are drawn for each call, answers at drawn places are noted while the clock
//! runs, and are held against the reference in `f64` (`proof`). Beside the figures stands what the machine
//! could do at best (`peak_flops`).

pub mod inf1_latency;
pub mod inf2_throughput;
pub mod inf3_generation;
#[cfg(test)]
mod inference_tests;
#[cfg(test)]
mod prediction_liars;
mod proof;
pub mod serve1_servers;
#[cfg(test)]
mod serve_tests;
mod served_proof;
#[cfg(test)]
mod server_liars;
mod share_of_peak;

pub use inf1_latency::predict;
pub use inf2_throughput::predict_batches;
pub use inf3_generation::generate;
pub use proof::prove_calls;
pub use serve1_servers::serve;
pub use served_proof::prove_served;
pub use share_of_peak::{OPERATIONS, PEAK_SHARE};
