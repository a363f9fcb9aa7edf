//! What is judged: one value per process, in a form that holds over time and over changed amounts of work.
//!
//! A stored baseline was measured at another time, so what a value is matters more than how many there are.
//! The time of a body is the 10th percentile of CPU time over its clean blocks, for a unit of work; where the
//! history of this machine shows that a yardstick moves with it, the yardstick's time is divided out.

use super::history::{Past, PastRun};
use super::logarithms::{Logarithms, SUMS};
use crate::metric::names;
use crate::metric::{Direction, Reading, Unit, Yardsticks};
use crate::record::{BaselineCase, Blocks, CaseRecord, MetricRecord, Process, undelayed, waiting};
use crate::stats;

/// Stored runs from which on their spread is believed.
pub(super) const ENOUGH: usize = 5;

/// A yardstick is used where it brings the spread of stored runs down to this share at least: the least of
/// several spreads, each over a few runs, is low by luck as well.
const LOWERS: f64 = 0.75;

/// The CPU clock sees what a body does if the body is on a processor all the time and alone: between these
/// shares of the wall clock.
const BUSY: (f64, f64) = (0.90, 1.05);

/// A case on both sides, with what is known of it.
#[derive(Clone, Copy)]
pub(super) struct Sides<'a> {
    pub(super) before: &'a BaselineCase,
    pub(super) after: &'a CaseRecord,
    pub(super) past: Option<&'a Past>,
}

/// The wall time of a body without its waiting for a processor.
const UNDELAYED: &str = names::UNDELAYED_TIME;

/// Metrics that a case has a value of: where it was timed by a device's clock, and where it ran on a device
/// at all.
const BY_DEVICE: &str = names::DEVICE_TIME;
const ON_DEVICE: &str = names::DEVICE_MEMORY_USED;

/// Prefixes of the names of metrics that are of a device.
const DEVICES: [&str; 2] = ["device_", "phase/"];

/// The values of a metric: logarithms, turned so that more is worse.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LogValues {
    /// One for each process, the baseline's first.
    pub(super) sides: [Vec<f64>; 2],
    /// One for each stored run.
    pub(super) past: Vec<f64>,
    /// True if they are of the CPU clock where the metric itself is of the wall clock.
    pub(super) by_cpu: bool,
    /// True if they are of the wall clock without the waiting for a processor.
    pub(super) undelayed: bool,
    /// True if they are of blocks, which can be preempted.
    pub(super) of_blocks: bool,
    /// The yardstick that they are divided by.
    pub(super) yardstick: Option<&'static str>,
}

/// Values as they are found, each with the yardsticks beside it.
#[derive(Default)]
struct FoundValues {
    sides: [Vec<(f64, [Option<f64>; 3])>; 2],
    past: Vec<(f64, [Option<f64>; 3])>,
}

impl LogValues {
    /// The values of a metric that has no value on one side perhaps, judged in this direction. `None` where a
    /// value has no logarithm.
    pub(super) fn of(
        sides: &Sides<'_>,
        before: Option<&MetricRecord>,
        after: Option<&MetricRecord>,
        direction: Direction,
    ) -> Option<Self> {
        let name = &after.or(before)?.name;
        let primary_metric = *name == sides.after.primary_metric;
        let has = |name: &str| {
            let metrics = [&sides.before.metrics, &sides.after.metrics];
            metrics
                .iter()
                .any(|side| side.iter().any(|metric| metric.name == name && metric.estimate.is_some()))
        };
        // A thread that waits for a device may never give its processor up: its time there is not the work's.
        if primary_metric && (name == names::WALL_TIME || name == names::THROUGHPUT) && !has(ON_DEVICE) {
            if let Some(found) = cpu_of_blocks(sides) {
                let values = found.choose(true)?;
                return Some(Self { by_cpu: true, of_blocks: true, ..values });
            }
            if waiting(&sides.before.metrics).or(waiting(&sides.after.metrics)).is_some() {
                let (old, new) =
                    (undelayed(name, &sides.before.metrics), undelayed(name, &sides.after.metrics));
                if let (Some(one), Some(other)) = (old, new)
                    && one.name == other.name
                {
                    let found = of_metric(sides, old, new, direction);
                    return Some(Self {
                        by_cpu: one.name != UNDELAYED,
                        undelayed: one.name == UNDELAYED,
                        ..found?.choose(true)?
                    });
                }
            }
        }
        let unit = &after.or(before)?.unit;
        let is_time = *unit == Unit::SECONDS || unit.symbol().ends_with("/s");
        // What the operating system does to the host's threads is nothing of a device's clock.
        let by_device = has(BY_DEVICE) && DEVICES.iter().any(|of| name.starts_with(of));
        let of_blocks =
            is_time && !by_device && sides.after.processes.iter().any(|process| process.blocks.is_some());
        Some(Self { of_blocks, ..of_metric(sides, before, after, direction)?.choose(is_time)? })
    }
}

/// The CPU time of a unit of work, where both sides are bodies that the CPU clock can judge.
fn cpu_of_blocks(sides: &Sides<'_>) -> Option<FoundValues> {
    let both = [&sides.before.processes[..], &sides.after.processes[..]];
    let mut all: Vec<&Blocks> = Vec::new();
    for processes in both {
        let blocks: Vec<&Blocks> = processes.iter().filter_map(|process| process.blocks.as_ref()).collect();
        if blocks.is_empty() || blocks.len() < processes.len() {
            return None;
        }
        let busy: Vec<f64> = blocks.iter().map(|blocks| blocks.cpu[1] / blocks.wall[1]).collect();
        let busy = stats::median(&busy);
        if !(BUSY.0..=BUSY.1).contains(&busy) {
            return None;
        }
        all.extend(blocks);
    }
    // What only some state is no unit.
    let unit: Option<usize> = match &all {
        _ if all.iter().all(|blocks| blocks.elements > 0.0) => Some(0),
        _ if all.iter().all(|blocks| blocks.bytes > 0.0) => Some(1),
        _ => None,
    };
    let mut found = FoundValues::default();
    for (side, processes) in both.into_iter().enumerate() {
        for process in processes {
            let blocks = process.blocks.as_ref()?;
            let work = unit.map_or(1.0, |unit| [blocks.elements, blocks.bytes][unit]);
            found.sides[side].push((logarithm(blocks.cpu[0] / work)?, process.yardsticks));
        }
    }
    for run in sides.past.map_or(&[][..], Past::runs) {
        let work = unit.map_or(1.0, |unit| run.work[unit]);
        if let Some(value) = run.cpu.and_then(|cpu| logarithm(cpu / work)) {
            found.past.push((value, run.yardsticks));
        }
    }
    Some(found)
}

/// The metric's own values.
fn of_metric(
    sides: &Sides<'_>,
    before: Option<&MetricRecord>,
    after: Option<&MetricRecord>,
    direction: Direction,
) -> Option<FoundValues> {
    let metric = after.or(before)?;
    let sign = match direction {
        Direction::Lower => 1.0,
        Direction::Higher => -1.0,
        Direction::Information => return None,
    };
    let processes = [&sides.before.processes[..], &sides.after.processes[..]];
    let amount = if SUMS.contains(&metric.name.as_str()) { amount(processes) } else { None };
    let scaled = |value: f64, iterations: f64| match amount {
        Some(amount) if iterations > 0.0 => value / iterations * amount,
        _ => value,
    };
    let mut found = FoundValues::default();
    for (side, metric) in [before, after].into_iter().enumerate() {
        for (at, reading) in metric.into_iter().flat_map(|metric| &metric.values).enumerate() {
            let Reading::Value(reading) = reading else { continue };
            let process = processes[side].get(at);
            let iterations = process.map_or(0.0, |process| process.iterations as f64);
            let yardsticks = process.map_or([None; 3], |process| process.yardsticks);
            found.sides[side].push((scaled(*reading, iterations), yardsticks));
        }
    }
    let medians = sides.past.into_iter().flat_map(|past| past.medians(&metric.name));
    for (PastRun { iterations, yardsticks, .. }, median) in medians {
        found.past.push((scaled(median, *iterations), *yardsticks));
    }
    let all = found.sides.iter().flatten().chain(&found.past).map(|(value, _)| *value);
    let logarithms = Logarithms::of(metric, all);
    let turned = |value: f64| logarithms.take(value).map(|logarithm| sign * logarithm);
    for (value, _) in found.sides.iter_mut().flatten() {
        *value = turned(*value)?;
    }
    found.past.retain_mut(|(value, _)| {
        turned(*value).is_some_and(|turned| {
            *value = turned;
            true
        })
    });
    Some(found)
}

/// The iterations that a sum is told of, so that the one that every count has too many is small beside what
/// counts: a block of a body, an item of a stream. The same for both sides, whichever is the baseline.
fn amount(processes: [&[Process]; 2]) -> Option<f64> {
    let mut amount = 1.0;
    for side in processes {
        let of_one = |process: &Process| process.blocks.map_or(1.0, |blocks| blocks.iterations as f64);
        let iterations: Vec<f64> = side.iter().map(of_one).collect();
        if iterations.is_empty() || side.iter().any(|process| process.iterations == 0) {
            return None;
        }
        amount *= stats::median(&iterations).sqrt();
    }
    Some(amount)
}

impl FoundValues {
    /// The values, divided by the yardstick that lowers the spread of stored runs most, if one lowers it
    /// enough.
    fn choose(self, is_time: bool) -> Option<LogValues> {
        let mut best: Option<(usize, f64)> = None;
        for kind in 0..Yardsticks::KINDS.len() {
            let there = |(_, yardsticks): &(f64, [Option<f64>; 3])| yardsticks[kind].is_some();
            let everywhere = self.sides.iter().flatten().all(there);
            let runs: Vec<_> = self.past.iter().filter(|run| there(run)).collect();
            if !is_time || !everywhere || runs.len() < ENOUGH {
                continue;
            }
            let plain: Vec<f64> = runs.iter().map(|(value, _)| *value).collect();
            let divided: Vec<f64> = runs.iter().filter_map(|run| divide(run, Some(kind))).collect();
            let share = stats::robust_spread(&divided) / stats::robust_spread(&plain);
            if share <= LOWERS && best.is_none_or(|(_, least)| share < least) {
                best = Some((kind, share));
            }
        }
        let kind = best.map(|(kind, _)| kind);
        let divide_all = |values: &[(f64, [Option<f64>; 3])]| {
            let mut divided = Vec::with_capacity(values.len());
            for value in values {
                divided.extend(divide(value, kind));
            }
            divided
        };
        let values = LogValues {
            sides: [divide_all(&self.sides[0]), divide_all(&self.sides[1])],
            past: divide_all(&self.past),
            yardstick: kind.map(|kind| Yardsticks::KINDS[kind]),
            ..LogValues::default()
        };
        values.sides.iter().flatten().all(|value| value.is_finite()).then_some(values)
    }
}

/// The value less the logarithm of a yardstick; `None` where that was not measured.
fn divide((value, yardsticks): &(f64, [Option<f64>; 3]), kind: Option<usize>) -> Option<f64> {
    match kind {
        None => Some(*value),
        Some(kind) => Some(value - logarithm(yardsticks[kind]?)?),
    }
}

fn logarithm(value: f64) -> Option<f64> {
    (value > 0.0 && value.is_finite()).then(|| value.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that wander with the yardstick of one kind, and how the others stand.
    fn found(kind: usize, runs: usize) -> FoundValues {
        let wander = |at: usize| (at * 7 % 11) as f64 * 0.02;
        let one = |at: usize| {
            let mut yardsticks = [Some(500.0 + (at * 5 % 7) as f64), Some(400.0), Some(300.0)];
            yardsticks[kind] = Some(1000.0 * wander(at).exp());
            (3.0 + wander(at) + (at % 3) as f64 * 0.001, yardsticks)
        };
        FoundValues {
            sides: [(0..6).map(one).collect(), (6..12).map(one).collect()],
            past: (0..runs).map(one).collect(),
        }
    }

    #[test]
    fn the_yardstick_of_the_same_kind_is_used_and_no_other() {
        for kind in 0..3 {
            let values = found(kind, 9).choose(true).unwrap();
            assert_eq!(values.yardstick, Some(Yardsticks::KINDS[kind]));
            assert!(stats::robust_spread(&values.past) < 0.01);
            assert!((values.sides[0][0] - (3.0 - 1000f64.ln())).abs() < 0.01);
        }
        let mut unlike = found(0, 9);
        for (at, run) in unlike.past.iter_mut().enumerate() {
            run.1 = [Some(500.0 + (at * 3 % 5) as f64 * 40.0), Some(400.0), None];
        }
        assert_eq!(unlike.choose(true).unwrap().yardstick, None);
    }

    #[test]
    fn a_yardstick_needs_five_stored_runs_both_sides_and_a_time() {
        assert_eq!(found(0, 4).choose(true).unwrap().yardstick, None);
        assert_eq!(found(0, 9).choose(false).unwrap().yardstick, None);
        let mut partly = found(0, 9);
        partly.sides[1][2].1[0] = None;
        assert_eq!(partly.choose(true).unwrap().yardstick, None);
    }
}
