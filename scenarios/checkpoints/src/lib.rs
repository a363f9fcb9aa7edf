//! Checkpoints in the catalogue of weighbridge: what is asked of a checkpointer, the scenarios, and the
//! systems that are measured.
//!
//! - [`contract`]: what a scenario asks of a system ([`Checkpointer`](contract::Checkpointer)).
//! - [`workload`]: what it is asked to save and load, as data ([`State`](workload::State)).
//! - [`adapters`]: the systems.
//! - [`checkpoint`]: the scenarios, one file each.
//!
//! A bench target links all of it with `use weighbridge_checkpoints as _;`.

pub mod adapters;
pub mod checkpoint;
pub mod contract;
pub mod workload;
