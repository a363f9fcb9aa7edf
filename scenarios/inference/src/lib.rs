//! Inference in the catalogue of weighbridge: what is asked of a predictor, the scenarios, and the systems
//! that are measured.
//!
//! - [`contract`]: what a scenario asks of a system ([`Predictor`](contract::Predictor)).
//! - [`workload`]: what it is asked to do, as data ([`PredictionSpec`](workload::PredictionSpec)).
//! - [`adapters`]: the systems.
//! - [`inference`]: the scenarios, one file each.
//!
//! A bench target links all of it with `use weighbridge_inference as _;`. The client that loads a server is a
//! crate of its own, `weighbridge-load`.

pub mod adapters;
pub mod contract;
pub mod inference;
pub mod workload;
