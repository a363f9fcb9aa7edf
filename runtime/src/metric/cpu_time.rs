//! CPU time of one iteration.

use super::names;
use super::observation::NO_SAMPLES;
use super::{Direction, Metric, Reading, Unit, overhead};

/// CPU time of all threads of the process per iteration (or item) over the measured windows.
pub(super) const METRIC: Metric = Metric {
    name: names::CPU_TIME,
    unit: Unit::SECONDS,
    direction: Direction::Lower,
    description: "user and system time of all threads of the process, per iteration or item",
    read: |seen| match (seen.iterations(), overhead::below(seen)) {
        _ if seen.ran_elsewhere() && seen.around.ran.is_none() => Reading::absent("its worker cannot tell"),
        (0, _) => Reading::absent(NO_SAMPLES),
        (_, Some(bound)) => Reading::Below(bound),
        (iterations, None) => Reading::Value(seen.usage.cpu.as_secs_f64() / iterations as f64),
    },
};
