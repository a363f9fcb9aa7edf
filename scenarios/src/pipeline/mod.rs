//! The complexity of pipelines.

pub mod pc1_deep_chain;
