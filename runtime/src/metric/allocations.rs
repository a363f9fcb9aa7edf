//! Allocations of one iteration, where the bench target counts them.

use super::names;
use super::observation::NO_SAMPLES;
use super::{Direction, Metric, Observation, Reading, Unit};
use crate::device::HeapUse;

/// The number of them.
pub(super) const CALLS: Metric = Metric {
    name: names::ALLOCATIONS,
    unit: Unit::COUNT,
    direction: Direction::Lower,
    description: "allocations and reallocations of one iteration or item, with the allocator \
        `weighbridge::Counting`",
    read: |seen| each(seen, |allocated| allocated.calls),
};

/// Bytes that they asked for.
pub(super) const BYTES: Metric = Metric {
    name: names::ALLOCATED_BYTES,
    unit: Unit::BYTES,
    direction: Direction::Lower,
    description: "bytes that the allocations of one iteration or item asked for",
    read: |seen| each(seen, |allocated| allocated.bytes),
};

fn each(seen: &Observation, field: fn(HeapUse) -> u64) -> Reading {
    match (seen.usage.allocated, seen.iterations()) {
        (None, _) if seen.ran_elsewhere() => Reading::Elsewhere,
        (None, _) => {
            Reading::absent("the bench target does not count them: make weighbridge::Counting its allocator")
        }
        (_, 0) => Reading::absent(NO_SAMPLES),
        (Some(allocated), iterations) => Reading::Value(field(allocated) as f64 / iterations as f64),
    }
}
