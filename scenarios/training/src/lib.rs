//! Training in the catalogue of weighbridge: what is asked of a trainer, the scenarios, and the systems that
//! are measured.
//!
//! - [`contract`]: what a scenario asks of a system ([`Trainer`](contract::Trainer)).
//! - [`workload`]: what it is asked to do, as data ([`TrainingSpec`](workload::TrainingSpec)).
//! - [`adapters`]: the systems.
//! - [`training`]: the scenarios, one file each.
//!
//! A bench target links all of it with `use weighbridge_training as _;`.

pub mod adapters;
pub mod contract;
pub(crate) mod network;
pub mod training;
pub mod workload;
