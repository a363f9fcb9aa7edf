//! Loaders written in Rust, in this process.
//!
//! All loaders are built from the same parts: rows come from an input (memory or files), go through a line for each
//! delivered field, compiled from the pipeline's transforms, into buffers that are used again for the next batch, on the
//! consumer's thread or on workers. They differ in how a chain runs over a batch, and on how many threads at once.

mod buffer;
mod chain;
#[cfg(feature = "cuda")]
mod cuda;
mod elements;
mod input;
mod kernels;
mod lanes;
mod line;
mod maker;
mod mixing;
mod mixture;
mod open;
mod place;
mod prefetch;
mod rayon_blocks;
mod reference;
mod reference_fused;
mod slowdown;

#[cfg(feature = "cuda")]
pub use cuda::{ReferenceCuda, ReferenceCudaOnDevice};
pub use rayon_blocks::Rayon;
pub use reference::Reference;
pub use reference_fused::ReferenceFused;
