//! Page faults over the measured windows.

use super::names;
use super::{Direction, Metric, Reading, Unit};

/// Faults served without the disk.
pub(super) const MINOR: Metric = Metric {
    name: names::MINOR_FAULTS,
    unit: Unit::COUNT,
    direction: Direction::Information,
    description: "page faults served without the disk, over the measured windows",
    read: |seen| Reading::Value(seen.usage.minor_faults as f64),
};

/// Faults that read the disk.
pub(super) const MAJOR: Metric = Metric {
    name: names::MAJOR_FAULTS,
    unit: Unit::COUNT,
    direction: Direction::Information,
    description: "page faults that read the disk, over the measured windows",
    read: |seen| Reading::Value(seen.usage.major_faults as f64),
};
