//! A metric, and how it is read off a repeat.

use super::{Direction, Observation, Reading, Unit};

/// One thing that is measured, and how it is read off a repeat.
#[derive(Clone, Debug)]
pub struct Metric {
    /// The name in files, tables and policies: `throughput`.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// The direction in which it is better.
    pub direction: Direction,
    /// One sentence for `--list-metrics` and the documentation.
    pub description: &'static str,
    /// Reads it off what one repeat observed.
    pub read: fn(&Observation) -> Reading,
}
