//! Context switches over the measured windows.

use super::names;
use super::{Direction, Metric, Reading, Unit};

/// Processor given up.
pub(super) const VOLUNTARY: Metric = Metric {
    name: names::VOLUNTARY_SWITCHES,
    unit: Unit::COUNT,
    direction: Direction::Information,
    description: "times a thread gave its processor up, over the measured windows",
    read: |seen| Reading::Value(seen.usage.voluntary_switches as f64),
};

/// Processor taken away.
pub(super) const INVOLUNTARY: Metric = Metric {
    name: names::INVOLUNTARY_SWITCHES,
    unit: Unit::COUNT,
    direction: Direction::Information,
    description: "times a thread was taken off its processor, over the measured windows",
    read: |seen| Reading::Value(seen.usage.involuntary_switches as f64),
};
