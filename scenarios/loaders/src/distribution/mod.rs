//! Several workers that share one data set.
//!
//! A [`Mesh`] says who gets what, a pool (`pool.rs`) is the threads or processes that do it, and `proof.rs`
//! is how it is shown that all of them did, at once, and that together they gave what one alone gives.

mod mesh;
mod pool;
mod proof;
mod run;

pub mod dist1_sharding;
pub mod dist2_mesh;
pub mod hdist1_sharded_images;

pub use mesh::Mesh;
pub use pool::{Band, WorkerPool};
