//! Cases that stand alone: a line each, in one tree of scenarios and points.

use super::cells::{Changes, UNFINISHED, interval, median};
use super::columns::Columns;
use super::{Style, Terminal, quantity};
use crate::bencher::visible_in_line;
use crate::metric::names;
use crate::metric::{SampleKind, Unit};
use crate::record::{CaseRecord, CaseStatus};
use crate::run::Outcome;

/// The tree. Points of one scenario stand below it, where it has several.
pub(super) fn tree(groups: &[Vec<&CaseRecord>], changes: &Changes, terminal: Terminal) -> String {
    let cases: Vec<&CaseRecord> = groups.iter().flatten().copied().collect();
    let mut scenarios: Vec<&str> = cases.iter().map(|case| &*case.id.scenario).collect();
    scenarios.dedup();
    scenarios.sort_unstable();
    scenarios.dedup();
    // In the order of the record, which is that of the plan.
    scenarios.sort_by_key(|id| cases.iter().position(|case| case.id.scenario == *id));
    let mut shown =
        Columns::new(["", "median>", "95 % interval", "fastest>", "time or rate>", "since the last run"]);
    for id in scenarios {
        let of: Vec<&&CaseRecord> = cases.iter().filter(|case| case.id.scenario == id).collect();
        if let [case] = of[..] {
            shown.row(row(case.group(), case, changes));
            continue;
        }
        let name = visible_in_line(id);
        shown.title(format!("  {}", terminal.paint(Style::Bold, &name)), format!("  {name}"));
        for (at, case) in of.iter().enumerate() {
            let branch = match (terminal.plain, at + 1 == of.len()) {
                (true, _) => "-",
                (false, false) => "├─",
                (false, true) => "╰─",
            };
            let group = case.group();
            let point = group.strip_prefix(&format!("{id}/")).unwrap_or(&group);
            shown.row(row(format!("{branch} {point}"), case, changes));
        }
    }
    let text = shown.fitted(terminal.columns, &[4, 3, 2]);
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn row(name: String, case: &CaseRecord, changes: &Changes) -> Vec<String> {
    let change = match case.status {
        CaseStatus::Measured => changes.get(&case.id.to_string()).cloned().unwrap_or_default(),
        _ => UNFINISHED.to_owned(),
    };
    let shown = case.leading().and_then(|metric| Some((metric, metric.estimate?)));
    let Some((metric, estimate)) = shown else {
        let below = case.primary_metric().and_then(|metric| Some((metric.below()?, &metric.unit)));
        let median = below.map_or_else(
            || "not measured".to_owned(),
            |(bound, unit)| format!("below {}", quantity::show(bound, unit)),
        );
        return vec![name, median, String::new(), String::new(), String::new(), change];
    };
    let fastest =
        if [names::WALL_TIME, names::UNDELAYED_TIME].contains(&&*metric.name) { fastest(case) } else { None };
    let fastest = fastest.map_or_else(String::new, |time| quantity::show(time, &metric.unit));
    let (median, interval) = (median(case, metric, &estimate), interval(case, metric, &estimate));
    vec![name, median, interval, fastest, other(case, &metric.name, estimate.median), change]
}

/// The fastest sample, in seconds an iteration; none where records were read without their samples.
fn fastest(case: &CaseRecord) -> Option<f64> {
    let of = |outcome: &Outcome| match outcome {
        Outcome::Measured { seen, .. } if seen.taken == Some(SampleKind::Iterations) => {
            let sample = *seen.samples.iter().min()?;
            Some(sample as f64 * 1e-9 / seen.iterations_per_sample.max(1) as f64)
        }
        _ => None,
    };
    case.repeats.iter().filter_map(|repeat| of(&repeat.outcome)).min_by(f64::total_cmp)
}

/// The rate of a case whose time leads, and the time of one whose rate does, by the same clock. Of a body it
/// follows from the figure that leads, so that both say the same.
fn other(case: &CaseRecord, leading: &str, shown: f64) -> String {
    if let Some(derived) = derived(case, leading, shown) {
        return derived;
    }
    let value = |name: &str| {
        let metric = case.metric(name)?;
        Some(quantity::show(metric.estimate?.median, &metric.unit))
    };
    let rates = [names::THROUGHPUT, names::THROUGHPUT_BYTES, names::THROUGHPUT_FLOPS];
    match leading {
        names::THROUGHPUT_CPU => value(names::CPU_TIME),
        rate if rates.contains(&rate) => value(names::WALL_TIME),
        _ => rates.into_iter().find_map(value),
    }
    .unwrap_or_default()
}

/// The same from what one iteration of a body handles; `None` where nothing is stated, or it leads with
/// neither.
fn derived(case: &CaseRecord, leading: &str, shown: f64) -> Option<String> {
    let blocks = case.processes.first()?.blocks?;
    let amounts = [
        (names::THROUGHPUT, blocks.elements, Unit::ELEMENTS_PER_SECOND),
        (names::THROUGHPUT_BYTES, blocks.bytes, Unit::BYTES_PER_SECOND),
    ];
    let mut stated = amounts.into_iter().filter(|(_, amount, _)| *amount > 0.0 && shown > 0.0);
    if [names::WALL_TIME, names::UNDELAYED_TIME].contains(&leading) {
        let (_, amount, unit) = stated.next()?;
        return Some(quantity::show(amount / shown, &unit));
    }
    let (_, amount, _) = stated.find(|(rate, ..)| *rate == leading)?;
    Some(quantity::show(amount / shown, &Unit::SECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Blocks, Estimate, Process};
    use crate::store::fixtures;

    #[test]
    fn beside_a_rate_stands_the_time_by_the_same_clock_and_beside_a_time_the_rate() {
        let mut case = fixtures::case(fixtures::case_id(0), &[1.0, 1.0], 1);
        let of = |name: &str, value: f64, unit: Unit| {
            let mut metric = case.metrics[0].clone();
            (metric.name, metric.unit, metric.estimate) = (name.into(), unit, Estimate::of(&[value, value]));
            metric
        };
        case.metrics = vec![
            of("wall_time", 2.0, Unit::SECONDS),
            of("cpu_time", 1.0, Unit::SECONDS),
            of("throughput", 5.0, Unit::ELEMENTS_PER_SECOND),
            of("throughput_cpu", 10.0, Unit::ELEMENTS_PER_SECOND),
        ];
        let time = |seconds: f64| quantity::show(seconds, &Unit::SECONDS);
        assert_eq!(other(&case, "throughput_cpu", 10.0), time(1.0));
        assert_eq!(other(&case, "throughput", 5.0), time(2.0));
        assert_eq!(other(&case, "wall_time", 2.0), quantity::show(5.0, &Unit::ELEMENTS_PER_SECOND));
    }

    #[test]
    fn the_rate_of_a_body_follows_from_the_time_that_is_shown() {
        let mut case = fixtures::case(fixtures::case_id(0), &[1.0, 1.0], 1);
        let of = |blocks| vec![Process { blocks: Some(blocks), ..Process::default() }];
        case.processes = of(Blocks { elements: 1000.0, ..Blocks::default() });
        let rate = |rate: f64| quantity::show(rate, &Unit::ELEMENTS_PER_SECOND);
        assert_eq!(other(&case, "wall_time", 2.0), rate(500.0), "whatever the mean over all samples is");
        assert_eq!(other(&case, "throughput", 500.0), quantity::show(2.0, &Unit::SECONDS));
        case.processes = of(Blocks { bytes: 1024.0, ..Blocks::default() });
        assert_eq!(other(&case, "wall_time", 2.0), quantity::show(512.0, &Unit::BYTES_PER_SECOND));
    }
}
