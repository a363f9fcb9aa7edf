//! Work done per second over the whole measured time, end to end.

use super::names;
use super::{Direction, Metric, Observation, Reading, SampleKind, Unit, overhead};

/// Elements per second.
pub(super) const ELEMENTS: Metric = Metric {
    name: names::THROUGHPUT,
    unit: Unit::ELEMENTS_PER_SECOND,
    direction: Direction::Higher,
    description: "elements delivered per second, end to end, real elements only",
    read: |seen| rate(seen, seen.elements, "elements"),
};

/// Bytes per second.
pub(super) const BYTES: Metric = Metric {
    name: names::THROUGHPUT_BYTES,
    unit: Unit::BYTES_PER_SECOND,
    direction: Direction::Higher,
    description: "bytes delivered or moved per second, end to end",
    read: |seen| rate(seen, seen.bytes, "bytes"),
};

/// Floating-point operations per second.
pub(super) const FLOPS: Metric = Metric {
    name: names::THROUGHPUT_FLOPS,
    unit: Unit::FLOPS,
    direction: Direction::Higher,
    description: "floating-point operations per second, by the count that the scenario states",
    read: |seen| rate(seen, seen.flops, "flops"),
};

/// Items per second, where no elements are counted.
pub(super) const ITEMS: Metric = Metric {
    name: names::ITEM_RATE,
    unit: Unit::ITEMS_PER_SECOND,
    direction: Direction::Higher,
    description: "items of a stream per second, end to end, where the scenario states no elements",
    read: |seen| match seen.taken {
        Some(SampleKind::Items) if seen.elements == 0 => rate(seen, seen.samples.len() as u64, "items"),
        Some(SampleKind::Items) => Reading::absent("its elements are counted"),
        _ => Reading::absent("no items are streamed"),
    },
};

/// Elements per second of processor time.
pub(super) const CPU: Metric = Metric {
    name: names::THROUGHPUT_CPU,
    unit: Unit::ELEMENTS_PER_CPU_SECOND,
    direction: Direction::Higher,
    description: "elements delivered per second of processor time of the process and of all processes below \
        it",
    read: |seen| {
        if seen.elements == 0 {
            return Reading::absent("the scenario stated no elements");
        }
        if overhead::below(seen).is_some() {
            return Reading::absent(NOTHING);
        }
        let seconds = seen.usage.cpu.as_secs_f64() + seen.around.helpers.unwrap_or(0) as f64 * 1e-9;
        if seconds == 0.0 {
            return Reading::absent("no processor time passed by its clock");
        }
        Reading::Value(seen.elements as f64 / seconds)
    },
};

const NOTHING: &str = "the body cannot be told from the empty loop";

fn rate(seen: &Observation, amount: u64, what: &str) -> Reading {
    if amount == 0 {
        return Reading::absent(format!("the scenario stated no {what}"));
    }
    if overhead::below(seen).is_some() {
        return Reading::absent(NOTHING);
    }
    if seen.wall == 0 {
        return Reading::absent("no time passed by the clock");
    }
    Reading::Value(amount as f64 / (seen.wall as f64 * 1e-9))
}
