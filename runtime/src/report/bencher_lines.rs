//! One line a case in the form of libtest's benches, which other tools read: always nanoseconds, plain ASCII.

use std::fmt::Write;

use crate::bencher::visible_in_line;
use crate::metric::names;
use crate::metric::{Reading, Unit};
use crate::record::{CaseRecord, CaseStatus, MetricRecord, Process, RunRecord};

/// The lines, and one more for each case that has failed or has no line, with the reason: for people.
pub fn bencher_lines(run: &RunRecord) -> (String, Vec<String>) {
    let (mut lines, mut told) = (String::new(), Vec::new());
    for case in &run.cases {
        let first = |why: &str| why.lines().next().unwrap_or_default().to_owned();
        match &case.status {
            CaseStatus::Measured => {}
            CaseStatus::Failed(why) => {
                told.push(format!("failed: {}: {}", case.id, first(&why.to_string())));
                continue;
            }
            CaseStatus::Skipped(why) => {
                told.push(format!("skipped: {}: {}", case.id, first(&why.to_string())));
                continue;
            }
            CaseStatus::Incomplete => {
                told.push(format!("incomplete: {}: {}", case.id, case.unfinished().unwrap_or_default()));
                continue;
            }
        }
        told.extend(case.failed_rules().map(|finding| format!("not verified: {}: {finding}", case.id)));
        let Some(LineTime { nanoseconds, spread }) = LineTime::of(case) else {
            told.push(format!("no line: {}: its {} is no time", case.id, case.primary_metric));
            continue;
        };
        let decimals = if nanoseconds < 100.0 { 2 } else { 0 };
        let name = case.id.slug();
        writeln!(
            lines,
            "test {name} ... bench: {nanoseconds:>11.decimals$} ns/iter (+/- {spread:.decimals$})"
        )
        .expect("a String takes all that is written");
    }
    let told = told.iter().map(|line| visible_in_line(line)).collect();
    (lines, told)
}

/// The time of a case, and how far off it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LineTime {
    nanoseconds: f64,
    spread: f64,
}

impl LineTime {
    /// Returns the metric that the table leads with, as a time: of a rate, the time of an iteration by the
    /// same clock, or of an element.
    fn of(case: &CaseRecord) -> Option<Self> {
        let leading = case.leading()?;
        let time = match leading.name.as_str() {
            names::THROUGHPUT => case.metric(names::WALL_TIME),
            names::THROUGHPUT_CPU => case.metric(names::CPU_TIME),
            _ if leading.unit == Unit::SECONDS => Some(leading),
            _ => case.metric(names::WALL_TIME),
        };
        let time = time.and_then(|metric| Self::of_metric(metric, &case.processes, |seconds| seconds));
        // A whole pass in one call has no time of an item, but a rate.
        time.or_else(|| Self::of_metric(case.metric(names::THROUGHPUT)?, &[], |rate| 1.0 / rate))
    }

    /// Half the interval is the spread; without one, half the range of the repeats; of a single repeat, that
    /// of its blocks. A bound is everything from nothing to itself.
    fn of_metric(metric: &MetricRecord, processes: &[Process], seconds: fn(f64) -> f64) -> Option<Self> {
        if let Some(bound) = metric.below() {
            return Some(Self { nanoseconds: bound * 0.5e9, spread: bound * 0.5e9 });
        }
        let estimate = metric.estimate?;
        let values = || metric.values.iter().filter_map(Reading::value).map(seconds);
        let blocks = || {
            let blocks = processes.first()?.blocks?;
            let [low, _, high] = if metric.name == names::CPU_TIME { blocks.cpu } else { blocks.wall };
            Some((low * 1e-9, high * 1e-9))
        };
        let range = match estimate.interval {
            Some((low, high)) => Some((seconds(low), seconds(high))),
            None if estimate.n == 1 => blocks(),
            None => values().reduce(f64::min).zip(values().reduce(f64::max)),
        };
        let spread = range.map_or(0.0, |(one, other)| (other - one).abs() * 0.5e9);
        Some(Self { nanoseconds: seconds(estimate.median) * 1e9, spread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Blocks, Estimate, FailureReason};
    use crate::store::fixtures;

    /// Returns the lines that are printed of one case whose repeats took these times, in seconds.
    fn printed(values: &[f64], change: impl FnOnce(&mut CaseRecord)) -> (String, Vec<String>) {
        let mut case = fixtures::case(fixtures::case_id(1), &[1.0; 7], 1);
        case.metrics[0].values = values.iter().copied().map(Reading::Value).collect();
        case.metrics[0].estimate = Estimate::of(values);
        case.processes.clear();
        change(&mut case);
        bencher_lines(&crate::record::RunRecord { cases: vec![case], ..fixtures::run(1, 0) })
    }

    fn line(values: &[f64], change: impl FnOnce(&mut CaseRecord)) -> String {
        let (lines, told) = printed(values, change);
        assert_eq!(told, [""; 0]);
        lines.split_once("bench:").expect("there is a line").1.trim().to_owned()
    }

    #[test]
    fn the_spread_is_half_the_interval_and_without_one_half_the_range() {
        let seven = [1e-6, 1.1e-6, 1.2e-6, 1.3e-6, 1.4e-6, 1.5e-6, 1.6e-6];
        assert_eq!(line(&seven, |_| {}), "1300 ns/iter (+/- 300)");
        assert_eq!(line(&[1e-6, 1.1e-6, 1.4e-6], |_| {}), "1100 ns/iter (+/- 200)");
        let blocks = Blocks { wall: [900.0, 1000.0, 1300.0], ..Blocks::default() };
        let process = Process { blocks: Some(blocks), ..Process::default() };
        assert_eq!(line(&[1e-6], |case| case.processes = vec![process]), "1000 ns/iter (+/- 200)");
    }

    #[test]
    fn a_body_of_nothing_has_a_line_from_nothing_to_its_bound() {
        let below = |case: &mut CaseRecord| {
            case.metrics[0].values = vec![Reading::Below(1e-10), Reading::Below(4e-11)];
            case.metrics[0].estimate = None;
        };
        assert_eq!(line(&[1e-9], below), "0.05 ns/iter (+/- 0.05)");
    }

    #[test]
    fn the_line_is_by_the_clock_that_the_table_leads_with() {
        let waited = |case: &mut CaseRecord| {
            let metric = |name: &str, value: f64| MetricRecord {
                name: name.into(),
                estimate: Estimate::of(&[value; 7]),
                ..case.metrics[0].clone()
            };
            let more = [metric("cpu_time", 2e-6), metric("run_queue_share", 0.6)];
            case.metrics.extend(more);
        };
        assert_eq!(line(&[5e-6; 7], waited), "2000 ns/iter (+/- 0)");
    }

    #[test]
    fn what_has_a_rate_alone_has_the_time_of_an_element() {
        let rate = |case: &mut CaseRecord| {
            case.metrics[0].name = "throughput".into();
            case.metrics[0].unit = Unit::ELEMENTS_PER_SECOND;
            case.primary_metric = "throughput".into();
        };
        assert_eq!(line(&[1e6; 7], rate), "1000 ns/iter (+/- 0)");
    }

    #[test]
    fn what_failed_is_told_apart_and_has_no_line() {
        let failed = |case: &mut CaseRecord| {
            case.status = CaseStatus::Failed(FailureReason::Unwritable("repeat 1 panicked\nat".into()));
        };
        let (lines, told) = printed(&[1e-6; 7], failed);
        assert_eq!((lines.as_str(), told.len()), ("", 1));
        assert!(told[0].starts_with("failed: ") && told[0].ends_with(": repeat 1 panicked"), "{told:?}");
        let (lines, told) = printed(&[1e-6; 7], |case| {
            case.primary_metric = "loss".into();
            case.metrics[0].name = "loss".into();
            case.metrics[0].unit = Unit::COUNT;
        });
        assert_eq!(lines, "");
        assert!(told[0].starts_with("no line: ") && told[0].ends_with("its loss is no time"), "{told:?}");
    }
}
