//! What production asks for beside speed.

pub mod pr2_determinism;
