//! The complexity of pipelines.

pub mod hpc1_self_supervised;
pub mod hpc2_two_views;
pub mod pc1_deep_chain;
pub mod pc2_branches;
pub mod pc3_differentiable_rebatching;
pub mod pc4_chance_and_choice;
pub mod pc5_end_to_end_gradient;
