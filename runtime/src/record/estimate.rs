//! A value with its interval.

use serde::{Deserialize, Serialize};

/// The median over repeats, with a distribution-free interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Median of the repeats' values.
    pub median: f64,
    /// Lower and upper bound at 95 % by order statistics; `None` below six repeats.
    pub interval: Option<(f64, f64)>,
    /// Repeats behind it.
    pub n: usize,
}
