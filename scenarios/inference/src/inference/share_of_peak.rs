//! What calls are of what the machine could do at best.

use weighbridge::{Bencher, Direction, Result, Unit};
use weighbridge_training::training::{PEAK, measured_product};

use crate::contract::Asked;

/// The metric that has the operations of one prediction, from the dimensions of its model.
pub const OPERATIONS: &str = "operations_per_prediction";

/// The metric that has the share of the measured peak that a call is in the median.
pub const PEAK_SHARE: &str = "peak_share";

/// Tells the operations of a prediction (of a generation those of one id in the mean), the measured peak, and
/// the share of it.
pub(super) fn tell_share(bencher: &Bencher, asked: &Asked<'_>) -> Result<()> {
    let operations = asked.spec.operations()? as f64;
    let each = operations / asked.spec.answers() as f64;
    bencher.metric(OPERATIONS, each, Unit::COUNT, Direction::Information);
    let peak = measured_product();
    bencher.metric(PEAK, peak, Unit::FLOPS, Direction::Information);
    let (calls, _) = asked.single.sum();
    if let Some(seconds) = asked.single.percentile(0.5).filter(|seconds| calls > 0 && *seconds > 0.0) {
        bencher.metric(PEAK_SHARE, operations / seconds / peak, Unit::RATIO, Direction::Higher);
    }
    Ok(())
}
