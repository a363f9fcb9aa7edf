//! Logarithms of values from 0 up: the ratio of two values is what a change of a metric is.

use crate::metric::names;
use crate::record::MetricRecord;

/// Counters of the operating system that are summed over the measured windows: small whole numbers, of which
/// one more or less is luck.
pub(super) const SUMS: [&str; 6] = [
    names::MINOR_FAULTS,
    names::MAJOR_FAULTS,
    names::VOLUNTARY_SWITCHES,
    names::INVOLUNTARY_SWITCHES,
    names::BYTES_READ,
    names::BYTES_WRITTEN,
];

/// A zero counts as the least value beside it over this: past the widest margin that can be set, so that the
/// step from nothing to something is larger than any.
const STEP: f64 = 16.0;

/// The way in which the values of a metric become logarithms: the same for both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Logarithms {
    /// Of a sum: all are taken one too large.
    OfSums,
    /// Of values as they are; a zero is taken as this.
    OfValues {
        /// Below all of the others.
        zero: f64,
    },
}

impl Logarithms {
    /// Those of a metric that has these values, on whichever side.
    pub(super) fn of(metric: &MetricRecord, values: impl IntoIterator<Item = f64>) -> Self {
        if SUMS.contains(&metric.name.as_str()) {
            return Self::OfSums;
        }
        let least = values.into_iter().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        Self::OfValues { zero: if least.is_finite() { least / STEP } else { 1.0 } }
    }

    /// The logarithm of a value; `None` where it has none.
    pub(super) fn take(self, value: f64) -> Option<f64> {
        match self {
            Self::OfSums if value >= 0.0 => Some(value.ln_1p()),
            Self::OfValues { zero } if value == 0.0 => Some(zero.ln()),
            Self::OfValues { .. } if value > 0.0 && value.is_finite() => Some(value.ln()),
            Self::OfSums | Self::OfValues { .. } => None,
        }
        .filter(|logarithm| logarithm.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::judge::fixture::metric;
    use crate::metric::Direction;

    fn of(name: &str, values: &[f64]) -> Vec<Option<f64>> {
        let logarithms = Logarithms::of(&metric(name, Direction::Lower, values), values.iter().copied());
        values.iter().map(|value| logarithms.take(*value)).collect()
    }

    #[test]
    fn small_values_are_as_far_apart_as_their_ratio_and_nothing_is_further_than_any_margin() {
        let loss = of("loss", &[0.10, 0.15, 0.0, -1.0, f64::INFINITY]);
        let [Some(old), Some(new), Some(none), None, None] = loss[..] else { panic!("{loss:?}") };
        assert!(((new - old).exp() - 1.5).abs() < 1e-9);
        assert!((old - none).exp() > 11.0, "the widest margin is tenfold");
        assert_eq!(of("loss", &[0.0, 0.0]), [Some(0.0); 2]);
    }

    #[test]
    fn one_fault_more_than_none_is_a_doubling_and_no_more() {
        let faults = of("minor_faults", &[0.0, 1.0, -1.0]);
        assert_eq!(faults, [Some(0.0), Some(2f64.ln()), None]);
    }
}
