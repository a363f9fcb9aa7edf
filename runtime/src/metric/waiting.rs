//! Waiting for a processor, and time that a hypervisor took.

use super::names;
use super::{Direction, Metric, Reading, Unit};

const NO_SCHEDSTAT: &str = "the kernel keeps no /proc/self/task/*/schedstat";

/// Time spent ready to run, and waiting.
pub(super) const WAIT: Metric = Metric {
    name: names::RUN_QUEUE_WAIT,
    unit: Unit::SECONDS,
    direction: Direction::Information,
    description: "time that threads were ready to run and waited for a processor, from first to last window, \
        yardsticks aside",
    read: |seen| nanoseconds(seen.around.waited, NO_SCHEDSTAT),
};

/// The same as a share of the wall time.
pub(super) const SHARE: Metric = Metric {
    name: names::RUN_QUEUE_SHARE,
    unit: Unit::RATIO,
    direction: Direction::Information,
    description: "run_queue_wait as a share of the wall time; of all that threads wanted to run, where that \
        is more",
    read: |seen| seen.around.waiting_share().map_or_else(|| Reading::absent(NO_SCHEDSTAT), Reading::Value),
};

/// Time taken by a hypervisor.
pub(super) const STOLEN: Metric = Metric {
    name: names::STOLEN_TIME,
    unit: Unit::SECONDS,
    direction: Direction::Information,
    description: "time that a hypervisor took from the whole machine, in ticks of mostly 10 ms",
    read: |seen| nanoseconds(seen.around.stolen, "/proc/stat does not tell stolen time"),
};

fn nanoseconds(value: Option<u64>, absent: &str) -> Reading {
    value.map_or_else(|| Reading::absent(absent), |value| Reading::Value(value as f64 * 1e-9))
}
