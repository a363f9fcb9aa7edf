//! Runs of the catalogue's own scenarios, for tests.

// The tool's fixtures themselves, as they name what both crates have: they are for tests alone, and so in no
// library.
#[path = "../../src/fixtures/mod.rs"]
#[expect(dead_code, reason = "each crate takes what its tests need")]
mod shared;

use weighbridge::data::{CaseRecord, Unit};
use weighbridge_training::training::{
    BOTH_AT_ONCE, DATA_WAIT, EFFICIENCY, EXPOSED_LOADING, FULL_STEP, LOADER_ALONE, STEP_ALONE,
};

pub(crate) use shared::*;

/// A case of TRAIN-3 with so many samples a second of both at once, the loader and the step.
pub(crate) fn fed(adapter: &str, point: &[(&str, &str)], rates: [f64; 3]) -> CaseRecord {
    let mut case = case("TRAIN-3", adapter, &around(1.0));
    case.id.point.0 = point.iter().map(|(name, text)| axis(name, text)).collect();
    let rate = |name: &str, value: f64| metric(name, Unit::other("samples/s"), value);
    case.metrics = vec![
        rate(BOTH_AT_ONCE, rates[0]),
        rate(LOADER_ALONE, rates[1]),
        rate(STEP_ALONE, rates[2]),
        metric(FULL_STEP, Unit::SECONDS, 32.0 / rates[0]),
        metric(EXPOSED_LOADING, Unit::SECONDS, 0.001),
        metric(DATA_WAIT, Unit::other("%"), 40.0),
        metric(EFFICIENCY, Unit::RATIO, 0.9),
    ];
    case
}
