//! Ground: pure numbers. `f64`s in, `f64`s out; imports nothing of this crate.
//!
//! Every function says in its comment where its formula comes from and what it does with no values.
//! None panics on NaN: values are ordered by [`f64::total_cmp`].

// A library has parts that wait for a caller; what nobody calls costs a bench binary nothing.
#![cfg_attr(
    not(test),
    expect(dead_code, reason = "not every function has a caller outside of the tests yet")
)]
#![expect(unused_imports, reason = "as above")]

mod binomial;
mod bootstrap;
mod change_point;
mod dispersion;
mod early_stopping;
mod interval;
mod multiple;
mod permutation;
mod quantile;
mod random;
mod rank;
mod sequential;
mod signed_rank;
mod special;
mod steady;
mod trend;
mod two_level;

pub use binomial::{clopper_pearson, wilson};
pub use bootstrap::{Statistic, bca_interval, bootstrap, percentile_interval};
pub use change_point::{Change, ChangePoint, change_points};
pub use dispersion::{coefficient_of_variation, modified_z_scores, robust_spread};
pub use early_stopping::{Claim, largest_percentile};
pub use interval::median_interval;
pub use multiple::{benjamini_hochberg, holm};
pub use permutation::permutation_p;
pub use quantile::{Definition, median, quantile, quantile_by, sorted};
pub use random::SplitMix64;
pub use rank::shift;
pub use sequential::{LOOKS, Look, crossing_probability};
pub use signed_rank::{hodges_lehmann, signed_rank_p, walsh_interval, walsh_level, walsh_rank};
pub use steady::{Course, Steady, has_settled, steady_state};
pub use trend::mann_kendall;
pub use two_level::{Variances, kalibera_jones, variances};
