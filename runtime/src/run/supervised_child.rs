//! A measuring process seen from its parent: ask it, watch it, say how it ended.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::Signal;

use super::absence::Absence;
use super::program::Program;
use super::protocol::{
    CHILD_FLAG, ChildAnswer, ChildMessage, LONGEST, ParentMessage, RepeatRequest, VERSION,
};
use super::utilisation::{SampledMachine, Sampler, Utilisation};
use super::{ChildFault, Failure, How, Outcome, TreeMemory};
use crate::bencher::{ClaimedTime, ClockFault, PerIteration, Phase, Purpose, Spot, visible};
use crate::device::own_priority;
use crate::metric::{Block, Entry, TimedBy};
use crate::process::{ChildPlace, MemoryWatch, Output, ReceivedBytes, SpawnOptions, Subprocess, leftovers};

/// The interval at which the parent looks at the deadline of a child that is silent.
const LOOK: Duration = Duration::from_millis(50);

/// The interval at which it is told that a child still runs.
const TICK: Duration = Duration::from_secs(1);

/// The number of timeouts that the set-up of a child may take that guards it itself.
const PATIENCE: u32 = 10;

/// The time beyond its timeout that such a child is waited for after that: it tells better what was late.
const HEAD_START: Duration = Duration::from_secs(15);

/// The limits that the parent watches while a child runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChildWatch<'a> {
    pub(super) timeout: Duration,
    /// True if the child guards its set-up itself: it hears of what it has started that this lives. Then the
    /// parent allows [`PATIENCE`] times as long for the set-up, and the timeout for all that follows.
    pub(super) patient: bool,
    pub(super) memory: u64,
    /// `true` once the user has asked for an end.
    pub(super) interrupted: &'a AtomicBool,
    /// The end of the time that the run has for it: then it ends as if it had been interrupted.
    pub(super) until: Option<Instant>,
    /// The machine whose use is looked at in a measured repeat; `None` to look at none.
    pub(super) samples: Option<&'a SampledMachine>,
}

/// Outcome of one request.
#[derive(Debug)]
pub(super) struct EndedRequest {
    /// `None` when the run was interrupted.
    pub(super) outcome: Option<(Outcome, Vec<Spot>)>,
    pub(super) start: Option<Duration>,
    pub(super) slot: Duration,
    /// The time in which the machine slept or this process was stopped meanwhile.
    pub(super) away: Duration,
    pub(super) tree: Option<TreeMemory>,
    pub(super) utilisation: Option<Utilisation>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// True if the process can take another ask.
    pub(super) alive: bool,
}

/// A running child. It is ended, with all that it has started, when this is dropped.
#[derive(Debug)]
pub(super) struct SupervisedChild {
    child: Subprocess,
    started: Instant,
    /// The time away since its start, for its first repeat.
    absence: Option<Absence>,
    stdout: Output,
    stderr: Output,
    since: SystemTime,
    asked: bool,
    /// True if it has been asked for what may leave shared memory behind.
    patient: bool,
    cleaned: bool,
}

impl SupervisedChild {
    /// Starts a child in a process group of its own. What it starts itself may be silent for so long.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub(super) fn start(program: &Program, silence: Duration) -> io::Result<Self> {
        let since = leftovers::now();
        let (stdout, stderr) = (Output::default(), Output::default());
        let spawning = SpawnOptions {
            look: LOOK,
            patience: None,
            longest: LONGEST,
            leads: true,
            outputs: [&stdout, &stderr],
        };
        let (started, absence) = (Instant::now(), Absence::new());
        let mut command = program.command()?;
        command.arg(CHILD_FLAG).envs(program.variables.iter().map(|(name, value)| (name, value)));
        let child = Subprocess::spawn(&mut command, ChildPlace::new(silence), &spawning)?;
        let (asked, patient, cleaned) = (false, false, false);
        Ok(Self { child, started, absence: Some(absence), stdout, stderr, since, asked, patient, cleaned })
    }

    /// Asks for one repeat and waits for its end; once a second `tick` is told for how long. If `last`, the
    /// process is ended too, and its output collected.
    pub(super) fn run(
        &mut self,
        request: &RepeatRequest,
        watch: ChildWatch<'_>,
        last: bool,
        tick: &mut dyn FnMut(Duration),
    ) -> EndedRequest {
        // The first repeat of a process has its start as well.
        let begun = if self.asked { Instant::now() } else { self.started };
        self.asked = true;
        let mut seen = self.listening(begun);
        let sampled = watch.samples.filter(|_| request.purpose == Purpose::Measure);
        seen.sampler = sampled.map(|machine| Box::new(Sampler::new(begun, machine.clone())));
        self.send(request);
        let end = self.answer(watch, &mut seen, tick);
        let utilisation = seen.sampler.take().map(|sampler| sampler.end());
        EndedRequest { utilisation, ..self.ended(end, &seen, watch, last) }
    }

    /// Asks for one paced repeat in a fresh process and waits until it has come to its blocks; or to its end,
    /// if it has none.
    pub(super) fn open(
        mut self,
        request: &RepeatRequest,
        watch: ChildWatch<'_>,
        tick: &mut dyn FnMut(Duration),
    ) -> Result<PacedChild, Box<EndedRequest>> {
        let mut seen = self.listening(self.started);
        self.send(request);
        match self.answer(watch, &mut seen, tick) {
            ListeningEnd::Ready(work) => Ok(PacedChild { process: self, seen, work }),
            end => Err(Box::new(self.ended(end, &seen, watch, true))),
        }
    }

    /// Waits for the greeting of a fresh process, and no longer: whether it was built with debug assertions.
    pub(super) fn greeting(mut self, watch: ChildWatch<'_>) -> Result<bool, Box<EndedRequest>> {
        let mut seen = self.listening(self.started);
        match self.listen(watch, &mut seen, &mut |_| {}) {
            ListeningEnd::Greeted { debug } => Ok(debug),
            end => Err(Box::new(self.ended(end, &seen, watch, true))),
        }
    }

    fn listening(&mut self, begun: Instant) -> ListeningState {
        let absence = self.absence.take().unwrap_or_else(Absence::new);
        ListeningState { absence, ..ListeningState::since(begun) }
    }

    fn send(&mut self, request: &RepeatRequest) {
        // A child that died before it was asked is noticed when it is listened to.
        let _ = self.child.send(&ParentMessage::Repeat(Box::new(request.clone())));
    }

    fn ended(
        &mut self,
        end: ListeningEnd,
        seen: &ListeningState,
        watch: ChildWatch<'_>,
        last: bool,
    ) -> EndedRequest {
        let slot = seen.begun.elapsed();
        // All that was asked for has been done when it answers: nothing is lost by ending it at once.
        // A process that has lost its device can do nothing more there: the next repeat gets a fresh one.
        let lost = matches!(&end, ListeningEnd::Answered(answer) if answer.has_lost_its_device());
        let alive = !last && !lost && matches!(end, ListeningEnd::Answered(_));
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.patient |= watch.patient;
        if !alive {
            self.end();
            (stdout, stderr) = (self.stdout.take(), self.stderr.take());
            // Whose it is cannot be told for sure, so it is named and stays.
            for path in leftovers::shared_memory(self.since) {
                let told = format!("weighbridge: left in shared memory meanwhile: {}\n", path.display());
                stderr.extend_from_slice(told.as_bytes());
            }
        }
        let outcome = self.outcome(end, seen, slot, watch, &stderr);
        let (start, tree, away) = (seen.start, seen.tree, seen.absence.away());
        EndedRequest { outcome, start, slot, away, tree, utilisation: None, stdout, stderr, alive }
    }

    /// Listens past the greeting.
    fn answer(
        &mut self,
        watch: ChildWatch<'_>,
        seen: &mut ListeningState,
        tick: &mut dyn FnMut(Duration),
    ) -> ListeningEnd {
        loop {
            match self.listen(watch, seen, tick) {
                ListeningEnd::Greeted { .. } => {}
                end => return end,
            }
        }
    }

    /// Listens until the child has greeted, answered, died, broken the protocol or run into a limit.
    fn listen(
        &mut self,
        watch: ChildWatch<'_>,
        seen: &mut ListeningState,
        tick: &mut dyn FnMut(Duration),
    ) -> ListeningEnd {
        let mut memory = MemoryWatch::of(self.child.tree());
        let mut next_tick = Instant::now() + TICK;
        loop {
            seen.absence.look(LOOK);
            loop {
                match self.child.next::<ChildMessage>() {
                    Err(error) => return ListeningEnd::Broken(ChildFault::Garbled(error.to_string())),
                    Ok(None) => break,
                    Ok(Some(ChildMessage::Hello { version: VERSION, debug })) => {
                        seen.greeted.get_or_insert_with(|| seen.begun.elapsed());
                        return ListeningEnd::Greeted { debug };
                    }
                    Ok(Some(ChildMessage::Hello { version, .. })) => {
                        let fault = ChildFault::Version { child: version, parent: VERSION };
                        return ListeningEnd::Broken(fault);
                    }
                    Ok(Some(ChildMessage::Phase(phase))) => {
                        seen.pass_into(phase);
                        if phase == Phase::WarmUp && seen.start.is_none() {
                            seen.start = Some(seen.begun.elapsed());
                        }
                        if phase == Phase::TearDown {
                            seen.priority = self.child.tree().priority();
                            seen.beyond = self.child.tree().processors_beyond_ours();
                        }
                    }
                    Ok(Some(ChildMessage::Over)) => {
                        if seen.over.replace(seen.begun.elapsed()).is_some() {
                            return ListeningEnd::Broken(ChildFault::OverTwice);
                        }
                    }
                    Ok(Some(ChildMessage::Ready(work))) => return ListeningEnd::Ready(work),
                    Ok(Some(ChildMessage::Block(block))) => return ListeningEnd::Block(block),
                    Ok(Some(ChildMessage::Done(answer))) => return ListeningEnd::Answered(answer),
                }
            }
            if seen.is_late(watch) {
                return ListeningEnd::TimedOut;
            }
            let is_over = watch.until.is_some_and(|until| Instant::now() >= until + seen.absence.away());
            if is_over || watch.interrupted.load(Ordering::Relaxed) {
                return ListeningEnd::Interrupted;
            }
            let now = Instant::now();
            if now >= next_tick {
                next_tick = now + TICK;
                tick(seen.begun.elapsed());
            }
            if let Some((bytes, processes)) = memory.look() {
                seen.note(bytes, processes);
                if bytes > watch.memory {
                    return ListeningEnd::TooLarge(bytes);
                }
            }
            if let Some(sampler) = &mut seen.sampler {
                sampler.look();
            }
            if self.child.receive() == ReceivedBytes::End {
                return ListeningEnd::Died;
            }
        }
    }

    /// Ends it and all that it has started, and removes what they have left.
    fn end(&mut self) {
        if !self.cleaned {
            self.cleaned = true;
            let mut held = Vec::new();
            self.child.end(&mut |stopped| {
                held = leftovers::shared_memory_of(|| stopped.to_vec(), self.since);
            });
            leftovers::remove_unused(&held);
            self.child.place().remove_temporary();
            if self.patient {
                leftovers::remove_shared_memory(self.since);
            }
        }
    }

    fn outcome(
        &mut self,
        end: ListeningEnd,
        seen: &ListeningState,
        slot: Duration,
        watch: ChildWatch<'_>,
        stderr: &[u8],
    ) -> Option<(Outcome, Vec<Spot>)> {
        let fail = |how| {
            let failure = Failure { stderr: tail(stderr), ..Failure::plain(how, seen.phase) };
            (Outcome::Failed(failure), vec![])
        };
        let child = |fault| fail(How::Child(fault));
        Some(match end {
            ListeningEnd::Interrupted => return None,
            ListeningEnd::Answered(answer) => match *answer {
                ChildAnswer::Failed(failure) => {
                    (Outcome::Failed(Failure { stderr: tail(stderr), ..failure }), vec![])
                }
                ChildAnswer::Measured { seen: mut observation, work, mut evidence, spots } => {
                    evidence.processors_beyond = seen.beyond;
                    evidence.priority = own_priority().zip(seen.priority).map(<[i64; 2]>::from);
                    let nanoseconds = |time: Duration| time.as_nanos() as u64;
                    let told = slot.saturating_sub(seen.over.unwrap_or(slot));
                    observation.ledger.add(Entry::Tell, nanoseconds(told));
                    // A greeting that was seen late came before what the child has accounts of.
                    let before = nanoseconds(slot).saturating_sub(observation.ledger.sum());
                    let start = nanoseconds(seen.greeted.unwrap_or_default()).min(before);
                    observation.ledger.add(Entry::Start, start);
                    (Outcome::Measured { seen: observation, work, evidence }, spots)
                }
                skipped @ ChildAnswer::Skipped(_) => skipped.into_outcome(),
            },
            ListeningEnd::Overclaimed(fault) => fail(How::Clock(fault)),
            ListeningEnd::TimedOut => fail(How::Deadline(seen.allowed(watch).as_nanos() as u64)),
            ListeningEnd::TooLarge(bytes) => fail(How::Memory { held: Some(bytes), limit: watch.memory }),
            ListeningEnd::Broken(fault) => child(fault),
            ListeningEnd::Greeted { .. } => child(ChildFault::GreetedTwice),
            ListeningEnd::Ready(_) | ListeningEnd::Block(_) => child(ChildFault::UnaskedBlocks),
            ListeningEnd::Died => match self.child.end(&mut |_| {}) {
                Some(status) => fail(died(status, stderr, watch.memory)),
                None => child(ChildFault::Unknown),
            },
        })
    }
}

impl Drop for SupervisedChild {
    fn drop(&mut self) {
        self.end();
    }
}

/// A child in a paced repeat, waiting for its next block.
#[derive(Debug)]
pub(super) struct PacedChild {
    process: SupervisedChild,
    seen: ListeningState,
    /// The work of one iteration, as its author states it.
    pub(super) work: PerIteration,
}

impl PacedChild {
    /// The time in which the machine slept or this process was stopped so far.
    pub(super) fn away(&self) -> Duration {
        self.seen.absence.away()
    }

    /// Runs one block, and says how long it was until it had been told. A child that claims more time than
    /// has passed has failed.
    pub(super) fn block(
        &mut self,
        iterations: u64,
        watch: ChildWatch<'_>,
    ) -> Result<(Block, Duration), Box<EndedRequest>> {
        let begun = Instant::now();
        self.seen.absence.look_anew();
        let _ = self.process.child.send(&ParentMessage::Block(iterations)); // a death is noticed right below
        let end = match self.process.listen(watch, &mut self.seen, &mut |_| {}) {
            ListeningEnd::Block(block) => {
                let passed = begun.elapsed();
                let fault = ClockFault::Time {
                    of: ClaimedTime::Measured,
                    claimed: block.wall,
                    passed: ClockFault::nanoseconds(passed),
                };
                // A fake's clock is spared, as in whole repeats.
                if block.by == TimedBy::Fake || !fault.is_proven() {
                    return Ok((block, passed));
                }
                ListeningEnd::Overclaimed(Box::new(fault))
            }
            end => end,
        };
        Err(Box::new(self.process.ended(end, &self.seen, watch, true)))
    }
}

fn died(status: ExitStatus, stderr: &[u8], limit: u64) -> How {
    let out_of_memory = String::from_utf8_lossy(stderr).contains("memory allocation of ");
    match (status.code(), status.signal()) {
        (Some(code), _) => How::Exit(code),
        (None, Some(signal)) if signal == Signal::SIGABRT as i32 && out_of_memory => {
            How::Memory { held: None, limit }
        }
        (None, signal) => {
            let name =
                signal.and_then(|signal| Signal::try_from(signal).ok()).map_or("a signal", Signal::as_str);
            How::Signal(name.to_owned())
        }
    }
}

/// The last lines of an output, as people read it.
fn tail(bytes: &[u8]) -> String {
    const LINES: usize = 12;
    const BYTES: usize = 4 << 10;
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(BYTES)..]);
    let lines: Vec<&str> = text.lines().collect();
    visible(&lines[lines.len().saturating_sub(LINES)..].join("\n"))
}

/// The reason why listening ended.
#[derive(Debug)]
enum ListeningEnd {
    /// It has started.
    Greeted {
        debug: bool,
    },
    /// A paced repeat has come to its blocks.
    Ready(PerIteration),
    /// A block has run.
    Block(Block),
    Answered(Box<ChildAnswer>),
    Died,
    TimedOut,
    TooLarge(u64),
    /// It claims more time than has passed.
    Overclaimed(Box<ClockFault>),
    Broken(ChildFault),
    Interrupted,
}

/// State of the parent's listening to a child.
#[derive(Debug)]
struct ListeningState {
    phase: Phase,
    start: Option<Duration>,
    tree: Option<TreeMemory>,
    begun: Instant,
    /// The moment when the set-up was over.
    set_up: Option<Instant>,
    /// The time until a fresh process had greeted.
    greeted: Option<Duration>,
    /// The highest priority of its threads when the measured part was over.
    priority: Option<i64>,
    /// The number of processors that they might be on and the harness might not.
    beyond: Option<u32>,
    /// The time until the repeat was over, and it had only to be told.
    over: Option<Duration>,
    absence: Absence,
    /// The looks at the machine's use, where there are any.
    sampler: Option<Box<Sampler>>,
}

impl ListeningState {
    fn since(begun: Instant) -> Self {
        Self {
            phase: Phase::SetUp,
            start: None,
            tree: None,
            begun,
            set_up: None,
            greeted: None,
            over: None,
            priority: None,
            beyond: None,
            absence: Absence::new(),
            sampler: None,
        }
    }

    fn pass_into(&mut self, phase: Phase) {
        self.phase = phase;
        if let Some(sampler) = &mut self.sampler {
            sampler.note_phase(phase);
        }
        if phase != Phase::SetUp {
            self.set_up.get_or_insert_with(Instant::now);
        }
    }

    /// The time that it may be without an answer in the phase that it is in.
    fn allowed(&self, watch: ChildWatch<'_>) -> Duration {
        if watch.patient && self.set_up.is_none() { watch.timeout * PATIENCE } else { watch.timeout }
    }

    fn is_late(&self, watch: ChildWatch<'_>) -> bool {
        let away = self.absence.away();
        match (watch.patient, self.set_up) {
            (true, Some(set_up)) => set_up.elapsed() >= watch.timeout + HEAD_START + away,
            _ => self.begun.elapsed() >= self.allowed(watch) + away,
        }
    }

    /// A process alone measures its own peak; the parent's samples matter when there are several.
    fn note(&mut self, bytes: u64, processes: usize) {
        if let Some(sampler) = &mut self.sampler {
            sampler.note_memory(bytes);
        }
        if processes > 1 || self.tree.is_some() {
            let before = self.tree.unwrap_or(TreeMemory { bytes: 0, processes: 0 });
            let (bytes, processes) = (before.bytes.max(bytes), before.processes.max(processes));
            self.tree = Some(TreeMemory { bytes, processes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_guards_its_set_up_is_allowed_ten_times_as_long_for_that_alone() {
        let (timeout, interrupted) = (Duration::from_secs(15), AtomicBool::new(false));
        let watch = |patient| ChildWatch {
            timeout,
            patient,
            memory: u64::MAX,
            interrupted: &interrupted,
            until: None,
            samples: None,
        };
        let mut listened = ListeningState::since(Instant::now());
        assert_eq!(listened.allowed(watch(false)), timeout);
        assert_eq!(listened.allowed(watch(true)), Duration::from_secs(150));
        listened.pass_into(Phase::WarmUp);
        assert_eq!(listened.allowed(watch(true)), timeout);
    }

    #[test]
    fn nobody_is_late_for_the_time_in_which_the_machine_slept() {
        let interrupted = AtomicBool::new(false);
        let timeout = Duration::ZERO;
        let watch = ChildWatch {
            timeout,
            patient: false,
            memory: u64::MAX,
            interrupted: &interrupted,
            until: None,
            samples: None,
        };
        let mut listened = ListeningState::since(Instant::now());
        assert!(listened.is_late(watch));
        listened.absence = Absence::of(Duration::from_hours(1));
        assert!(!listened.is_late(watch));
    }
}
