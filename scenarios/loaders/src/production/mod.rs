//! What production asks for beside speed.

pub mod pr1_checkpoint;
pub mod pr2_determinism;
