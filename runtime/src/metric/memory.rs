//! Peak memory: measured, never estimated.

use super::names;
use super::{Direction, Metric, Reading, Unit};

/// The most memory the process had resident (`VmHWM`), data mapped from files included.
pub(super) const PEAK: Metric = Metric {
    name: names::PEAK_MEMORY,
    unit: Unit::BYTES,
    direction: Direction::Lower,
    description: "most memory resident in the process (VmHWM), or the largest sampled PSS sum of its tree",
    read: |seen| seen.peak_memory.clone().unwrap_or_else(|| Reading::absent("not collected")),
};
