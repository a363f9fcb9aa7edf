//! Tests of judging by what each process was: the CPU clock of blocks, yardsticks, counts, and where a
//! slowdown hides.

use super::fixture::{case, metric, run};
use super::*;
use crate::compare::{Acceptance, Gate, GateOutcome, Tendency};
use crate::metric::{Reading, Stationarity, Unit};
use crate::record::{Blocks, Process, RunId};
use crate::stats::SplitMix64;

/// A body on a machine: what stays the same between its processes.
#[derive(Clone, Copy)]
struct SampledBody {
    /// Nanoseconds of CPU time of one iteration.
    cpu: f64,
    /// Elements of one iteration.
    elements: f64,
    /// Page faults of one iteration.
    faults: f64,
    /// The share of blocks that are preempted.
    switched: f64,
    /// The slowness of the machine today.
    slow: f64,
    /// Wall time for each nanosecond of CPU time.
    waits: f64,
}

const BODY: SampledBody =
    SampledBody { cpu: 1000.0, elements: 0.0, faults: 0.01, switched: 0.05, slow: 1.0, waits: 1.0 };

/// Its case, measured in so many processes that differ by a percent or so.
fn measured(body: SampledBody, processes: usize, seed: u64) -> CaseRecord {
    let mut random = SplitMix64::new(seed);
    let mut wander = || 1.0 + 0.01 * ((random.draw() >> 40) as f64 / (1 << 24) as f64 - 0.5);
    let (mut times, mut faults, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..processes {
        let cpu = body.cpu * body.slow * wander();
        let wall = cpu * body.waits;
        let iterations = (1e6 / wall).round().max(1.0);
        let total = 500.0 * iterations;
        faults.push((body.faults * total * wander()).round());
        times.push(wall * 1.02 * 1e-9);
        kept.push(Process {
            iterations: total as u64,
            blocks: Some(Blocks {
                count: 500,
                iterations: iterations as u64,
                wall: [wall, wall * 1.02, wall * 1.5],
                cpu: [cpu, cpu * 1.02, cpu * 1.1],
                switched: body.switched,
                elements: body.elements,
                ..Blocks::default()
            }),
            yardsticks: [Some(5e5 * body.slow * wander()), Some(4e5), None],
        });
    }
    let mut case = case("A", &times);
    let mut counted = metric("minor_faults", Direction::Information, &faults);
    counted.unit = Unit::COUNT;
    case.metrics.push(counted);
    case.processes = kept;
    case
}

fn judged(before: CaseRecord, after: CaseRecord, history: &History, policy: &Policy) -> Row {
    let baseline = Baseline::promote("main", &run(1, vec![before]));
    judge(&baseline, &run(2, vec![after]), history, policy).rows.remove(0)
}

fn plain(before: SampledBody, after: SampledBody) -> Row {
    let policy = Policy { threshold: Some(0.05), ..Policy::default() };
    judged(measured(before, 7, 1), measured(after, 7, 2), &History::default(), &policy)
}

fn gating(metrics: &[&str]) -> Policy {
    let metrics = Some(metrics.iter().map(|metric| (*metric).to_owned()).collect());
    Policy { threshold: Some(0.05), gate: Gate { metrics, ..Gate::default() }, ..Policy::default() }
}

/// Stored runs on days on which the machine was as slow as this.
fn days(slow: &[f64]) -> History {
    let mut history = History::default();
    for (at, slow) in slow.iter().enumerate() {
        history.add(&RunId::new(3, 0), &measured(SampledBody { slow: *slow, ..BODY }, 7, 100 + at as u64));
    }
    history
}

#[test]
fn the_figures_beside_a_verdict_are_those_that_it_rests_on() {
    let row = plain(BODY, SampledBody { cpu: 1100.0, ..BODY });
    let judged = row.judged().expect("figures");
    let [before, now] = [judged.baseline, judged.candidate].map(|side| side.expect("a value").median);
    let slowdown = row.effect.expect("an effect").estimate;
    assert!((now / before - 1.0 - slowdown).abs() < 0.01, "{before} became {now}, {slowdown}");
    assert_ne!(judged.metric, row.metric, "the other clock has another name");
    // What is judged by its own values is told by them.
    let plain = Row { marks: Vec::new(), ..row };
    assert_eq!(plain.judged().expect("figures").metric, plain.metric);
}

#[test]
fn the_time_of_a_body_is_the_cpu_time_of_its_clean_blocks() {
    let row = plain(BODY, SampledBody { cpu: 1100.0, ..BODY });
    assert_eq!((row.verdict.name(), row.marks), ("Regressed", vec![RowMark::ByCpuClock]));
    // What the wall clock of half of the blocks took in besides is nobody's.
    let mut busy = measured(BODY, 7, 2);
    for process in &mut busy.processes {
        process.blocks.as_mut().unwrap().wall[1] *= 1.04;
    }
    busy.metrics[0] = metric("wall_time", Direction::Lower, &[1.3e-6; 7]);
    let policy = Policy { threshold: Some(0.05), ..Policy::default() };
    let row = judged(measured(BODY, 7, 1), busy, &History::default(), &policy);
    assert_eq!(row.verdict, Verdict::Unchanged);
    assert_eq!(row.processes.unwrap().values[1].len(), 7);
}

#[test]
fn a_body_that_is_below_its_bound_is_judged_in_words_that_say_so() {
    let nothing = |first| {
        let mut case = measured(BODY, 7, first);
        let wall = case.metrics.iter_mut().find(|metric| metric.name == "wall_time").unwrap();
        (wall.values, wall.estimate) = (vec![Reading::Below(3e-10); 7], None);
        case
    };
    let verdict = |before, after| judged(before, after, &History::default(), &Policy::default()).verdict;
    assert_eq!(verdict(nothing(1), nothing(2)), Verdict::Unchanged);
    let baseline = Baseline::promote("main", &run(1, vec![nothing(1)]));
    let file = serde_json::to_string(&baseline).unwrap();
    assert_eq!(serde_json::from_str::<Baseline>(&file).unwrap(), baseline, "its file has the bound");
    let gone = verdict(measured(BODY, 7, 1), nothing(2));
    assert!(gone.why().unwrap().contains("is below 0.30 ns now, as fast as an empty loop"), "{gone}");
    let back = verdict(nothing(1), measured(BODY, 7, 2));
    assert!(
        back.why().unwrap().starts_with("it was below 0.30 ns, as fast as an empty loop, and takes 1"),
        "{back}"
    );
}

#[test]
fn a_metric_that_gates_is_judged_by_its_own_values_also_where_the_body_is_below_its_bound() {
    let with = |seed, loss: f64, is_below| {
        let mut case = measured(BODY, 7, seed);
        if is_below {
            case.metrics[0].values = vec![Reading::Below(3e-10); 7];
            case.metrics[0].estimate = None;
        }
        let losses = [0.999, 1.001, 1.0, 0.9985, 1.0015, 0.9995, 1.0005].map(|factor| loss * factor);
        let mut metric = metric("loss", Direction::Information, &losses);
        metric.unit = Unit::COUNT;
        case.metrics.push(metric);
        case
    };
    for (before, after, is_below, expected) in [
        (0.10, 0.15, [false; 2], "Regressed"),
        (0.10, 0.15, [true; 2], "Regressed"),
        (0.10, 0.15, [false, true], "Regressed"),
        (0.0, 1e-6, [true; 2], "Regressed"),
        (0.15, 0.10, [true; 2], "Improved"),
        (0.10, 0.0, [true; 2], "Improved"),
        (0.0, 0.0, [true; 2], "Unchanged"),
        (0.10, 0.10, [true; 2], "Unchanged"),
        (0.10, 0.10, [true, false], "Incomparable"),
        (-1.0, -2.0, [true; 2], "Inconclusive"),
    ] {
        let row = judged(
            with(1, before, is_below[0]),
            with(2, after, is_below[1]),
            &History::default(),
            &gating(&["loss"]),
        );
        assert_eq!(row.verdict.name(), expected, "{before} to {after}, {is_below:?}: {row:?}");
        assert!(row.metrics.iter().any(|metric| metric.metric == "loss"), "it is told with its figures");
    }
}

#[test]
fn a_metric_that_is_to_gate_and_that_no_case_has_is_named() {
    let policy = gating(&["minor_faults", "lss"]);
    let baseline = Baseline::promote("main", &run(1, vec![measured(BODY, 7, 1)]));
    let comparison = judge(&baseline, &run(2, vec![measured(BODY, 7, 2)]), &History::default(), &policy);
    assert_eq!(policy.absent_metrics([&comparison], &|_| false), ["lss"]);
    assert_eq!(policy.absent_metrics([&comparison], &|metric| metric == "lss"), [""; 0]);
    let gate = Gate { metrics: Some(vec!["loss".into()]), ..Gate::default() };
    let of = |id: &str| Policy { scenarios: [(id.to_owned(), gate.clone())].into(), ..Policy::default() };
    assert_eq!(of("A").absent_metrics([&comparison], &|_| true), ["loss"], "its scenario is compared");
    assert_eq!(of("B").absent_metrics([&comparison], &|_| true), [""; 0]);
}

#[test]
fn a_body_that_waits_is_judged_by_the_wall_clock() {
    // The same CPU time, and a tenth of the time asleep.
    let row = plain(BODY, SampledBody { waits: 1.3, ..BODY });
    assert_eq!((row.verdict.name(), row.marks), ("Regressed", vec![]));
}

#[test]
fn twice_the_work_in_twice_the_time_is_no_change() {
    let one = SampledBody { elements: 10.0, ..BODY };
    let two = SampledBody { elements: 20.0, cpu: 2000.0, ..BODY };
    assert_eq!(plain(one, two).verdict, Verdict::Unchanged);
    assert_eq!(plain(one, SampledBody { elements: 20.0, ..one }).verdict, Verdict::Improved);
    // What only one side states is no unit.
    assert_eq!(plain(BODY, two).verdict, Verdict::Regressed);
}

#[test]
fn a_slow_day_is_told_from_slow_code_by_the_yardstick_that_moves_with_it() {
    let wandering = days(&[1.0, 1.2, 0.9, 1.1, 1.3, 0.95]);
    let slow_day = SampledBody { slow: 1.25, ..BODY };
    let policy = Policy::default();
    let row = judged(measured(BODY, 7, 1), measured(slow_day, 7, 2), &wandering, &policy);
    assert_eq!(
        (row.verdict.name(), &row.marks[..]),
        ("Unchanged", &[RowMark::ByCpuClock, RowMark::ByYardstick][..])
    );
    assert_eq!(row.processes.unwrap().yardstick.as_deref(), Some("chain"));
    assert_eq!(row.tolerance.unwrap().basis, Basis::Margin);
    let slow_code = SampledBody { cpu: 1150.0, ..slow_day };
    let row = judged(measured(BODY, 7, 1), measured(slow_code, 7, 2), &wandering, &policy);
    assert_eq!(row.verdict, Verdict::Regressed);
    // Where days are alike a yardstick only adds its own noise.
    let row = judged(measured(BODY, 7, 1), measured(BODY, 7, 2), &days(&[1.0; 6]), &policy);
    assert_eq!(row.marks, [RowMark::ByCpuClock]);
}

#[test]
fn a_busy_machine_decides_nothing_however_slow_the_code() {
    let row = plain(BODY, SampledBody { cpu: 3000.0, switched: 0.4, ..BODY });
    assert!(row.verdict.why().unwrap().contains("in 40 % of the blocks"), "{row:?}");
    assert!(row.advice.unwrap().remedy == Remedy::QuieterMachine);
}

/// The same body, whose work a device does: the host's thread spins until it is done.
fn on_device(body: SampledBody, by_its_clock: bool, seed: u64) -> CaseRecord {
    let mut case = measured(body, 7, seed);
    case.metrics.push(metric("device_memory_used", Direction::Information, &[1e9; 7]));
    if by_its_clock {
        let mut time = case.metrics[0].clone();
        time.name = "device_time".into();
        case.primary_metric = time.name.clone();
        case.metrics.push(time);
    }
    case
}

#[test]
fn what_a_device_did_is_judged_neither_by_the_hosts_threads_nor_by_what_disturbed_them() {
    let policy = Policy { threshold: Some(0.05), ..Policy::default() };
    let busy = SampledBody { switched: 0.9, ..BODY };
    let slow = SampledBody { cpu: 1300.0, ..busy };
    let judged = |by_its_clock, before, after| {
        let (before, after) = (on_device(before, by_its_clock, 1), on_device(after, by_its_clock, 2));
        judged(before, after, &History::default(), &policy)
    };
    let row = judged(true, busy, slow);
    assert_eq!((row.metric.as_str(), &row.verdict), ("device_time", &Verdict::Regressed), "{row:?}");
    // By the host's clock a preemption is in the time.
    assert!(judged(false, busy, slow).verdict.why().unwrap().contains("in 90 % of the blocks"));
    let row = judged(false, BODY, SampledBody { cpu: 1300.0, ..BODY });
    assert_eq!(
        (&row.verdict, row.marks.contains(&RowMark::ByCpuClock)),
        (&Verdict::Regressed, false),
        "{row:?}"
    );
}

#[test]
fn a_case_that_never_settles_is_not_judged_by_its_times_on_either_side_and_by_its_counts_all_the_same() {
    let policy = gating(&["minor_faults"]);
    let slower = SampledBody { cpu: 1300.0, ..BODY };
    let with = |body: SampledBody, seed, stationarity| CaseRecord {
        stationarity: Some(stationarity),
        ..measured(body, 7, seed)
    };
    let row = |old, new, after: SampledBody| {
        judged(with(BODY, 1, old), with(after, 2, new), &History::default(), &policy)
    };
    for (old, new, whose) in [
        (Stationarity::Flat, Stationarity::Unsteady, "candidate's"),
        (Stationarity::Unsteady, Stationarity::WarmingUp, "baseline's"),
    ] {
        for after in [slower, BODY] {
            let row = row(old, new, after);
            let why = row.verdict.why().unwrap();
            assert!(why.contains(whose) && why.contains("never get steady"), "{why}");
            assert!(row.advice.unwrap().remedy == Remedy::Settling);
        }
    }
    assert_eq!(row(Stationarity::Drifting, Stationarity::WarmingUp, slower).verdict, Verdict::Regressed);
    let faulting = SampledBody { faults: 0.03, ..BODY };
    let row = row(Stationarity::Flat, Stationarity::Unsteady, faulting);
    assert_eq!((row.verdict, row.metric.as_str()), (Verdict::Regressed, "minor_faults"));
}

#[test]
fn a_set_up_is_judged_by_itself_where_the_samples_never_settle() {
    let policy = Policy { threshold: Some(0.05), ..gating(&["set_up"]) };
    let with = |seed, seconds: f64| {
        let mut case = CaseRecord { stationarity: Some(Stationarity::Unsteady), ..measured(BODY, 7, seed) };
        let took = [0.998, 1.0, 1.002, 0.999, 1.001, 1.003, 0.997].map(|factor| seconds * factor);
        case.metrics.push(metric("set_up", Direction::Lower, &took));
        case
    };
    let row = judged(with(1, 1.0), with(2, 1.5), &History::default(), &policy);
    assert_eq!((row.verdict, row.metric.as_str()), (Verdict::Regressed, "set_up"));
}

#[test]
fn a_stream_that_waited_for_a_processor_is_judged_by_the_cpu_clock() {
    let stream = |wall: f64, cpu: f64, waited: f64| {
        let values =
            |middle: f64| [0.998, 1.0, 1.002, 0.999, 1.001, 1.003, 0.997].map(|factor| middle * factor);
        let mut case = case("A", &values(wall));
        case.metrics.push(metric("cpu_time", Direction::Lower, &values(cpu)));
        case.metrics.push(metric("run_queue_share", Direction::Information, &values(waited)));
        case
    };
    let policy = Policy { threshold: Some(0.05), ..Policy::default() };
    let judged = |after| judged(stream(1.0, 0.9, 0.01), after, &History::default(), &policy);
    let row = judged(stream(1.5, 0.9, 0.4));
    assert_eq!((row.verdict, row.marks), (Verdict::Unchanged, vec![RowMark::ByCpuClock]));
    assert_eq!(judged(stream(1.5, 0.9, 0.05)).verdict, Verdict::Regressed);
}

#[test]
fn a_slowdown_that_lives_in_page_faults_alone_is_found_by_their_count() {
    let policy = gating(&["minor_faults"]);
    let faulting = SampledBody { faults: 0.02, ..BODY };
    let row = judged(measured(BODY, 7, 1), measured(faulting, 7, 2), &History::default(), &policy);
    assert_eq!((row.verdict, row.metric.as_str()), (Verdict::Regressed, "minor_faults"));
    // Nor is it hidden where each block has fewer iterations, as it has when they take longer.
    let both = SampledBody { faults: 0.02, cpu: 2000.0, ..BODY };
    let row = judged(measured(BODY, 7, 1), measured(both, 7, 2), &History::default(), &policy);
    let faults = row.metrics.iter().find(|metric| metric.metric == "minor_faults").unwrap();
    assert_eq!(faults.tendency, Tendency::Worse);
    // Slower blocks alone are no faults, and none at all are the same.
    for faults in [0.01, 0.0] {
        let (before, after) = (SampledBody { faults, ..BODY }, SampledBody { faults, cpu: 1300.0, ..BODY });
        let row = judged(measured(before, 7, 1), measured(after, 7, 2), &History::default(), &policy);
        let faults = row.metrics.iter().find(|metric| metric.metric == "minor_faults").unwrap();
        assert_eq!((faults.tendency, row.metric.as_str()), (Tendency::Same, "wall_time"));
    }
}

#[test]
fn a_slowdown_in_the_first_item_one_field_or_the_tail_is_found_by_its_own_metric() {
    const TIMES: [f64; 7] = [1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998];
    let names =
        ["first_item", "region/fields/labels/wall_time", "region/fields/images/wall_time", "latency_p99"];
    let with = |slow: Option<usize>| {
        let mut case = measured(BODY, 7, 1);
        for (at, name) in names.iter().enumerate() {
            let factor = if slow == Some(at) { 1.5 } else { 1.0 };
            case.metrics.push(metric(name, Direction::Lower, &TIMES.map(|time| time * factor)));
        }
        case
    };
    for (at, name) in names.iter().enumerate() {
        let row = judged(with(None), with(Some(at)), &History::default(), &gating(&names));
        assert_eq!((row.verdict, row.metric.as_str()), (Verdict::Regressed, *name));
        // Without a gate on it the case passes, and it is the one that is called worse.
        let row = judged(with(None), with(Some(at)), &History::default(), &Policy::default());
        assert_eq!(row.verdict, Verdict::Unchanged);
        assert_eq!(row.worse_beside().map(|metric| &*metric.metric).collect::<Vec<_>>(), [*name]);
    }
}

#[test]
fn swapping_the_sides_flips_every_verdict_and_scaling_all_times_changes_none() {
    let mut random = SplitMix64::new(9);
    let flip = |name| match name {
        "Regressed" => "Improved",
        "Improved" => "Regressed",
        other => other,
    };
    let scaled = |mut case: CaseRecord| {
        for process in &mut case.processes {
            let blocks = process.blocks.as_mut().unwrap();
            blocks.wall = blocks.wall.map(|time| time * 3.0);
            blocks.cpu = blocks.cpu.map(|time| time * 3.0);
        }
        let times: Vec<f64> = case.metrics[0].values.iter().filter_map(Reading::value).collect();
        let times: Vec<f64> = times.iter().map(|time| time * 3.0).collect();
        case.metrics[0] = metric("wall_time", Direction::Lower, &times);
        case
    };
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let policy = gating(&["minor_faults"]);
        let history = if seed % 2 == 0 { days(&[1.0, 1.2, 0.9, 1.1, 1.3]) } else { History::default() };
        let after = SampledBody {
            cpu: 850.0 + random.below(300) as f64,
            faults: [0.01, 0.011, 0.009][random.below(3) as usize],
            slow: [1.0, 1.1][random.below(2) as usize],
            waits: [1.0, 1.3][random.below(2) as usize],
            ..BODY
        };
        let (before, after) = (measured(BODY, 6, 2 * seed), measured(after, 7, 2 * seed + 1));
        let there = judged(before.clone(), after.clone(), &history, &policy);
        let back = judged(after.clone(), before.clone(), &history, &policy);
        seen.insert(there.verdict.name());
        // With two metrics the worst stands for the case, and the worst of one way is the best of the other.
        for (one, other) in there.metrics.iter().zip(&back.metrics) {
            let flipped = match one.tendency {
                Tendency::Better => Tendency::Worse,
                Tendency::Worse => Tendency::Better,
                same => same,
            };
            assert_eq!(flipped, other.tendency, "{} {seed}", one.metric);
        }
        let alone = Policy { threshold: Some(0.05), ..Policy::default() };
        let one = judged(before.clone(), after.clone(), &history, &alone).verdict;
        let other = judged(after.clone(), before.clone(), &history, &alone).verdict;
        assert_eq!(flip(one.name()), other.name(), "{seed}");
        let longer = judged(scaled(before), scaled(after), &History::default(), &alone).verdict;
        if seed % 2 == 1 {
            assert_eq!(longer.name(), one.name(), "{seed}");
        }
    }
    assert!(seen.len() >= 3, "{seen:?}");
}

#[test]
fn zero_rows_and_what_cannot_be_believed_never_pass() {
    let policy = Policy::default();
    let baseline = Baseline::promote("main", &run(1, vec![measured(BODY, 7, 1)]));
    let empty = judge(&baseline, &run(2, vec![]), &History::default(), &policy);
    assert_eq!(empty.outcome(&policy), GateOutcome::NothingToJudge);
    let tainted = SampledBody { switched: 0.9, ..BODY };
    let tainted = judge(&baseline, &run(2, vec![measured(tainted, 7, 2)]), &History::default(), &policy);
    assert_eq!(tainted.outcome(&policy), GateOutcome::Inconclusive);
    // So far from one another that only half as much again would be found.
    let blunt = judge(
        &baseline,
        &run(2, vec![measured(BODY, 7, 2)]),
        &days(&[1.0, 1.1, 0.8, 1.3, 0.7]),
        &Policy { gate: Gate { detectable: Some(0.01), ..Gate::default() }, ..Policy::default() },
    );
    assert_eq!(blunt.outcome(&policy), GateOutcome::Inconclusive, "{blunt:?}");
}

/// A policy that accepts a slowdown of the case, in the run of this number.
fn accepted(slowdown: f64, number: u32) -> Policy {
    let of = run(number, vec![]);
    let accepted = Acceptance {
        suite: of.manifest.suite.clone(),
        case: case("A", &[]).id.to_string(),
        metric: "wall_time".into(),
        machine: of.manifest.environment.machine_id().to_string(),
        slowdown,
        run: of.manifest.id.to_string(),
        because: "it is worth it".into(),
    };
    Policy { threshold: Some(0.03), accepted: vec![accepted], ..Policy::default() }
}

#[test]
fn what_was_accepted_is_no_regression_and_what_comes_on_top_of_it_is() {
    let slower = |times: f64| measured(SampledBody { cpu: BODY.cpu * times, ..BODY }, 7, 2);
    let judge =
        |times, policy: &Policy| judged(measured(BODY, 7, 1), slower(times), &History::default(), policy);
    let policy = accepted(0.10, 2);
    let row = judge(1.10, &policy);
    assert_eq!((row.verdict, row.accepted), (Verdict::Unchanged, Some(0.10)));
    assert!(row.marks.contains(&RowMark::Accepted));
    let row = judge(1.10 * 1.05, &policy);
    assert_eq!(row.verdict, Verdict::Regressed);
    assert!((row.effect.unwrap().estimate - 0.05).abs() < 0.01, "only what is new");
    assert_eq!(judge(1.0, &policy).verdict, Verdict::Improved, "the change is gone again");
    // A baseline that was measured later has the change in it.
    let row = judge(1.10, &accepted(0.10, 0));
    assert_eq!((row.verdict, row.accepted), (Verdict::Regressed, None));
    // Two changes add up, and a baseline from between them has the first one in it.
    let mut both = accepted(0.10, 2);
    both.accepted.push(Acceptance { slowdown: 0.2, ..accepted(0.2, 3).accepted.remove(0) });
    assert_eq!(judge(1.10 * 1.2, &both).verdict, Verdict::Unchanged);
    assert_eq!(judge(1.10, &both).verdict, Verdict::Improved);
    both.accepted[0].run = run(0, vec![]).manifest.id.to_string();
    assert_eq!(judge(1.2, &both).verdict, Verdict::Unchanged);
    assert_eq!(judge(1.10 * 1.2, &both).verdict, Verdict::Regressed);
    // Of another metric nothing was accepted.
    let mut other = accepted(0.10, 2);
    other.accepted[0].metric = "minor_faults".into();
    assert_eq!(judge(1.10, &other).verdict, Verdict::Regressed);
}

#[test]
fn runs_from_before_an_accepted_change_do_not_say_how_far_its_figures_wander() {
    let mut history = History::default();
    for number in 3..9 {
        let times = if number < 6 { 1.0 } else { 1.5 };
        let id = run(number, vec![]).manifest.id;
        history
            .add(&id, &measured(SampledBody { cpu: BODY.cpu * times, ..BODY }, 7, 100 + u64::from(number)));
    }
    let after = || measured(SampledBody { cpu: BODY.cpu * 1.5, ..BODY }, 7, 2);
    let row = |policy: &Policy| judged(measured(BODY, 7, 1), after(), &history, policy);
    let since = Policy { threshold: None, ..accepted(0.5, 6) };
    assert_eq!(row(&since).tolerance.unwrap().runs, 3);
    assert_eq!(row(&Policy::default()).tolerance.unwrap().runs, 6);
}
