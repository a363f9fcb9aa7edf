//! Wall time of one iteration.

use super::names;
use super::observation::NO_SAMPLES;
use super::{Direction, Metric, Observation, Reading, SampleKind, Unit, overhead};
use crate::stats;

/// Median over the samples of wall time per iteration (for streams: per item; for whole passes: per pass
/// call).
pub(super) const METRIC: Metric = Metric {
    name: names::WALL_TIME,
    unit: Unit::SECONDS,
    direction: Direction::Lower,
    description: "wall time of one iteration (streams: of one item), median of the repeat's samples",
    read,
};

fn read(seen: &Observation) -> Reading {
    if seen.samples.is_empty() {
        return Reading::absent(NO_SAMPLES);
    }
    if seen.taken == Some(SampleKind::Passes) {
        return Reading::absent("a whole pass runs in one call: there is no time of one item");
    }
    if let Some(bound) = overhead::below(seen) {
        return Reading::Below(bound);
    }
    let samples: Vec<f64> = seen.samples.iter().map(|sample| *sample as f64).collect();
    Reading::Value(stats::median(&samples) * 1e-9 / seen.iterations_per_sample as f64)
}
