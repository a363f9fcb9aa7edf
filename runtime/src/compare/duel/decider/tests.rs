//! Deciding from rounds that a script gives, without processes.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::*;
use crate::bencher::{HashKey, PerIteration, Phase};
use crate::compare::VerdictCounts;
use crate::metric::Block;
use crate::plan::CaseOrder;
use crate::plan::fixtures::plan;
use crate::run::{
    self, ChildFault, Duel, DuelCase, DuelSettings, Event, Failure, How, Program, RoundRunner, RunEnding,
};

static NEVER: AtomicBool = AtomicBool::new(false);

/// A script for rounds: the time of the candidate in each, and the number of rounds before the user asks for
/// an end.
struct Script<'a> {
    slower: &'a dyn Fn(RoundId) -> Result<u64, BrokenDuel>,
    asked: Vec<RoundId>,
    left: usize,
    /// The time that the machine sleeps in the first round.
    away: Duration,
}

impl RoundRunner for Script<'_> {
    fn run(&mut self, of: RoundId, _tick: &mut dyn FnMut(Duration)) -> Result<DuelRound, BrokenDuel> {
        if self.left == 0 {
            return Err(BrokenDuel::Interrupted);
        }
        self.left -= 1;
        self.asked.push(of);
        let candidate = (self.slower)(of)?;
        let block = |wall| Block { iterations: 10, wall, thread: wall, cpu: wall, ..Block::default() };
        let pairs = vec![[block(1_000_000), block(candidate + u64::from(of.number))]; 8];
        Ok(DuelRound::Blocks { work: [PerIteration::default(); 2], pairs })
    }

    fn take_away(&mut self) -> Duration {
        std::mem::take(&mut self.away)
    }

    fn recall(&mut self, _of: RoundId, _round: &DuelRound) {}
}

type EndedRounds = HashMap<RoundId, EndedRound>;

/// A part of a duel of these cases: what came of it, which rounds ran, and what is finished after it.
fn part(
    names: &[&'static str],
    slower: &dyn Fn(RoundId) -> Result<u64, BrokenDuel>,
    rounds: usize,
    finished: &mut EndedRounds,
) -> (DuelResult, RunEnding, Vec<RoundId>) {
    part_with_sleep(names, slower, rounds, finished, Duration::ZERO)
}

/// The same on a machine that sleeps so long in the first round.
fn part_with_sleep(
    names: &[&'static str],
    slower: &dyn Fn(RoundId) -> Result<u64, BrokenDuel>,
    rounds: usize,
    finished: &mut EndedRounds,
    away: Duration,
) -> (DuelResult, RunEnding, Vec<RoundId>) {
    let plan = plan(names, 1, CaseOrder::Declared);
    let cases = plan.cases.iter().map(DuelCase::of);
    let pairs: Vec<Pair> = cases.map(|case| Pair { baseline: case.clone(), candidate: case }).collect();
    let policy = Policy::default();
    let own = Program::own().unwrap();
    let before = finished.clone();
    let task = Duel {
        programs: [own.clone(), own],
        relink: None,
        settings: DuelSettings::of(&plan),
        pairs: &pairs,
        finished: &before,
        scratch: &|_, _| PathBuf::new(),
        key: HashKey::draw(),
        epoch: 0,
        least: 1,
        seed: 1,
        budget: None,
        interrupted: &NEVER,
    };
    let told = Cell::new(0);
    let mut tell = |pair: usize, _: &Row| {
        assert_eq!(pair, told.get(), "each pair is told once, in order");
        told.set(pair + 1);
    };
    let mut decider = Decider::new(&pairs, &policy, &mut tell);
    let mut script = Script { slower, asked: Vec::new(), left: rounds, away };
    let ending = run::go(&task, &mut script, &mut decider, &mut |event| {
        if let Event::RoundEnded { of, round, .. } = event {
            assert!(finished.insert(of, round.clone()).is_none(), "{of:?} was run twice");
        }
        Ok::<(), ()>(())
    })
    .unwrap();
    (decider.finish(BreakOff::Interrupt), ending, script.asked)
}

#[test]
fn a_round_in_which_the_machine_slept_is_run_again() {
    let away = Duration::from_secs(20);
    let rounds =
        |away| part_with_sleep(&["a"], &first_is_slower, usize::MAX, &mut EndedRounds::new(), away).2;
    let (awake, slept) = (rounds(Duration::ZERO), rounds(away));
    assert_eq!(slept[1..], awake, "the first one once more");
    assert_eq!(slept[0], slept[1]);
}

/// A whole duel in one go.
fn whole(names: &[&'static str], slower: &dyn Fn(RoundId) -> Result<u64, BrokenDuel>) -> DuelResult {
    let (decided, ending, _) = part(names, slower, usize::MAX, &mut EndedRounds::new());
    assert_eq!(ending, RunEnding::Complete);
    decided
}

fn failure(how: How) -> Failure {
    Failure { how, phase: Phase::Timed, detail: "it broke".to_owned(), stderr: String::new() }
}

/// A tenth slower, but for the pair 1, which is as it was.
fn first_is_slower(of: RoundId) -> Result<u64, BrokenDuel> {
    Ok(if of.pair == 1 { 1_000_000 } else { 1_100_000 })
}

#[test]
fn what_regressed_is_confirmed_on_rounds_of_its_own_after_all_others() {
    let mut finished = EndedRounds::new();
    let (decided, _, asked) = part(&["A", "B"], &first_is_slower, usize::MAX, &mut finished);
    let verdicts: Vec<&str> = decided.rows.iter().map(|row| row.verdict.name()).collect();
    assert_eq!(verdicts, ["Regressed", "Unchanged"]);
    let rounds = decided.rows[0].rounds.as_ref().unwrap();
    assert_eq!((rounds.shifts.len(), rounds.confirmation.len()), (8, 24));
    let first = asked.iter().position(|of| of.confirming).unwrap();
    assert!(asked[first..].iter().all(|of| of.confirming && of.pair == 0), "{asked:?}");
    assert_eq!(asked.len() - first, 24);
}

#[test]
fn a_duel_that_is_taken_up_again_after_any_round_gives_the_verdicts_of_an_unbroken_one() {
    let expected = whole(&["A", "B", "C"], &first_is_slower);
    for rounds in [1, 7, 8, 13, 24, 30, 60] {
        let mut finished = EndedRounds::new();
        let (partly, ending, first) = part(&["A", "B", "C"], &first_is_slower, rounds, &mut finished);
        assert_eq!((ending, first.len()), (RunEnding::Interrupted, rounds));
        assert!(
            partly.rows.iter().any(|row| row.verdict.why().is_some_and(|why| why.contains("interrupted")))
        );
        let (decided, ending, rest) = part(&["A", "B", "C"], &first_is_slower, usize::MAX, &mut finished);
        assert_eq!(ending, RunEnding::Complete);
        assert!(rest.iter().all(|of| !first.contains(of)), "no round is run twice");
        for (expected, found) in expected.rows.iter().zip(&decided.rows) {
            assert_eq!(found.verdict, expected.verdict);
            let [found, expected] = [found, expected].map(|row| row.rounds.as_ref().unwrap());
            assert_eq!((&found.shifts, &found.confirmation), (&expected.shifts, &expected.confirmation));
        }
    }
}

#[test]
fn a_case_that_fails_while_it_is_confirmed_has_failed_and_the_others_are_confirmed() {
    let broken = BrokenDuel::Failed(Side::Candidate, failure(How::Panic));
    let slower = |of: RoundId| {
        if of.confirming && of.pair == 1 { Err(broken.clone()) } else { Ok(1_100_000) }
    };
    let decided = whole(&["A", "B", "C"], &slower);
    assert_eq!(decided.rows[0].verdict, Verdict::Regressed);
    assert!(decided.rows[1].verdict.why().is_some_and(|why| why.contains("panicked")));
    assert_eq!(decided.rows[2].verdict, Verdict::Regressed);
    assert_eq!((decided.failures.len(), VerdictCounts::of(&decided.rows).weighed()), (1, 2));
}

#[test]
fn an_end_while_cases_are_confirmed_keeps_what_was_confirmed_and_runs_no_more() {
    let mut finished = EndedRounds::new();
    // Eight rounds of each of three, 24 that confirm the first, and one of the second.
    let (decided, ending, asked) = part(&["A", "B", "C"], &|_| Ok(1_100_000), 49, &mut finished);
    assert_eq!((ending, asked.len(), decided.failures.len()), (RunEnding::Interrupted, 49, 0));
    assert_eq!(decided.rows[0].verdict, Verdict::Regressed);
    for row in &decided.rows[1..] {
        let why = InconclusiveReason::BrokenOffUnconfirmed(BreakOff::Interrupt);
        assert_eq!(row.verdict, Verdict::Inconclusive(why));
        assert!(row.rounds.as_ref().is_some_and(|rounds| rounds.shifts.len() == 8), "its first rounds stay");
    }
}

#[test]
fn a_side_that_breaks_settles_its_case_with_the_reason_and_the_next_one_runs() {
    let protocol = failure(How::Child(ChildFault::Version { child: 6, parent: 7 }));
    let slower = |of: RoundId| match of.pair {
        0 => Err(BrokenDuel::Failed(Side::Baseline, protocol.clone())),
        1 => Err(BrokenDuel::Skipped(Side::Candidate, "no such device".into())),
        _ => Ok(1_000_000),
    };
    let decided = whole(&["A", "B", "C"], &slower);
    let why = |at: usize| decided.rows[at].verdict.why().unwrap_or_default();
    assert!(why(0).contains("both must be built on the same version"), "{}", why(0));
    assert_eq!(why(1), "skipped now: no such device");
    assert_eq!(decided.rows[2].verdict, Verdict::Unchanged);
}
