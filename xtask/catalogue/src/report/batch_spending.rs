//! What a batch costs, read off a record: the evidence that labels and advice go by.

use weighbridge::data::names;
use weighbridge::data::{CaseRecord, Reading, Unit, quantile, quantity};

use super::field::{ComparedField, FieldGroup, name};

/// The costs of one batch of a case; what was not measured is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct BatchSpending {
    /// Wall time, in seconds.
    pub(super) wall: Option<f64>,
    /// CPU time of all its processes, in seconds.
    pub(super) cpu: Option<f64>,
    /// Bytes delivered.
    pub(super) bytes: Option<f64>,
    /// Page faults served without the disk.
    pub(super) faults: Option<f64>,
    /// Share of its time that it waited for a processor.
    pub(super) waiting: Option<f64>,
    /// Beginning an epoch anew, in seconds.
    pub(super) restart: Option<f64>,
}

impl BatchSpending {
    /// Returns the seconds of a batch, by the processor's clock or by the one on the wall.
    pub(super) fn time(case: &CaseRecord, by_cpu: bool) -> Option<f64> {
        median(case, if by_cpu { names::CPU_TIME } else { names::WALL_TIME })
    }

    pub(super) fn of(case: &CaseRecord) -> Self {
        let wall = median(case, names::WALL_TIME);
        let batches: Vec<f64> = case.processes.iter().map(|process| process.iterations as f64).collect();
        let batches = (!batches.is_empty()).then(|| quantile(&batches, 0.5)).filter(|batches| *batches > 0.0);
        Self {
            wall,
            cpu: median(case, names::CPU_TIME),
            bytes: median(case, names::THROUGHPUT_BYTES).zip(wall).map(|(rate, time)| rate * time),
            faults: median(case, names::MINOR_FAULTS).zip(batches).map(|(faults, batches)| faults / batches),
            waiting: median(case, names::RUN_QUEUE_SHARE),
            restart: median(case, "restart"),
        }
    }
}

/// Returns what a clock tells, in words.
pub(super) fn clock(by_cpu: bool) -> &'static str {
    if by_cpu { "processor time" } else { "wall time" }
}

/// A time, as people read it.
pub(super) fn seconds(value: f64) -> String {
    quantity::show(value, &Unit::SECONDS)
}

/// The median of a metric over the repeats.
pub(super) fn median(case: &CaseRecord, metric: &str) -> Option<f64> {
    let metric = case.metric(metric)?;
    metric.estimate.map(|estimate| estimate.median).or_else(|| {
        // A metric of few repeats may have values and no estimate.
        let values: Vec<f64> = metric.values.iter().filter_map(Reading::value).collect();
        (!values.is_empty()).then(|| quantile(&values, 0.5))
    })
}

/// The cost of a batch as a fixed part and a part that grows with the work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SpentLine {
    /// The cost of a batch however little there is in it, in seconds.
    pub(super) fixed: f64,
    /// The seconds that each unit of work adds.
    pub(super) factor: f64,
    /// Points behind it.
    pub(super) points: usize,
}

/// An adapter's line over what another one needs for the same batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SpentFit {
    /// Its `factor` says how often the other one's time is needed on top of what is fixed.
    pub(super) line: SpentLine,
    /// Who the other one is.
    pub(super) beside: &'static str,
}

/// Fewer points make no line.
const LEAST: usize = 3;
/// The heaviest batch must be so much heavier than the lightest.
const SPREAD: f64 = 4.0;

impl SpentFit {
    /// The line through the adapter's variants of this run, all by one clock. The work of a batch is what the
    /// reference needs for it, or, where that was measured for too few, what the fastest other system needs:
    /// that has the transforms in it, which bytes have not.
    pub(super) fn of(field: &ComparedField<'_>, adapter: &str, by_cpu: bool) -> Option<Self> {
        // Every variant has processor times that hold; wall times are of the machine where a scenario is not
        // compared by them.
        let groups: Vec<&FieldGroup<'_>> =
            field.groups.iter().filter(|group| by_cpu || !group.by_cpu()).collect();
        let by = |work: fn(&FieldGroup<'_>, &str, bool) -> Option<f64>, beside| {
            let point = |group: &&FieldGroup<'_>| {
                Some((work(group, adapter, by_cpu)?, BatchSpending::time(group.ranked(adapter)?, by_cpu)?))
            };
            let line = SpentLine::through(&groups.iter().filter_map(point).collect::<Vec<_>>())?;
            Some(Self { line, beside })
        };
        by(reference, "the reference").or_else(|| by(others, "the fastest other system"))
    }
}

impl SpentLine {
    /// The line through points of work and seconds. The slope is the median of the slopes of all pairs and
    /// the fixed part the median of what is left (Theil 1950, Sen 1968), so one odd point moves neither.
    /// `None` for fewer than three points, or where all have about the same work.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let works = points.iter().map(|(work, _)| *work);
        let (least, most) = (works.clone().fold(f64::INFINITY, f64::min), works.fold(0.0, f64::max));
        if points.len() < LEAST || most < SPREAD * least {
            return None;
        }
        let mut slopes = Vec::new();
        for (at, (work, time)) in points.iter().enumerate() {
            for (other_work, other_time) in &points[at + 1..] {
                if work.total_cmp(other_work).is_ne() {
                    slopes.push((other_time - time) / (other_work - work));
                }
            }
        }
        let factor = quantile(&slopes, 0.5).max(0.0);
        let rest: Vec<f64> = points.iter().map(|(work, time)| time - factor * work).collect();
        let fixed = quantile(&rest, 0.5).max(0.0);
        (factor.is_finite() && fixed.is_finite()).then_some(Self { fixed, factor, points: points.len() })
    }
}

/// Returns the seconds that the reference takes for the batch of a group, where that is not the adapter
/// itself.
fn reference(group: &FieldGroup<'_>, adapter: &str, by_cpu: bool) -> Option<f64> {
    let case =
        group.cases.iter().find(|case| case.tier == Some(0) && case.ranked() && name(case) != adapter)?;
    BatchSpending::time(case, by_cpu)
}

/// Returns the seconds that the fastest other system takes for it.
fn others(group: &FieldGroup<'_>, adapter: &str, by_cpu: bool) -> Option<f64> {
    let others = group.cases.iter().filter(|case| case.ranked() && name(case) != adapter);
    others.filter_map(|case| BatchSpending::time(case, by_cpu)).reduce(f64::min)
}

/// The fastest verified system of a group, and its time of a batch in seconds.
pub(super) fn fastest<'a>(group: &FieldGroup<'a>, by_cpu: bool) -> Option<(&'a str, f64)> {
    let ranked = group.cases.iter().copied().filter(|case| case.ranked());
    let times = ranked.filter_map(|case| Some((name(case), BatchSpending::time(case, by_cpu)?)));
    times.min_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_fixed_part_and_its_slope_and_one_odd_point_moves_neither() {
        let mut points: Vec<(f64, f64)> =
            [1e-6, 5e-6, 2e-5, 1e-4, 4e-4].iter().map(|work| (*work, 190e-6 + 3.0 * work)).collect();
        let close = |fit: SpentLine| (fit.fixed - 190e-6).abs() < 1e-9 && (fit.factor - 3.0).abs() < 1e-6;
        assert!(close(SpentLine::through(&points).expect("five points")));
        points.push((5e-5, 9e-3));
        let fit = SpentLine::through(&points).expect("six points");
        assert!((fit.fixed - 190e-6).abs() < 2e-5 && (fit.factor - 3.0).abs() < 0.5, "{fit:?}");
    }

    #[test]
    fn few_variants_or_variants_of_one_weight_make_no_line() {
        assert_eq!(SpentLine::through(&[(1e-6, 1e-5), (1e-4, 1e-3)]), None);
        assert_eq!(SpentLine::through(&[(1e-6, 1e-5), (2e-6, 1e-5), (3e-6, 1e-5)]), None);
        assert_eq!(SpentLine::through(&[]), None);
    }

    #[test]
    fn nothing_is_negative() {
        let fit = SpentLine::through(&[(1e-6, 1e-6), (1e-5, 30e-6), (1e-4, 400e-6)]).expect("three points");
        assert!(fit.fixed >= 0.0 && fit.factor > 0.0, "{fit:?}");
        let falling = SpentLine::through(&[(1e-6, 4e-4), (1e-5, 3e-4), (1e-4, 2e-4)]).expect("three points");
        assert!(falling.factor.abs() < 1e-12);
    }
}
