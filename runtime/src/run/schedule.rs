//! Going through the plan: rounds on the outside, cases on the inside; a failed case is not tried again.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::event::{Event, RunEnding};
use super::executor::{Executor, Together, Turn};
use super::own_disk;
use super::protocol::RepeatRequest;
use super::reference::References;
use super::remaining_time::{RemainingTime, RunningRepeat};
use super::stop::CaseRepeats;
use super::supervised_child::EndedRequest;
use super::time_share::{NextRepeat, TimeShares};
use super::{Outcome, Repeat};
use crate::bencher::{HashKey, Purpose};
use crate::plan::{CaseId, Plan, PlannedCase};

/// A repeat is run again so often at most: a machine that is always away is measured as it is.
pub(super) const MOST_AGAIN: u32 = 3;

/// The things that a run needs beside its plan.
pub struct RunTask<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The number of the epoch that streams go through.
    pub epoch: u64,
    /// Repeats that an earlier part of the run has finished: they are not run again.
    pub finished: &'a [(CaseId, Repeat)],
    /// The number of the surroundings that it is run in, as its repeats have it.
    pub surroundings: u32,
    /// The scratch directory of a repeat.
    pub scratch: &'a dyn Fn(&CaseId, u32) -> PathBuf,
    /// The most time that the run may take.
    pub budget: Option<Duration>,
    /// True if each case gets its fair share of that time, and what does not fit is left out; else the run is
    /// broken off.
    pub shares: bool,
    /// Set when the user asks for an end.
    pub interrupted: &'a AtomicBool,
}

impl std::fmt::Debug for RunTask<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task").field("budget", &self.budget).finish_non_exhaustive()
    }
}

/// Runs every repeat that is not finished, and tells `sink` of each. An error of the sink (a full disk) ends
/// the run.
pub(super) fn go<E>(
    task: &RunTask<'_>,
    executor: &mut dyn Executor,
    sink: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<RunEnding, E> {
    let plan = task.plan;
    let mut progress = RunProgress::new(task);
    // Drawn for this part of the run alone, and kept nowhere: what hashes are, nobody else can know.
    let mut references = References::new(HashKey::draw());
    sink(Event::Started { plan, repeats: progress.left.len() })?;
    let begun = Instant::now();
    let mut ending = RunEnding::Complete;
    let mut away_so_far = Duration::ZERO;
    loop {
        let passed = begun.elapsed().saturating_sub(away_so_far);
        let Some((index, number, most)) = progress.next(plan, passed) else { break };
        if task.interrupted.load(Ordering::Relaxed) {
            ending = RunEnding::Interrupted;
            break;
        }
        if progress.shares.is_none() && task.budget.is_some_and(|budget| passed >= budget) {
            // Repeats for the sake of a target are extra: without them the run is whole.
            ending =
                if number > progress.planned[index] { RunEnding::Complete } else { RunEnding::OutOfBudget };
            break;
        }
        let case = &plan.cases[index];
        let remaining = progress.remaining(None);
        sink(Event::RepeatStarted { case: &case.id, number, finished: progress.finished(), remaining })?;
        let mut ask = ask(task, case, number, references.key());
        if plan.together.target.is_some() && ask.purpose == Purpose::Measure {
            ask.budget = progress.seen[index].budget(case.budget);
        }
        let resident = case.adapter.is_some_and(|adapter| adapter.resident);
        // A resident adapter stays for the rest of its group, in a process without a limit on what it maps:
        // systems that are started by it map many times what they touch. The sum that the parent watches
        // holds.
        ask.keep = resident && progress.goes_on(plan, index, number);
        if resident {
            ask.memory = None;
        }
        let turn = Turn { case: index, number, resident, last: progress.is_last(index), most };
        let mut told = Ok(());
        let ended = executor.run(turn, &ask, &mut |passed| {
            let (finished, remaining) =
                (progress.finished(), progress.remaining(Some((index, number, passed))));
            if told.is_ok() {
                told = sink(Event::RepeatGoesOn { case: &case.id, number, finished, passed, remaining });
            }
        });
        told?;
        let no_room = match &ended.outcome {
            Some((Outcome::Failed(failure), _)) => {
                own_disk::fault(failure, &ask.scratch, ask.scratch.exists())
            }
            _ => None,
        };
        let _ = std::fs::remove_dir_all(&ask.scratch); // there only if the scenario asked for it
        let EndedRequest { outcome, start, slot, away, tree, utilisation, stdout, stderr, alive: _ } = ended;
        away_so_far += away;
        if outcome.is_some() && !away.is_zero() && progress.repeat_again() {
            sink(Event::Away { case: &case.id, away })?;
            continue;
        }
        if let Some(why) = no_room {
            progress.put_off(plan, index);
            sink(Event::NoRoom { case: &case.id, why: &why })?;
            continue;
        }
        let Some((mut outcome, spots)) = outcome else {
            if most.is_some() && !task.interrupted.load(Ordering::Relaxed) {
                progress.cut(index, number, slot);
                continue;
            }
            ending = RunEnding::Interrupted;
            break;
        };
        if let Outcome::Measured { evidence, .. } = &mut outcome {
            references.compare(plan, case, ask.purpose, evidence, spots);
        }
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        let repeat = Repeat {
            number,
            purpose: ask.purpose,
            slot: nanoseconds(slot),
            start: start.map(nanoseconds),
            tree,
            utilisation,
            surroundings: task.surroundings,
            outcome,
        };
        let (own, repeat) = match executor.together(case, &repeat) {
            Together::Alone => (None, repeat),
            Together::All(of_all) => (Some(repeat), *of_all),
            Together::Lost(why) => {
                sink(Event::RankLost { why: &why })?;
                ending = match task.interrupted.load(Ordering::Relaxed) {
                    true => RunEnding::Interrupted,
                    false => RunEnding::RankLost,
                };
                break;
            }
        };
        progress.ended(index, &repeat, slot);
        if progress.is_again(index, number) {
            continue; // its own outcome is in the journal
        }
        if let Some(own) = &own {
            sink(Event::OwnRepeatEnded { case: &case.id, repeat: own })?;
        }
        sink(Event::RepeatEnded { case: &case.id, repeat: &repeat, stdout: &stdout, stderr: &stderr })?;
    }
    if ending == RunEnding::Complete && progress.has_put_off {
        ending = RunEnding::NoRoom;
    }
    // Of a run that was broken off nobody knows what would have fitted.
    if let Some(needed) = progress.left_out().filter(|_| ending == RunEnding::Complete) {
        sink(Event::LeftOut { needed: begun.elapsed() + needed })?;
    }
    sink(Event::Ended(ending))?;
    Ok(ending)
}

fn ask(task: &RunTask<'_>, case: &PlannedCase, number: u32, key: HashKey) -> RepeatRequest {
    let plan = task.plan;
    let purpose = match number {
        0 => Purpose::Verify,
        _ if plan.smoke => Purpose::Smoke,
        _ => Purpose::Measure,
    };
    RepeatRequest {
        scenario: case.id.scenario.clone(),
        point: case.id.point.clone(),
        adapter: case.id.adapter.clone(),
        purpose,
        budget: case.budget,
        run: plan.run,
        epoch: task.epoch,
        key,
        scratch: (task.scratch)(&case.id, number),
        memory: Some(plan.memory),
        paced: false,
        keep: false,
        meeting: None,
    }
}

/// The repeats that are left to run, and what is known of those that ran.
struct RunProgress {
    left: Vec<(usize, u32)>,
    at: usize,
    given_up: HashSet<usize>,
    /// The repeats that an earlier part of the run has finished.
    done: HashSet<(usize, u32)>,
    /// The number of measured repeats each case is to have: as planned, until its body has said otherwise.
    planned: Vec<u32>,
    /// Repeats for the sake of a target.
    extra: HashSet<(usize, u32)>,
    /// The last round that was added; 0 before.
    round: u32,
    /// The measured values of each case, where there is a target.
    seen: Vec<CaseRepeats>,
    remaining: RemainingTime,
    /// The shares of the time of the run, where it has some.
    shares: Option<TimeShares>,
    /// The number of times that the same repeat was run again, one after the other.
    again: u32,
    /// True if a case was left for when the run is taken up again.
    has_put_off: bool,
}

impl RunProgress {
    fn new(task: &RunTask<'_>) -> Self {
        let plan = task.plan;
        let mut given_up = HashSet::new();
        let mut done = HashSet::new();
        let mut round = 0;
        let mut seen: Vec<CaseRepeats> = plan.cases.iter().map(|_| CaseRepeats::default()).collect();
        let mut planned: Vec<u32> = plan.cases.iter().map(|case| case.repeats).collect();
        for (id, repeat) in task.finished {
            let Some(index) = plan.cases.iter().position(|case| case.id == *id) else { continue };
            done.insert((index, repeat.number));
            seen[index].add(repeat);
            planned[index] = stated(repeat).unwrap_or(planned[index]);
            // A run that is taken up again goes on with the round that it had come to, for those that have
            // not run.
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
        let mut left: Vec<(usize, u32)> = numbered.filter(|repeat| !done.contains(repeat)).collect();
        // A run that is taken up again has a new key: the references of what is left are hashed once more,
        // first of all.
        let again = |index: &usize| {
            let reference = &plan.cases[*index];
            done.contains(&(*index, 0))
                && !given_up.contains(index)
                && left.iter().any(|(other, _)| plan.cases[*other].compares_with(reference))
        };
        let again: Vec<(usize, u32)> = (0..plan.cases.len()).filter(again).map(|index| (index, 0)).collect();
        left.splice(0..0, again);
        let remaining = RemainingTime::new(&plan.cases);
        let shares = task.budget.filter(|_| task.shares).map(|time| TimeShares::new(time, plan.cases.len()));
        Self {
            left,
            at: 0,
            given_up,
            done,
            planned,
            extra: HashSet::new(),
            round,
            seen,
            remaining,
            shares,
            again: 0,
            has_put_off: false,
        }
    }

    /// The repeat that is next, and the most that it may take where times are shared; `passed` is the time of
    /// the run so far.
    fn next(&mut self, plan: &Plan, passed: Duration) -> Option<(usize, u32, Option<Duration>)> {
        loop {
            if self.at == self.left.len() {
                self.add_round(plan);
            }
            if self.at == self.left.len() {
                self.add_second_turn();
            }
            let (case, number) = *self.left.get(self.at)?;
            self.at += 1;
            if !self.is_due((case, number)) {
                continue;
            }
            if self.shares.is_none() {
                return Some((case, number, None));
            }
            if let Some(most) = self.admit(plan, case, number, passed) {
                return Some((case, number, Some(most)));
            }
        }
    }

    /// The most that the repeat may take, where its case has its share still.
    fn admit(&mut self, plan: &Plan, case: usize, number: u32, passed: Duration) -> Option<Duration> {
        let shares = self.shares.as_ref()?;
        let left = self.left[self.at - 1..].iter().chain(shares.waiting());
        let needs = self.remaining.by_case(left.filter(|repeat| self.is_due(**repeat)));
        let planned = &plan.cases[case];
        let next = NextRepeat {
            case,
            number,
            takes: self.to_a_figure(case, number, planned.measured),
            has_run: self.remaining.has_run(case),
            is_known: self.remaining.knows(case, number),
            is_needed: number == 0 && planned.is_reference(),
        };
        self.shares.as_mut()?.admit(next, &needs, passed)
    }

    /// About what a repeat takes, with the one that measures where this one verifies.
    fn to_a_figure(&self, case: usize, number: u32, measured: bool) -> Duration {
        let each = self.remaining.each(case, number);
        if number == 0 && measured { each + self.remaining.each(case, 1) } else { each }
    }

    /// Adds those that waited for what the others have left.
    fn add_second_turn(&mut self) {
        let Some(shares) = &mut self.shares else { return };
        let remaining = &self.remaining;
        let waited = shares.second_turn(&|case| remaining.each(case, 0) + remaining.each(case, 1));
        self.left.extend(waited);
    }

    /// Has the repeat that has just ended run once more; `false` where it was often enough.
    fn repeat_again(&mut self) -> bool {
        self.again += 1;
        let may = self.again <= MOST_AGAIN;
        if may {
            self.at -= 1;
        }
        may
    }

    /// Leaves a case, and those that are held against it, for when the run is taken up again.
    fn put_off(&mut self, plan: &Plan, case: usize) {
        self.has_put_off = true;
        let own = &plan.cases[case];
        let waiting =
            (0..plan.cases.len()).filter(|other| *other == case || plan.cases[*other].compares_with(own));
        self.given_up.extend(waiting);
    }

    /// Notes that a repeat was ended after so long, since its time was over.
    fn cut(&mut self, case: usize, number: u32, slot: Duration) {
        self.given_up.insert(case);
        self.remaining.takes_longer(case, slot);
        if let Some(shares) = &mut self.shares {
            shares.took(case, slot);
            shares.leave_out(case, number);
        }
    }

    /// About how long what was left out would take; `None` where nothing was.
    fn left_out(&self) -> Option<Duration> {
        let left_out =
            self.shares.as_ref().map(TimeShares::left_out).filter(|left_out| !left_out.is_empty())?;
        Some(self.remaining.by_case(left_out.iter()).iter().sum())
    }

    /// Tells whether the repeat is still to be run: its case has not failed, and has not said that it wants
    /// fewer.
    fn is_due(&self, (index, number): (usize, u32)) -> bool {
        !self.given_up.contains(&index)
            && (number <= self.planned[index] || self.extra.contains(&(index, number)))
    }

    /// Adds a round of the cases that have not met the plan's target, or whose bodies want more repeats than
    /// were planned.
    fn add_round(&mut self, plan: &Plan) {
        let number = self.round.max(plan.most_repeats()) + 1;
        let is_extra = number <= Plan::MOST_REPEATS;
        self.round = number;
        for index in plan.round(number) {
            if self.given_up.contains(&index) || self.done.contains(&(index, number)) {
                continue;
            }
            if number <= self.planned[index] {
                self.left.push((index, number));
            } else if is_extra && plan.together.target.is_some_and(|target| !self.seen[index].meets(target)) {
                self.extra.insert((index, number));
                self.left.push((index, number));
            }
        }
    }

    /// Tells whether an earlier part of the run has finished this repeat: it is run for its hashes alone.
    fn is_again(&self, index: usize, number: u32) -> bool {
        self.done.contains(&(index, number))
    }

    /// Tells whether nothing more of this case will be run.
    fn is_last(&self, index: usize) -> bool {
        !self.left[self.at..].iter().any(|repeat| repeat.0 == index && self.is_due(*repeat))
    }

    /// Tells whether the next repeat is of another case of this round that shares the process with this one.
    fn goes_on(&self, plan: &Plan, index: usize, number: u32) -> bool {
        let next = self.left[self.at..].iter().find(|repeat| self.is_due(**repeat));
        next.is_some_and(|(other, round)| {
            *round == number && plan.cases[index].shares_process(&plan.cases[*other])
        })
    }

    /// Repeats that have ended.
    fn finished(&self) -> usize {
        self.remaining.finished()
    }

    /// About how long the rest takes, with the repeat that comes next or is running.
    fn remaining(&self, running: Option<RunningRepeat>) -> Duration {
        let waiting = self.shares.as_ref().map_or(&[][..], TimeShares::waiting);
        let left = self.left[self.at - 1..].iter().chain(waiting).filter(|repeat| self.is_due(**repeat));
        let all = self.remaining.of(left, running);
        let now = running.map_or(Duration::ZERO, |(_, _, passed)| passed);
        self.shares.as_ref().map_or(all, |shares| all.min(shares.left().saturating_sub(now)))
    }

    fn ended(&mut self, index: usize, repeat: &Repeat, slot: Duration) {
        self.again = 0;
        self.seen[index].add(repeat);
        self.planned[index] = stated(repeat).unwrap_or(self.planned[index]);
        self.remaining.ended(index, repeat.number, slot);
        if let Some(shares) = &mut self.shares {
            shares.took(index, slot);
        }
        if !matches!(repeat.outcome, Outcome::Measured { .. }) {
            self.given_up.insert(index);
        }
    }
}

/// The number of measured repeats the body of the case asks for, where it does.
fn stated(repeat: &Repeat) -> Option<u32> {
    match &repeat.outcome {
        Outcome::Measured { seen, .. } if repeat.purpose == Purpose::Measure => seen.repeats,
        _ => None,
    }
}

#[cfg(test)]
mod tests;
