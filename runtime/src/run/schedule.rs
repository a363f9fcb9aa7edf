//! Going through the plan: rounds on the outside, cases on the inside; a failed case is not tried again.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::event::{Ending, Event};
use super::executor::Executor;
use super::process::Ended;
use super::protocol::Ask;
use super::repeat::read_hashes;
use super::{Failure, How, Outcome, Repeat};
use crate::bencher::{Phase, Purpose};
use crate::plan::{CaseId, Plan, PlannedCase};
use crate::registry::Equivalence;

/// What a run needs beside its plan.
pub struct Task<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Repeats that an earlier part of the run has finished: they are not run again.
    pub finished: &'a [(CaseId, Repeat)],
    /// Where the hashes of a reference's elements are kept.
    pub hashes: &'a dyn Fn(&CaseId) -> PathBuf,
    /// The scratch directory of a repeat.
    pub scratch: &'a dyn Fn(&CaseId, u32) -> PathBuf,
    /// The most time that the run may take.
    pub budget: Option<Duration>,
    /// Set when the user asks for an end.
    pub interrupted: &'a AtomicBool,
}

impl std::fmt::Debug for Task<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task").field("budget", &self.budget).finish_non_exhaustive()
    }
}

/// Runs every repeat that is not finished, and tells `sink` of each. An error of the sink (a full disk) ends the run.
pub(super) fn go<E>(
    task: &Task<'_>,
    executor: &mut dyn Executor,
    sink: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<Ending, E> {
    let plan = task.plan;
    let mut progress = Progress::new(task);
    sink(Event::Started { plan, repeats: progress.left.len() })?;
    let begun = Instant::now();
    let mut ending = Ending::Complete;
    while let Some((index, number)) = progress.next() {
        if task.interrupted.load(Ordering::Relaxed) {
            ending = Ending::Interrupted;
            break;
        }
        if task.budget.is_some_and(|budget| begun.elapsed() >= budget) {
            ending = Ending::OutOfBudget;
            break;
        }
        let case = &plan.cases[index];
        let remaining = progress.remaining();
        sink(Event::RepeatStarted { case: &case.id, number, finished: progress.finished, remaining })?;
        let ask = ask(task, case, number);
        let ended = executor.run(index, &ask, progress.is_last(index));
        let _ = std::fs::remove_dir_all(&ask.scratch); // there only if the scenario asked for it
        let Ended { outcome, start, slot, tree, stdout, stderr, alive: _ } = ended;
        let Some((outcome, held)) = outcome else {
            ending = Ending::Interrupted;
            break;
        };
        let outcome = progress.check_work(task, case, outcome, &held);
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        let repeat = Repeat {
            number,
            purpose: ask.purpose,
            slot: nanoseconds(slot),
            start: start.map(nanoseconds),
            tree,
            outcome,
        };
        progress.ended(index, &repeat, slot);
        sink(Event::RepeatEnded { case: &case.id, repeat: &repeat, stdout: &stdout, stderr: &stderr })?;
    }
    sink(Event::Ended(ending))?;
    Ok(ending)
}

fn ask(task: &Task<'_>, case: &PlannedCase, number: u32) -> Ask {
    let plan = task.plan;
    let purpose = match number {
        0 => Purpose::Verify,
        _ if plan.smoke => Purpose::Smoke,
        _ => Purpose::Measure,
    };
    Ask {
        scenario: case.id.scenario.clone(),
        point: case.id.point.clone(),
        adapter: case.id.adapter.clone(),
        purpose,
        limits: plan.limits,
        seed: plan.seed,
        // Fresh from the operating system: the subject can neither see it nor guess it.
        hold_seed: RandomState::new().hash_one((number, std::process::id())),
        scratch: (task.scratch)(&case.id, number),
        memory: Some(plan.memory),
        hashes: (number == 0).then(|| (task.hashes)(&case.id)),
    }
}

/// What is left to do, and what is known of what was done.
struct Progress {
    left: Vec<(usize, u32)>,
    at: usize,
    given_up: HashSet<usize>,
    finished: usize,
    spent: Duration,
    guess: Duration,
    references: HashMap<PathBuf, Vec<u128>>,
}

impl Progress {
    fn new(task: &Task<'_>) -> Self {
        let plan = task.plan;
        let mut given_up = HashSet::new();
        let mut done = HashSet::new();
        for (id, repeat) in task.finished {
            let Some(index) = plan.cases.iter().position(|case| case.id == *id) else { continue };
            done.insert((index, repeat.number));
            if !matches!(repeat.outcome, Outcome::Measured { .. }) {
                given_up.insert(index);
            }
        }
        let rounds = plan.rounds();
        let numbered = rounds
            .iter()
            .zip(0..)
            .flat_map(|(round, number)| round.iter().map(move |index| (*index, number)));
        let left: Vec<(usize, u32)> = numbered.filter(|repeat| !done.contains(repeat)).collect();
        let guess = plan.estimate() / rounds.iter().map(Vec::len).sum::<usize>().max(1) as u32;
        Self { left, at: 0, given_up, finished: 0, spent: Duration::ZERO, guess, references: HashMap::new() }
    }

    fn next(&mut self) -> Option<(usize, u32)> {
        loop {
            let repeat = *self.left.get(self.at)?;
            self.at += 1;
            if !self.given_up.contains(&repeat.0) {
                return Some(repeat);
            }
        }
    }

    /// Whether nothing more of this case will be run.
    fn is_last(&self, index: usize) -> bool {
        !self.left[self.at..].iter().any(|(other, _)| *other == index)
    }

    fn remaining(&self) -> Duration {
        let each = if self.finished == 0 { self.guess } else { self.spent / self.finished as u32 };
        let left =
            self.left[self.at - 1..].iter().filter(|(index, _)| !self.given_up.contains(index)).count();
        each * left as u32
    }

    fn ended(&mut self, index: usize, repeat: &Repeat, slot: Duration) {
        self.finished += 1;
        self.spent += slot;
        if !matches!(repeat.outcome, Outcome::Measured { .. }) {
            self.given_up.insert(index);
        }
    }

    /// Every element of a held-back batch must be one of the reference's.
    fn check_work(
        &mut self,
        task: &Task<'_>,
        case: &PlannedCase,
        outcome: Outcome,
        held: &[String],
    ) -> Outcome {
        let Outcome::Measured { work: Some(work), .. } = &outcome else { return outcome };
        let asked = case.scenario.equivalence() == Equivalence::Exact && work.ticket.unequal.is_none();
        let Some(reference) = task.plan.cases.iter().find(|other| case.compares_with(other)) else {
            return outcome;
        };
        if !asked || held.is_empty() {
            return outcome;
        }
        let file = (task.hashes)(&reference.id);
        // Without the reference's hashes the case is unverified, which its record will say.
        let known =
            self.references.entry(file).or_insert_with_key(|file| read_hashes(file).unwrap_or_default());
        if known.is_empty() {
            return outcome;
        }
        let is_known = |hash: &String| {
            u128::from_str_radix(hash, 16).is_ok_and(|hash| known.binary_search(&hash).is_ok())
        };
        let strangers = held.iter().filter(|hash| !is_known(hash)).count();
        if strangers == 0 {
            return outcome;
        }
        let detail = format!(
            "{strangers} of {} elements in held-back batches are not among the reference's",
            held.len()
        );
        Outcome::Failed(Failure { how: How::Work, phase: Phase::Timed, detail, stderr: String::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::{Limits, Ticket, Work};
    use crate::metric::Observation;
    use crate::plan::{Isolation, Order};
    use crate::registry::{Contract, Keep, Location, Point, ScenarioEntry};

    static NEVER: AtomicBool = AtomicBool::new(false);

    /// Answers without processes and without time.
    struct Mock<'a> {
        asked: Vec<(String, u32)>,
        answer: &'a dyn Fn(&str, u32) -> Option<Outcome>,
        round: HashMap<String, u32>,
        held: Vec<String>,
    }

    impl Executor for Mock<'_> {
        fn run(&mut self, _case: usize, ask: &Ask, _last: bool) -> Ended {
            let number = match ask.purpose {
                Purpose::Verify => 0,
                _ => {
                    let round = self.round.entry(ask.scenario.clone()).or_default();
                    *round += 1;
                    *round
                }
            };
            self.asked.push((ask.scenario.clone(), number));
            Ended {
                outcome: (self.answer)(&ask.scenario, number).map(|outcome| (outcome, self.held.clone())),
                start: None,
                slot: Duration::from_millis(1),
                tree: None,
                stdout: Vec::new(),
                stderr: Vec::new(),
                alive: false,
            }
        }
    }

    fn measured() -> Outcome {
        Outcome::Measured { seen: Box::default(), work: None }
    }

    fn failed() -> Outcome {
        let failure =
            Failure { how: How::Panic, phase: Phase::Timed, detail: String::new(), stderr: String::new() };
        Outcome::Failed(failure)
    }

    fn entry(id: &'static str, equivalence: Equivalence) -> &'static ScenarioEntry {
        Box::leak(Box::new(ScenarioEntry {
            id,
            category: "",
            description: "",
            sets: &[],
            equivalence: Some(equivalence),
            contract: None::<Contract>,
            location: Location { file: "", line: 0, module: "" },
            axes: Vec::new,
            keep: |_| Keep::Yes,
            needs: None,
            run: |_, _, _| Ok(()),
        }))
    }

    fn plan(ids: &[&'static str], repeats: u32, order: Order) -> Plan {
        let case = |id: &&'static str| PlannedCase {
            id: CaseId { scenario: (*id).to_owned(), point: Point::default(), adapter: None },
            scenario: entry(id, Equivalence::None),
            adapter: None,
            version: None,
            measured: true,
        };
        Plan {
            profile: "test".into(),
            cases: ids.iter().map(case).collect(),
            skips: Vec::new(),
            dropped: Vec::new(),
            left_out: Vec::new(),
            notes: Vec::new(),
            repeats,
            limits: Limits::SMOKE,
            timeout: Duration::from_secs(1),
            memory: 1 << 30,
            seed: 42,
            order,
            isolation: Isolation::Repeat,
            smoke: false,
            verify: true,
        }
    }

    fn run(
        plan: &Plan,
        finished: &[(CaseId, Repeat)],
        answer: &dyn Fn(&str, u32) -> Option<Outcome>,
    ) -> (Ending, Vec<(String, u32)>) {
        let mut mock = Mock { asked: Vec::new(), answer, round: HashMap::new(), held: Vec::new() };
        let nowhere = |_: &CaseId| PathBuf::from("/nonexistent");
        let scratch = |_: &CaseId, _: u32| PathBuf::from("/nonexistent/scratch");
        let task =
            Task { plan, finished, hashes: &nowhere, scratch: &scratch, budget: None, interrupted: &NEVER };
        let ending = go(&task, &mut mock, &mut |_| Ok::<(), ()>(())).unwrap();
        (ending, mock.asked)
    }

    #[test]
    fn rounds_are_outside_and_cases_inside() {
        let (ending, asked) = run(&plan(&["a", "b"], 2, Order::Declared), &[], &|_, _| Some(measured()));
        let expected: Vec<(String, u32)> = [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
            .iter()
            .map(|(id, number)| ((*id).into(), *number))
            .collect();
        assert_eq!((ending, asked), (Ending::Complete, expected));
    }

    #[test]
    fn rounds_are_shuffled_from_the_seed_each_in_its_own_way() {
        let ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let rounds = plan(&ids, 3, Order::Shuffled).rounds();
        assert_eq!(rounds, plan(&ids, 3, Order::Shuffled).rounds());
        assert_ne!(rounds[1], rounds[2]);
        assert_ne!(rounds, Plan { seed: 43, ..plan(&ids, 3, Order::Shuffled) }.rounds());
    }

    #[test]
    fn a_failed_case_does_not_stop_the_run_and_is_not_tried_again() {
        let answer = |id: &str, _| Some(if id == "a" { failed() } else { measured() });
        let (ending, asked) = run(&plan(&["a", "b"], 3, Order::Declared), &[], &answer);
        assert_eq!(ending, Ending::Complete);
        assert_eq!(asked.iter().filter(|(id, _)| id == "a").count(), 1);
        assert_eq!(asked.iter().filter(|(id, _)| id == "b").count(), 3);
    }

    #[test]
    fn what_an_earlier_part_of_the_run_finished_is_not_run_again() {
        let plan = plan(&["a", "b"], 2, Order::Declared);
        let repeat = |number, outcome| Repeat {
            number,
            purpose: Purpose::Measure,
            slot: 0,
            start: None,
            tree: None,
            outcome,
        };
        let finished = [
            (plan.cases[0].id.clone(), repeat(1, measured())),
            (plan.cases[1].id.clone(), repeat(1, failed())),
        ];
        let (_, asked) = run(&plan, &finished, &|_, _| Some(measured()));
        assert_eq!(asked, [("a".to_owned(), 1)], "one repeat of a is left, and b failed before");
    }

    #[test]
    fn an_interrupted_repeat_is_told_to_nobody() {
        let plan = plan(&["a", "b"], 2, Order::Declared);
        let mut mock = Mock {
            asked: vec![],
            answer: &|id, _| (id == "a").then(measured),
            round: HashMap::new(),
            held: vec![],
        };
        let nowhere = |_: &CaseId| PathBuf::new();
        let scratch = |_: &CaseId, _: u32| PathBuf::from("/nonexistent/scratch");
        let task = Task {
            plan: &plan,
            finished: &[],
            hashes: &nowhere,
            scratch: &scratch,
            budget: None,
            interrupted: &NEVER,
        };
        let mut ended = 0;
        let ending = go(&task, &mut mock, &mut |event| {
            ended += usize::from(matches!(event, Event::RepeatEnded { .. }));
            Ok::<(), ()>(())
        });
        assert_eq!((ending, ended), (Ok(Ending::Interrupted), 1));
    }

    #[test]
    fn an_interrupt_between_two_repeats_ends_the_run() {
        let plan = plan(&["a"], 5, Order::Declared);
        let interrupted = AtomicBool::new(false);
        let answer = |_: &str, number| {
            interrupted.store(number == 2, Ordering::Relaxed);
            Some(measured())
        };
        let mut mock = Mock { asked: vec![], answer: &answer, round: HashMap::new(), held: vec![] };
        let nowhere = |_: &CaseId| PathBuf::new();
        let scratch = |_: &CaseId, _: u32| PathBuf::from("/nonexistent/scratch");
        let task = Task {
            plan: &plan,
            finished: &[],
            hashes: &nowhere,
            scratch: &scratch,
            budget: None,
            interrupted: &interrupted,
        };
        let ending = go(&task, &mut mock, &mut |_| Ok::<(), ()>(()));
        assert_eq!((ending, mock.asked.len()), (Ok(Ending::Interrupted), 2));
    }

    #[test]
    fn an_error_of_the_sink_ends_the_run() {
        let plan = plan(&["a"], 2, Order::Declared);
        let mut mock =
            Mock { asked: vec![], answer: &|_, _| Some(measured()), round: HashMap::new(), held: vec![] };
        let nowhere = |_: &CaseId| PathBuf::new();
        let scratch = |_: &CaseId, _: u32| PathBuf::from("/nonexistent/scratch");
        let task = Task {
            plan: &plan,
            finished: &[],
            hashes: &nowhere,
            scratch: &scratch,
            budget: None,
            interrupted: &NEVER,
        };
        let ending = go(&task, &mut mock, &mut |event| match event {
            Event::RepeatEnded { .. } => Err("disk full"),
            _ => Ok(()),
        });
        assert_eq!(ending, Err("disk full"));
        assert_eq!(mock.asked.len(), 1);
    }

    #[test]
    fn elements_that_the_reference_never_delivered_fail_the_repeat() {
        static REFERENCE: crate::registry::AdapterEntry = adapter("reference", 0);
        static OTHER: crate::registry::AdapterEntry = adapter("other", 1);
        let mut plan = plan(&["a", "a"], 1, Order::Declared);
        for (case, adapter) in plan.cases.iter_mut().zip([&REFERENCE, &OTHER]) {
            case.id.adapter = Some(adapter.name.to_owned());
            case.adapter = Some(adapter);
            case.scenario = entry("a", Equivalence::Exact);
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hashes");
        std::fs::write(&file, [5u128, 7].iter().flat_map(|hash| hash.to_le_bytes()).collect::<Vec<u8>>())
            .unwrap();
        let hashes = |_: &CaseId| file.clone();
        let scratch = |_: &CaseId, _: u32| PathBuf::from("/nonexistent/scratch");
        let task = Task {
            plan: &plan,
            finished: &[],
            hashes: &hashes,
            scratch: &scratch,
            budget: None,
            interrupted: &NEVER,
        };
        let check = |held: &[u128], ticket: Ticket| {
            let held: Vec<String> = held.iter().map(|hash| format!("{hash:032x}")).collect();
            let work = Work { ticket, ..Work::default() };
            let outcome = Outcome::Measured { seen: Box::<Observation>::default(), work: Some(work) };
            Progress::new(&task).check_work(&task, &plan.cases[1], outcome, &held)
        };
        assert!(matches!(check(&[7, 5], Ticket::default()), Outcome::Measured { .. }));
        let Outcome::Failed(failure) = check(&[7, 6, 8], Ticket::default()) else {
            panic!("strangers must fail")
        };
        assert_eq!(failure.how, How::Work);
        assert!(failure.detail.starts_with("2 of 3 elements"), "{}", failure.detail);
        let declared = Ticket { unequal: Some("crops otherwise".into()), ..Ticket::default() };
        assert!(matches!(check(&[6], declared), Outcome::Measured { .. }));
    }

    const fn adapter(name: &'static str, tier: u8) -> crate::registry::AdapterEntry {
        crate::registry::AdapterEntry {
            name,
            tier,
            contract: Contract { id: std::any::TypeId::of::<dyn Send>, name: "Send" },
            description: "",
            unequal: None,
            version: "1",
            location: Location { file: "", line: 0, module: "" },
            make: || Ok(Box::new(())),
            probe: None,
        }
    }
}
