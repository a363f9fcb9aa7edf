//! Scheduling with an executor that has no processes and no time.

use std::collections::HashMap;

use super::*;
use crate::bencher::{Phase, Spot};
use crate::metric::Observation;
use crate::plan::CaseOrder;
use crate::plan::fixtures::{entry, plan};
use crate::registry::{Contract, Equivalence, Location};
use crate::run::{Failure, How};

static NEVER: AtomicBool = AtomicBool::new(false);

/// Answers without processes and without time.
struct Mock<'a> {
    asked: Vec<(String, u32)>,
    answer: &'a dyn Fn(&str, u32) -> Option<Outcome>,
    round: HashMap<String, u32>,
    spots: Vec<Spot>,
    kept: Vec<bool>,
    /// The time that the next repeat is away.
    away: Duration,
    /// How long a repeat takes.
    slot: &'a dyn Fn(&str, u32) -> Duration,
}

impl<'a> Mock<'a> {
    fn new(answer: &'a dyn Fn(&str, u32) -> Option<Outcome>) -> Self {
        Self {
            asked: Vec::new(),
            answer,
            round: HashMap::new(),
            spots: Vec::new(),
            kept: Vec::new(),
            away: Duration::ZERO,
            slot: &slot,
        }
    }
}

impl Executor for Mock<'_> {
    fn run(&mut self, turn: Turn, ask: &RepeatRequest, tick: &mut dyn FnMut(Duration)) -> EndedRequest {
        tick(Duration::from_secs(3));
        let number = match ask.purpose {
            Purpose::Verify => 0,
            _ => {
                let round = self.round.entry(ask.scenario.clone()).or_default();
                *round += 1;
                *round
            }
        };
        self.kept.push(ask.keep);
        self.asked.push((ask.scenario.clone(), number));
        let slot = (self.slot)(&ask.scenario, number);
        let fits = turn.most.is_none_or(|most| slot <= most);
        let answer = (self.answer)(&ask.scenario, number).filter(|_| fits);
        EndedRequest {
            outcome: answer.map(|outcome| (outcome, self.spots.clone())),
            start: None,
            slot: turn.most.map_or(slot, |most| slot.min(most)),
            away: std::mem::take(&mut self.away),
            tree: None,
            utilisation: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
            alive: false,
        }
    }
}

fn slot(_: &str, number: u32) -> Duration {
    if number == 0 { Duration::from_secs(15) } else { Duration::from_millis(1) }
}

fn measured() -> Outcome {
    Outcome::Measured { seen: Box::default(), work: None, evidence: Box::default() }
}

fn failed() -> Outcome {
    let failure =
        Failure { how: How::Panic, phase: Phase::Timed, detail: String::new(), stderr: String::new() };
    Outcome::Failed(failure)
}

fn run(
    plan: &Plan,
    finished: &[(CaseId, Repeat)],
    answer: &dyn Fn(&str, u32) -> Option<Outcome>,
) -> (RunEnding, Vec<(String, u32)>) {
    let mut mock = Mock::new(answer);
    let scratch = |_: &CaseId, _: u32| PathBuf::from("/nonexistent/scratch");
    let task = RunTask {
        surroundings: 0,
        plan,
        epoch: 0,
        finished,
        scratch: &scratch,
        budget: None,
        shares: false,
        interrupted: &NEVER,
    };
    let ending = go(&task, &mut mock, &mut |_| Ok::<(), ()>(())).unwrap();
    (ending, mock.asked)
}

/// A task that has no scratch and no budget.
fn task<'a>(plan: &'a Plan, finished: &'a [(CaseId, Repeat)], interrupted: &'a AtomicBool) -> RunTask<'a> {
    let scratch = &|_: &CaseId, _: u32| PathBuf::from("/nonexistent/scratch");
    RunTask { plan, epoch: 0, finished, surroundings: 0, scratch, budget: None, shares: false, interrupted }
}

#[test]
fn rounds_are_outside_and_cases_inside() {
    let (ending, asked) = run(&plan(&["a", "b"], 2, CaseOrder::Declared), &[], &|_, _| Some(measured()));
    let expected: Vec<(String, u32)> =
        [("a", 1), ("b", 1), ("a", 2), ("b", 2)].iter().map(|(id, number)| ((*id).into(), *number)).collect();
    assert_eq!((ending, asked), (RunEnding::Complete, expected));
}

#[test]
fn what_verifying_takes_does_not_count_for_the_repeats_that_measure() {
    let mut plan = plan(&["a", "b"], 2, CaseOrder::Declared);
    for case in &mut plan.cases {
        case.scenario = entry("x", Equivalence::Exact);
    }
    let mut mock = Mock::new(&|_, _| Some(measured()));
    let mut left = Vec::new();
    let ending = go(&task(&plan, &[], &NEVER), &mut mock, &mut |event| {
        if let Event::RepeatStarted { remaining, .. } = event {
            left.push(remaining);
        }
        Ok::<(), ()>(())
    });
    assert_eq!(ending, Ok(RunEnding::Complete));
    let guess = plan.estimate() / 6;
    let (verify, measure) = (Duration::from_secs(15), Duration::from_millis(1));
    assert_eq!(left, [guess * 6, verify + guess * 4, guess * 4, measure * 3, measure * 2, measure]);
}

#[test]
fn a_repeat_that_goes_on_moves_the_estimate() {
    let plan = plan(&["a"], 2, CaseOrder::Declared);
    let mut mock = Mock::new(&|_, _| Some(measured()));
    let mut left = Vec::new();
    let ending = go(&task(&plan, &[], &NEVER), &mut mock, &mut |event| {
        if let Event::RepeatGoesOn { passed, remaining, finished, .. } = event {
            left.push((passed.as_secs(), remaining, finished));
        }
        Ok::<(), ()>(())
    });
    assert_eq!(ending, Ok(RunEnding::Complete));
    let (rest, repeat) = (Duration::from_millis(1500), Duration::from_millis(4500));
    assert_eq!(left, [(3, rest + repeat, 0), (3, rest, 1)]);
}

#[test]
fn rounds_are_shuffled_from_the_seed_each_in_its_own_way() {
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let rounds = plan(&ids, 3, CaseOrder::Shuffled).rounds();
    assert_eq!(rounds, plan(&ids, 3, CaseOrder::Shuffled).rounds());
    assert_ne!(rounds[1], rounds[2]);
    let mut other = plan(&ids, 3, CaseOrder::Shuffled);
    other.run.seed = 43;
    assert_ne!(rounds, other.rounds());
}

#[test]
fn a_failed_case_does_not_stop_the_run_and_is_not_tried_again() {
    let answer = |id: &str, _| Some(if id == "a" { failed() } else { measured() });
    let (ending, asked) = run(&plan(&["a", "b"], 3, CaseOrder::Declared), &[], &answer);
    assert_eq!(ending, RunEnding::Complete);
    assert_eq!(asked.iter().filter(|(id, _)| id == "a").count(), 1);
    assert_eq!(asked.iter().filter(|(id, _)| id == "b").count(), 3);
}

#[test]
fn what_an_earlier_part_of_the_run_finished_is_not_run_again() {
    let plan = plan(&["a", "b"], 2, CaseOrder::Declared);
    let repeat = |number, outcome| Repeat {
        number,
        purpose: Purpose::Measure,
        slot: 0,
        start: None,
        tree: None,
        utilisation: None,
        surroundings: 0,
        outcome,
    };
    let finished =
        [(plan.cases[0].id.clone(), repeat(1, measured())), (plan.cases[1].id.clone(), repeat(1, failed()))];
    let (_, asked) = run(&plan, &finished, &|_, _| Some(measured()));
    assert_eq!(asked, [("a".to_owned(), 1)], "one repeat of a is left, and b failed before");
}

#[test]
fn an_interrupted_repeat_is_told_to_nobody() {
    let plan = plan(&["a", "b"], 2, CaseOrder::Declared);
    let mut mock = Mock::new(&|id, _| (id == "a").then(measured));
    let task = task(&plan, &[], &NEVER);
    let mut ended = 0;
    let ending = go(&task, &mut mock, &mut |event| {
        ended += usize::from(matches!(event, Event::RepeatEnded { .. }));
        Ok::<(), ()>(())
    });
    assert_eq!((ending, ended), (Ok(RunEnding::Interrupted), 1));
}

#[test]
fn an_interrupt_between_two_repeats_ends_the_run() {
    let plan = plan(&["a"], 5, CaseOrder::Declared);
    let interrupted = AtomicBool::new(false);
    let answer = |_: &str, number| {
        interrupted.store(number == 2, Ordering::Relaxed);
        Some(measured())
    };
    let mut mock = Mock::new(&answer);
    let task = task(&plan, &[], &interrupted);
    let ending = go(&task, &mut mock, &mut |_| Ok::<(), ()>(()));
    assert_eq!((ending, mock.asked.len()), (Ok(RunEnding::Interrupted), 2));
}

#[test]
fn an_error_of_the_sink_ends_the_run() {
    let plan = plan(&["a"], 2, CaseOrder::Declared);
    let mut mock = Mock::new(&|_, _| Some(measured()));
    let task = task(&plan, &[], &NEVER);
    let ending = go(&task, &mut mock, &mut |event| match event {
        Event::RepeatEnded { .. } => Err("disk full"),
        _ => Ok(()),
    });
    assert_eq!(ending, Err("disk full"));
    assert_eq!(mock.asked.len(), 1);
}

#[test]
fn a_run_that_is_taken_up_again_hashes_its_references_once_more_and_journals_nothing_of_it() {
    static REFERENCE: crate::registry::AdapterEntry = adapter("reference", 0);
    static OTHER: crate::registry::AdapterEntry = adapter("other", 1);
    let mut plan = plan(&["a", "a"], 1, CaseOrder::Declared);
    for (case, adapter) in plan.cases.iter_mut().zip([&REFERENCE, &OTHER]) {
        case.id.adapter = Some(adapter.name.to_owned());
        case.adapter = Some(adapter);
        case.scenario = entry("a", Equivalence::Exact);
    }
    let whole = |case: usize, number, purpose| {
        let repeat = Repeat {
            number,
            purpose,
            slot: 1,
            start: None,
            tree: None,
            utilisation: None,
            surroundings: 0,
            outcome: measured(),
        };
        (plan.cases[case].id.clone(), repeat)
    };
    let finished =
        [whole(0, 0, Purpose::Verify), whole(1, 0, Purpose::Verify), whole(0, 1, Purpose::Measure)];
    let mut mock = Mock::new(&|_, _| Some(measured()));
    mock.spots = vec![Spot::of_hashes(&[5, 7])];
    let mut told = Vec::new();
    let ending = go(&task(&plan, &finished, &NEVER), &mut mock, &mut |event| {
        if let Event::RepeatEnded { case, repeat, .. } = event {
            told.push((case.adapter.clone().unwrap(), repeat.clone()));
        }
        Ok::<(), ()>(())
    });
    assert_eq!(ending, Ok(RunEnding::Complete));
    assert_eq!(
        mock.asked,
        [("a".to_owned(), 0), ("a".to_owned(), 1)],
        "the reference's hashes, and what was left"
    );
    let [(adapter, repeat)] = &told[..] else { panic!("{told:?}") };
    let Outcome::Measured { evidence, .. } = &repeat.outcome else { panic!("{repeat:?}") };
    assert_eq!((&**adapter, evidence.compared.as_ref().unwrap().strangers), ("other", 0));
    let nothing_left = [whole(0, 0, Purpose::Verify), whole(0, 1, Purpose::Measure)];
    let mut mock = Mock::new(&|_, _| Some(measured()));
    plan.cases.truncate(1);
    go(&task(&plan, &nothing_left, &NEVER), &mut mock, &mut |_| Ok::<(), ()>(())).unwrap();
    assert!(mock.asked.is_empty(), "{:?}", mock.asked);
}

/// Cases `a` to `h`, of which some share a resident adapter.
fn plan_with_residents(order: CaseOrder) -> Plan {
    static ONE: crate::registry::AdapterEntry =
        crate::registry::AdapterEntry { resident: true, ..adapter("one", 1) };
    static OTHER: crate::registry::AdapterEntry =
        crate::registry::AdapterEntry { resident: true, ..adapter("other", 1) };
    let mut plan = plan(&["a", "b", "c", "d", "e", "f", "g", "h"], 3, order);
    for (case, adapter) in [(1, &ONE), (3, &ONE), (6, &ONE), (2, &OTHER), (4, &OTHER)] {
        plan.cases[case].adapter = Some(adapter);
        plan.cases[case].id.adapter = Some(adapter.name.to_owned());
    }
    plan
}

#[test]
fn the_cases_of_a_resident_adapter_follow_each_other_in_every_round() {
    let declared = plan_with_residents(CaseOrder::Declared);
    assert_eq!(declared.rounds()[1], [0, 1, 3, 6, 2, 4, 5, 7]);
    let rounds = plan_with_residents(CaseOrder::Shuffled).rounds();
    for round in &rounds[1..] {
        for group in [vec![1, 3, 6], vec![2, 4]] {
            let at: Vec<usize> = (0..8).filter(|at| group.contains(&round[*at])).collect();
            assert_eq!(at.last().unwrap() - at[0] + 1, group.len(), "{round:?}");
        }
        let mut all = round.clone();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
    assert_ne!(rounds[1], rounds[2]);
}

#[test]
fn a_resident_adapter_is_kept_until_its_last_case_of_the_round_that_has_not_failed() {
    let mut plan = plan_with_residents(CaseOrder::Declared);
    plan.repeats = 2;
    let answer: &dyn Fn(&str, u32) -> Option<Outcome> =
        &|id, _| Some(if id == "g" { failed() } else { measured() });
    let mut mock = Mock::new(answer);
    go(&task(&plan, &[], &NEVER), &mut mock, &mut |_| Ok::<(), ()>(())).unwrap();
    let asked: Vec<(&str, bool)> =
        mock.asked.iter().map(|(id, _)| id.as_str()).zip(mock.kept.iter().copied()).collect();
    let first = [
        ("a", false),
        ("b", true),
        ("d", true),
        ("g", false),
        ("c", true),
        ("e", false),
        ("f", false),
        ("h", false),
    ];
    assert_eq!(asked[..8], first);
    assert_eq!(asked[8..11], [("a", false), ("b", true), ("d", false)], "`g` is not tried again");
}

const fn adapter(name: &'static str, tier: u8) -> crate::registry::AdapterEntry {
    crate::registry::AdapterEntry {
        name,
        tier,
        contract: Contract { id: std::any::TypeId::of::<dyn Send>, name: "Send" },
        description: "",
        unequal: None,
        resident: false,
        version: "1",
        location: Location { file: "", line: 0, module: "" },
        make: || Ok(Box::new(())),
        probe: None,
    }
}

/// The repeats that run of three cases in a quick run of so many seconds: `a` and `b` take a second each,
/// `slow` takes 20. And about how long all would have taken, where something was left out.
fn shared(seconds: u64, took: Option<Duration>) -> (Vec<(String, u32)>, Option<u64>) {
    let mut plan = plan(&["slow", "a", "b"], 3, CaseOrder::Declared);
    plan.cases[0].took.measuring = took;
    let answer: &dyn Fn(&str, u32) -> Option<Outcome> = &|_, _| Some(measured());
    let slot = |id: &str, _| Duration::from_secs(if id == "slow" { 20 } else { 1 });
    let mut mock = Mock { slot: &slot, ..Mock::new(answer) };
    let mut left_out = None;
    let budget = Some(Duration::from_secs(seconds));
    let ending = go(&RunTask { budget, shares: true, ..task(&plan, &[], &NEVER) }, &mut mock, &mut |event| {
        if let Event::LeftOut { needed } = event {
            left_out = Some(needed.as_secs());
        }
        Ok::<(), ()>(())
    });
    assert_eq!(ending, Ok(RunEnding::Complete));
    (mock.asked, left_out)
}

#[test]
fn a_slow_case_costs_no_other_its_figure_where_times_are_shared() {
    let others = ["a", "b", "a", "b", "a", "b"].iter().zip([1, 1, 2, 2, 3, 3]);
    let others: Vec<(String, u32)> = others.map(|(id, number)| ((*id).to_owned(), number)).collect();
    let slow = |number| ("slow".to_owned(), number);
    let known = Some(Duration::from_secs(20));
    let (asked, left_out) = shared(30, known);
    assert_eq!((&asked[0], &asked[1..], left_out), (&slow(1), &others[..], Some(40)), "it has its share");
    let (asked, left_out) = shared(20, known);
    assert_eq!((&asked[..], left_out), (&others[..], Some(60)), "what cannot end is not begun");
    // Nobody knows how slow it is: it is ended when the others need what is left.
    let (asked, left_out) = shared(20, None);
    assert_eq!(asked[..3], [slow(1), others[0].clone(), others[1].clone()]);
    assert!(!asked[1..].contains(&slow(1)) && left_out.is_some(), "{asked:?}");
    let (asked, left_out) = shared(80, known);
    assert_eq!((asked.len(), left_out), (9, None), "there is time for all");
}

#[test]
fn a_quick_run_that_is_broken_off_says_nothing_of_what_did_not_fit() {
    let plan = plan(&["slow", "a"], 3, CaseOrder::Declared);
    let interrupted = AtomicBool::new(false);
    let answer: &dyn Fn(&str, u32) -> Option<Outcome> = &|id, _| {
        interrupted.store(id == "a", Ordering::Relaxed);
        Some(measured())
    };
    let slot = |id: &str, _| Duration::from_secs(if id == "slow" { 60 } else { 1 });
    let mut mock = Mock { slot: &slot, ..Mock::new(answer) };
    let budget = Some(Duration::from_secs(40));
    let task = RunTask { budget, shares: true, ..task(&plan, &[], &interrupted) };
    let ending = go(&task, &mut mock, &mut |event| match event {
        Event::LeftOut { .. } => Err("it says what did not fit"),
        _ => Ok(()),
    });
    assert_eq!(ending, Ok(RunEnding::Interrupted));
}

/// A repeat of a body that takes so many microseconds.
fn taking(microseconds: u64) -> Outcome {
    let samples = vec![microseconds * 1000; 8];
    let wall = microseconds * 8000;
    let seen = Observation { samples, iterations_per_sample: 1, wall, ..Observation::default() };
    Outcome::Measured { seen: Box::new(seen), work: None, evidence: Box::default() }
}

#[test]
fn a_case_with_a_target_is_repeated_until_it_is_met_and_no_longer() {
    let mut plan = plan(&["a", "b"], 3, CaseOrder::Declared);
    plan.together.target = Some(0.01);
    let (ending, asked) = run(&plan, &[], &|id, number| {
        // `b` scatters by 40 %: its interval never gets narrow.
        Some(taking(1000 + if id == "b" { u64::from(number * 7919) % 400 } else { 0 }))
    });
    let count = |wanted: &str| asked.iter().filter(|(id, _)| id == wanted).count();
    assert_eq!(ending, RunEnding::Complete);
    assert_eq!(count("a"), 6, "the least for an interval");
    assert_eq!(count("b"), Plan::MOST_REPEATS as usize);
}

#[test]
fn a_run_with_a_target_that_is_taken_up_again_repeats_nothing() {
    let mut plan = plan(&["a", "b"], 2, CaseOrder::Declared);
    plan.together.target = Some(0.01);
    let whole = |id: usize, number| {
        let outcome = taking(1000);
        let (purpose, slot) = (Purpose::Measure, 1);
        (
            plan.cases[id].id.clone(),
            Repeat {
                number,
                purpose,
                slot,
                start: None,
                tree: None,
                utilisation: None,
                surroundings: 0,
                outcome,
            },
        )
    };
    let finished: Vec<_> =
        (1..=5).map(|number| whole(0, number)).chain((1..=4).map(|n| whole(1, n))).collect();
    let mut mock = Mock::new(&|_, _| Some(taking(1000)));
    let mut numbers = Vec::new();
    let ending = go(&task(&plan, &finished, &NEVER), &mut mock, &mut |event| {
        if let Event::RepeatEnded { case, repeat, .. } = event {
            numbers.push((case.scenario.clone(), repeat.number));
        }
        Ok::<(), ()>(())
    });
    assert_eq!(ending, Ok(RunEnding::Complete));
    assert_eq!(numbers, [("b".to_owned(), 5), ("a".to_owned(), 6), ("b".to_owned(), 6)]);
}

#[test]
fn a_repeat_in_which_the_machine_slept_is_run_again_and_said_so() {
    let plan = plan(&["A"], 1, CaseOrder::Declared);
    let measured = |_: &str, _| Some(measured());
    let mut mock = Mock { away: Duration::from_secs(20), ..Mock::new(&measured) };
    let mut told = Vec::new();
    let ending = go(&task(&plan, &[], &NEVER), &mut mock, &mut |event| {
        match event {
            Event::Away { away, .. } => told.push(Err(away)),
            Event::RepeatEnded { repeat, .. } => told.push(Ok(repeat.number)),
            _ => {}
        }
        Ok::<(), ()>(())
    });
    assert_eq!(ending, Ok(RunEnding::Complete));
    assert_eq!(told, [Err(Duration::from_secs(20)), Ok(1)]);
}

#[test]
fn a_case_that_the_harness_has_no_room_for_is_put_off_with_what_is_held_against_it_and_the_run_is_broken_off()
{
    let plan = plan(&["A", "B"], 1, CaseOrder::Declared);
    let no_room = |scenario: &str, _| {
        let failure = Failure { detail: "8 GB".to_owned(), ..Failure::plain(How::NoRoom, Phase::SetUp) };
        Some(if scenario == "A" { Outcome::Failed(failure) } else { measured() })
    };
    let mut mock = Mock::new(&no_room);
    let (mut journal, mut put_off) = (Vec::new(), Vec::new());
    let ending = go(&task(&plan, &[], &NEVER), &mut mock, &mut |event| {
        match event {
            Event::NoRoom { case, why } => put_off.push(format!("{}: {why}", case.scenario)),
            Event::RepeatEnded { case, repeat, .. } => journal.push((case.scenario.clone(), repeat.number)),
            _ => {}
        }
        Ok::<(), ()>(())
    });
    assert_eq!(ending, Ok(RunEnding::NoRoom));
    assert_eq!(put_off, ["A: 8 GB"]);
    assert_eq!(journal, [("B".to_owned(), 1)], "of A nothing is kept");
}
