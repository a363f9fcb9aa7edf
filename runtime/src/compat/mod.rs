//! Bench files in the style of other harnesses, as they are: `use weighbridge::criterion_compat as
//! criterion;`.
//!
//! The last stage: it makes entries of the registry out of such a file when the program starts, and hands
//! over to the harness.

#[cfg(feature = "criterion_compat")]
pub mod criterion;

#[cfg(feature = "divan_compat")]
pub mod divan;
