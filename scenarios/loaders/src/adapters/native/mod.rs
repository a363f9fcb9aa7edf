//! Loaders and learners written in Rust, in this process.
//!
//! All loaders are built from the same parts: rows come from an input (memory or files), go through a line
//! for each delivered field, compiled from the pipeline's transforms, into buffers that are used again for
//! the next batch, on the consumer's thread or on workers. They differ in how a chain runs over a batch, and
//! on how many threads at once.
//!
//! Learners, which take gradients through a pipeline, are in `learning`; one list of transforms run in
//! several ways, in `modes`.

#[cfg(not(all(feature = "burn", feature = "cuda")))]
mod absent;
mod buffer;
#[cfg(feature = "burn")]
mod burn_data;
mod chain;
#[cfg(feature = "cuda")]
mod cuda;
mod elements;
mod files;
mod input;
mod kernels;
mod lanes;
mod learning;
mod line;
mod maker;
mod mixing;
mod mixture;
mod modes;
mod open;
mod photograph;
mod place;
mod prefetch;
mod rayon_blocks;
mod reference;
mod reference_fused;
mod slowdown;
mod store;

#[cfg(not(feature = "burn"))]
pub use absent::burn::{BurnData, BurnLearner};
#[cfg(not(feature = "cuda"))]
pub use absent::cuda::ReferenceCuda;
#[cfg(feature = "burn")]
pub use burn_data::{BurnData, version as burn_version};
#[cfg(feature = "cuda")]
pub use cuda::ReferenceCuda;
#[cfg(feature = "burn")]
pub use learning::BurnLearner;
pub use learning::ReferenceLearner;
pub(crate) use learning::StepOutput;
pub use rayon_blocks::Rayon;
pub use reference::Reference;
pub use reference_fused::ReferenceFused;
