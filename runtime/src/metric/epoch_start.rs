//! The start of an epoch, which passes leave out.

use super::names;
use super::{Direction, Metric, Reading, Unit};

/// Time to begin an epoch and to have its first item.
pub(super) const METRIC: Metric = Metric {
    name: names::EPOCH_START,
    unit: Unit::SECONDS,
    direction: Direction::Lower,
    description: "time to begin an epoch (a rewind, workers that start) and to have its first item",
    read: |seen| match seen.epoch_start {
        Some(start) => Reading::Value(start as f64 * 1e-9),
        None => Reading::absent("no stream was gone through without a stop"),
    },
};
