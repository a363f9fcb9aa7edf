//! Ground: pure numbers. `f64`s in, `f64`s out; imports nothing of this crate.
//!
//! Every function says in its comment where its formula comes from and what it does with no values.
//! None panics on NaN: values are ordered by [`f64::total_cmp`].

mod quantile;
mod random;

pub use quantile::{median, quantile, sorted};
pub use random::SplitMix64;
