//! Tests of assembling.

use std::time::Duration;

use super::*;
use crate::bencher::{Account, Evidence, Phase, UnstoppedEpoch, WorkFault, WorkReport};
use crate::device::Usage;
use crate::metric::{
    Custom, Direction, Hardware, Note, Observation, RankMetric, Reading, Region, SampleKind, Surroundings,
    Unit,
};
use crate::registry::Point;
use crate::run::{Failure, How, TreeMemory, Utilisation, UtilisationPoint};
use crate::verify::Severity;

fn facts() -> CaseFacts {
    CaseFacts {
        id: CaseId { scenario: "SORT-1".into(), point: Point::default(), adapter: None, told_apart: false },
        category: "Algorithms".into(),
        description: "Sort.".into(),
        beside: None,
        tier: None,
        version: None,
        equivalence: Equivalence::None,
        memory: None,
        primary_metric: None,
    }
}

/// A repeat of three samples of so many milliseconds.
fn seen(milliseconds: u64) -> Observation {
    let sample = milliseconds * 1_000_000;
    Observation {
        taken: Some(SampleKind::Iterations),
        samples: vec![sample; 3],
        iterations_per_sample: 1,
        wall: 3 * sample,
        peak_memory: Some(Reading::Value(1_000.0)),
        usage: Usage { moved: Some(crate::device::IoBytes::default()), ..Usage::default() },
        ..Observation::default()
    }
}

fn repeat(number: u32, seen: Observation) -> Repeat {
    let outcome = Outcome::Measured { seen: Box::new(seen), work: None, evidence: Box::default() };
    Repeat {
        number,
        purpose: Purpose::Measure,
        slot: 0,
        start: None,
        tree: None,
        utilisation: None,
        surroundings: 0,
        outcome,
    }
}

fn repeats(milliseconds: &[u64]) -> Vec<Repeat> {
    (1..).zip(milliseconds).map(|(number, milliseconds)| repeat(number, seen(*milliseconds))).collect()
}

fn record(repeats: Vec<Repeat>) -> CaseRecord {
    let planned = repeats.len() as u32;
    assemble(facts(), repeats, planned, &HeldAgainst::Missing("no reference".into()))
}

fn failed(number: u32, purpose: Purpose) -> Repeat {
    let failure =
        Failure { how: How::Panic, phase: Phase::Timed, detail: "boom".into(), stderr: String::new() };
    Repeat { purpose, outcome: Outcome::Failed(failure), ..repeat(number, seen(1)) }
}

fn verifying(work: Option<Work>) -> Repeat {
    let outcome = Outcome::Measured { seen: Box::default(), work, evidence: Box::default() };
    Repeat { purpose: Purpose::Verify, outcome, ..repeat(0, seen(1)) }
}

fn value(record: &CaseRecord, metric: &str) -> f64 {
    record.metric(metric).unwrap().estimate.unwrap().median
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// The caveats of a case's estimates, as text.
fn told(record: &CaseRecord) -> Vec<String> {
    let caveats = record.findings.iter().filter(|finding| finding.severity == Severity::Caveat);
    caveats.map(ToString::to_string).collect()
}

#[test]
fn seven_steady_repeats_make_a_record_without_warnings() {
    let record = record(repeats(&[10, 12, 11, 10, 11, 12, 11]));
    assert_eq!(record.status, CaseStatus::Measured);
    assert_eq!(record.primary_metric, "wall_time");
    let estimate = record.primary_metric().unwrap().estimate.unwrap();
    assert!(close(estimate.median, 0.011) && estimate.n == 7);
    assert!(estimate.interval.is_some_and(|(low, high)| close(low, 0.010) && close(high, 0.012)));
    assert_eq!(record.median_repeat, Some(3));
    assert!(told(&record).is_empty(), "{:?}", told(&record));
    assert_eq!(record.repeats.len(), 7);
}

#[test]
fn the_median_repeat_is_the_nearest_and_the_earlier_on_a_tie() {
    assert_eq!(record(repeats(&[14, 10, 13, 11])).median_repeat, Some(3));
    // Out of order in the journal, in order in the record.
    let mut backwards = repeats(&[14, 10, 13, 11]);
    backwards.reverse();
    assert_eq!(record(backwards).median_repeat, Some(3));
}

#[test]
fn throughput_stands_for_a_case_that_states_its_elements() {
    let stated = |number| repeat(number, Observation { elements: 300, ..seen(10) });
    let record = record((1..=3).map(stated).collect());
    assert_eq!(record.primary_metric, "throughput");
    assert!((value(&record, "throughput") - 10_000.0).abs() < 1e-6);
}

#[test]
fn a_named_primary_metric_wins_where_it_has_a_value_and_is_told_where_not() {
    let with = |primary_metric: &str| {
        let facts = CaseFacts { primary_metric: Some(primary_metric.into()), ..facts() };
        assemble(facts, repeats(&[10; 7]), 7, &HeldAgainst::Itself)
    };
    assert_eq!(with("peak_memory").primary_metric, "peak_memory");
    let other = with("throughput");
    assert_eq!(other.primary_metric, "wall_time");
    assert!(
        told(&other)[0].starts_with("no-value: throughput was to stand for the case"),
        "{:?}",
        told(&other)
    );
}

#[test]
fn blocks_have_the_mean_of_an_occurrence_its_greatest_and_their_sum() {
    let region = |wall: u64| Region {
        path: "save/encode".into(),
        wall: wall * 1_000_000,
        usage: Some(Usage { cpu: Duration::from_millis(wall), ..Usage::default() }),
        memory_change: None,
        live_arrays_change: Some(wall as i64),
        ..Region::default()
    };
    let blocks = Observation { regions: vec![region(1), region(3)], ..Observation::default() };
    let record = record((1..=6).map(|number| repeat(number, blocks.clone())).collect());
    assert_eq!(record.primary_metric, "region/save/encode/wall_time");
    for (name, expected) in
        [("wall_time", 0.002), ("wall_time_max", 0.003), ("wall_time_total", 0.004), ("cpu_time", 0.002)]
    {
        assert!(close(value(&record, &format!("region/save/encode/{name}")), expected), "{name}");
    }
    assert!(close(value(&record, "region/save/encode/occurrences"), 2.0));
    assert!(close(value(&record, "region/save/encode/live_arrays_change"), 3.0));
    // The kernel's byte counts were not readable: absent with a reason. Memory was not asked for: no metric.
    let read = record.metric("region/save/encode/bytes_read").unwrap();
    assert!(read.estimate.is_none() && read.values[0].value().is_none());
    assert!(record.metric("region/save/encode/memory_change").is_none());
}

#[test]
fn a_block_that_runs_in_some_repeats_is_absent_in_the_others() {
    let region = Region { path: "load".into(), wall: 5, ..Region::default() };
    let with = Observation { regions: vec![region], ..seen(10) };
    let record = record(vec![repeat(1, with), repeat(2, seen(10))]);
    let load = record.metric("region/load/wall_time").unwrap();
    assert_eq!(load.values[1], Reading::absent("the block did not run in this repeat"));
    assert!(record.metric("region/load/cpu_time").is_none());
}

#[test]
fn values_of_the_author_keep_unit_and_direction_and_the_median_of_a_repeat() {
    let custom = |value: f64| Custom {
        name: "loss".into(),
        value,
        unit: Unit::other("nat"),
        direction: Direction::Lower,
    };
    let with = Observation { custom: vec![custom(1.0), custom(5.0), custom(2.0)], ..Observation::default() };
    let broken = Observation { custom: vec![custom(f64::NAN)], ..Observation::default() };
    let record = record(vec![repeat(1, with), repeat(2, broken)]);
    assert_eq!(record.primary_metric, "loss");
    let loss = record.primary_metric().unwrap();
    assert_eq!((loss.unit.symbol(), loss.direction), ("nat", Direction::Lower));
    assert_eq!(loss.values, [Reading::Value(2.0), Reading::absent("the value was NaN")]);
    assert!(loss.estimate.is_some_and(|estimate| estimate.n == 1));
}

/// A repeat of two ranks, which told these of their steps.
fn of_ranks(number: u32, values: [Option<f64>; 2]) -> Repeat {
    let step = RankMetric {
        name: "step".into(),
        unit: Unit::SECONDS,
        direction: Direction::Lower,
        values: values.to_vec(),
    };
    repeat(number, Observation { ranks: vec![step], ..seen(10) })
}

#[test]
fn the_slowest_rank_stands_for_a_repeat_and_a_baseline_holds_what_all_ranks_told() {
    let record = record(vec![of_ranks(1, [Some(1.0), Some(2.0)]), of_ranks(2, [Some(6.0), Some(3.0)])]);
    assert_eq!(record.status, CaseStatus::Measured);
    let step = record.metric("step").unwrap();
    assert_eq!((&step.values[..], step.direction), (&[2.0, 6.0].map(Reading::Value)[..], Direction::Lower));
    let over = record.ranks[0].over.unwrap();
    assert_eq!((over.min, over.min_rank, over.max, over.max_rank), (2.5, 1, 3.5, 0));
    assert_eq!(super::super::BaselineCase::from(&record).ranks, record.ranks);
    assert_eq!(record.summary().ranks, record.ranks);
}

#[test]
fn a_rank_that_is_missing_in_a_repeat_makes_the_case_incomplete_and_is_named() {
    let record = record(vec![of_ranks(1, [Some(1.0), Some(2.0)]), of_ranks(2, [Some(6.0), None])]);
    assert_eq!(record.status, CaseStatus::Incomplete);
    assert!(!record.ranked());
    assert_eq!(record.unfinished().unwrap().to_string(), "rank 1 of 2 (from 0) is missing");
    let absent = Reading::absent("rank 1 of 2 (from 0) did not tell it");
    assert_eq!(record.metric("step").unwrap().values, [Reading::Value(2.0), absent]);
    let broken_off = assemble(facts(), repeats(&[1]), 3, &HeldAgainst::Itself);
    assert_eq!(broken_off.unfinished().unwrap().to_string(), "the run ended before all repeats were done");
}

#[test]
fn what_cannot_be_measured_is_absent_with_a_reason_in_the_record() {
    let record = record(repeats(&[10]));
    let flops = record.metric("throughput_flops").unwrap();
    assert_eq!(flops.values, [Reading::absent("the scenario stated no flops")]);
    assert_eq!(flops.estimate, None);
    assert!(told(&record).iter().all(|warning| !warning.contains("flops")), "{:?}", told(&record));
}

#[test]
fn a_collector_that_fails_is_a_warning_and_no_failure() {
    let why = Some(Reading::absent("VmHWM cannot be read"));
    let without = |number| repeat(number, Observation { peak_memory: why.clone(), ..seen(10) });
    let record = record((1..=6).map(without).collect());
    assert_eq!(record.status, CaseStatus::Measured);
    assert_eq!(told(&record), ["missing: peak_memory has no value in 6 of 6 repeats: VmHWM cannot be read"]);
}

#[test]
fn memory_of_a_tree_of_processes_is_the_sampled_sum_and_says_so() {
    let mut all = repeats(&[10; 6]);
    all[0].tree = Some(TreeMemory { bytes: 5_000, processes: 3 });
    all[1].tree = Some(TreeMemory { bytes: 9_000, processes: 1 });
    let record = record(all);
    let peaks: Vec<f64> =
        record.metric("peak_memory").unwrap().values.iter().filter_map(Reading::value).collect();
    assert!(close(peaks[0], 5_000.0) && close(peaks[1], 1_000.0));
    assert_eq!(told(&record).len(), 1);
    assert!(told(&record)[0].starts_with("sampled-memory: "), "{:?}", told(&record));
}

#[test]
fn an_element_has_joules_where_power_was_told_while_it_was_measured() {
    let mut all = repeats(&[1_000, 1_000]);
    for repeat in &mut all {
        let Outcome::Measured { seen, .. } = &mut repeat.outcome else { unreachable!() };
        seen.elements = 60; // of 3 s at 10 W
    }
    let points = vec![
        UtilisationPoint { at: 5, watts: Some(99.0), ..UtilisationPoint::default() },
        UtilisationPoint { at: 9, watts: Some(10.0), ..UtilisationPoint::default() },
    ];
    all[0].utilisation = Some(Utilisation { measured: Some([5, 9]), points, ..Utilisation::default() });
    let told = record(all);
    for (name, value) in [("energy/processors", 0.5), ("elements_per_joule/processors", 2.0)] {
        let values = &told.metric(name).unwrap().values;
        assert!(
            close(values[0].value().unwrap(), value) && values[1].value().is_none(),
            "{name}: {values:?}"
        );
    }
    assert!(told.metric("energy/device").is_none(), "nobody told of a device");
}

#[test]
fn few_repeats_wide_spread_and_outliers_are_told_and_nothing_is_dropped() {
    let few = record(repeats(&[10, 11, 10]));
    assert_eq!(told(&few), ["few-repeats: 3 repeats give a median without an interval, which needs 6"]);

    let wild = record(repeats(&[100, 101, 102, 100, 101, 99, 150]));
    assert!(told(&wild)[0].starts_with("unsteady: "), "{:?}", told(&wild));
    assert!(told(&wild)[1].starts_with("outlier: repeat 7 is an outlier: its wall_time lies 48.5 % above"));
    assert_eq!(wild.primary_metric().unwrap().values.len(), 7);
    assert_eq!(wild.primary_metric().unwrap().estimate.unwrap().n, 7);
}

#[test]
fn notes_are_told_once_with_the_repeats_that_made_them() {
    let noted = |notes: &[&str]| Observation {
        notes: notes.iter().map(|note| Note::Scenario((*note).to_owned())).collect(),
        ..seen(10)
    };
    let mut all: Vec<Repeat> = (1..=6).map(|number| repeat(number, noted(&["short pass"]))).collect();
    all[3] = repeat(4, noted(&["short pass", "slow start"]));
    let record = record(all);
    assert_eq!(told(&record), ["note: short pass", "note: slow start"]);
    assert_eq!((&record.findings[0].repeats[..], &record.findings[1].repeats[..]), (&[][..], &[4][..]));
}

#[test]
fn a_worker_that_claims_what_cannot_be_is_assembled_and_not_ranked() {
    let most = u64::MAX;
    let mut seen = Observation {
        taken: Some(SampleKind::Items),
        samples: vec![most; 30],
        elements: most,
        bytes: most,
        wall: most,
        first_item: Some(most),
        ..seen(1)
    };
    (seen.usage.minor_faults, seen.usage.cpu) = (most, Duration::from_nanos(most));
    (seen.around.span, seen.around.ran) = (most, Some(most));
    let account = Account { samples: most, wall: most, claimed: most, passed: 1_000, ..Account::default() };
    let epoch = UnstoppedEpoch {
        wall: most,
        begin: most,
        first: most,
        copied: most,
        elements: most,
        batches: most,
        passed: Some(1_000),
        ..UnstoppedEpoch::default()
    };
    let evidence = Evidence { account: Some(account), unstopped: Some(epoch), ..Evidence::default() };
    let outcome = |seen: &Observation| Outcome::Measured {
        seen: Box::new(seen.clone()),
        work: None,
        evidence: Box::new(evidence.clone()),
    };
    let absurd = |number| Repeat { outcome: outcome(&seen), ..repeat(number, Observation::default()) };
    let record = record(vec![absurd(1), absurd(2), absurd(3)]);
    assert!(record.status == CaseStatus::Measured && !record.ranked() && record.has_failed());
    let claims = record.failed_rules().find(|finding| finding.rule == "claims").unwrap();
    assert!(claims.repeats == [1, 2, 3] && claims.to_string().contains("of measured time, but"), "{claims}");
}

#[test]
fn a_repeat_that_could_not_go_on_is_told_by_its_numbers_and_judged_by_them() {
    let how = How::Work(Box::new(WorkFault::Copy { elements: 0, first: 3, of: 8 }));
    let (detail, stderr) = (String::new(), String::new());
    let outcome = Outcome::Failed(Failure { how, phase: Phase::TearDown, detail, stderr });
    let record = record(vec![Repeat { outcome, ..repeat(1, seen(1)) }]);
    let words = "the worker hands over 0 elements from 3 on of a batch of 8 to be verified";
    let text = format!("repeat 1 did work that does not verify in the tear-down: {words}");
    let CaseStatus::Failed(why) = &record.status else { panic!("{:?}", record.status) };
    assert_eq!(why.to_string(), text);
    assert_eq!(record.failed_rules().map(|finding| finding.detail.to_string()).collect::<Vec<_>>(), [words]);
}

#[test]
fn a_failure_outweighs_a_skip_and_a_skip_what_is_missing() {
    let skip = Repeat { outcome: Outcome::Skipped { why: "no data".into() }, ..repeat(1, seen(1)) };
    let status = |repeats: Vec<Repeat>| assemble(facts(), repeats, 3, &HeldAgainst::Itself).status;
    assert_eq!(status(repeats(&[1, 1])), CaseStatus::Incomplete);
    assert_eq!(status(vec![]), CaseStatus::Incomplete);
    assert_eq!(status(vec![skip.clone()]), CaseStatus::Skipped("no data".into()));
    let told = |repeats| match status(repeats) {
        CaseStatus::Failed(why) => why.to_string(),
        other => panic!("{other:?}"),
    };
    let text = "repeat 2 panicked in the timed region: boom";
    assert_eq!(told(vec![skip, failed(2, Purpose::Measure)]), text);
    let text = "the verifying repeat panicked in the timed region: boom";
    assert_eq!(told(vec![failed(0, Purpose::Verify)]), text);
}

#[test]
fn a_case_that_was_left_out_has_its_reason_and_no_warnings() {
    let record = skipped(facts(), "needs 64 GB of memory");
    assert_eq!(record.status, CaseStatus::Skipped("needs 64 GB of memory".into()));
    assert!(told(&record).is_empty() && record.repeats.is_empty());
    assert!(!record.ranked());
}

#[test]
fn work_comes_from_the_verifying_repeat_and_is_held_against_the_reference() {
    let work = |input: &str| Work {
        report: WorkReport { input: Some(input.into()), ..WorkReport::default() },
        ..Work::default()
    };
    let exact = || CaseFacts { equivalence: Equivalence::Exact, ..facts() };
    let agreement = |work: Option<Work>, reference: &HeldAgainst<'_>| {
        let mut all = repeats(&[10]);
        all.push(verifying(work));
        let record = assemble(exact(), all, 1, reference);
        assert_eq!(record.status, CaseStatus::Measured);
        record.agreement
    };
    assert_eq!(agreement(Some(work("a")), &HeldAgainst::Itself), Agreement::Reference);
    assert_eq!(agreement(Some(work("a")), &HeldAgainst::Work(&work("a"))), Agreement::Agrees);
    let differs = agreement(Some(work("b")), &HeldAgainst::Work(&work("a")));
    assert_eq!(differs, Agreement::Differs(vec!["input: b, the reference has a".into()]));
    let alone = agreement(Some(work("a")), &HeldAgainst::Missing("no tier-0 adapter".into()));
    assert_eq!(alone, Agreement::Unverified("no tier-0 adapter".into()));
    let silent = agreement(None, &HeldAgainst::Work(&work("a")));
    assert_eq!(silent, Agreement::Unverified(UnverifiedReason::NoReport));
    let untold = WorkReport { unverified: Some("there are no digests".into()), ..work("a").report };
    let untold = agreement(Some(Work { report: untold, ..Work::default() }), &HeldAgainst::Itself);
    assert_eq!(untold, Agreement::Unverified("there are no digests".into()), "whoever does it");
    let unseen = assemble(exact(), repeats(&[10]), 1, &HeldAgainst::Itself).agreement;
    assert_eq!(unseen, Agreement::Unverified(UnverifiedReason::NotVerified));
    assert_eq!(record(repeats(&[10])).agreement, Agreement::NotAsked);
}

#[test]
fn the_same_repeats_make_the_same_record_again_from_the_journal_too() {
    let first = record(repeats(&[10, 12, 11, 10, 11, 12, 30]));
    assert_eq!(record(first.repeats.clone()), first);
    let journal = serde_json::to_string(&first.repeats).unwrap();
    assert_eq!(record(serde_json::from_str(&journal).unwrap()), first);
}

#[test]
fn samples_that_warm_up_are_told_where_the_figure_would_be_another_without_them() {
    let with = |samples: Vec<u64>| {
        let stationarity = Some(Stationarity::WarmingUp);
        let seen = Observation { samples, stationarity, ..seen(10) };
        record((1..=7).map(|number| repeat(number, seen.clone())).collect())
    };
    let samples = |first: u64| [vec![first; 60], vec![10_000_000; 40]].concat();
    let figure = |record: &CaseRecord| {
        let found = record.findings.iter().find(|finding| finding.rule == "unsettled");
        found.map(|finding| finding.figure.as_ref().map(|figure| figure.value.round()))
    };
    assert_eq!(figure(&with(samples(12_500_000))), Some(Some(20.0)));
    assert_eq!(figure(&with(samples(10_100_000))), None, "a hundredth is no other figure");
    assert_eq!(with(samples(10_100_000)).stationarity, Some(Stationarity::WarmingUp), "it is recorded");
}

#[test]
fn a_stream_without_elements_is_judged_by_its_items_in_a_second_and_not_by_its_middle_one() {
    // Two workers hand over at once: one of each burst is slow.
    let burst = Observation {
        taken: Some(SampleKind::Items),
        samples: [1_000_000, 19_000_000].repeat(10),
        wall: 200_000_000,
        epoch_start: Some(30_000_000),
        elements: 0,
        ..seen(10)
    };
    let record = record((1..=7).map(|number| repeat(number, burst.clone())).collect());
    let value = |name: &str| record.metric(name).unwrap().estimate.unwrap().median;
    assert_eq!(record.primary_metric, "item_rate");
    assert!(close(value("item_rate"), 100.0));
    assert!(close(value("latency_max"), 0.019) && close(value("epoch_start"), 0.03));
}

#[test]
fn a_body_whose_work_other_threads_do_says_so_and_leads_with_the_wall_clock_on_a_busy_machine() {
    let mut record = waiting(Some(10), 0.25);
    assert!(record.leading().unwrap().name == "undelayed_time");
    let mut repeats = std::mem::take(&mut record.repeats);
    for repeat in &mut repeats {
        let Outcome::Measured { seen, .. } = &mut repeat.outcome else { unreachable!() };
        seen.own_cpu = Some(2_100_000);
        seen.hardware = Hardware::of([Ok(6_000), Ok(1), Ok(1)]);
    }
    let record = self::record(repeats);
    let share = record.metric("other_threads_share").unwrap().estimate.unwrap().median;
    assert!(close(share, 0.9), "{share}");
    assert_eq!(record.leading().unwrap().name, "wall_time", "while it waits its own threads are at work");
    let why = record.metric("instructions").unwrap().values[0].why().unwrap().to_owned();
    assert_eq!(why, "it counts the measuring thread, and others had 90 % of the processor time");
}

/// Repeats of samples of 10 ms, each of which waited for a processor for so many; `None` where that is not
/// known. The process waited for this share of the time.
fn waiting(delayed: Option<u64>, share: f64) -> CaseRecord {
    let around = Surroundings {
        span: 1_000_000,
        ran: Some(700_000),
        waited: Some((1_000_000.0 * share) as u64),
        ..Surroundings::default()
    };
    let usage = Usage { cpu: Duration::from_millis(21), ..Usage::NONE };
    let mut with = Observation { usage, around, ..seen(10) };
    with.delayed = delayed.map_or_else(Vec::new, |delayed| vec![delayed * 1_000_000; with.samples.len()]);
    record((1..=7).map(|number| repeat(number, with.clone())).collect())
}

#[test]
fn a_body_that_waited_for_a_processor_leads_with_its_time_without_that_and_says_so() {
    let waited = waiting(Some(3), 0.25);
    assert_eq!(waited.primary_metric, "wall_time", "what is judged stays what it was");
    assert_eq!(waited.leading().unwrap().name, "undelayed_time");
    assert!(close(waited.leading().unwrap().estimate.unwrap().median, 0.007));
    let said = "waited: waited for a processor in 25 % of the wall time, so undelayed_time leads";
    assert_eq!(told(&waited), [said]);
}

#[test]
fn a_body_of_which_nobody_knows_how_long_it_waited_leads_with_its_primary_metric_and_says_so() {
    let waited = waiting(None, 0.25);
    assert_eq!(waited.leading().unwrap().name, "wall_time");
    let said = &told(&waited)[0];
    assert!(said.contains("25 % of the wall time") && said.contains("nothing tells"), "{said}");
}

#[test]
fn a_case_that_hardly_waited_leads_with_its_primary_metric() {
    let quiet = waiting(Some(1), 0.05);
    assert_eq!(quiet.leading().unwrap().name, "wall_time");
    assert!(!told(&quiet).iter().any(|said| said.starts_with("waited")), "{:?}", told(&quiet));
}

#[test]
fn throughput_per_cpu_second_counts_the_processes_below_as_well() {
    let around = Surroundings { helpers: Some(8_000_000), ..Surroundings::default() };
    let usage = Usage { cpu: Duration::from_millis(2), ..Usage::NONE };
    let with = Observation { elements: 300, usage, around, ..seen(10) };
    assert!(close(value(&record(vec![repeat(1, with)]), "throughput_cpu"), 30_000.0));
}

/// A repeat of a body that the compiler took away, or of one that takes 5 ns.
fn beside_the_loop(number: u32, is_nothing: bool) -> Repeat {
    let blocks = |each: u64| (0..50).map(|at| each + at * 7 % 30).collect::<Vec<u64>>();
    let samples = blocks(if is_nothing { 300_010 } else { 5_000_000 });
    let own = Custom { name: "loss".into(), value: 1.0, unit: Unit::COUNT, direction: Direction::Lower };
    let with = Observation {
        wall: samples.iter().sum(),
        samples,
        empty: blocks(300_000),
        iterations_per_sample: 1_000_000,
        custom: vec![own],
        ..seen(1)
    };
    repeat(number, with)
}

#[test]
fn a_body_that_was_optimised_away_is_below_a_bound_whatever_else_was_handed_in_and_its_warning_says_why() {
    let record = record((1..=7).map(|number| beside_the_loop(number, true)).collect());
    assert_eq!(record.leading().unwrap().name, "wall_time");
    assert!(record.primary_metric().unwrap().below().unwrap() < 1e-9);
    assert!(told(&record).iter().any(|warning| warning.starts_with("empty-loop: ")), "{:?}", told(&record));
}

#[test]
fn a_few_repeats_in_which_nothing_looked_like_something_are_no_figure() {
    let mostly = record((1..=5).map(|number| beside_the_loop(number, number > 2)).collect());
    let wall = mostly.metric("wall_time").unwrap();
    assert_eq!((wall.estimate, wall.below().is_some()), (None, true));
    assert!(wall.below().unwrap() >= 5e-9, "what some repeats took is within the bound");
    let hardly = record((1..=5).map(|number| beside_the_loop(number, number < 2)).collect());
    let wall = hardly.metric("wall_time").unwrap();
    assert_eq!((wall.estimate.unwrap().n, wall.below()), (4, None));
}

#[test]
fn repeats_whose_iterations_a_sample_differ_tenfold_warn() {
    let with = |iterations: &[u64]| {
        let of = |(number, iterations): (u32, &u64)| {
            repeat(number, Observation { iterations_per_sample: *iterations, ..seen(10) })
        };
        record((1..).zip(iterations).map(of).collect())
    };
    let warns = |record: &CaseRecord| {
        told(record).iter().any(|warning| {
            warning.starts_with("unlike-repeats: repeats have 13 to 239226 iterations a sample")
        })
    };
    assert!(warns(&with(&[239_226, 13, 236_746])));
    let even = with(&[239_226, 100_000, 236_746]);
    assert!(!told(&even).iter().any(|warning| warning.contains("iterations a sample")), "{:?}", told(&even));
}
