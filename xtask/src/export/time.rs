//! The time of a case, for tools that know nothing but times.

use weighbridge::data::names;
use weighbridge::data::{CaseRecord, Reading, Unit, median, quantile};

/// Nanoseconds of one iteration, item or element, one value for each repeat.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Times {
    pub(super) values: Vec<f64>,
    pub(super) median: f64,
    /// At 95 %, where there are repeats enough.
    pub(super) interval: Option<(f64, f64)>,
}

impl Times {
    /// By the clock that the case leads with; of a rate that has no time of an item, the time of an element.
    /// `None` where the case is no time, and where it was not measured.
    pub(super) fn of(case: &CaseRecord) -> Option<Self> {
        if case.status != weighbridge::data::CaseStatus::Measured {
            return None;
        }
        let leading = case.leading()?;
        let time = match leading.name.as_str() {
            names::THROUGHPUT_CPU => case.metric(names::CPU_TIME),
            _ if leading.unit == Unit::SECONDS => Some(leading),
            _ => case.metric(names::WALL_TIME),
        };
        let inverted = || case.metric(names::THROUGHPUT).filter(|metric| metric.estimate.is_some());
        let (metric, is_rate) = match time.filter(|metric| metric.estimate.is_some()) {
            Some(metric) => (metric, false),
            None => (inverted()?, true),
        };
        let turn = |value: f64| if is_rate { 1e9 / value } else { value * 1e9 };
        let values: Vec<f64> = metric.values.iter().filter_map(Reading::value).map(turn).collect();
        let estimate = metric.estimate?;
        let interval = estimate.interval.map(|(low, high)| {
            let (one, other) = (turn(low), turn(high));
            (one.min(other), one.max(other))
        });
        let fine = !values.is_empty() && values.iter().all(|value| value.is_finite());
        fine.then(|| Self { median: median(&values), values, interval })
    }

    pub(super) fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// Of repeats, with one less than their number; 0 of one repeat.
    pub(super) fn standard_deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        if self.values.len() < 2 { 0.0 } else { (squares / (self.values.len() - 1) as f64).sqrt() }
    }

    /// The median of how far the repeats lie from their median, as wide as a standard deviation.
    pub(super) fn median_deviation(&self) -> f64 {
        let far: Vec<f64> = self.values.iter().map(|value| (value - self.median).abs()).collect();
        1.4826 * median(&far)
    }

    /// Tukey's fences, far and near, below and above.
    pub(super) fn fences(&self) -> [f64; 4] {
        let (low, high) = (quantile(&self.values, 0.25), quantile(&self.values, 0.75));
        let between = high - low;
        [low - 3.0 * between, low - 1.5 * between, high + 1.5 * between, high + 3.0 * between]
    }
}
