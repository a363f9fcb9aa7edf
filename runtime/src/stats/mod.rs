//! Ground: pure numbers. `f64`s in, `f64`s out; imports nothing of this crate.
//!
//! Every function says in its comment where its formula comes from and what it does with no values.
//! None panics on NaN: values are ordered by [`f64::total_cmp`].

mod binomial;
mod change_point;
mod dispersion;
mod early_stopping;
mod interval;
mod multiple;
mod quantile;
mod random;
mod rank;
mod sequential;
mod signed_rank;
mod special;
mod steady;
mod trend;
mod two_level;

pub use binomial::clopper_pearson;
pub use change_point::{Change, ChangePoint, change_points};
pub use dispersion::{coefficient_of_variation, deviation, mean, modified_z_scores, robust_spread};
pub use early_stopping::Claim;
pub use interval::median_interval;
pub use multiple::holm;
pub use quantile::{median, quantile, sorted};
pub use random::SplitMix64;
pub use rank::shift;
pub use sequential::LOOKS;
pub use signed_rank::{centre_interval, hodges_lehmann, signed_rank_p, walsh_interval};
pub use steady::{Stationarity, steady_state};
pub use trend::mann_kendall;
pub use two_level::{kalibera_jones, variances};
