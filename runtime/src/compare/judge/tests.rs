//! Tests of judging.

use super::fixture::{case, labelled, metric, run};
use super::*;
use crate::bencher::Phase;
use crate::compare::{FactKind, GateOutcome, Tendency};
use crate::metric::Unit;
use crate::record::{Estimate, FailureReason, RunId};
use crate::run::{Failure, How};

const TIMES: [f64; 7] = [1.00, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998];

/// The reason of a case of which this repeat panicked.
fn panicked(repeat: u32) -> FailureReason {
    let (detail, stderr) = ("boom".to_owned(), String::new());
    FailureReason::repeat(repeat, &Failure { how: How::Panic, phase: Phase::Timed, detail, stderr })
}

/// Judges the candidate's cases by the baseline's, with a margin of 5 %.
fn compare(before: Vec<CaseRecord>, after: Vec<CaseRecord>) -> Comparison {
    let policy = Policy { threshold: Some(0.05), ..Policy::default() };
    judge(&Baseline::promote("main", &run(1, before)), &run(2, after), &History::default(), &policy)
}

/// The verdict on one case, steady before, as it is after.
fn verdict(after: CaseRecord) -> Verdict {
    let comparison = compare(vec![case("A", &TIMES)], vec![after]);
    comparison.rows[0].verdict.clone()
}

fn times(factor: f64) -> [f64; 7] {
    TIMES.map(|time| time * factor)
}

fn outcome(comparison: &Comparison) -> GateOutcome {
    comparison.outcome(&Policy::default())
}

#[test]
fn a_run_of_several_cases_has_a_row_for_each_and_counts_them() {
    let before = vec![case("A", &TIMES), case("B", &TIMES), case("C", &TIMES), case("D", &TIMES)];
    let after = vec![case("A", &times(1.2)), case("B", &times(0.8)), case("C", &TIMES), case("E", &TIMES)];
    let comparison = compare(before, after);
    let said: Vec<String> =
        comparison.rows.iter().map(|row| format!("{} {}", row.case, row.verdict)).collect();
    assert_eq!(said, ["A Regressed", "B Improved", "C Unchanged", "E Added", "D Removed"]);
    let counts = VerdictCounts {
        regressed: 1,
        improved: 1,
        unchanged: 1,
        added: 1,
        removed: 1,
        ..VerdictCounts::default()
    };
    assert_eq!(comparison.counts, counts);
    assert_eq!(outcome(&comparison), GateOutcome::NothingToJudge, "one of the baseline's was not judged");
    let removed = Policy { removed_passes: true, ..Policy::default() };
    assert_eq!(comparison.outcome(&removed), GateOutcome::Regressed);

    let row = &comparison.rows[0];
    assert!(row.effect.is_some_and(|effect| effect.low > 0.05 && (effect.estimate - 0.2).abs() < 0.02));
    assert!(row.detectable.is_some_and(|least| least > 0.05 && least < 0.10), "{row:?}");
    assert!(row.marks.is_empty());
}

#[test]
fn a_metric_where_more_is_better_is_judged_the_other_way_round() {
    let rate = |values: &[f64]| {
        let mut case = case("A", &TIMES);
        case.primary_metric = "throughput".into();
        case.metrics.push(metric("throughput", Direction::Higher, values));
        case
    };
    for (factor, expected) in [(0.8, "Regressed"), (1.2, "Improved"), (1.0, "Unchanged")] {
        let comparison = compare(vec![rate(&TIMES)], vec![rate(&times(factor))]);
        assert_eq!(comparison.rows[0].verdict.name(), expected, "{factor}");
        assert_eq!(comparison.rows[0].metric, "throughput");
    }
}

#[test]
fn the_history_of_the_machine_widens_the_tolerance_unless_it_was_set() {
    let (before, after) = (run(1, vec![case("A", &TIMES)]), run(2, vec![case("A", &times(1.09))]));
    let baseline = Baseline::promote("main", &before);
    let judged = |medians: &[f64], threshold: Option<f64>| {
        let mut history = History::default();
        for median in medians {
            history.add(&RunId::new(3, 0), &case("A", &[*median]));
        }
        let policy = Policy { threshold, ..Policy::default() };
        let comparison = judge(&baseline, &after, &history, &policy);
        let row = &comparison.rows[0];
        (row.verdict.name(), row.marks.clone())
    };
    let (steady, wandering) = ([1.0, 1.001, 0.999, 1.0, 1.002], [0.92, 0.96, 1.0, 1.04, 1.08]);
    assert_eq!(judged(&steady, None), ("Regressed", vec![]));
    assert_eq!(judged(&wandering, None), ("Unchanged", vec![]));
    assert_eq!(judged(&wandering, Some(0.05)), ("Regressed", vec![]));
    assert_eq!(judged(&[1.0], None), ("Unchanged", vec![RowMark::FirstRuns]));
    // What wanders so far that nothing short of a half more would be found is no gate.
    assert_eq!(judged(&[0.8, 0.9, 1.0, 1.1, 1.2], None), ("Inconclusive", vec![]));
}

#[test]
fn fewer_than_six_processes_a_side_decide_nothing_and_the_row_says_what_would() {
    let mut before = run(1, vec![case("A", &TIMES[..5])]);
    before.manifest.environment.software.insert("commit".into(), "0123456789abcdef".into());
    let policy = Policy::default();
    let comparison = judge(
        &Baseline::promote("main", &before),
        &run(2, vec![case("A", &times(3.0))]),
        &History::default(),
        &policy,
    );
    let row = &comparison.rows[0];
    let why = row.verdict.why().unwrap();
    assert_eq!(why, "5 against 7 processes: at least 6 are needed on each side");
    let advice = "measure both sides with `--repeats 6` or more, or in turns with the revision: \
                  `cargo xtask compare-baseline --rebuild 0123456789ab`";
    assert_eq!(row.advice.as_ref().unwrap().to_string(), advice);
    assert_eq!(comparison.outcome(&policy), GateOutcome::Inconclusive);
}

#[test]
fn every_metric_has_value_change_ratio_direction_and_tendency() {
    let with = |factor: f64| {
        let mut case = case("A", &times(factor));
        case.metrics.push(metric("throughput", Direction::Higher, &times(1.0 / factor)));
        case.metrics.push(metric("minor_faults", Direction::Information, &times(3.0 * factor)));
        case.metrics.push(metric("major_faults", Direction::Lower, &[0.0; 7]));
        case.metrics.push(metric("latency_p99", Direction::Lower, &[]));
        case
    };
    let comparison = compare(vec![with(1.0)], vec![with(2.0)]);
    let said: Vec<_> = comparison.rows[0]
        .metrics
        .iter()
        .map(|change| (change.metric.as_str(), change.ratio, change.change_percent, change.tendency))
        .collect();
    assert_eq!(
        said,
        [
            ("wall_time", Some(2.0), Some(100.0), Tendency::Worse),
            ("throughput", Some(0.5), Some(-50.0), Tendency::Worse),
            ("minor_faults", Some(2.0), Some(100.0), Tendency::Information),
            ("major_faults", None, None, Tendency::Same),
        ]
    );
}

#[test]
fn a_metric_that_is_gated_beside_the_primary_metric_can_fail_the_case() {
    let with = |memory: f64| {
        let mut case = case("A", &TIMES);
        case.metrics.push(metric("peak_memory", Direction::Lower, &times(memory)));
        case
    };
    let policy = Policy {
        threshold: Some(0.05),
        gate: crate::compare::Gate {
            metrics: Some(vec!["peak_memory".into()]),
            ..crate::compare::Gate::default()
        },
        ..Policy::default()
    };
    let baseline = Baseline::promote("main", &run(1, vec![with(1.0)]));
    let judged = |after| judge(&baseline, &run(2, vec![after]), &History::default(), &policy).rows[0].clone();
    let more = judged(with(1.5));
    assert_eq!((more.verdict, more.metric.as_str()), (Verdict::Regressed, "peak_memory"));
    assert_eq!(judged(with(1.0)).metric, "wall_time");
    // It is not forgiven for want of a value, on whichever side.
    let lenient = Policy { inconclusive_passes: true, ..policy.clone() };
    for (before, after) in [(with(1.0), case("A", &TIMES)), (case("A", &TIMES), with(1.0))] {
        let baseline = Baseline::promote("main", &run(1, vec![before, case("B", &TIMES)]));
        let after = run(2, vec![after, case("B", &TIMES)]);
        let comparison = judge(&baseline, &after, &History::default(), &policy);
        let said = comparison.rows[0].verdict.to_string();
        assert_eq!(said, "Incomparable (peak_memory has no value on one side)");
        assert_eq!(comparison.rows[0].metric, "peak_memory");
        assert_eq!(comparison.outcome(&lenient), GateOutcome::NothingToJudge);
    }
    // Without the gate the primary metric alone decides.
    assert_eq!(compare(vec![with(1.0)], vec![with(1.5)]).rows[0].verdict, Verdict::Unchanged);
}

#[test]
fn what_does_not_measure_the_same_is_incomparable_and_says_why() {
    let check = |before: CaseRecord, after: CaseRecord, why: &str| {
        let comparison = compare(vec![before, case("Z", &TIMES)], vec![after, case("Z", &TIMES)]);
        assert_eq!(comparison.rows[0].verdict.to_string(), format!("Incomparable ({why})"));
        let lenient = Policy { inconclusive_passes: true, ..Policy::default() };
        // Without a value there is nothing to judge by; all else is a question that stays open.
        let expected = match why.contains("has no value") {
            true => [GateOutcome::NothingToJudge; 2],
            false => [GateOutcome::Inconclusive, GateOutcome::Pass],
        };
        assert_eq!([&Policy::default(), &lenient].map(|policy| comparison.outcome(policy)), expected);
    };
    let plain = || case("A", &TIMES);
    let changed = |change: &dyn Fn(&mut CaseRecord)| {
        let mut case = plain();
        change(&mut case);
        case
    };
    check(
        labelled(plain(), "Images(10)"),
        labelled(plain(), "Images(20)"),
        "axis variant changed: `small` was Images(10) and is Images(20)",
    );
    let input = |case: &mut CaseRecord| {
        if let Some(work) = &mut case.work {
            work.report.input = Some("d2".into());
        }
    };
    check(plain(), changed(&input), "input changed: it was d1 and is d2");
    let transforms = |case: &mut CaseRecord| {
        if let Some(work) = &mut case.work {
            work.report.transforms.clear();
        }
    };
    check(plain(), changed(&transforms), "transforms changed: they were [sort] and are []");
    let delivery = |case: &mut CaseRecord| {
        if let Some(work) = &mut case.work {
            work.report.delivery = crate::bencher::Delivery::Device;
        }
    };
    let what = "delivery changed: batches were handed over on the host and are on the device";
    check(plain(), changed(&delivery), what);
    let failed = |case: &mut CaseRecord| case.status = CaseStatus::Failed(panicked(1));
    check(changed(&failed), plain(), "failed in the baseline: repeat 1 panicked in the timed region: boom");
    let skipped = |case: &mut CaseRecord| case.status = CaseStatus::Skipped("no data".into());
    check(plain(), changed(&skipped), "skipped now: no data");
    let broken_off = |case: &mut CaseRecord| case.status = CaseStatus::Incomplete;
    check(plain(), changed(&broken_off), "incomplete: the run ended before all repeats were done");
    let primary_metric = |case: &mut CaseRecord| case.primary_metric = "throughput".into();
    let why = "the metric that stands for it changed: it was wall_time and is throughput";
    check(plain(), changed(&primary_metric), why);
    let silent = |case: &mut CaseRecord| case.metrics[0].estimate = None;
    check(plain(), changed(&silent), "wall_time has no value on one side");
}

#[test]
fn a_failed_case_and_work_that_does_not_verify_outweigh_everything() {
    let mut failed = case("A", &TIMES);
    failed.status = CaseStatus::Failed(panicked(2));
    assert!(matches!(
        verdict(failed.clone()),
        Verdict::Incomparable(IncomparableReason::Failed(Side::Candidate, why))
            if why == panicked(2)
    ));
    let mut unequal = case("A", &times(0.5));
    unequal.agreement = Agreement::Differs(vec!["elements: 9, the reference has 10".into()]);
    assert!(matches!(
        verdict(unequal.clone()),
        Verdict::Incomparable(IncomparableReason::Differs(_, what)) if what[0].contains("elements: 9")
    ));
    for broken in [failed, unequal] {
        let after = vec![broken, case("B", &times(2.0))];
        let comparison = compare(vec![case("A", &TIMES), case("B", &TIMES)], after.clone());
        assert_eq!(comparison.counts.regressed, 1);
        assert_eq!((comparison.failures.len(), outcome(&comparison)), (1, GateOutcome::Failed));
        // Even where nothing is judged.
        let mut elsewhere = run(2, after);
        elsewhere.manifest.suite = "other/suite".into();
        let baseline = Baseline::promote("main", &run(1, vec![]));
        let comparison = judge(&baseline, &elsewhere, &History::default(), &Policy::default());
        assert!(comparison.refused.is_some());
        assert_eq!(outcome(&comparison), GateOutcome::Failed);
    }
}

#[test]
fn a_declared_inequality_is_no_failure_and_is_judged_by_its_own_baseline() {
    let declared = |factor| {
        let mut case = case("A", &times(factor));
        case.agreement = Agreement::Declared("skips the blur".into());
        case
    };
    let comparison = compare(vec![declared(1.0)], vec![declared(2.0)]);
    assert_eq!(comparison.rows[0].verdict, Verdict::Regressed);
    assert!(comparison.failures.is_empty());
}

#[test]
fn what_is_skipped_on_both_sides_has_no_row_and_what_the_baseline_skipped_is_added() {
    let skipped = || {
        let mut case = case("A", &TIMES);
        case.status = CaseStatus::Skipped("no data".into());
        case
    };
    let comparison = compare(vec![skipped(), case("B", &TIMES)], vec![skipped(), case("B", &TIMES)]);
    assert_eq!((comparison.rows.len(), outcome(&comparison)), (1, GateOutcome::Pass));
    let comparison = compare(vec![skipped()], vec![case("A", &TIMES)]);
    assert_eq!(comparison.rows[0].verdict, Verdict::Added);
    assert!(compare(vec![skipped()], vec![]).rows.is_empty());
}

#[test]
fn the_baseline_itself_another_suite_and_nothing_in_common_are_refused() {
    let policy = Policy::default();
    let judged = |baseline: &RunRecord, candidate: &RunRecord| {
        let baseline = Baseline::promote("main", baseline);
        let comparison = judge(&baseline, candidate, &History::default(), &policy);
        assert_eq!(comparison.outcome(&policy), GateOutcome::NothingToJudge);
        comparison.refused.unwrap()
    };
    let first = run(1, vec![case("A", &TIMES)]);
    assert_eq!(judged(&first, &first), Refusal::SameRun);
    let mut other = run(2, vec![case("A", &TIMES)]);
    other.manifest.suite = "pack/other".into();
    assert_eq!(judged(&first, &other), Refusal::OtherSuite { baseline: "pack/suite".into() });
    assert_eq!(judged(&first, &run(2, vec![case("B", &TIMES)])), Refusal::NothingCompared);
    assert_eq!(judged(&first, &run(2, vec![])), Refusal::NothingCompared);
}

#[test]
fn another_workspace_is_refused_and_another_checkout_of_the_same_one_is_not() {
    let of = |number, facts: &[(&str, &str)]| {
        let mut run = run(number, vec![case("A", &TIMES)]);
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        run.manifest.environment.moment.extend(facts);
        run
    };
    let refused = |before: &[(&str, &str)], after: &[(&str, &str)]| {
        let baseline = Baseline::promote("main", &of(1, before));
        judge(&baseline, &of(2, after), &History::default(), &Policy::default()).refused
    };
    let [one, two] = [("workspace", "/one"), ("workspace", "/two")];
    let expected = Refusal::OtherWorkspace { baseline: "/one".into(), here: "/two".into() };
    assert_eq!(refused(&[one], &[two]), Some(expected));
    let origin = ("origin", "host/name");
    assert_eq!(refused(&[one, origin], &[two, origin]), None);
    assert!(refused(&[one, origin], &[one, ("origin", "host/other")]).is_some());
    assert_eq!(refused(&[], &[two]), None);
}

#[test]
fn another_toolchain_is_told_before_any_row() {
    let of = |number, rustc: &str| {
        let mut run = run(number, vec![case("A", &TIMES)]);
        run.manifest.environment.software.insert("rustc".into(), rustc.into());
        run
    };
    let baseline = Baseline::promote("main", &of(1, "rustc 1.95.0"));
    let comparison = judge(&baseline, &of(2, "rustc 1.96.0"), &History::default(), &Policy::default());
    let told: Vec<String> = comparison.environment_changes.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["rustc: rustc 1.95.0 -> rustc 1.96.0"]);
    assert_eq!(outcome(&comparison), GateOutcome::Pass);
}

#[test]
fn another_machine_is_refused_with_what_differs_unless_it_is_allowed() {
    let baseline = Baseline::promote("main", &run(1, vec![case("A", &TIMES)]));
    let mut elsewhere = run(2, vec![case("A", &times(2.0))]);
    elsewhere.manifest.environment.machine.insert("turbo".into(), "on".into());
    let comparison = judge(&baseline, &elsewhere, &History::default(), &Policy::default());
    let Some(Refusal::OtherMachine(differences)) = &comparison.refused else { panic!("{comparison:?}") };
    assert_eq!(differences.iter().map(ToString::to_string).collect::<Vec<_>>(), ["turbo: off -> on"]);
    assert!(comparison.rows.is_empty());
    assert_eq!(outcome(&comparison), GateOutcome::NothingToJudge);

    let policy = Policy { allow_different_machine: true, ..Policy::default() };
    let comparison = judge(&baseline, &elsewhere, &History::default(), &policy);
    assert_eq!(comparison.outcome(&policy), GateOutcome::Regressed);
    assert_eq!(comparison.environment_changes[0].kind, FactKind::Machine);
}

#[test]
fn what_changed_around_the_code_is_told_machine_first() {
    let baseline = Baseline::promote("main", &run(1, vec![case("A", &TIMES)]));
    let mut later = run(2, vec![case("A", &TIMES)]);
    let manifest = &mut later.manifest;
    manifest.environment.variables.insert("WEIGHBRIDGE_SLOWDOWN".into(), "1.3".into());
    manifest.environment.software.insert("commit".into(), "bbbb".into());
    manifest.seed = 43;
    let comparison = judge(&baseline, &later, &History::default(), &Policy::default());
    let told: Vec<String> = comparison.environment_changes.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["WEIGHBRIDGE_SLOWDOWN: not set -> 1.3", "seed: 42 -> 43", "commit: aaaa -> bbbb"]);
    assert_eq!(comparison.refused, None);
}

#[test]
fn a_comparison_survives_json() {
    let comparison = compare(
        vec![case("A", &[1.0, 1.5, 2.0, 0.5, 1.25, 0.75]), case("B", &TIMES)],
        vec![case("A", &[1.5, 0.75, 1.0, 2.0, 1.25, 0.5]), case("C", &TIMES)],
    );
    let text = serde_json::to_string(&comparison).unwrap();
    let back: Comparison = serde_json::from_str(&text).unwrap();
    assert_eq!(back.counts, comparison.counts);
    assert_eq!(back.rows.len(), comparison.rows.len());
    assert_eq!(back.rows[0].verdict, comparison.rows[0].verdict);
}

#[test]
fn an_estimate_of_a_row_is_the_one_of_the_record() {
    let comparison = compare(vec![case("A", &TIMES)], vec![case("A", &times(1.5))]);
    assert_eq!(comparison.rows[0].metrics[0].candidate, Estimate::of(&times(1.5)));
}

/// A case on a device, whose time and cycles changed by these factors.
fn on_device(time: f64, cycles: Option<f64>) -> CaseRecord {
    let mut case = case("A", &TIMES);
    case.primary_metric = "device_time".into();
    case.metrics = vec![metric("device_time", Direction::Lower, &times(time))];
    let cycles = cycles.map(|factor| {
        let values = times(factor).map(|time| time * 1e6);
        MetricRecord { unit: Unit::COUNT, ..metric("device_cycles", Direction::Lower, &values) }
    });
    case.metrics.extend(cycles);
    case
}

#[test]
fn a_change_of_a_devices_time_is_the_codes_only_where_its_cycles_changed_too() {
    for (time, cycles, expected) in [
        (1.2, Some(1.2), "Regressed"),
        (0.8, Some(0.8), "Improved"),
        (1.0, Some(1.0), "Unchanged"),
        (1.2, None, "Regressed"),
        (1.2, Some(1.0), "Inconclusive (the device's clock changed: cycles are unchanged)"),
        (0.8, Some(1.0), "Inconclusive (the device's clock changed: cycles are unchanged)"),
        (1.2, Some(0.8), "Inconclusive (the device's clock changed: cycles improved)"),
        // What waits for memory takes its time at any clock.
        (1.0, Some(1.2), "Unchanged"),
    ] {
        let before = on_device(1.0, cycles.map(|_| 1.0));
        let comparison = compare(vec![before], vec![on_device(time, cycles)]);
        assert_eq!(comparison.rows[0].verdict.to_string(), expected, "{time} {cycles:?}");
    }
    let slow = compare(vec![on_device(1.0, Some(1.0))], vec![on_device(1.2, Some(1.0))]);
    let row = &slow.rows[0];
    assert!(row.effect.is_some_and(|effect| effect.low > 0.05), "it is told all the same");
    assert!(row.advice.as_ref().is_some_and(|advice| advice.remedy == Remedy::SteadyClock), "{row:?}");
    assert_eq!(row.metrics[0].tendency, Tendency::Unclear);
}

#[test]
fn cycles_that_are_gated_change_with_the_code_only_where_the_time_did() {
    let metrics = Some(vec!["device_cycles".into()]);
    let gate = crate::compare::Gate { metrics, ..crate::compare::Gate::default() };
    let policy = Policy { gate, threshold: Some(0.05), ..Policy::default() };
    let baseline = Baseline::promote("main", &run(1, vec![on_device(1.0, Some(1.0))]));
    let after = run(2, vec![on_device(1.0, Some(1.2))]);
    let comparison = judge(&baseline, &after, &History::default(), &policy);
    assert_eq!(
        comparison.rows[0].verdict.why().as_deref(),
        Some("the device's clock changed: time is unchanged"),
        "{:?}",
        comparison.rows[0]
    );
}
