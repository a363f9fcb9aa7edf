//! Trade-offs: the rate and the latency of a system as its batches grow.

use std::collections::BTreeMap;

use weighbridge::data::names;
use weighbridge::data::{CaseRecord, RunRecord, Unit};

use super::curve::number;

/// The name of what a number counts along which a rate is traded for a latency.
const BATCH: &str = "batch";

/// One scenario over its batches, all else being equal.
pub(crate) struct TradeOff<'a> {
    /// `INF-2/encoder_tiny/compiled`.
    pub(crate) title: String,
    /// The unit of the rates.
    pub(crate) unit: &'a Unit,
    /// One for each system.
    pub(crate) lines: Vec<TradeOffLine<'a>>,
}

/// The batches of one system.
pub(crate) struct TradeOffLine<'a> {
    /// The system; the scenario itself where it has none.
    pub(crate) name: &'a str,
    /// By batch, ascending.
    pub(crate) points: Vec<TradedBatch>,
}

/// A batch of some size, with what it gives and what it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TradedBatch {
    /// The number of its elements.
    pub(crate) batch: f64,
    /// Elements a second.
    pub(crate) rate: f64,
    /// Seconds of a whole batch, in the median.
    pub(crate) latency: f64,
}

impl TradeOffLine<'_> {
    /// The knee: where the rate, as a share of the best, exceeds the latency, as a share of the longest, by
    /// the most (after V. Satopää and others, *Finding a "kneedle" in a haystack*, 2011). Beyond it a batch
    /// waits longer than it is worth.
    pub(crate) fn knee(&self) -> Option<TradedBatch> {
        let best = self.points.iter().map(|point| point.rate).fold(0.0, f64::max);
        let most = self.points.iter().map(|point| point.latency).fold(0.0, f64::max);
        let worth = |point: &TradedBatch| point.rate / best - point.latency / most;
        self.points.iter().copied().max_by(|one, other| worth(one).total_cmp(&worth(other)))
    }

    /// The largest batch whose latency is within a limit, in seconds.
    pub(crate) fn largest_within(&self, limit: f64) -> Option<TradedBatch> {
        self.points.iter().rev().find(|point| point.latency <= limit).copied()
    }
}

/// All trade-offs of a run with a system that has three batches or more.
pub(super) fn trade_offs(run: &RunRecord) -> Vec<TradeOff<'_>> {
    let mut found = BTreeMap::<String, Vec<(f64, &CaseRecord)>>::new();
    for case in run.cases.iter().filter(|case| case.ranked()) {
        for (at, value) in case.id.point.iter().enumerate() {
            let Some((word, batch)) = number(&value.axis, &value.text) else { continue };
            if word == BATCH {
                let others = case.id.point.iter().enumerate().filter(|(other, _)| *other != at);
                let rest = others.map(|(_, value)| value.text.clone());
                let title = std::iter::once(case.id.scenario.clone()).chain(rest);
                found.entry(title.collect::<Vec<_>>().join("/")).or_default().push((batch, case));
            }
        }
    }
    found.into_iter().filter_map(|(title, cases)| trade_off(title, &cases)).collect()
}

fn trade_off<'a>(title: String, cases: &[(f64, &'a CaseRecord)]) -> Option<TradeOff<'a>> {
    let (mut lines, mut unit): (Vec<TradeOffLine<'a>>, _) = (Vec::new(), None);
    for &(batch, case) in cases {
        let Some(rates) = case.metric(names::THROUGHPUT) else { continue };
        let latency = case.metric(names::LATENCY_P50).and_then(|metric| metric.estimate);
        let (Some(rate), Some(latency)) = (rates.estimate, latency) else { continue };
        unit.get_or_insert(&rates.unit);
        let point = TradedBatch { batch, rate: rate.median, latency: latency.median };
        let name = case.id.adapter.as_deref().unwrap_or(&case.id.scenario);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(TradeOffLine { name, points: vec![point] }),
        }
    }
    for line in &mut lines {
        line.points.sort_by(|one, other| one.batch.total_cmp(&other.batch));
    }
    lines.retain(|line| line.points.len() > 2);
    (!lines.is_empty()).then_some(TradeOff { title, unit: unit?, lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64, f64)]) -> TradeOffLine<'static> {
        let point = |&(batch, rate, latency): &(f64, f64, f64)| TradedBatch { batch, rate, latency };
        TradeOffLine { name: "s", points: points.iter().map(point).collect() }
    }

    #[test]
    fn the_knee_is_where_the_rate_has_grown_and_the_latency_has_not_yet() {
        // A machine that is full from 16 on: the rate stays, and the latency grows with the batch.
        let grown = [1.0, 4.0, 16.0, 64.0, 256.0].map(|batch: f64| {
            let latency = 1e-3 * (1.0 + (batch - 16.0).max(0.0) / 16.0) + 1e-6 * batch;
            (batch, batch / latency, latency)
        });
        assert_eq!(line(&grown).knee().map(|knee| knee.batch), Some(16.0));
        // One whose rate is the same for all: nothing is gained by a batch.
        let flat = [1.0, 4.0, 16.0].map(|batch| (batch, 100.0, batch / 100.0));
        assert_eq!(line(&flat).knee().map(|knee| knee.batch), Some(1.0));
        assert_eq!(line(&[]).knee(), None);
    }

    #[test]
    fn the_largest_batch_within_a_latency_may_be_none() {
        let line = line(&[(1.0, 10.0, 0.1), (8.0, 40.0, 0.2), (64.0, 45.0, 1.4)]);
        assert_eq!(line.largest_within(0.2).map(|point| point.batch), Some(8.0));
        assert_eq!(line.largest_within(0.05), None);
    }
}
