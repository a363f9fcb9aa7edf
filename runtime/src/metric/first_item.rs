//! The first item of a process: caches cold, lazy work still to do.

use super::names;
use super::{Direction, Metric, Reading, Unit};

/// Time of the first item or iteration of the process.
pub(super) const METRIC: Metric = Metric {
    name: names::FIRST_ITEM,
    unit: Unit::SECONDS,
    direction: Direction::Lower,
    description: "time of the first item (or iteration) of the process, apart from the steady state",
    read: |seen| match seen.first_item {
        Some(first) => Reading::Value(first as f64 * 1e-9),
        None => Reading::absent("the body was timed by the author or ran as a whole pass"),
    },
};
