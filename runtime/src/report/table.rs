//! The table at the end of a run: per scenario and point the adapters side by side, and what stands apart and
//! why.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::mem::discriminant;
use std::path::PathBuf;

use super::cells::{Changes, UNFINISHED, interval, median};
use super::columns::Columns;
use super::machine::fake_device;
use super::plan::counted;
use super::skips::skip_lines;
use super::tree::tree;
use super::{Style, Terminal, quantity};
use crate::bencher::{quoted, visible, visible_in_line};
use crate::compare::Ratio;
use crate::metric::{Direction, Note, Unit};
use crate::plan::CaseId;
use crate::record::{CaseRecord, CaseStatus, Estimate, MetricRecord, RunRecord, UnfinishedReason};
use crate::run::{Outcome, Repeat};
use crate::verify::{Agreement, CAVEATS, Caveat, Finding, FindingDetail, Severity, UnverifiedReason};

/// The table of a run. `changes` is by the name of the case for people; `log` gives the file with what a
/// repeat of a case printed, where there is one.
pub fn table(run: &RunRecord, changes: &Changes, log: &Logs<'_>, terminal: Terminal) -> String {
    let mut text = String::new();
    if let Some(fake) = fake_device(&run.manifest.environment) {
        writeln!(text, "\n{}", terminal.paint(Style::Bold, &fake)).expect(FITS);
    }
    let (lone, groups): (Vec<_>, Vec<_>) = groups(&run.cases).into_iter().partition(|group| is_lone(group));
    let mut shown = Columns::new(["", "median>", "95 % interval", "against the best", "since the last run"]);
    for (number, group) in groups.iter().enumerate() {
        let first = group[0];
        if number > 0 {
            shown.title(String::new(), String::new());
        }
        let title = visible_in_line(&first.group());
        let rest = match (&first.beside, group.iter().any(|case| case.is_unproven())) {
            (None, _) => &*visible_in_line(&first.description),
            (Some(_), false) => PROVEN,
            (Some(_), true) => UNPROVEN,
        };
        shown.title(format!("{}  {rest}", terminal.paint(Style::Bold, &title)), format!("{title}  {rest}"));
        for case in ranked(group) {
            shown.row(row(case, group, changes));
        }
        for case in group.iter().filter(|case| !case.ranked()) {
            let mut cells = row(case, &[], changes);
            cells[3] = match case.status {
                CaseStatus::Measured if case.is_unproven() => beside(case, group),
                CaseStatus::Measured => "not ranked".to_owned(),
                _ => UNFINISHED.to_owned(),
            };
            shown.row(cells);
        }
    }
    let ranked = shown.fitted(terminal.columns, &[2]);
    if !ranked.is_empty() {
        writeln!(text).expect(FITS);
    }
    text.push_str(&ranked);
    text.push_str(&tree(&lone, changes, terminal));
    for (word, meaning) in [("CPU", CPU), (" undelayed", UNDELAYED)] {
        if text.contains(word) {
            text.push_str(meaning);
        }
    }
    text.push_str(&apart(&run.cases, log, terminal));
    text
}

/// The figures of a run that goes on, a line for each group of cases.
pub fn first_figures(cases: &[CaseRecord]) -> String {
    let mut text = "after one repeat of each case, before there are intervals:".to_owned();
    for group in groups(cases) {
        let figure = |case: &&CaseRecord| {
            let metric = leading(case, &group)?;
            let shown = median(case, metric, &metric.estimate?);
            Some(
                case.id
                    .adapter
                    .as_ref()
                    .map_or_else(|| shown.clone(), |adapter| format!("{adapter} {shown}")),
            )
        };
        let figures: Vec<String> = group.iter().filter_map(figure).collect();
        write!(text, "\n  {}  {}", visible_in_line(&group[0].group()), figures.join(", ")).expect(FITS);
    }
    text
}

/// The place where what a repeat of a case printed is kept.
pub type Logs<'a> = dyn Fn(&CaseId, u32) -> Option<PathBuf> + 'a;

/// Footnote on the word in a table.
const CPU: &str =
    "CPU: by the processor's clock, since threads waited for a processor in over 10 % of the wall time\n";

/// Footnote on the word in a table.
const UNDELAYED: &str =
    "undelayed: without the time in which its thread waited for a processor, over 10 % of the wall time\n";

/// Tells whether a case stands alone: nobody is compared with it at its point.
fn is_lone(group: &[&CaseRecord]) -> bool {
    group.len() == 1 && group[0].id.adapter.is_none()
}

const FITS: &str = "a String takes all that is written";

/// Cases that are ranked among each other, in the order of the record.
fn groups(cases: &[CaseRecord]) -> Vec<Vec<&CaseRecord>> {
    let mut groups: Vec<Vec<&CaseRecord>> = Vec::new();
    let mut titles: Vec<String> = Vec::new();
    for case in cases.iter().filter(|case| is_shown(case)) {
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

/// Tells whether a case has a row: it was measured, or a run that was ended had some repeats of it.
fn is_shown(case: &CaseRecord) -> bool {
    let has_some = || case.primary_metric().is_some_and(|metric| metric.estimate.is_some());
    case.status == CaseStatus::Measured || case.status == CaseStatus::Incomplete && has_some()
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

/// The metric by which the cases of a group are compared, of this one.
fn leading<'a>(case: &'a CaseRecord, group: &[&CaseRecord]) -> Option<&'a MetricRecord> {
    case.metric(CaseRecord::common_metric(group)).or_else(|| case.primary_metric())
}

/// The value turned so that less is better.
fn cost(metric: &MetricRecord, value: f64) -> f64 {
    if metric.direction == Direction::Higher { 1.0 / value } else { value }
}

/// Name, median, interval, standing, change.
fn row(case: &CaseRecord, group: &[&CaseRecord], changes: &Changes) -> Vec<String> {
    let name = case.id.adapter.clone().unwrap_or_else(|| case.id.scenario.clone());
    let shown = leading(case, group).and_then(|metric| Some((metric, metric.estimate?)));
    let Some((metric, estimate)) = shown else {
        let below = case.primary_metric().and_then(|metric| Some((metric.below()?, &metric.unit)));
        let shown = below.map_or_else(
            || "not measured".to_owned(),
            |(bound, unit)| format!("below {}", quantity::show(bound, unit)),
        );
        return vec![name, shown, String::new(), String::new(), String::new()];
    };
    let change = changes.get(&case.id.to_string()).cloned().unwrap_or_default();
    let (median, interval) = (median(case, metric, &estimate), interval(case, metric, &estimate));
    vec![name, median, interval, standing(case, metric, estimate.median, group), change]
}

/// Tells how the case stands to the best of its group. Where the interval of their ratio has 1 in it, nobody
/// can say who leads.
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
    match Ratio::between(metric, best_metric) {
        Some(ratio) if ratio.is_tie() => format!("tie ({:.2}x)", 1.0 / ratio.estimate),
        Some(ratio) => times_the_best(1.0 / ratio.estimate),
        None => times_the_best(cost(metric, median) / cost(best_metric, best.median)),
    }
}

/// A ratio of costs to the best one, in words that hold whichever is less.
fn times_the_best(ratio: f64) -> String {
    if ratio < 1.0 { format!("{:.2}x faster", 1.0 / ratio) } else { format!("{ratio:.2}x slower") }
}

/// The line on a group of scenarios whose work is the same.
const PROVEN: &str = "side by side: those with a rank gave the same answer";

/// The line on a group of which nobody knows that.
const UNPROVEN: &str =
    "side by side, unverified: `equivalence = exact` and `bencher.iter_verified` prove equal work";

/// The time that a case takes beside the quickest of its group, where nothing proves that they do the same: a
/// ratio, and no rank.
fn beside(case: &CaseRecord, group: &[&CaseRecord]) -> String {
    let by = leading(case, group);
    let cost_of = |case: &CaseRecord| {
        let metric = leading(case, group).filter(|metric| Some(&metric.name) == by.map(|of| &of.name))?;
        Some(cost(metric, metric.estimate?.median))
    };
    let costs: Option<Vec<f64>> = group.iter().map(|case| cost_of(case)).collect();
    match costs.and_then(|costs| costs.into_iter().min_by(f64::total_cmp)).zip(cost_of(case)) {
        Some((least, own)) => format!("{:.2}x", own / least),
        None => "not ranked".to_owned(),
    }
}

/// Failures, skips, work that does not verify, warnings: each with its reason.
fn apart(cases: &[CaseRecord], log: &Logs<'_>, terminal: Terminal) -> String {
    let mut text = String::new();
    let mut say = |style, what: &str, case: &CaseRecord, why: &str| {
        let what = terminal.paint(style, what);
        let why = visible(why);
        let mut lines = why.lines();
        writeln!(text, "{what}: {}: {}", shown(&case.id), lines.next().unwrap_or_default()).expect(FITS);
        for line in lines {
            writeln!(text, "    {line}").expect(FITS);
        }
    };
    for case in cases {
        match &case.status {
            CaseStatus::Failed(why) => {
                let failed = case.repeats.iter().find(|repeat| matches!(repeat.outcome, Outcome::Failed(_)));
                let log = failed.and_then(|repeat| log(&case.id, repeat.number));
                let log = log.map_or_else(String::new, |log| format!("\nlog: {}", log.display()));
                say(Style::Red, "failed", case, &format!("{}{log}", quoted(&why.to_string())));
            }
            CaseStatus::Skipped(_) | CaseStatus::Incomplete | CaseStatus::Measured => {}
        }
        match &case.agreement {
            Agreement::Differs(what) => say(Style::Red, "unequal work", case, &what.join("\n")),
            Agreement::Declared(why) => say(Style::Yellow, "declared unequal", case, why),
            _ => {}
        }
        // What differs from the reference has been told with its parts, and what ended a repeat with it.
        let ended = |finding: &&Finding| match &case.status {
            CaseStatus::Failed(why) => why.tells(finding),
            _ => false,
        };
        let differs = matches!(case.agreement, Agreement::Differs(_));
        let told = |finding: &&Finding| {
            differs && (finding.rule == "same-work" || case.beside.is_some() && finding.rule == "spot-check")
        };
        for finding in case.failed_rules().filter(|finding| !told(finding) && !ended(finding)) {
            let repeats = within(&finding.repeats);
            say(Style::Red, "not verified", case, &format!("{finding}{repeats}\n{}", finding.remedy));
        }
    }
    text.push_str(&skipped(cases, terminal));
    text.push_str(&unverified(cases, terminal));
    text.push_str(&incomplete(cases, terminal));
    text.push_str(&warnings(cases, terminal));
    text
}

/// The cases that were skipped.
fn skipped(cases: &[CaseRecord], terminal: Terminal) -> String {
    let skips = cases.iter().filter_map(|case| match &case.status {
        CaseStatus::Skipped(why) => Some((&case.id, why.to_string())),
        _ => None,
    });
    let what = terminal.paint(Style::Dim, "skipped");
    skip_lines(skips).iter().map(|said| format!("{what}: {said}\n")).collect()
}

/// The cases whose work was held against nothing, by the reason.
fn unverified(cases: &[CaseRecord], terminal: Terminal) -> String {
    let mut said: Vec<(&UnverifiedReason, Vec<&CaseId>)> = Vec::new();
    for case in cases.iter().filter(|case| case.status == CaseStatus::Measured) {
        let Agreement::Unverified(why) = &case.agreement else { continue };
        match said.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, ids)) => ids.push(&case.id),
            None => said.push((why, vec![&case.id])),
        }
    }
    let what = terminal.paint(Style::Yellow, "unverified");
    said.iter()
        .map(|(why, ids)| {
            // A scenario that says so itself says what helps.
            let helps = match why {
                UnverifiedReason::Stated(_) => String::new(),
                _ => format!("    {VERIFY}\n"),
            };
            format!("{what}: {}: {}\n{helps}", whose(ids), visible_in_line(&why.to_string()))
        })
        .collect()
}

/// The remedy where nothing is compared.
const VERIFY: &str = "make one adapter the reference (`tier = 0`, docs/guide/adapters.md), or say \
    `equivalence = none` where there is nothing to compare";

/// The cases that a run did not get to the end of: often all of it, so they share a line.
fn incomplete(cases: &[CaseRecord], terminal: Terminal) -> String {
    let mut of: BTreeMap<UnfinishedReason, Vec<&CaseId>> = BTreeMap::new();
    for case in cases {
        if let Some(why) = case.unfinished() {
            of.entry(why).or_default().push(&case.id);
        }
    }
    let what = terminal.paint(Style::Yellow, "incomplete");
    of.iter().map(|(why, of)| format!("{what}: {}: {why}\n", whose(of))).collect()
}

/// The name of a case in one line.
fn shown(id: &CaseId) -> String {
    visible_in_line(&id.to_string())
}

/// The case, or how many.
fn whose(cases: &[&CaseId]) -> String {
    match cases {
        [id] => shown(id),
        _ => format!("{} cases", cases.len()),
    }
}

/// Names the repeats, where they are not all of the case.
fn within(repeats: &[u32]) -> String {
    match repeats {
        [] => String::new(),
        [one] => format!(" (repeat {one})"),
        [first, ..] => format!(" (repeat {first} and {} more)", repeats.len() - 1),
    }
}

/// Caveats, a line for each kind, the weightiest first: a case by itself in its own words, several with how
/// many they are and from where to where it goes. What need not be known to read the table is left to
/// `--verbose`.
fn warnings(cases: &[CaseRecord], terminal: Terminal) -> String {
    let mut said: Vec<(&str, Vec<(&CaseId, &Finding)>)> = Vec::new();
    for case in cases.iter().filter(|case| case.status == CaseStatus::Measured) {
        for finding in case.findings.iter().filter(|finding| finding.severity == Severity::Caveat) {
            match said.iter_mut().find(|(_, of)| are_alike(of[0].1, finding)) {
                Some((_, of)) => of.push((&case.id, finding)),
                None => said.push((&finding.rule, vec![(&case.id, finding)])),
            }
        }
    }
    let waited: Vec<&CaseId> = said
        .iter()
        .filter(|(rule, _)| *rule == WAITED)
        .flat_map(|(_, of)| of.iter().map(|(id, _)| *id))
        .collect();
    for (_, of) in said.iter_mut().filter(|(rule, _)| OF_A_BUSY_MACHINE.contains(rule)) {
        of.retain(|(id, _)| !waited.contains(id));
    }
    said.retain(|(rule, of)| !LEFT_TO_VERBOSE.contains(rule) && !of.is_empty());
    // The rules of evidence come first, then those of estimates in their order.
    let weight = |rule: &str| CAVEATS.iter().position(|kind| kind.name == rule).map_or(0, |at| at + 1);
    said.sort_by_key(|(rule, _)| weight(rule));
    // The line that names the rest is one of them.
    let lines = if said.len() > MOST_WARNINGS { MOST_WARNINGS - 1 } else { MOST_WARNINGS };
    let mut hidden: Vec<&str> = said.iter().skip(lines).map(|(rule, _)| *rule).collect();
    hidden.dedup();
    let line = |(rule, of): &(&str, Vec<(&CaseId, &Finding)>)| {
        let what = terminal.paint(Style::Yellow, "caveat");
        format!("{what} ({}): {}\n", visible_in_line(rule), visible_in_line(&together(of)))
    };
    let mut text: String = said.iter().take(lines).map(line).collect();
    if !hidden.is_empty() {
        writeln!(
            text,
            "caveats of {} more ({}): --verbose shows them",
            counted(hidden.len(), "kind"),
            visible_in_line(&hidden.join(", "))
        )
        .expect(FITS);
    }
    text
}

/// Tells whether two caveats are of one kind. Notes are, where they are of one kind of note; those of
/// scenarios, where their words are the same.
fn are_alike(one: &Finding, other: &Finding) -> bool {
    let kinds = match (&one.detail, &other.detail) {
        (FindingDetail::Estimate(Caveat::Note(one)), FindingDetail::Estimate(Caveat::Note(other))) => {
            let is_authors = matches!(one, Note::Scenario(_));
            discriminant(one) == discriminant(other) && (!is_authors || one == other)
        }
        _ => true,
    };
    one.rule == other.rule && kinds
}

/// Caveats of one kind.
fn together(of: &[(&CaseId, &Finding)]) -> String {
    let Finding { rule, remedy, .. } = of[0].1;
    let remedy = if remedy.is_empty() { String::new() } else { format!(": {remedy}") };
    if let [(id, finding)] = of {
        return format!("{id}: {}{}{remedy}", finding.detail, within(&finding.repeats));
    }
    let mut cases: Vec<&CaseId> = of.iter().map(|(id, _)| *id).collect();
    cases.dedup();
    let kind = CAVEATS.iter().find(|kind| kind.name == rule && kind.name != "note");
    let says = kind.map_or_else(|| of[0].1.detail.to_string(), |kind| kind.says.to_owned());
    let figures = || of.iter().filter_map(|(_, finding)| finding.figure.as_ref());
    let least = figures().map(|figure| figure.value).fold(f64::INFINITY, f64::min);
    let most = figures().map(|figure| figure.value).fold(f64::NEG_INFINITY, f64::max);
    let range = figures().next().map_or_else(String::new, |figure| {
        format!(", {} .. {} {}", quantity::digits(least), quantity::digits(most), figure.unit)
    });
    format!("{says} ({}{range}){remedy}", whose(&cases))
}

/// More would push the table off the screen on a noisy machine.
const MOST_WARNINGS: usize = 3;

/// The caveats that change nothing that a reader of the table would do: a median bears an outlier, and the
/// column of intervals has that there is none.
const LEFT_TO_VERBOSE: &[&str] = &["few-repeats", "sampled-memory", "missing", "outlier"];

/// The caveat of a machine that others use.
const WAITED: &str = "waited";

/// The caveats that follow from it, and have the same remedy.
const OF_A_BUSY_MACHINE: &[&str] = &["unlike-repeats", "unsettled", "unsteady"];

/// Every metric of every measured case: what `--verbose` adds.
pub fn metrics(run: &RunRecord) -> String {
    let mut text = String::new();
    for case in run.cases.iter().filter(|case| case.status == CaseStatus::Measured) {
        writeln!(text, "\n{}", shown(&case.id)).expect(FITS);
        for metric in &case.metrics {
            let value = match (&metric.estimate, metric.values.iter().find_map(|reading| reading.why())) {
                (Some(estimate), _) => figures(estimate, &metric.unit),
                (None, _) if metric.below().is_some() => {
                    format!("below {}", quantity::show(metric.below().unwrap_or_default(), &metric.unit))
                }
                (None, Some(why)) => format!("absent: {why}"),
                (None, None) => "absent".to_owned(),
            };
            writeln!(text, "  {}", visible_in_line(&format!("{:22} {value}", metric.name))).expect(FITS);
        }
        for finding in case.findings.iter().filter(|finding| finding.severity == Severity::Caveat) {
            let remedy =
                if finding.remedy.is_empty() { String::new() } else { format!(": {}", finding.remedy) };
            let told = format!("caveat {finding}{}{remedy}", within(&finding.repeats));
            writeln!(text, "  {}", visible_in_line(&told)).expect(FITS);
        }
        let disturbed = disturbed(&case.repeats);
        if !disturbed.is_empty() {
            writeln!(text, "  {:22} {disturbed}", "samples").expect(FITS);
        }
    }
    text
}

/// The median with its interval, and beside it the mean and the deviation, over the repeats.
fn figures(estimate: &Estimate, unit: &Unit) -> String {
    let show = |value: f64| quantity::show(value, unit);
    let interval = estimate.interval.map(|(low, high)| quantity::range(low, high, unit));
    let interval = interval.map_or_else(String::new, |interval| format!("  [{interval}]"));
    let spread = match (estimate.mean, estimate.deviation) {
        (Some(mean), Some(deviation)) => format!("  mean {}, deviation {}", show(mean), show(deviation)),
        _ => String::new(),
    };
    format!("{}{interval}{spread}", show(estimate.median))
}

/// The number of samples there are, and how many of them each cause disturbed; empty where there are none.
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
    use crate::bencher::{Phase, WorkFault};
    use crate::record::FailureReason;
    use crate::run::{Failure, How};
    use crate::store::fixtures;
    use crate::verify::{Caveat, FindingDetail};

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
        table(run, &Changes::new(), &|_, _| None, Terminal::detect(Some(false), true))
    }

    const FAST: [f64; 7] = [1.00, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06];

    #[test]
    fn adapters_are_ranked_and_a_tie_is_called_a_tie() {
        let mut near = FAST.map(|value| value + 0.01);
        near.reverse();
        let slow = FAST.map(|value| value * 2.0);
        let expected = "
        median  95 % interval     against the best
PC-1/depth=1  A chain of cheap transforms.
  fast  1.03 s  [1.00 .. 1.06 s]  best
  near  1.04 s  [1.01 .. 1.07 s]  tie (1.01x)
  slow  2.06 s  [2.00 .. 2.12 s]  2.00x slower
";
        assert_eq!(shown(&run(&[("slow", slow), ("near", near), ("fast", FAST)])), expected);
    }

    #[test]
    fn who_uses_more_processors_than_it_has_workers_is_ranked_among_those_that_do_so_too() {
        let half = FAST.map(|value| value / 2.0);
        let mut run =
            run(&[("alone", FAST), ("threads", half), ("more threads", half.map(|time| 1.5 * time))]);
        for case in &mut run.cases[1..] {
            let detail = FindingDetail::Evidence("it uses 1.9 processors".to_owned());
            case.findings.push(crate::verify::Finding {
                rule: "processors".to_owned(),
                severity: crate::verify::Severity::Caveat,
                repeats: Vec::new(),
                detail,
                figure: None,
                remedy: String::new(),
            });
        }
        let shown = shown(&run);
        let expected = "
PC-1/depth=1  A chain of cheap transforms.
  alone         1.03 s  [1.00 .. 1.06 s]

PC-1/depth=1, on more processors  A chain of cheap transforms.
  threads       515 ms  [500 .. 530 ms]   best
  more threads  772 ms  [750 .. 795 ms]   1.50x slower
caveat (processors): it uses 1.9 processors (2 cases)
";
        assert!(shown.contains(expected), "{shown}");
    }

    #[test]
    fn a_lead_that_every_round_shows_is_no_tie_though_the_machine_grew_slower_from_round_to_round() {
        let shown = shown(&run(&[("near", FAST.map(|value| value * 1.03)), ("fast", FAST)]));
        assert!(shown.contains("  near  1.06 s  [1.03 .. 1.09 s]  1.03x slower\n"), "{shown}");
    }

    #[test]
    fn first_figures_have_a_line_for_each_group() {
        let run = run(&[("slow", FAST.map(|value| value * 2.0)), ("fast", FAST)]);
        let told = first_figures(&run.cases);
        assert!(told.ends_with("\n  PC-1/depth=1  slow 2.06 s, fast 1.03 s"), "{told}");
    }

    #[test]
    fn where_each_waited_for_a_processor_a_table_is_ranked_by_its_clock_and_one_moves_nobody_else() {
        // By the wall `waits` is slower than `calm`; by the processor it is faster.
        let mut run = run(&[("calm", FAST), ("waits", FAST.map(|value| value * 3.0))]);
        let has_waited = |run: &mut RunRecord, at: usize, share: f64| {
            let metrics = &mut run.cases[at].metrics;
            let waited = metrics.iter_mut().find(|metric| metric.name == "run_queue_share").unwrap();
            waited.estimate = crate::record::Estimate::of(&[share; 7]);
        };
        for (case, cpu) in run.cases.iter_mut().zip([0.9, 0.5]) {
            let values = FAST.map(|value| value * cpu);
            let mut time = case.metrics[0].clone();
            (time.name, time.estimate) = ("cpu_time".into(), crate::record::Estimate::of(&values));
            time.values = values.map(crate::metric::Reading::Value).to_vec();
            let mut share = time.clone();
            share.name = "run_queue_share".into();
            case.metrics.extend([time, share]);
        }
        has_waited(&mut run, 0, 0.0);
        has_waited(&mut run, 1, 0.8);
        let shown_so = shown(&run);
        assert!(!shown_so.contains(" CPU ") && shown_so.contains("3.00x slower"), "one alone: {shown_so}");
        has_waited(&mut run, 0, 0.2);
        let expected = "
             median  95 % interval                 against the best
PC-1/depth=1  A chain of cheap transforms.
  waits  515 ms CPU  [500 .. 530 ms], wall 3.09 s  best
  calm   927 ms CPU  [900 .. 954 ms], wall 1.03 s  1.80x slower
CPU: by the processor's clock, since threads waited for a processor in over 10 % of the wall time
";
        assert_eq!(shown(&run), expected);
        let sleeps = crate::record::Estimate::of(&[0.01; 7]);
        run.cases[0].metrics.iter_mut().find(|metric| metric.name == "cpu_time").unwrap().estimate = sleeps;
        let shown = shown(&run);
        assert!(!shown.contains(" CPU ") && shown.contains("3.00x slower"), "one of them sleeps: {shown}");
    }

    #[test]
    fn of_a_group_that_nobody_has_proven_all_are_beside_the_quickest_by_one_clock() {
        let mut run = run(&[("calm", FAST), ("waits", FAST.map(|value| value * 3.0))]);
        for (case, (undelayed, share)) in run.cases.iter_mut().zip([(1.0, 0.2), (2.0, 0.5)]) {
            case.id.scenario = case.id.adapter.take().unwrap();
            (case.beside, case.agreement) = (Some("Unproven".into()), Agreement::NotAsked);
            let mut time = case.metrics[0].clone();
            let values = FAST.map(|value| value * undelayed);
            (time.name, time.estimate) = ("undelayed_time".into(), crate::record::Estimate::of(&values));
            let mut waited = time.clone();
            waited.name = "run_queue_share".into();
            waited.estimate = crate::record::Estimate::of(&[share; 7]);
            case.metrics.extend([time, waited]);
        }
        let shown = shown(&run);
        assert!(shown.contains("2.00x") && !shown.contains("not ranked"), "{shown}");
    }

    #[test]
    fn a_ratio_below_one_is_called_faster() {
        assert_eq!(times_the_best(2.0), "2.00x slower");
        assert_eq!(times_the_best(0.5), "2.00x faster");
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
        assert!(shown(&run).contains("  one    1.03 s  [1.00 .. 1.06 s]  not finished\n"), "{}", shown(&run));
        run.cases[2].status = CaseStatus::Incomplete;
        let line = "\nincomplete: 2 cases: the run ended before all repeats were done\n";
        assert!(shown(&run).contains(line), "{}", shown(&run));
    }

    #[test]
    fn a_failed_case_stands_below_the_table_with_how_it_failed() {
        let mut run = run(&[("plain", FAST), ("broken", FAST)]);
        let failure = |how, detail: &str| Failure {
            how,
            phase: Phase::SetUp,
            detail: detail.into(),
            stderr: String::new(),
        };
        let failed = |how, detail| CaseStatus::Failed(FailureReason::repeat(1, &failure(how, detail)));
        run.cases[1].status = failed(How::Panic, "no disk");
        let line = "\nfailed: PC-1/depth=1/broken: repeat 1 panicked in the set-up: no disk\n";
        assert!(shown(&run).contains(line), "{}", shown(&run));
        run.cases[1].status =
            failed(How::Work(Box::new(WorkFault::Blocks { baseline: true, candidate: false })), "");
        let shown = shown(&run);
        assert_eq!(shown.matches("broken").count(), 1, "{shown}");
        let twice = crate::verify::Finding {
            rule: "claims".into(),
            severity: crate::verify::Severity::Fail,
            repeats: vec![1],
            detail: FindingDetail::Evidence("one side measures a body in blocks".into()),
            remedy: String::new(),
            figure: None,
        };
        run.cases[1].findings.push(twice);
        assert_eq!(self::shown(&run), shown, "what ended the repeat is told once");
    }

    /// A suite of bodies without contracts, one scenario of which has several points, and one of adapters.
    fn suite() -> RunRecord {
        let lone = |scenario: &str, point: usize, scale: f64| {
            let base = fixtures::case_id(point);
            let point = if point == 0 { crate::registry::Point::default() } else { base.point };
            let id = CaseId { scenario: scenario.to_owned(), point, adapter: None, told_apart: false };
            let values = FAST.map(|value| value * scale);
            let mut case = fixtures::case(id, &values, 1);
            case.metrics[0].estimate = crate::record::Estimate::of(&values);
            let mut rate = case.metrics[0].clone();
            (rate.name, rate.unit) = ("throughput".into(), crate::metric::Unit::ELEMENTS_PER_SECOND);
            rate.estimate = crate::record::Estimate::of(&values.map(|value| 1000.0 / value));
            case.metrics.push(rate);
            for repeat in &mut case.repeats {
                if let Outcome::Measured { seen, .. } = &mut repeat.outcome {
                    seen.taken = Some(crate::metric::SampleKind::Iterations);
                }
            }
            case
        };
        let long = FAST.map(|value| value * 3.0);
        let mut run = run(&[("plain", FAST), ("of-a-name-that-is-long-enough-to-be-cut", long)]);
        run.cases.extend([
            lone("PARSE-1", 0, 1e-3),
            lone("SORT-1", 10, 1e-9),
            lone("SORT-1", 100_000, 2e-6),
            lone("A-SCENARIO-OF-A-RATHER-LONG-NAME-THAT-SOMEBODY-CHOSE", 0, 0.2),
        ]);
        run
    }

    fn at(columns: Option<usize>, plain: bool) -> String {
        let changes = Changes::from([("PARSE-1".to_owned(), "+4.2 % slower".to_owned())]);
        let terminal = Terminal { columns, plain, ..Terminal::detect(Some(false), true) };
        table(&suite(), &changes, &|_, _| None, terminal)
    }

    #[test]
    fn a_table_of_80_columns_wraps_no_row() {
        let shown = at(Some(80), false);
        assert_eq!(shown, include_str!("golden/table-80.txt"));
        assert!(shown.lines().take_while(|line| !line.contains(':')).all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn a_table_of_200_columns_has_every_column_and_every_name_whole() {
        let shown = at(Some(200), false);
        assert_eq!(shown, include_str!("golden/table-200.txt"));
        assert_eq!(shown, at(None, false), "and so has one that goes to a file");
        assert!(!at(None, true).contains('├') && !at(None, true).contains('╰'), "letters alone");
    }

    #[test]
    fn the_full_view_has_mean_and_deviation_beside_median_and_interval_and_one_repeat_has_neither() {
        let mut run = run(&[("one", FAST)]);
        let estimate = |values: &[f64]| crate::record::Estimate::of(values);
        run.cases[0].metrics.truncate(1);
        run.cases[0].metrics[0].estimate = estimate(&[1e-3, 1.1e-3, 1.2e-3, 1.3e-3, 1.4e-3, 1.5e-3, 9e-3]);
        let said = "1.30 ms  [1.00 .. 9.00 ms]  mean 2.36 ms, deviation 2.93 ms\n";
        assert!(metrics(&run).contains(said), "{}", metrics(&run));
        run.cases[0].metrics[0].estimate = estimate(&[1e-3]);
        assert!(metrics(&run).contains(" 1.00 ms\n"), "{}", metrics(&run));
    }

    #[test]
    fn caveats_of_one_kind_share_a_line_with_their_range_and_what_helps() {
        let mut run = run(&[("one", FAST), ("two", FAST), ("three", FAST)]);
        let unsteady = |value: f64| Finding {
            rule: "unsteady".into(),
            severity: Severity::Caveat,
            repeats: Vec::new(),
            detail: FindingDetail::Estimate(Caveat::Unsteady {
                metric: "wall_time".into(),
                variation: value / 100.0,
            }),
            remedy: "rerun".into(),
            figure: Some(crate::verify::Figure { value, unit: "%".into() }),
        };
        let of = |rule: &str| Finding { rule: rule.into(), figure: None, ..unsteady(0.0) };
        let first = ["sampled-memory", "few-repeats", "off-target", "memory", "view"];
        run.cases[0].findings = first.map(of).into_iter().chain([unsteady(11.1)]).collect();
        run.cases[1].findings = vec![unsteady(23.0), of("outlier")];
        run.cases[2].findings = vec![unsteady(40.0)];
        let shown = shown(&run);
        let caveats: Vec<&str> = shown.lines().filter(|line| line.starts_with("caveat")).collect();
        assert_eq!(caveats.len(), 3, "two kinds, and what is hidden: {shown}");
        assert!(caveats[0].starts_with("caveat (view): PC-1/depth=1/one: "), "evidence comes first: {shown}");
        let says =
            "repeats vary by a coefficient of variation of 10 % or more (3 cases, 11.1 .. 40.0 %): rerun";
        assert_eq!(caveats[1], format!("caveat (unsteady): {says}"));
        assert_eq!(caveats[2], "caveats of 2 kinds more (off-target, memory): --verbose shows them");

        run.cases[0].findings = vec![of("waited"), of("unsettled"), unsteady(11.1)];
        run.cases[1].findings = vec![unsteady(23.0)];
        run.cases[2].findings = vec![of("waited")];
        let shown = self::shown(&run);
        let caveats: Vec<&str> = shown.lines().filter(|line| line.starts_with("caveat")).collect();
        assert_eq!(caveats.len(), 2, "what waited is unsteady by that: {shown}");
        assert!(caveats[1].starts_with("caveat (unsteady): PC-1/depth=1/two: "), "{shown}");
        assert!(metrics(&run).contains("caveat unsettled: "), "which shows all: {}", metrics(&run));
    }
}
