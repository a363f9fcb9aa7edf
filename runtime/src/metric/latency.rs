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

/// With which confidence a count of items bears a percentile out (`stats/early_stopping.rs`): that of
/// `MLPerf`.
const CONFIDENCE: f64 = 0.99;

fn read(seen: &Observation, q: f64) -> Reading {
    match seen.taken {
        Some(SampleKind::Items) if !seen.samples.is_empty() => {}
        Some(SampleKind::Items) | None => return Reading::absent(NO_SAMPLES),
        Some(SampleKind::Iterations) => {
            return Reading::absent("iterations of one body: no items are streamed");
        }
        Some(SampleKind::Passes) => return Reading::absent("the adapter runs a whole pass in one call"),
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
