use super::*;
use crate::bencher::Purpose;
use crate::metric::{Block, Custom, DeviceSample, Mode, Observation, OnDevice, SampleKind};
use crate::registry::Point;
use crate::run::Outcome;
use crate::stats::SplitMix64;

fn id() -> CaseId {
    CaseId { scenario: "A".into(), point: Point::default(), adapter: None, told_apart: false }
}

/// The blocks of one side: their time as a factor, and their page faults.
#[derive(Clone, Copy)]
struct SideOf {
    time: f64,
    faults: u64,
}

const PLAIN: SideOf = SideOf { time: 1.0, faults: 0 };

/// A round whose blocks wander by a few percent.
fn round(sides: [SideOf; 2], random: &mut SplitMix64) -> DuelRound {
    let mut block = |side: SideOf| {
        let wander = 1.0 + (random.draw() >> 11) as f64 / (1u64 << 53) as f64 * 0.04;
        let wall = (1e6 * side.time * wander) as u64;
        let faults = side.faults;
        Block { iterations: 100, wall, thread: wall, cpu: wall, faults, ..Block::default() }
    };
    let pairs = (0..50).map(|_| [block(sides[0]), block(sides[1])]).collect();
    DuelRound::Blocks { work: [PerIteration::default(); 2], pairs }
}

/// As many rounds as it takes.
fn fought(sides: [SideOf; 2], policy: &Policy) -> CaseDuel {
    let mut random = SplitMix64::new(1);
    let mut duel = CaseDuel::default();
    while !duel.is_decided(&id(), policy) {
        duel.add(round(sides, &mut random));
    }
    duel
}

fn row(sides: [SideOf; 2], policy: &Policy) -> Row {
    fought(sides, policy).row(&id(), policy)
}

fn timed(time: f64) -> SideOf {
    SideOf { time, ..PLAIN }
}

#[test]
fn a_slower_an_equal_and_a_faster_program_are_told_apart() {
    let policy = Policy::default();
    for (time, expected) in [(1.05, "Regressed"), (1.0, "Unchanged"), (0.95, "Improved")] {
        let row = row([PLAIN, timed(time)], &policy);
        assert_eq!(row.verdict.name(), expected, "{time}");
        assert_eq!(row.metric, "wall_time");
        let rounds = row.rounds.unwrap();
        assert_eq!((rounds.shifts.len(), rounds.by_cpu), (8, 0));
        assert!(row.detectable.unwrap() > 0.01);
    }
}

#[test]
fn scaling_all_times_by_a_constant_changes_no_verdict() {
    let policy = Policy::default();
    for time in [0.97, 0.995, 1.0, 1.005, 1.03] {
        let plain = row([PLAIN, timed(time)], &policy);
        let scaled = row([timed(64.0), timed(64.0 * time)], &policy);
        assert_eq!(plain.verdict.name(), scaled.verdict.name(), "{time}");
    }
}

#[test]
fn a_metric_that_gates_and_that_the_candidate_has_no_more_is_no_pass() {
    let gate = super::super::Gate { metrics: Some(vec!["loss".into()]), ..Default::default() };
    let policy = Policy { gate, ..Policy::default() };
    let with = |loss: Option<f64>| {
        let mut repeat = repeat(&[100, 101, 100, 99, 100, 100]);
        let Outcome::Measured { seen, .. } = &mut repeat.outcome else { unreachable!() };
        seen.custom.extend(loss.map(|value| Custom {
            name: "loss".into(),
            value,
            unit: Unit::COUNT,
            direction: Direction::Information,
        }));
        repeat
    };
    let verdict = |sides: [Option<f64>; 2]| {
        let mut duel = CaseDuel::default();
        for _ in 0..CaseDuel::MOST_ROUNDS {
            duel.add(DuelRound::Repeats(sides.map(|loss| vec![with(loss), with(loss)])));
        }
        duel.row(&id(), &policy).verdict.to_string()
    };
    assert_eq!(verdict([Some(0.10), None]), "Incomparable (loss has no value on one side)");
    assert_eq!(verdict([Some(0.10), Some(0.15)]), "Regressed");
    assert_eq!(verdict([Some(0.0), Some(0.0)]), "Unchanged");
    assert_eq!(verdict([None, Some(0.15)]), "Unchanged", "one that is new is as a case that is new");
}

#[test]
fn a_change_that_lives_in_page_faults_alone_is_named_by_the_metric_that_has_it() {
    let gate = super::super::Gate { metrics: Some(vec!["minor_faults".into()]), ..Default::default() };
    let policy = Policy { gate, ..Policy::default() };
    let faulting = SideOf { faults: 30, ..PLAIN };
    let found = row([PLAIN, faulting], &policy);
    assert_eq!((found.verdict.name(), found.metric.as_str()), ("Regressed", "minor_faults"));
    let unasked = row([PLAIN, faulting], &Policy::default());
    assert_eq!((unasked.verdict.name(), unasked.metric.as_str()), ("Unchanged", "wall_time"));
    let told = unasked.metrics.iter().find(|metric| metric.metric == "minor_faults").unwrap();
    assert_eq!(told.tendency, Tendency::Worse, "told all the same");
}

#[test]
fn a_regression_stands_only_if_fresh_rounds_confirm_it() {
    let policy = Policy::default();
    let first = row([PLAIN, timed(1.05)], &policy);
    let all_rounds = |time: f64| {
        let mut random = SplitMix64::new(7);
        let mut duel = CaseDuel::default();
        for _ in 0..CaseDuel::MOST_ROUNDS {
            duel.add(round([PLAIN, timed(time)], &mut random));
        }
        duel
    };
    for (again, stands) in [(1.05, true), (1.0, false)] {
        let mut row = first.clone();
        confirm(&mut [Candidate { row: &mut row, fresh: all_rounds(again) }], &policy);
        assert_eq!(row.verdict == Verdict::Regressed, stands, "{:?}", row.verdict);
        let rounds = row.rounds.unwrap();
        assert_eq!(rounds.confirmation.len(), CaseDuel::MOST_ROUNDS);
        assert_eq!(rounds.p.unwrap() < 0.05, stands);
        assert!((row.effect.unwrap().estimate - (again - 1.0)).abs() < 0.01, "of the fresh rounds alone");
    }
    let mut row = first;
    confirm(&mut [Candidate { row: &mut row, fresh: CaseDuel::default() }], &policy);
    assert!(matches!(row.verdict, Verdict::Inconclusive(_)), "no fresh rounds confirm nothing");
}

#[test]
fn what_was_accepted_is_taken_off_the_rounds_and_of_their_confirmation() {
    let accepted = Acceptance {
        suite: "toy/suite".into(),
        case: id().to_string(),
        metric: "wall_time".into(),
        machine: "any".into(),
        slowdown: 0.05,
        run: "20260102-000000-000001".into(),
        because: "it is worth it".into(),
    };
    let policy = Policy { accepted: vec![accepted], ..Policy::default() };
    let fought = |time: f64| {
        let mut random = SplitMix64::new(1);
        let mut duel = CaseDuel::new(&id(), &policy);
        for _ in 0..CaseDuel::MOST_ROUNDS {
            duel.add(round([PLAIN, timed(time)], &mut random));
        }
        duel
    };
    for (time, expected) in [(1.05, "Unchanged"), (1.05 * 1.05, "Regressed"), (1.0, "Improved")] {
        let row = fought(time).row(&id(), &policy);
        assert_eq!((row.verdict.name(), row.accepted), (expected, Some(0.05)), "{time}");
    }
    let mut row = fought(1.05 * 1.05).row(&id(), &policy);
    confirm(&mut [Candidate { row: &mut row, fresh: fought(1.05) }], &policy);
    assert!(matches!(row.verdict, Verdict::Inconclusive(_)), "what was accepted confirms nothing: {row:?}");
}

/// A whole repeat with these samples in microseconds.
fn repeat(samples: &[u64]) -> Repeat {
    let seen = Observation {
        taken: Some(SampleKind::Items),
        samples: samples.iter().map(|sample| sample * 1000).collect(),
        iterations_per_sample: 1,
        elements: samples.len() as u64,
        wall: samples.iter().sum::<u64>() * 1000,
        first_item: Some(samples[0] * 1000),
        ..Observation::default()
    };
    Repeat {
        number: 1,
        purpose: Purpose::Measure,
        slot: 1,
        start: None,
        tree: None,
        utilisation: None,
        surroundings: 0,
        outcome: Outcome::Measured { seen: Box::new(seen), work: None, evidence: Box::default() },
    }
}

/// A duel of whole repeats between two series of samples.
fn of_repeats(old: &[u64], new: &[u64]) -> CaseDuel {
    let mut duel = CaseDuel::default();
    for number in 0..8 {
        let wander =
            |samples: &[u64]| repeat(&samples.iter().map(|sample| sample + number % 3).collect::<Vec<_>>());
        duel.add(DuelRound::Repeats([vec![wander(old), wander(old)], vec![wander(new), wander(new)]]));
    }
    duel
}

#[test]
fn whole_repeats_are_judged_by_every_metric_that_they_have() {
    let plain: Vec<u64> = vec![1000; 700]; // what a p99 takes
    let policy = |metric: &str| {
        let gate = super::super::Gate { metrics: Some(vec![metric.into()]), ..Default::default() };
        Policy { gate, ..Policy::default() }
    };
    let mut first = plain.clone();
    first[0] = 1500;
    let found = of_repeats(&plain, &first).row(&id(), &policy("first_item"));
    assert_eq!((found.verdict.name(), found.metric.as_str()), ("Regressed", "first_item"));

    let mut tail = plain.clone();
    for at in 0..17 {
        tail[20 + 40 * at] = 1400;
    }
    let found = of_repeats(&plain, &tail).row(&id(), &policy("latency_p99"));
    assert_eq!((found.verdict.name(), found.metric.as_str()), ("Regressed", "latency_p99"));

    let slower: Vec<u64> = vec![1100; 700];
    let found = of_repeats(&plain, &slower).row(&id(), &Policy::default());
    assert_eq!((found.verdict.name(), found.metric.as_str()), ("Regressed", "throughput"));
}

/// A duel whose candidate takes a tenth longer, and whose repeats run so on each side.
fn with_stationarities(stationarities: [Stationarity; 2], rounds: usize) -> CaseDuel {
    let mut duel = CaseDuel::default();
    for number in 0..rounds as u64 {
        let of = |time: u64, stationarity| {
            let mut repeat = repeat(&[time + number % 3; 40]);
            if let Outcome::Measured { seen, .. } = &mut repeat.outcome {
                seen.stationarity = Some(stationarity);
            }
            vec![repeat.clone(), repeat]
        };
        duel.add(DuelRound::Repeats([of(1000, stationarities[0]), of(1100, stationarities[1])]));
    }
    duel
}

#[test]
fn streams_that_never_settle_are_decided_by_no_time_and_by_counts_all_the_same() {
    let policy = Policy::default();
    let steady = with_stationarities([Stationarity::Flat, Stationarity::WarmingUp], 8);
    assert_eq!(steady.row(&id(), &policy).verdict, Verdict::Regressed);
    for stationarities in
        [[Stationarity::Flat, Stationarity::Unsteady], [Stationarity::Unsteady, Stationarity::Flat]]
    {
        let duel = with_stationarities(stationarities, 8);
        assert!(duel.is_decided(&id(), &policy), "more rounds would not settle it");
        let row = duel.row(&id(), &policy);
        assert!(row.verdict.why().unwrap().contains("never get steady"), "{:?}", row.verdict);
        assert!(row.effect.unwrap().low > 0.05, "what was seen is told");
        let rounds = row.rounds.unwrap();
        assert!(rounds.unsteady);
        assert_eq!(decide(&[rounds], 0.01, 0.05), ["Inconclusive"]);
        assert_eq!(duel.unsteady("minor_faults", &Unit::COUNT), [false; 2]);
        assert_eq!(duel.unsteady("first_item", &Unit::SECONDS), [false; 2]);
    }
    // Nor do fresh rounds confirm what drifts in them.
    let mut row = steady.row(&id(), &policy);
    let fresh = with_stationarities([Stationarity::Unsteady; 2], CaseDuel::MOST_ROUNDS);
    confirm(&mut [Candidate { row: &mut row, fresh }], &policy);
    assert!(row.verdict.why().unwrap().contains("both sides'"), "{:?}", row.verdict);
    assert_eq!(decide(&[row.rounds.unwrap()], 0.01, 0.05), ["Inconclusive"]);
}

#[test]
fn rows_of_blocks_and_of_whole_repeats_can_be_read_again_as_they_were_written() {
    let samples = vec![1000; 700];
    for row in [
        row([PLAIN, timed(1.05)], &Policy::default()),
        of_repeats(&samples, &samples).row(&id(), &Policy::default()),
    ] {
        let text = serde_json::to_string(&row).unwrap();
        let read: Row = serde_json::from_str(&text).unwrap();
        assert_eq!(read, row);
    }
}

#[test]
fn a_duel_that_was_broken_off_early_decides_nothing_and_says_so() {
    let mut duel = CaseDuel::default();
    let mut random = SplitMix64::new(3);
    for _ in 0..5 {
        duel.add(round([PLAIN, timed(1.5)], &mut random));
    }
    let row = duel.row(&id(), &Policy::default());
    assert_eq!(row.verdict, Verdict::Inconclusive(InconclusiveReason::FewRounds(5)));
}

/// A round of a body on a device: what the candidate takes in time and in cycles, by the baseline's.
fn on_device(number: u64, [time, cycles]: [f64; 2]) -> DuelRound {
    let of = |time: f64, clock: Option<f64>| {
        let sample =
            DeviceSample { device: Some(1e6 * time + (number % 3) as f64), clock, ..DeviceSample::default() };
        let on = OnDevice { mode: Mode::Event, bodies: 1, samples: vec![sample; 20], ..OnDevice::default() };
        let mut repeat = repeat(&[1000; 20]);
        if let Outcome::Measured { seen, .. } = &mut repeat.outcome {
            seen.device = Some(Box::new(on));
        }
        vec![repeat.clone(), repeat]
    };
    // Cycles are time by clock. Where the candidate's are no number, no side tells a clock.
    let clock = |factor: f64| cycles.is_finite().then_some(1500.0 * factor);
    DuelRound::Repeats([of(1.0, clock(1.0)), of(time, clock(cycles / time))])
}

/// As many such rounds, with the sides swapped where asked.
fn on_devices(factors: [f64; 2], rounds: usize, swapped: bool) -> CaseDuel {
    let mut duel = CaseDuel::default();
    for number in 0..rounds as u64 {
        duel.add(match on_device(number, factors) {
            DuelRound::Repeats([old, new]) if swapped => DuelRound::Repeats([new, old]),
            round => round,
        });
    }
    duel
}

/// The candidate's factors of time and of cycles, and the verdicts there and back.
const CLOCKS: [([f64; 2], &str, &str); 7] = [
    ([1.2, 1.2], "Regressed", "Improved"),
    ([0.8, 0.8], "Improved", "Regressed"),
    ([1.0, 1.0], "Unchanged", "Unchanged"),
    ([1.2, f64::NAN], "Regressed", "Improved"),
    (
        [1.2, 1.0],
        "Inconclusive (the device's clock changed: cycles are unchanged)",
        "Inconclusive (the device's clock changed: cycles are unchanged)",
    ),
    (
        [1.2, 0.8],
        "Inconclusive (the device's clock changed: cycles improved)",
        "Inconclusive (the device's clock changed: cycles regressed)",
    ),
    // What waits for memory takes its time at any clock.
    ([1.0, 1.2], "Unchanged", "Unchanged"),
];

#[test]
fn a_change_of_a_devices_time_is_the_codes_only_where_its_cycles_changed_too_and_swapping_the_sides_flips_it()
{
    let policy = Policy::default();
    for (factors, there, back) in CLOCKS {
        for (swapped, expected) in [(false, there), (true, back)] {
            let duel = on_devices(factors, 8, swapped);
            assert!(duel.is_decided(&id(), &policy), "{factors:?}: more rounds would say no more");
            let row = duel.row(&id(), &policy);
            assert_eq!((row.metric.as_str(), row.verdict.to_string().as_str()), ("device_time", expected));
            let rounds = row.rounds.unwrap();
            assert_eq!(rounds.clock, expected.contains("clock"), "{factors:?}");
            // A regression is confirmed first.
            if row.verdict != Verdict::Regressed {
                assert_eq!(decide(&[rounds], 0.01, 0.05), [row.verdict.name()]);
            }
        }
    }
}

#[test]
fn a_change_of_a_devices_time_waits_for_its_cycles_to_be_decided() {
    let policy = Policy::default();
    let mut duel = CaseDuel::default();
    for number in 0..CaseDuel::MOST_ROUNDS as u64 {
        assert!(!duel.is_decided(&id(), &policy), "after {number} rounds");
        // A time that is always longer, and cycles that are as often more as fewer.
        duel.add(on_device(number, [1.2, [0.8, 1.25][number as usize % 2]]));
    }
    let row = duel.row(&id(), &policy);
    assert!(row.verdict.why().unwrap().starts_with("it regressed, and whether the device's cycles did"));
    let told = row.metrics.iter().find(|metric| metric.metric == "device_time").unwrap();
    assert_eq!(told.tendency, Tendency::Unclear);
}

#[test]
fn fresh_rounds_at_another_clock_confirm_no_regression_of_a_devices_time() {
    let policy = Policy::default();
    let first = on_devices([1.2, 1.2], 8, false).row(&id(), &policy);
    for (cycles, stands) in [(1.2, true), (1.0, false)] {
        let mut row = first.clone();
        let fresh = on_devices([1.2, cycles], CaseDuel::MOST_ROUNDS, false);
        confirm(&mut [Candidate { row: &mut row, fresh }], &policy);
        assert_eq!(row.verdict == Verdict::Regressed, stands, "{:?}", row.verdict);
        let rounds = row.rounds.unwrap();
        assert!(rounds.p.unwrap() < 0.05, "the time did regress again");
        assert_eq!(rounds.clock, !stands);
        assert_eq!(decide(&[rounds], 0.01, 0.05), [row.verdict.name()]);
    }
}
