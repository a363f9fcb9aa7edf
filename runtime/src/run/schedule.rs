//! Going through the plan: rounds on the outside, cases on the inside; a failed case is not tried again.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::event::{Ending, Event};
use super::executor::{Executor, Turn};
use super::process::Ended;
use super::protocol::Ask;
use super::repeat::read_hashes;
use super::stop::Seen;
use super::{Failure, How, Outcome, Repeat};
use crate::bencher::{Phase, Purpose};
use crate::metric::Observation;
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
    while let Some((index, number)) = progress.next(plan) {
        if task.interrupted.load(Ordering::Relaxed) {
            ending = Ending::Interrupted;
            break;
        }
        if task.budget.is_some_and(|budget| begun.elapsed() >= budget) {
            // Repeats for the sake of a target are extra: without them the run is whole.
            ending = if number > plan.repeats { Ending::Complete } else { Ending::OutOfBudget };
            break;
        }
        let case = &plan.cases[index];
        let remaining = progress.remaining();
        sink(Event::RepeatStarted { case: &case.id, number, finished: progress.finished(), remaining })?;
        let mut ask = ask(task, case, number);
        if plan.target.is_some() && ask.purpose == Purpose::Measure {
            ask.limits = progress.seen[index].limits(plan.limits);
        }
        let resident = case.adapter.is_some_and(|adapter| adapter.resident);
        // A resident adapter stays for the rest of its group, in a process without a limit on what it maps: systems that
        // are started by it map many times what they touch. The sum that the parent watches holds.
        ask.keep = resident && progress.goes_on(plan, index, number);
        if resident {
            ask.memory = None;
        }
        let turn = Turn { case: index, resident, last: progress.is_last(index) };
        let ended = executor.run(turn, &ask);
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
        paced: false,
        keep: false,
        platform: plan.platform,
        mode: plan.mode,
    }
}

/// What is left to do, and what is known of what was done.
struct Progress {
    left: Vec<(usize, u32)>,
    at: usize,
    given_up: HashSet<usize>,
    /// What an earlier part of the run has finished.
    done: HashSet<(usize, u32)>,
    /// The last round that a target added; 0 before.
    round: u32,
    /// What each case has shown, where there is a target.
    seen: Vec<Seen>,
    /// The slots of repeats that verify, and of those that measure: the first go through everything, the others do not.
    slots: [Slots; 2],
    guess: Duration,
    references: HashMap<PathBuf, Vec<u128>>,
}

/// What repeats of one kind have taken.
#[derive(Clone, Copy, Default)]
struct Slots {
    finished: u32,
    spent: Duration,
}

impl Progress {
    fn new(task: &Task<'_>) -> Self {
        let plan = task.plan;
        let mut given_up = HashSet::new();
        let mut done = HashSet::new();
        let mut round = 0;
        let mut seen: Vec<Seen> = plan.cases.iter().map(|_| Seen::default()).collect();
        for (id, repeat) in task.finished {
            let Some(index) = plan.cases.iter().position(|case| case.id == *id) else { continue };
            done.insert((index, repeat.number));
            seen[index].add(repeat);
            // A run that is taken up again goes on with the round that it had come to, for those that have not run.
            round = round.max(repeat.number.saturating_sub(1));
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
        Self {
            left,
            at: 0,
            given_up,
            done,
            round,
            seen,
            slots: [Slots::default(); 2],
            guess,
            references: HashMap::new(),
        }
    }

    fn next(&mut self, plan: &Plan) -> Option<(usize, u32)> {
        loop {
            if self.at == self.left.len() {
                self.add_round(plan);
            }
            let repeat = *self.left.get(self.at)?;
            self.at += 1;
            if !self.given_up.contains(&repeat.0) {
                return Some(repeat);
            }
        }
    }

    /// Adds a round of the cases that have not met the plan's target.
    fn add_round(&mut self, plan: &Plan) {
        let Some(target) = plan.target else { return };
        let number = self.round.max(plan.repeats) + 1;
        if number > Plan::MOST_REPEATS {
            return;
        }
        self.round = number;
        for index in plan.round(number) {
            let open = !self.given_up.contains(&index) && !self.done.contains(&(index, number));
            if open && !self.seen[index].meets(target) {
                self.left.push((index, number));
            }
        }
    }

    /// Whether nothing more of this case will be run.
    fn is_last(&self, index: usize) -> bool {
        !self.left[self.at..].iter().any(|(other, _)| *other == index)
    }

    /// Whether the next repeat is of another case of this round that shares the process with this one.
    fn goes_on(&self, plan: &Plan, index: usize, number: u32) -> bool {
        let next = self.left[self.at..].iter().find(|(other, _)| !self.given_up.contains(other));
        next.is_some_and(|(other, round)| {
            *round == number && plan.cases[index].shares_process(&plan.cases[*other])
        })
    }

    /// Repeats that have ended.
    fn finished(&self) -> usize {
        self.slots.iter().map(|slots| slots.finished as usize).sum()
    }

    fn remaining(&self) -> Duration {
        let of_one = |(_, number): &(usize, u32)| {
            let Slots { finished, spent } = self.slots[usize::from(*number > 0)];
            spent.checked_div(finished).unwrap_or(self.guess)
        };
        let left = &self.left[self.at - 1..];
        left.iter().filter(|(index, _)| !self.given_up.contains(index)).map(of_one).sum()
    }

    fn ended(&mut self, index: usize, repeat: &Repeat, slot: Duration) {
        self.seen[index].add(repeat);
        let slots = &mut self.slots[usize::from(repeat.number > 0)];
        slots.finished += 1;
        slots.spent += slot;
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
        let Outcome::Measured { work: Some(work), seen } = &outcome else { return outcome };
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
        let again = if is_one_epoch(seen, known.len()) { repeated(held, known) } else { 0 };
        let (count, detail) = match (strangers, again) {
            (0, 0) => return outcome,
            (0, again) => {
                (again, "are there more often than in an epoch: it delivers the same elements again")
            }
            (strangers, _) => (strangers, "are not among the reference's"),
        };
        let detail = format!("{count} of {} elements that were looked at {detail}", held.len());
        Outcome::Failed(Failure { how: How::Work, phase: Phase::Timed, detail, stderr: String::new() })
    }
}

/// Whether each pass of a stream kept to one epoch of so many elements, so that none can come twice in it.
fn is_one_epoch(seen: &Observation, elements: usize) -> bool {
    let (passes, batches) =
        (seen.passes.max(1), (seen.samples.len() as u64 * seen.iterations_per_sample).max(1));
    // A batch as large as the mean, rounded up; the passes have the warm-up between them, and the first has a batch more and
    // what was caught up with, most of it after copies.
    // (A worker's counts may be any.)
    let left_out = seen.warmup.div_ceil(passes).saturating_add(1).saturating_add(seen.caught_up);
    let left_out = left_out.saturating_mul(seen.elements.div_ceil(batches));
    seen.elements.div_ceil(passes).saturating_add(left_out) <= elements as u64
}

/// How many of these hashes are there more often than among the known ones, which are sorted.
fn repeated(held: &[String], known: &[u128]) -> usize {
    let mut counts: HashMap<u128, usize> = HashMap::new();
    for hash in held.iter().filter_map(|hash| u128::from_str_radix(hash, 16).ok()) {
        *counts.entry(hash).or_default() += 1;
    }
    let in_epoch = |hash: &u128| {
        known.partition_point(|known| known <= hash) - known.partition_point(|known| known < hash)
    };
    counts.iter().map(|(hash, count)| count.saturating_sub(in_epoch(hash))).sum()
}

#[cfg(test)]
mod tests;
