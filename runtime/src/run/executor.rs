//! Who runs a repeat: a process of its own, a shared one, or this one.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::program::Program;
use super::protocol::RepeatRequest;
use super::repeat::{Resident, execute};
use super::supervised_child::{ChildWatch, EndedRequest, SupervisedChild};
use super::utilisation::SampledMachine;
use super::{ChildFault, Failure, How, Outcome, Repeat};
use crate::bencher::{Phase, Spot};
use crate::plan::{Isolation, Plan, PlannedCase};
use crate::process::leftovers;

/// Runs repeats. The whole scheduling is tested with one that has no processes and no time.
pub(super) trait Executor {
    /// Runs one repeat, and tells now and then for how long it has been running.
    fn run(&mut self, turn: Turn, request: &RepeatRequest, tick: &mut dyn FnMut(Duration)) -> EndedRequest;

    /// Puts the repeat that was run last together with those of other ranks, where there are any.
    fn together(&mut self, _case: &PlannedCase, _own: &Repeat) -> Together {
        Together::Alone
    }
}

/// The repeat of all ranks.
pub(super) enum Together {
    /// There are no others.
    Alone,
    /// All of them as one.
    All(Box<Repeat>),
    /// A rank is lost, and why: there is none.
    Lost(String),
}

/// Turn of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The index of the case.
    pub(super) case: usize,
    /// The number of the repeat.
    pub(super) number: u32,
    /// True if its adapter is resident: it may stay in its process for the next turn, if the request says so.
    pub(super) resident: bool,
    /// True if nothing more of this case will be asked.
    pub(super) last: bool,
    /// The most that the repeat may take of the time of the run: then it is ended, and nothing is told of it.
    pub(super) most: Option<Duration>,
}

/// Repeats in children, fresh or shared as the plan says.
#[derive(Debug)]
pub(super) struct ChildExecutor<'a> {
    program: Program,
    isolation: Isolation,
    timeout: Duration,
    memory: u64,
    interrupted: &'a AtomicBool,
    samples: Option<SampledMachine>,
    shared: HashMap<ProcessKey, SupervisedChild>,
}

/// The units that share a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ProcessKey {
    Case(usize),
    /// The cases of the resident adapter whose turn it is: its group ends before another one's begins.
    Resident,
    Run,
}

impl<'a> ChildExecutor<'a> {
    pub(super) fn new(program: Program, plan: &Plan, interrupted: &'a AtomicBool) -> Self {
        let samples = program.samples.then(|| SampledMachine::of(plan.run.platform));
        Self {
            program: program.on(plan.run.platform),
            isolation: plan.together.isolation,
            timeout: plan.timeout(),
            memory: plan.memory,
            interrupted,
            samples,
            shared: HashMap::new(),
        }
    }
}

impl Executor for ChildExecutor<'_> {
    fn run(&mut self, turn: Turn, request: &RepeatRequest, tick: &mut dyn FnMut(Duration)) -> EndedRequest {
        let (key, last) = match self.isolation {
            Isolation::Run | Isolation::None => (ProcessKey::Run, false),
            _ if turn.resident => (ProcessKey::Resident, !request.keep),
            Isolation::Repeat => (ProcessKey::Case(turn.case), true),
            Isolation::Case => (ProcessKey::Case(turn.case), turn.last),
        };
        let begun = Instant::now();
        let mut process = match self
            .shared
            .remove(&key)
            .map_or_else(|| SupervisedChild::start(&self.program, self.timeout), Ok)
        {
            Ok(process) => process,
            Err(error) => {
                return failed(self.program.not_started(&error), begun.elapsed());
            }
        };
        let watch = ChildWatch {
            timeout: self.timeout,
            patient: turn.resident,
            memory: self.memory,
            interrupted: self.interrupted,
            until: turn.most.map(|most| begun + most),
            samples: self.samples.as_ref(),
        };
        let ended = process.run(request, watch, last, tick);
        if ended.alive {
            self.shared.insert(key, process);
        }
        ended
    }
}

fn failed(fault: ChildFault, slot: Duration) -> EndedRequest {
    ended(Outcome::Failed(Failure::plain(How::Child(fault), Phase::SetUp)), Vec::new(), slot)
}

fn ended(outcome: Outcome, spots: Vec<Spot>, slot: Duration) -> EndedRequest {
    EndedRequest {
        outcome: Some((outcome, spots)),
        start: None,
        slot,
        away: Duration::ZERO,
        tree: None,
        utilisation: None,
        stdout: Vec::new(),
        stderr: Vec::new(),
        alive: true,
    }
}

/// Repeats in this very process: no deadline, no memory limit, and a crash is the end of the run.
#[derive(Default)]
pub(super) struct InProcess(Resident);

impl Executor for InProcess {
    fn run(&mut self, turn: Turn, request: &RepeatRequest, _tick: &mut dyn FnMut(Duration)) -> EndedRequest {
        let begun = Instant::now();
        let (outcome, spots) = execute(request, &mut self.0, |_| {}, None, None).into_outcome();
        // What a resident adapter has started is to stay.
        let left = if turn.resident { 0 } else { leftovers::end_children() };
        if left > 0 && matches!(outcome, Outcome::Measured { .. }) {
            return failed(ChildFault::LeftProcesses(left), begun.elapsed());
        }
        ended(outcome, spots, begun.elapsed())
    }
}
