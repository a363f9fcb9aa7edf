//! Ground: pure numbers. `f64`s in, `f64`s out; imports nothing of this crate.
//!
//! Every function says in its comment where its formula comes from and what it does with no values.
//! None panics on NaN: values are ordered by [`f64::total_cmp`].

mod dispersion;
mod interval;
mod quantile;
mod random;
mod rank;
mod special;

pub use dispersion::{coefficient_of_variation, modified_z_scores, robust_spread};
pub use interval::median_interval;
pub use quantile::{median, quantile, sorted};
pub use random::SplitMix64;
pub use rank::shift;
