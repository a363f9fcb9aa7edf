//! Bytes that system calls read and wrote over the measured windows.

use super::names;
use super::{Direction, Metric, Observation, Reading, Unit};
use crate::device::IoBytes;

/// Bytes read.
pub(super) const READ: Metric = Metric {
    name: names::BYTES_READ,
    unit: Unit::BYTES,
    direction: Direction::Information,
    description: "bytes that read calls returned, cached or not, over the measured windows",
    read: |seen| moved(seen, |moved| moved.read),
};

/// Bytes written.
pub(super) const WRITTEN: Metric = Metric {
    name: names::BYTES_WRITTEN,
    unit: Unit::BYTES,
    direction: Direction::Information,
    description: "bytes given to write calls, over the measured windows",
    read: |seen| moved(seen, |moved| moved.written),
};

fn moved(seen: &Observation, field: fn(IoBytes) -> u64) -> Reading {
    match seen.usage.moved {
        Some(moved) => Reading::Value(field(moved) as f64),
        None if seen.ran_elsewhere() => Reading::Elsewhere,
        None => Reading::absent("/proc/self/io cannot be read"),
    }
}
