//! The settings of benchmarks, as far as they have a meaning here.

use std::time::Duration;

use crate::BenchmarkFilter;

/// The settings that have a meaning here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    pub(crate) samples: Option<usize>,
    pub(crate) most_time: Option<Duration>,
    pub(crate) filter: Option<BenchmarkFilter>,
}
