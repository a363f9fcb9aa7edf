//! What a framework's own machinery costs: modules beside functions, one list of transforms run in several
//! ways.

pub mod nnx1_modules;
pub mod xfmr1_modes;
