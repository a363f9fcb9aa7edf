//! Latency of a streamed item, from the request for it to the moment it was ready.

use super::names;
use super::observation::NO_SAMPLES;
use super::{Direction, Metric, Observation, Reading, SampleKind, Unit};
use crate::stats;

const fn percentile(
    name: &'static str,
    description: &'static str,
    read: fn(&Observation) -> Reading,
) -> Metric {
    Metric { name, unit: Unit::SECONDS, direction: Direction::Lower, description, read }
}

/// The median.
pub(super) const P50: Metric =
    percentile(names::LATENCY_P50, "median latency of an item, from its request to ready", |seen| {
        read(seen, 0.50)
    });
/// The 95th percentile.
pub(super) const P95: Metric =
    percentile(names::LATENCY_P95, "95th percentile of item latency", |seen| read(seen, 0.95));
/// The 99th percentile.
pub(super) const P99: Metric =
    percentile(names::LATENCY_P99, "99th percentile of item latency", |seen| read(seen, 0.99));

/// The slowest item.
pub(super) const MAX: Metric = Metric {
    name: names::LATENCY_MAX,
    unit: Unit::SECONDS,
    direction: Direction::Information,
    description: "latency of the slowest item: where workers hand over in bursts, one of each burst has it",
    read: |seen| match without(seen) {
        None => Reading::Value(seen.samples.iter().copied().max().unwrap_or_default() as f64 * 1e-9),
        Some(absent) => absent,
    },
};

/// With which confidence a count of items bears a percentile out (`stats/early_stopping.rs`): that of
/// `MLPerf`.
const CONFIDENCE: f64 = 0.99;

/// The reason why there is no latency of an item; `None` where there is one.
fn without(seen: &Observation) -> Option<Reading> {
    Some(match seen.taken {
        Some(SampleKind::Items) if !seen.samples.is_empty() => return None,
        Some(SampleKind::Items) | None => Reading::absent(NO_SAMPLES),
        Some(SampleKind::Iterations) => Reading::absent("iterations of one body: no items are streamed"),
        Some(SampleKind::Passes) => Reading::absent("the adapter runs a whole pass in one call"),
    })
}

fn read(seen: &Observation, q: f64) -> Reading {
    if let Some(absent) = without(seen) {
        return absent;
    }
    // A median needs no bound: half of the items lie beyond it.
    if q > 0.5 {
        let claim = stats::Claim { percentile: q, tolerance: 0.0, confidence: CONFIDENCE };
        let needed = claim.least_count().unwrap_or(u64::MAX);
        if (seen.samples.len() as u64) < needed {
            return Reading::absent(format!("n too small: {} items, {needed} needed", seen.samples.len()));
        }
    }
    let samples: Vec<f64> = seen.samples.iter().map(|sample| *sample as f64 * 1e-9).collect();
    Reading::Value(stats::quantile(&samples, q))
}
