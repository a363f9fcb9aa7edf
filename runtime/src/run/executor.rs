//! Who runs a repeat: a process of its own, a shared one, or this one.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::process::{Ended, Process, Program, Watch};
use super::protocol::Ask;
use super::repeat::execute;
use super::{Failure, How, Outcome};
use crate::bencher::Phase;
use crate::plan::{Isolation, Plan};

/// Runs repeats. The whole scheduling is tested with one that has no processes and no time.
pub(super) trait Executor {
    /// Runs one repeat of the case with that index; `last` when nothing more of this case will be asked.
    fn run(&mut self, case: usize, ask: &Ask, last: bool) -> Ended;
}

/// Repeats in children, fresh or shared as the plan says.
#[derive(Debug)]
pub(super) struct Processes<'a> {
    program: Program,
    isolation: Isolation,
    timeout: Duration,
    memory: u64,
    interrupted: &'a AtomicBool,
    shared: HashMap<usize, Process>,
}

impl<'a> Processes<'a> {
    pub(super) fn new(program: Program, plan: &Plan, interrupted: &'a AtomicBool) -> Self {
        let Plan { isolation, timeout, memory, .. } = *plan;
        Self { program, isolation, timeout, memory, interrupted, shared: HashMap::new() }
    }
}

impl Executor for Processes<'_> {
    fn run(&mut self, case: usize, ask: &Ask, last: bool) -> Ended {
        let (key, last) = match self.isolation {
            Isolation::Repeat => (case, true),
            Isolation::Case => (case, last),
            Isolation::Run | Isolation::None => (0, false),
        };
        let begun = Instant::now();
        let mut process = match self.shared.remove(&key).map_or_else(|| Process::start(&self.program), Ok) {
            Ok(process) => process,
            Err(error) => {
                let detail = format!("failed to start {}: {error}", self.program.path.display());
                return failed(How::Protocol, detail, begun.elapsed());
            }
        };
        let watch = Watch { timeout: self.timeout, memory: self.memory, interrupted: self.interrupted };
        let ended = process.run(ask, watch, last);
        if ended.alive {
            self.shared.insert(key, process);
        }
        ended
    }
}

fn failed(how: How, detail: String, slot: Duration) -> Ended {
    let failure = Failure { how, phase: Phase::SetUp, detail, stderr: String::new() };
    ended(Outcome::Failed(failure), Vec::new(), slot)
}

fn ended(outcome: Outcome, held: Vec<String>, slot: Duration) -> Ended {
    Ended {
        outcome: Some((outcome, held)),
        start: None,
        slot,
        tree: None,
        stdout: Vec::new(),
        stderr: Vec::new(),
        alive: true,
    }
}

/// Repeats in this very process: no deadline, no memory limit, and a crash is the end of the run.
#[derive(Debug)]
pub(super) struct InProcess;

impl Executor for InProcess {
    fn run(&mut self, _case: usize, ask: &Ask, _last: bool) -> Ended {
        let begun = Instant::now();
        let (outcome, held) = execute(ask, |_| {}, None).into_outcome();
        ended(outcome, held, begun.elapsed())
    }
}
