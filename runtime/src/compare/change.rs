//! One metric of a case on both sides.

use serde::{Deserialize, Serialize};

use super::rule::{Judgement, Reservations, weigh};
use super::values::{LogValues, Sides};
use super::{Acceptance, InconclusiveReason, Policy, Tendency, Tolerance, Verdict};
use crate::metric::names;
use crate::metric::{DEVICE_METRICS, Direction, METRICS, Stationarity, Unit};
use crate::record::{Estimate, MetricRecord};
use crate::stats;

/// One metric of a case on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricChange {
    /// Its name.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// The direction in which the metric is better.
    pub direction: Direction,
    /// The baseline's estimate; `None` where it had no value.
    pub baseline: Option<Estimate>,
    /// The candidate's estimate; `None` where it has no value.
    pub candidate: Option<Estimate>,
    /// The candidate's median less the baseline's, in percent of the latter.
    pub change_percent: Option<f64>,
    /// The candidate's median over the baseline's.
    pub ratio: Option<f64>,
    /// The tendency that the repeats show, by the rule that judges cases.
    pub tendency: Tendency,
}

/// A metric on both sides, and the judgement on it where it has one.
pub(super) struct WeighedMetric {
    pub(super) change: MetricChange,
    pub(super) tolerance: Tolerance,
    pub(super) values: LogValues,
    pub(super) reservations: Reservations,
    pub(super) judgement: Option<Judgement>,
    /// The change of the metric that was accepted, as a logarithm: the baseline's values have it added.
    pub(super) accepted: Option<f64>,
}

/// Weighs a metric that has a value on at least one side. One that is for information is judged where the
/// policy gates it: more is worse then, since it counts what costs something.
pub(super) fn change(
    sides: &Sides<'_>,
    before: Option<&MetricRecord>,
    after: Option<&MetricRecord>,
    policy: &Policy,
) -> Option<WeighedMetric> {
    let metric = after.or(before)?;
    let (baseline, candidate) = (before.and_then(|side| side.estimate), after.and_then(|side| side.estimate));
    baseline.or(candidate)?;
    let scenario = &sides.after.id.scenario;
    let gated = policy.gates(scenario, &metric.name);
    let direction = match metric.direction {
        Direction::Information if gated => Direction::Lower,
        direction => direction,
    };
    let values = LogValues::of(sides, before, after, direction);
    let has_ratio = values.is_some();
    let mut values = values.unwrap_or_default();
    let accepted = Acceptance::shift(&policy.accepted, &sides.after.id, &metric.name);
    if let Some(shift) = accepted {
        values.sides[0].iter_mut().for_each(|value| *value += shift);
    }
    let tolerance = Tolerance::new(policy, scenario, &values.past);
    let mut reservations = reservations(sides, &values, policy.detectable(scenario));
    if is_of_samples(&metric.name, &metric.unit) {
        reservations.unsteady = [sides.before.stationarity, sides.after.stationarity]
            .map(|stationarity| stationarity == Some(Stationarity::Unsteady));
    }
    let judgement = (direction != Direction::Information).then(|| {
        if has_ratio {
            weigh(&values.sides, tolerance, reservations)
        } else {
            Judgement { verdict: Verdict::Inconclusive(InconclusiveReason::NoRatio), effect: None }
        }
    });
    let tendency = tendency(judgement.as_ref(), baseline, candidate);
    let change =
        MetricChange::new(&metric.name, &metric.unit, metric.direction, [baseline, candidate], tendency);
    Some(WeighedMetric { change, tolerance, values, reservations, judgement, accepted })
}

/// Tells whether a metric is of the timed samples, so that it means something only where they settle. Counts
/// are not, nor is the first item, which is apart from the steady state, nor what an author hands in: a
/// set-up is paid once.
pub(super) fn is_of_samples(name: &str, unit: &Unit) -> bool {
    let ours = METRICS.iter().chain(DEVICE_METRICS).any(|metric| metric.name == name)
        || ["region/", "phase/"].iter().any(|part| name.starts_with(part));
    ours && (*unit == Unit::SECONDS || unit.symbol().ends_with("/s")) && name != names::FIRST_ITEM
}

/// The reservations about the blocks that the values are of: each share is the larger of both sides' medians
/// over processes.
fn reservations(sides: &Sides<'_>, values: &LogValues, limit: f64) -> Reservations {
    let mut reservations = Reservations { limit, ..Reservations::default() };
    if values.of_blocks {
        for processes in [&sides.before.processes, &sides.after.processes] {
            let blocks = || processes.iter().filter_map(|process| process.blocks.as_ref());
            let switched: Vec<f64> = blocks().map(|blocks| blocks.switched).collect();
            let throttled: Vec<f64> = blocks().map(|blocks| blocks.throttled).collect();
            reservations.switched = reservations.switched.max(stats::median(&switched));
            reservations.throttled = reservations.throttled.max(stats::median(&throttled));
        }
    }
    reservations
}

impl MetricChange {
    /// The change of a metric between two estimates, the baseline's first.
    pub(super) fn new(
        metric: &str,
        unit: &Unit,
        direction: Direction,
        sides: [Option<Estimate>; 2],
        tendency: Tendency,
    ) -> Self {
        let [baseline, candidate] = sides;
        let medians = baseline.zip(candidate).map(|(old, new)| (old.median, new.median));
        let divisible = medians.filter(|(old, _)| *old != 0.0);
        Self {
            metric: metric.to_owned(),
            unit: unit.clone(),
            direction,
            baseline,
            candidate,
            change_percent: divisible.map(|(old, new)| (new - old) / old.abs() * 100.0),
            ratio: divisible.map(|(old, new)| new / old),
            tendency,
        }
    }
}

fn tendency(
    judgement: Option<&Judgement>,
    baseline: Option<Estimate>,
    candidate: Option<Estimate>,
) -> Tendency {
    let Some(judgement) = judgement else { return Tendency::Information };
    // Counts are often zero on both sides, which has no ratio and needs none.
    let both_zero = [baseline, candidate].iter().all(|side| side.is_some_and(|side| side.median == 0.0));
    match judgement.verdict.tendency() {
        Tendency::Unclear if both_zero => Tendency::Same,
        tendency => tendency,
    }
}
