//! Ground: pure numbers. `f64`s in, `f64`s out; imports nothing of this crate.
//!
//! Every function says in its comment where its formula comes from and what it does with no values.
//! None panics on NaN: values are ordered by [`f64::total_cmp`].

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

pub use binomial::clopper_pearson;
pub use change_point::{Change, ChangePoint, change_points};
pub use dispersion::{coefficient_of_variation, modified_z_scores, robust_spread};
pub use early_stopping::Claim;
pub use interval::median_interval;
pub use multiple::holm;
pub use quantile::{Definition, median, quantile, quantile_by, sorted};
pub use random::SplitMix64;
pub use rank::shift;
pub use sequential::LOOKS;
pub use signed_rank::{hodges_lehmann, signed_rank_p, walsh_interval};
pub use steady::{Stationarity, steady_state};
pub use trend::mann_kendall;
pub use two_level::{kalibera_jones, variances};

/// The rest of the library, by its names: what nobody calls costs a bench binary nothing.
#[expect(unused_imports, reason = "parts of the library that nothing calls yet")]
pub use self::{
    binomial::wilson,
    bootstrap::{Statistic, bca_interval, bootstrap, percentile_interval},
    early_stopping::largest_percentile,
    multiple::benjamini_hochberg,
    permutation::permutation_p,
    sequential::{Look, crossing_probability},
    signed_rank::{walsh_level, walsh_rank},
    steady::{Steady, has_settled},
    two_level::Variances,
};
