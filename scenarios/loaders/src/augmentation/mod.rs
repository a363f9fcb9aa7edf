//! Random transforms.

pub mod aug1_stochastic_chain;
pub mod aug2_determinism_cost;
pub mod aug3_stochastic_depth;
