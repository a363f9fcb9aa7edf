//! The table at the end of a run: per scenario and point the adapters side by side, and what stands apart and why.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::machine::fake_device;
use super::{Style, Terminal, quantity};
use crate::metric::Direction;
use crate::plan::CaseId;
use crate::record::{CaseRecord, CaseStatus, MetricRecord, RunRecord};
use crate::run::{Outcome, Repeat};
use crate::verify::{Agreement, Severity};

/// How a case changed against the last run, in words; empty where there is nothing to say.
pub type Changes = BTreeMap<String, String>;

/// The table of a run. `changes` is by the name of the case for people.
pub fn table(run: &RunRecord, changes: &Changes, terminal: Terminal) -> String {
    let mut text = String::new();
    if let Some(fake) = fake_device(&run.manifest.environment) {
        writeln!(text, "\n{}", terminal.paint(Style::Bold, &fake)).expect(FITS);
    }
    for group in groups(&run.cases) {
        let first = group[0];
        let title = terminal.paint(Style::Bold, &first.group());
        writeln!(text, "\n{title}  {}", first.description).expect(FITS);
        let mut rows = Rows::default();
        for case in ranked(&group) {
            rows.add(row(case, &group, changes));
        }
        for case in group.iter().filter(|case| case.status == CaseStatus::Measured && !case.ranked()) {
            let mut cells = row(case, &[], changes);
            cells[3] = String::from("not ranked");
            rows.add(cells);
        }
        text.push_str(&rows.to_text());
    }
    text.push_str(&apart(&run.cases, terminal));
    text
}

const FITS: &str = "a String takes all that is written";

/// Cases that are ranked among each other, in the order of the record.
fn groups(cases: &[CaseRecord]) -> Vec<Vec<&CaseRecord>> {
    let mut groups: Vec<Vec<&CaseRecord>> = Vec::new();
    let mut titles: Vec<String> = Vec::new();
    for case in cases.iter().filter(|case| case.status == CaseStatus::Measured) {
        let title = case.group();
        match titles.iter().position(|other| *other == title) {
            Some(at) => groups[at].push(case),
            None => {
                titles.push(title);
                groups.push(vec![case]);
            }
        }
    }
    groups
}

/// The cases that may be ranked, the best first.
fn ranked<'a>(group: &[&'a CaseRecord]) -> Vec<&'a CaseRecord> {
    let mut ranked: Vec<&CaseRecord> = group.iter().copied().filter(|case| case.ranked()).collect();
    let value = |case: &CaseRecord| {
        leading(case, group).and_then(|metric| Some(cost(metric, metric.estimate?.median)))
    };
    ranked.sort_by(|a, b| value(a).unwrap_or(f64::INFINITY).total_cmp(&value(b).unwrap_or(f64::INFINITY)));
    ranked
}

/// What the cases of a group are ranked by: one clock for all. Where one of them waited so long that it leads with the
/// processor's, all do, or, if one of them does not keep a processor busy, none.
fn leading<'a>(case: &'a CaseRecord, group: &[&CaseRecord]) -> Option<&'a MetricRecord> {
    let ranked = || group.iter().filter(|case| case.ranked());
    let on_cpu = ranked()
        .filter_map(|case| Some((case.leading()?, &case.headline)))
        .find(|(leading, headline)| leading.name != **headline);
    let Some((on_cpu, _)) = on_cpu else { return case.leading() };
    let has = |case: &CaseRecord| case.on_cpu().is_some_and(|metric| metric.name == on_cpu.name);
    if ranked().all(|case| has(case)) { case.metric(&on_cpu.name) } else { case.headline() }
}

/// The value turned so that less is better.
fn cost(metric: &MetricRecord, value: f64) -> f64 {
    if metric.direction == Direction::Higher { 1.0 / value } else { value }
}

/// Name, median, interval, standing, change.
fn row(case: &CaseRecord, group: &[&CaseRecord], changes: &Changes) -> [String; 5] {
    let name = case.id.adapter.clone().unwrap_or_else(|| case.id.scenario.clone());
    let shown = leading(case, group).and_then(|metric| Some((metric, metric.estimate?)));
    let Some((metric, estimate)) = shown else {
        let below = case.headline().and_then(|metric| Some((metric.below()?, &metric.unit)));
        let shown = below.map_or_else(
            || "not measured".to_owned(),
            |(bound, unit)| format!("below {}", quantity::show(bound, unit)),
        );
        return [name, shown, String::new(), String::new(), String::new()];
    };
    let wall = case.headline().and_then(|wall| Some((wall, wall.estimate?)));
    let clock = if metric.name == "cpu_time" && case.headline != metric.name { " cpu" } else { "" };
    let median = quantity::show(estimate.median, &metric.unit) + clock;
    let mut interval = match estimate.interval {
        Some((low, high)) => format!("[{}]", quantity::range(low, high, &metric.unit)),
        None => format!("n={} < 6", estimate.n),
    };
    // A figure of the processor's clock does not hide what the clock on the wall said.
    if let Some((wall, of)) = wall.filter(|(wall, _)| wall.name != metric.name) {
        write!(interval, ", wall {}", quantity::show(of.median, &wall.unit)).expect(FITS);
    }
    let change = changes.get(&case.id.to_string()).cloned().unwrap_or_default();
    [name, median, interval, standing(case, metric, estimate.median, group), change]
}

/// How the case stands to the best of its group. Cases whose intervals overlap the best one's are its equals.
fn standing(case: &CaseRecord, metric: &MetricRecord, median: f64, group: &[&CaseRecord]) -> String {
    let ranked = ranked(group);
    let [best, _, ..] = ranked[..] else { return String::new() };
    if best.id == case.id {
        return "best".to_owned();
    }
    let best = leading(best, group).and_then(|metric| Some((metric, metric.estimate?)));
    let Some((best_metric, best)) = best else {
        return String::new();
    };
    if best_metric.name != metric.name {
        return "another metric".to_owned();
    }
    let ratio = cost(metric, median) / cost(best_metric, best.median);
    let own = metric.estimate.and_then(|estimate| estimate.interval);
    let tie = own.zip(best.interval).is_some_and(|(own, best)| own.0 <= best.1 && best.0 <= own.1);
    if tie { format!("tie ({ratio:.2}x)") } else { format!("{ratio:.2}x slower") }
}

/// Rows of cells, aligned when printed.
#[derive(Default)]
struct Rows(Vec<[String; 5]>);

impl Rows {
    fn add(&mut self, cells: [String; 5]) {
        self.0.push(cells);
    }

    fn to_text(&self) -> String {
        let width = |column: usize| self.0.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..5).map(width).collect();
        let mut text = String::new();
        for [name, median, interval, standing, change] in &self.0 {
            let line = format!(
                "  {name:0$}  {median:>1$}  {interval:2$}  {standing:3$}  {change}",
                widths[0], widths[1], widths[2], widths[3]
            );
            writeln!(text, "{}", line.trim_end()).expect(FITS);
        }
        text
    }
}

/// Failures, skips, work that does not verify, warnings: each with its reason.
fn apart(cases: &[CaseRecord], terminal: Terminal) -> String {
    let mut text = String::new();
    let mut say = |style, what: &str, case: &CaseRecord, why: &str| {
        let what = terminal.paint(style, what);
        let mut lines = why.lines();
        writeln!(text, "{what}: {}: {}", case.id, lines.next().unwrap_or_default()).expect(FITS);
        for line in lines {
            writeln!(text, "    {line}").expect(FITS);
        }
    };
    for case in cases {
        match &case.status {
            CaseStatus::Failed(why) => say(Style::Red, "failed", case, why),
            CaseStatus::Skipped(why) => say(Style::Dim, "skipped", case, why),
            CaseStatus::Incomplete | CaseStatus::Measured => {}
        }
        match &case.agreement {
            Agreement::Differs(what) => say(Style::Red, "unequal work", case, &what.join("\n")),
            Agreement::Declared(why) => say(Style::Yellow, "declared unequal", case, why),
            Agreement::Unverified(why) if case.status == CaseStatus::Measured => {
                say(Style::Yellow, "unverified", case, why);
            }
            _ => {}
        }
        // What differs from the reference has been told with its parts.
        let differs = matches!(case.agreement, Agreement::Differs(_));
        for finding in case.failed_rules().filter(|finding| !(differs && finding.rule == "same-work")) {
            let repeats = within(&finding.repeats);
            say(Style::Red, "not verified", case, &format!("{finding}{repeats}\n{}", finding.remedy));
        }
    }
    text.push_str(&incomplete(cases, terminal));
    text.push_str(&warnings(cases, terminal));
    text
}

/// The cases that a run did not get to the end of: often all of it, so they share a line.
fn incomplete(cases: &[CaseRecord], terminal: Terminal) -> String {
    let of = cases.iter().filter(|case| case.status == CaseStatus::Incomplete).map(|case| &case.id);
    let of: Vec<&CaseId> = of.collect();
    if of.is_empty() {
        return String::new();
    }
    let what = terminal.paint(Style::Yellow, "incomplete");
    format!("{what}: {}: the run ended before all repeats were done\n", whose(&of))
}

/// The case, or how many.
fn whose(cases: &[&CaseId]) -> String {
    match cases {
        [id] => id.to_string(),
        _ => format!("{} cases", cases.len()),
    }
}

/// In which repeats, where that is not of all of the case.
fn within(repeats: &[u32]) -> String {
    match repeats {
        [] => String::new(),
        [one] => format!(" (repeat {one})"),
        [first, ..] => format!(" (repeat {first} and {} more)", repeats.len() - 1),
    }
}

/// Warnings and caveats, each said once with the cases that have it.
fn warnings(cases: &[CaseRecord], terminal: Terminal) -> String {
    let mut said: Vec<(String, Vec<&CaseId>)> = Vec::new();
    for case in cases.iter().filter(|case| case.status == CaseStatus::Measured) {
        let caveats = case.findings.iter().filter(|finding| finding.severity == Severity::Caveat);
        let caveats = caveats.map(|finding| format!("{finding}{}", within(&finding.repeats)));
        for warning in caveats.chain(case.warnings.iter().cloned()) {
            match said.iter_mut().find(|(text, _)| *text == warning) {
                Some((_, ids)) => ids.push(&case.id),
                None => said.push((warning, vec![&case.id])),
            }
        }
    }
    let line = |(warning, ids): &(String, Vec<&CaseId>)| {
        format!("{}: {}: {warning}\n", terminal.paint(Style::Yellow, "warning"), whose(ids))
    };
    let hidden = said.len().saturating_sub(MOST_WARNINGS);
    let mut text: String = said.iter().take(MOST_WARNINGS).map(line).collect();
    if hidden > 0 {
        writeln!(text, "... and {hidden} warnings more, in the records of the cases").expect(FITS);
    }
    text
}

/// More would push the table off the screen on a noisy machine.
const MOST_WARNINGS: usize = 6;

/// Every metric of every measured case: what `--verbose` adds.
pub fn metrics(run: &RunRecord) -> String {
    let mut text = String::new();
    for case in run.cases.iter().filter(|case| case.status == CaseStatus::Measured) {
        writeln!(text, "\n{}", case.id).expect(FITS);
        for metric in &case.metrics {
            let shown = match (&metric.estimate, metric.values.iter().find_map(|reading| reading.why())) {
                (Some(estimate), _) => quantity::show(estimate.median, &metric.unit),
                (None, _) if metric.below().is_some() => {
                    format!("below {}", quantity::show(metric.below().unwrap_or_default(), &metric.unit))
                }
                (None, Some(why)) => format!("absent: {why}"),
                (None, None) => "absent".to_owned(),
            };
            writeln!(text, "  {:22} {shown}", metric.name).expect(FITS);
        }
        let disturbed = disturbed(&case.repeats);
        if !disturbed.is_empty() {
            writeln!(text, "  {:22} {disturbed}", "samples").expect(FITS);
        }
    }
    text
}

/// How many samples there are, and how many of them each cause disturbed; empty where there are none.
fn disturbed(repeats: &[Repeat]) -> String {
    let mut samples = 0;
    let mut causes: Vec<(&str, usize)> = Vec::new();
    for repeat in repeats {
        let Outcome::Measured { seen, .. } = &repeat.outcome else { continue };
        samples += seen.samples.len();
        for tag in &seen.tags {
            match causes.iter_mut().find(|(name, _)| *name == tag.cause.name()) {
                Some((_, count)) => *count += tag.samples.len(),
                None => causes.push((tag.cause.name(), tag.samples.len())),
            }
        }
    }
    let mut text = if samples == 0 { String::new() } else { samples.to_string() };
    for (name, count) in causes {
        write!(text, ", {count} {name}").expect(FITS);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures;

    /// A run of one scenario and point through adapters that took these times.
    fn run(adapters: &[(&str, [f64; 7])]) -> RunRecord {
        let case = |(name, values): &(&str, [f64; 7])| {
            let id = CaseId { adapter: Some((*name).to_owned()), ..fixtures::case_id(1) };
            let mut case = fixtures::case(id, values, 1);
            case.metrics[0].estimate = crate::record::Estimate::of(values);
            case
        };
        RunRecord { cases: adapters.iter().map(case).collect(), ..fixtures::run(1, 0) }
    }

    fn shown(run: &RunRecord) -> String {
        table(run, &Changes::new(), Terminal::detect(Some(false), true))
    }

    const FAST: [f64; 7] = [1.00, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06];

    #[test]
    fn adapters_are_ranked_and_a_tie_is_called_a_tie() {
        let near = FAST.map(|value| value + 0.03);
        let slow = FAST.map(|value| value * 2.0);
        let expected = "
PC-1/depth=1  A chain of cheap transforms.
  fast  1.03 s  [1.00 .. 1.06 s]  best
  near  1.06 s  [1.03 .. 1.09 s]  tie (1.03x)
  slow  2.06 s  [2.00 .. 2.12 s]  2.00x slower
";
        assert_eq!(shown(&run(&[("slow", slow), ("near", near), ("fast", FAST)])), expected);
    }

    #[test]
    fn one_that_waited_for_a_processor_makes_all_of_its_table_ranked_by_the_processors_clock() {
        // By the wall `waits` is slower than `calm`; by the processor it is faster.
        let mut run = run(&[("calm", FAST), ("waits", FAST.map(|value| value * 3.0))]);
        for (case, cpu) in run.cases.iter_mut().zip([0.9, 0.5]) {
            let values = FAST.map(|value| value * cpu);
            let mut time = case.metrics[0].clone();
            (time.name, time.estimate) = ("cpu_time".into(), crate::record::Estimate::of(&values));
            let mut share = time.clone();
            share.name = "run_queue_share".into();
            share.estimate = crate::record::Estimate::of(&[if cpu < 0.9 { 0.8 } else { 0.0 }; 7]);
            case.metrics.extend([time, share]);
        }
        let expected = "
PC-1/depth=1  A chain of cheap transforms.
  waits  515 ms cpu  [500 .. 530 ms], wall 3.09 s  best
  calm   927 ms cpu  [900 .. 954 ms], wall 1.03 s  1.80x slower
";
        assert_eq!(shown(&run), expected);
        let sleeps = Some(crate::record::Estimate { median: 0.01, interval: None, n: 7 });
        run.cases[0].metrics.iter_mut().find(|metric| metric.name == "cpu_time").unwrap().estimate = sleeps;
        let shown = shown(&run);
        assert!(!shown.contains(" cpu ") && shown.contains("3.00x slower"), "one of them sleeps: {shown}");
    }

    #[test]
    fn what_did_other_work_stands_apart_and_is_never_ranked() {
        let mut run = run(&[("plain", FAST.map(|value| value * 2.0)), ("wrong", FAST)]);
        run.cases[1].agreement = Agreement::Differs(vec!["elements: 2, the reference has 3".into()]);
        let shown = shown(&run);
        let line = |name: &str| shown.lines().find(|line| line.starts_with(&format!("  {name}"))).unwrap();
        assert!(line("wrong").ends_with("not ranked") && !line("plain").contains("slower"), "{shown}");
        let apart = "unequal work: PC-1/depth=1/wrong: elements: 2, the reference has 3";
        assert!(shown.contains(apart), "{shown}");
    }

    #[test]
    fn cases_that_were_not_finished_share_a_line() {
        let mut run = run(&[("one", FAST), ("two", FAST), ("three", FAST)]);
        run.cases[0].status = CaseStatus::Incomplete;
        let line = "\nincomplete: PC-1/depth=1/one: the run ended before all repeats were done\n";
        assert!(shown(&run).contains(line), "{}", shown(&run));
        run.cases[2].status = CaseStatus::Incomplete;
        let line = "\nincomplete: 2 cases: the run ended before all repeats were done\n";
        assert!(shown(&run).contains(line), "{}", shown(&run));
    }

    #[test]
    fn a_failed_case_stands_below_the_table_with_how_it_failed() {
        let mut run = run(&[("plain", FAST), ("broken", FAST)]);
        run.cases[1].status = CaseStatus::Failed("repeat 1 panicked in the set-up: no disk".into());
        let shown = shown(&run);
        assert!(
            shown.contains("\nfailed: PC-1/depth=1/broken: repeat 1 panicked in the set-up: no disk\n"),
            "{shown}"
        );
        assert_eq!(shown.matches("broken").count(), 1, "{shown}");
    }
}
