//! Work of other threads than the one that is measured.

use super::names;
use super::{Direction, Metric, Reading, Unit};

/// Their share of the processor time.
pub(super) const SHARE: Metric = Metric {
    name: names::OTHER_THREADS_SHARE,
    unit: Unit::RATIO,
    direction: Direction::Information,
    description: "share of the process's processor time that other threads than the measuring one had",
    read: |seen| match seen.other_threads_share() {
        Some(share) => Reading::Value(share),
        None => Reading::absent("several threads or processes were measured, or no processor time passed"),
    },
};
