//! Streams that run and are timed in another process: nothing remote is inside a timed region of ours.

use std::time::Duration;

use super::copied_item::SpotPlace;
use super::stream::empty;
use super::watch::SampleWatch;
use super::yardstick::Yard;
use super::{
    Account, Audit, Bencher, Budget, ClockFault, Costs, EpochSum, Error, ErrorKind, Evidence, ExpectedEpoch,
    FileUse, ItemCopy, Phase, Purpose, ResourceUse, Result, StoppedClock, UnstoppedEpoch, WorkFault,
};
use crate::device::Usage;
use crate::metric::{Block, Direction, Entry, Ledger, Note, RanOut, SampleKind, Unit};

/// A stream that another process goes through, and times, with the same loop as [`Bencher::stream`].
pub trait Remote {
    /// Goes through a whole epoch, unmeasured, and hands over each batch.
    ///
    /// # Errors
    /// What the system says; the repeat fails with it. What `each` says is handed on.
    fn verify(&mut self, epoch: u64, each: &mut dyn FnMut(ItemCopy) -> Result<()>) -> Result<()>;

    /// Measures passes of this epoch as `budget` say. In every pass batches that the process draws are copied
    /// between two stamps.
    ///
    /// # Errors
    /// What the system says; the repeat fails with it.
    fn run(&mut self, epoch: u64, budget: Budget) -> Result<RemoteRun>;

    /// Goes through an epoch without a stop, from before it is begun: as much of it as is asked for.
    ///
    /// # Errors
    /// What the system says; of a whole epoch, that it claims more time than has passed.
    fn time_epoch(&mut self, epoch: u64, asked: UnstoppedRequest) -> Result<RemoteEpoch>;

    /// The cost of coming this far: import, conversion, set-up, compilation.
    fn costs(&self) -> Costs;

    /// The content of an epoch, as it follows from the specification of the work; `None` where it does not.
    fn expected(&self) -> Option<ExpectedEpoch>;

    /// Tells whether many batches run in one call, so that a pass is a sample.
    fn whole_pass(&self) -> bool {
        false
    }

    /// Memory that opening the pipeline made, in bytes; `None` where it is not known.
    fn grown(&self) -> Option<u64>;

    /// Its use of files: what it wrote while its pipeline was opened, and has read so far while it was
    /// measured; `None` where it is not known.
    fn files(&self) -> Option<FileUse>;

    /// The budget that it can be measured with, where that which was `asked` would not show what its batches
    /// cost.
    fn budget(&self, asked: Budget) -> Budget {
        asked
    }
}

/// The part of an epoch that is gone through without a stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnstoppedRequest {
    /// Batches of the epoch, among which some are drawn and copied in part; 0 where nothing is copied.
    pub batches: u64,
    /// Until when; `None` to its end.
    pub limit: Option<Duration>,
    /// So many batches at least.
    pub least: u64,
}

/// A run that was measured elsewhere, by that process's monotonic clock. Times are in nanoseconds; `None` is
/// what it could not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RemoteRun {
    /// Every sample in order.
    pub samples: Vec<u64>,
    /// True if each sample is a whole pass in one call, and not a batch.
    pub whole_pass: bool,
    /// Elements of the measured batches, real ones only.
    pub elements: u64,
    /// Bytes of the measured batches.
    pub bytes: u64,
    /// The time that the clock ran.
    pub wall: u64,
    /// The first batch of the pipeline.
    pub first: Option<u64>,
    /// The part of each sample that the loop itself takes, on a batch that is there.
    pub own: Option<u64>,
    /// Every beginning of an epoch.
    pub restarts: Vec<u64>,
    /// Batches that were left out.
    pub warmup: u64,
    /// Batches of the first pass that were left out since they may have been made while the clock stood.
    pub caught_up: u64,
    /// The number of times that the batches were gone through.
    pub passes: u64,
    /// True if the epoch ended within a pass and was begun again.
    pub ran_out: bool,
    /// Processor time, page faults and switches of all its processes while the clock ran.
    pub usage: ResourceUse,
    /// Wall and processor time between the first stamp and the last while the clock stood.
    pub stopped: StoppedClock,
    /// The most processes that were seen.
    pub processes: Option<u64>,
    /// The most threads that were seen.
    pub threads: Option<u64>,
    /// Time of compiling for this run alone, with the clock stopped.
    pub compile: Option<u64>,
    /// Audits of some batches: work that was pending on a device after their last stamp; none where there is
    /// no device.
    pub audits: Vec<Audit>,
    /// True if batches are handed out on a device.
    pub on_device: bool,
    /// The account that it gives of the time of the run.
    pub ledger: Ledger,
    /// CPU time of all its processes from the request to the answer, as it says.
    pub cpu: Option<u64>,
    /// The same, as the harness read it.
    pub cpu_seen: Option<u64>,
    /// True if all processes that were there at the request are there at the answer.
    pub all_seen: bool,
    /// From the request to the answer, by the harness's clock.
    pub passed: u64,
    /// The parts of batches that were copied out of its passes.
    pub checked: Vec<CheckedBatch>,
}

/// A part of a batch, copied out of it to be verified.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedBatch {
    /// The pass, from 0; `None` in an epoch without a stop.
    pub pass: Option<u64>,
    /// The batch's place in its epoch, from 0; `None` where it is not told.
    pub at: Option<u64>,
    /// The first element that was copied.
    pub first: u64,
    /// Elements of the whole batch.
    pub of: u64,
    /// The copy.
    pub kept: ItemCopy,
}

/// An epoch without a stop, by the system's own clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RemoteEpoch {
    /// From before it was begun to the end of the last batch.
    pub wall: Duration,
    /// Until it was begun.
    pub begin: Duration,
    /// From there to the end of the first batch.
    pub first: Duration,
    /// Elements of all batches.
    pub elements: u64,
    /// Batches.
    pub batches: u64,
    /// True if it came to the end.
    pub ended: bool,
    /// Time that copies took, with the clock running.
    pub copied: Duration,
    /// Processor time, page faults and switches of all its processes meanwhile.
    pub usage: ResourceUse,
    /// The parts of batches that were copied.
    pub checked: Vec<CheckedBatch>,
    /// The time from the request to the answer by the harness's clock; `None` where nobody looked.
    pub passed: Option<Duration>,
}

/// A worker ends its passes early when the clock has stood for so long, and for so many times the time that
/// it is to run.
const STOOD: Duration = Duration::from_secs(20);
const TIMES: u32 = 20;

/// The clock may have run for less than was asked for by this share.
const SHORT: f64 = 0.05;

impl Bencher {
    /// Takes over what a stream in another process measures of itself going through this epoch (see
    /// [`Bencher::epoch`]), as [`Bencher::stream`] measures one here: an epoch without a stop, then samples,
    /// counts, counters, and copies out of every pass, which are hashed here.
    ///
    /// What it cost to come so far is handed in as `import`, `convert`, `set_up`, `compile`; every beginning
    /// of an epoch as `restart`.
    ///
    /// # Errors
    /// What the remote says; that its epoch is empty; that its samples are not as many as asked for, or
    /// copies are missing. That it claims more time, processor time or bytes than there can be is evidence.
    pub fn stream_remote(&self, remote: &mut dyn Remote, epoch: u64) -> Result<()> {
        if !self.begin_body() {
            return Ok(()); // refused in `finish`
        }
        self.enter(Phase::WarmUp);
        self.refuse_injection()?;
        {
            let state = &mut *self.state.borrow_mut();
            state.remote = true;
            (state.evidence.expected, state.evidence.grown) = (remote.expected(), remote.grown());
            state.evidence.files = remote.files();
        }
        self.recharge_costs(remote.costs());
        if self.settings.purpose == Purpose::Verify {
            return self.verify_remote(remote, epoch);
        }
        let mut budget = remote.budget(self.budget());
        let is_chunked = budget != self.budget();
        if budget.min_time > Duration::ZERO {
            let seen = self.unstopped_remote(remote, epoch, budget)?;
            if !remote.whole_pass() {
                budget = budget.stretched(&seen, remote.expected().map(|expected| expected.batches()));
            }
            self.charge(Entry::Unstopped);
        }
        let yard = Yard::begin(&self.settings, budget);
        self.charge(Entry::Stopped);
        self.enter(Phase::Timed);
        let mut watch = SampleWatch::begin(&self.settings.clock);
        self.meet();
        let ran = remote.run(epoch, budget)?;
        self.state.borrow_mut().evidence.files = remote.files();
        // Counters of windows there are none; what the machine lost is known of all samples together.
        watch.window(&Block::default(), ran.samples.len());
        self.enter(Phase::TearDown);
        check(&ran, budget)?;
        // Passes that an epoch ended in are of two.
        self.take_spots(&ran.checked, if ran.ran_out { |_| None } else { |pass| Some(1 + pass?) })?;
        self.hand_in_costs(remote.costs(), &ran);
        if is_chunked {
            self.state.borrow_mut().seen.notes.push(Note::Chunks(budget.batches));
        }
        self.hand_in_remote(ran, budget, watch, yard);
        self.note_machine();
        self.audit_remote(remote, epoch)
    }

    /// One more epoch, unmeasured, where the order of elements is free, as of native streams.
    fn audit_remote(&self, remote: &mut dyn Remote, epoch: u64) -> Result<()> {
        let is_free = remote.expected().is_some_and(|expected| !expected.in_order);
        let is_short = self.state.borrow().evidence.unstopped.is_some_and(|epoch| epoch.ended);
        if !is_free || !is_short {
            return Ok(());
        }
        let mut sum = EpochSum::default();
        remote.verify(epoch, &mut |item| {
            sum.add(&self.settings.key.hash(&item)?);
            Ok(())
        })?;
        self.state.borrow_mut().evidence.last_epoch = Some(sum);
        Ok(())
    }

    /// Charges import and conversion to entries of their own, out of the time of opening.
    fn recharge_costs(&self, costs: Costs) {
        self.recharge(Entry::Open, Entry::Import, costs.import.unwrap_or(0));
        self.recharge(Entry::Open, Entry::Convert, costs.convert.unwrap_or(0));
    }

    /// An epoch without a stop, before anything else is asked for.
    fn unstopped_remote(
        &self,
        remote: &mut dyn Remote,
        epoch: u64,
        budget: Budget,
    ) -> Result<UnstoppedEpoch> {
        let least = budget.warmup + budget.batches;
        let batches = remote.expected().map_or(least, |expected| expected.batches());
        let limit = Some(super::whole_epoch::limit(budget));
        let whole = remote.time_epoch(epoch, UnstoppedRequest { batches, limit, least })?;
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        let seen = UnstoppedEpoch {
            wall: nanoseconds(whole.wall),
            begin: nanoseconds(whole.begin),
            first: nanoseconds(whole.first),
            elements: whole.elements,
            batches: whole.batches,
            ended: whole.ended,
            copied: nanoseconds(whole.copied),
            cpu: whole.usage.cpu,
            wait: whole.usage.wait,
            faults: whole.usage.minor_faults,
            passed: whole.passed.map(nanoseconds),
            ..UnstoppedEpoch::default()
        };
        self.take_spots(&whole.checked, |_| Some(0))?;
        self.state.borrow_mut().evidence.unstopped = Some(seen);
        Ok(seen)
    }

    /// Hashes copies. `epoch` is the epoch that a pass lies in.
    fn take_spots(&self, checked: &[CheckedBatch], epoch: fn(Option<u64>) -> Option<u64>) -> Result<()> {
        let state = &mut *self.state.borrow_mut();
        let mut passes: Vec<u64> = checked.iter().filter_map(|checked| checked.pass).collect();
        passes.sort_unstable();
        passes.dedup();
        state.evidence.spots.passes += passes.len() as u64;
        for CheckedBatch { pass, at, first, of, kept } in checked {
            WorkFault::Copy { elements: kept.elements as u64, first: *first, of: *of }.or_go_on()?;
            let place = SpotPlace { at: *at, first: *first, epoch: epoch(*pass) };
            state.spots.push(self.settings.look_at(&mut state.content, place, kept)?);
        }
        Ok(())
    }

    /// One whole epoch, every element hashed.
    fn verify_remote(&self, remote: &mut dyn Remote, epoch: u64) -> Result<()> {
        self.enter(Phase::Timed);
        let mut batches = 0;
        remote.verify(epoch, &mut |item| {
            let state = &mut *self.state.borrow_mut();
            let place = SpotPlace { at: Some(batches), first: 0, epoch: Some(0) };
            state.spots.push(self.settings.look_at(&mut state.content, place, &item)?);
            batches += 1;
            Ok(())
        })?;
        self.enter(Phase::TearDown);
        if batches == 0 { Err(empty()) } else { Ok(()) }
    }

    fn hand_in_costs(&self, costs: Costs, ran: &RemoteRun) {
        let Costs { import, convert, set_up, compile } = costs;
        let compile = match (compile, ran.compile) {
            (Some(once), Some(run)) => Some(once.saturating_add(run)),
            (once, run) => once.or(run),
        };
        self.state.borrow_mut().evidence.costs = Costs { import, convert, set_up, compile };
        let once = [("import", import), ("convert", convert), ("set_up", set_up), ("compile", compile)];
        let times = once.into_iter().filter_map(|(name, time)| Some((name, time?)));
        for (name, time) in times.chain(ran.restarts.iter().map(|time| ("restart", *time))) {
            self.metric(name, time as f64 * 1e-9, Unit::SECONDS, Direction::Lower);
        }
        for (name, count) in [("worker_processes", ran.processes), ("worker_threads", ran.threads)] {
            if let Some(count) = count {
                self.metric(name, count as f64, Unit::COUNT, Direction::Information);
            }
        }
        let stopped = [
            ("stopped/wall_time", ran.stopped.wall),
            ("stopped/cpu_time", ran.stopped.cpu),
            ("stopped/others_cpu_time", ran.stopped.others),
        ];
        for (name, time) in stopped {
            if let Some(time) = time {
                self.metric(name, time as f64 * 1e-9, Unit::SECONDS, Direction::Information);
            }
        }
    }

    fn hand_in_remote(&self, ran: RemoteRun, budget: Budget, watch: SampleWatch, yard: Option<Yard>) {
        // The measured part of the ledger is the worker's, as far as it has been seen to pass.
        for entry in [Entry::Begin, Entry::WarmUp, Entry::CaughtUp, Entry::Stopped, Entry::Verify] {
            self.recharge(Entry::Measured, entry, ran.ledger.get(entry));
        }
        let state = &mut *self.state.borrow_mut();
        let Evidence { account, claimed, begun, .. } = &mut state.evidence;
        *account = Some(account_of(&ran, budget));
        *claimed = Some(ran.elements);
        *begun = ran.restarts.len() as u64;
        let seen = &mut state.seen;
        if ran.ran_out {
            seen.ran_out = Some(RanOut { batches: budget.batches, warmup: budget.warmup });
        }
        if is_short(&ran, budget) {
            seen.notes.push(Note::LongBeginning {
                stood: ClockFault::nanoseconds(stood(&ran)),
                measured: ran.wall,
                asked: ClockFault::nanoseconds(budget.min_time),
            });
        }
        let ResourceUse { cpu, wait, minor_faults, major_faults, voluntary_switches, involuntary_switches } =
            ran.usage;
        seen.taken = Some(if ran.whole_pass { SampleKind::Passes } else { SampleKind::Items });
        seen.iterations_per_sample = if ran.whole_pass { budget.batches } else { 1 };
        seen.flops = self.per_iteration.get().flops * ran.samples.len() as u64 * seen.iterations_per_sample;
        (seen.passes, seen.warmup, seen.caught_up) = (ran.passes, ran.warmup, ran.caught_up);
        (seen.elements, seen.bytes) = (ran.elements, ran.bytes);
        (seen.wall, seen.first_item) = (ran.wall, ran.first);
        seen.usage = Usage {
            cpu: Duration::from_nanos(cpu.unwrap_or(0)), // where there is none, `around.ran` says so
            minor_faults,
            major_faults,
            voluntary_switches,
            involuntary_switches,
            moved: None,
            allocated: None,
            ..Usage::NONE
        };
        seen.samples = ran.samples;
        seen.empty = ran.own.into_iter().filter(|_| !ran.whole_pass).collect();
        watch.end(seen);
        // Of the processes that did the work, and not of this one, which waited.
        let around = &mut seen.around;
        (around.span, around.ran, around.waited, around.helpers) = (ran.wall, cpu, wait, None);
        if let Some(yard) = yard {
            yard.end(Duration::ZERO, seen);
        }
    }
}

/// Refuses a run that was measured elsewhere, where there is nothing to go on with.
fn check(ran: &RemoteRun, budget: Budget) -> Result<()> {
    let broke = |what: String| Err(Error::of(ErrorKind::Protocol, what));
    let each = if ran.whole_pass { 1 } else { budget.batches };
    if ran.passes == 0 || Some(ran.samples.len() as u64) != ran.passes.checked_mul(each) {
        let (samples, passes) = (ran.samples.len(), ran.passes);
        return broke(format!("the worker took {samples} samples in {passes} passes of {each}"));
    }
    if is_short(ran, budget) && stood(ran) < STOOD.max(budget.min_time * TIMES) {
        let wall = Duration::from_nanos(ran.wall);
        return broke(format!("the worker measured {wall:?} and was asked for {:?}", budget.min_time));
    }
    // Copies may be left out for want of room, but not of the first pass, and not all of the others.
    let of_pass =
        |first: bool| ran.checked.iter().filter(|checked| (checked.pass == Some(0)) == first).count();
    let due = SPOTS.min(budget.batches as usize);
    if of_pass(true) < due || ran.passes > 1 && of_pass(false) == 0 {
        let (first, later) = (of_pass(true), of_pass(false));
        return broke(format!(
            "the worker hands over {first} copies of its first pass and {later} of {} later ones: {due} and \
             at least one are due",
            ran.passes - 1
        ));
    }
    Ok(())
}

/// Copies that are due of the first pass.
const SPOTS: usize = 4;

/// The worker's account of its time, beside what was seen.
fn account_of(ran: &RemoteRun, budget: Budget) -> Account {
    let mut samples = ran.samples.clone();
    samples.sort_unstable();
    let batches = if ran.whole_pass { budget.batches.max(1) } else { 1 };
    Account {
        passed: ran.passed,
        claimed: ran.ledger.sum(),
        cpu: ran.cpu_seen,
        all_seen: ran.all_seen,
        cpu_claimed: ran.cpu,
        samples: ran.samples.iter().fold(0, |sum, sample| sum.saturating_add(*sample)),
        wall: ran.wall,
        count: ran.samples.len() as u64,
        stopped: ran.stopped,
        running: ran.usage.cpu,
        whole_pass: ran.whole_pass,
        audits: ran.audits.clone(),
        batch: samples.get(samples.len() / 2).map_or(0, |sample| sample / batches),
        processes: ran.processes,
        processors: std::thread::available_parallelism().ok().map(|count| count.get() as u32),
        begins: Some(ran.restarts.iter().fold(0, |sum, restart| sum.saturating_add(*restart))),
        compile: ran.compile,
        on_device: ran.on_device,
    }
}

/// Tells whether the clock ran for less than was asked for.
fn is_short(ran: &RemoteRun, budget: Budget) -> bool {
    Duration::from_nanos(ran.wall) < budget.min_time.mul_f64(1.0 - SHORT)
}

/// The time that the clock stood.
fn stood(ran: &RemoteRun) -> Duration {
    Duration::from_nanos(ran.stopped.wall.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::{Dtype, FieldCopy, RepeatResult, Settings, WorkReport};

    const BUDGET: Budget = Budget { warmup: 3, batches: 20, min_time: Duration::ZERO, max_time: None };

    /// Another process that says what it is told to say.
    struct Elsewhere {
        change: fn(&mut RemoteRun),
        /// The number of batches a pass of it has, where that is not what is asked for.
        pass: Option<u64>,
    }

    fn item(position: u64) -> ItemCopy {
        let bytes = [position, 1000 + position].iter().flat_map(|row| row.to_le_bytes()).collect();
        let field = FieldCopy { name: "row".into(), dtype: Dtype::I64, shape: vec![1], bytes };
        ItemCopy { elements: 2, fields: vec![field] }
    }

    fn checked(pass: Option<u64>, at: u64) -> CheckedBatch {
        CheckedBatch { pass, at: Some(at), first: 0, of: 2, kept: item(at) }
    }

    const SECOND: u64 = 1_000_000_000;

    impl Remote for Elsewhere {
        fn verify(&mut self, _epoch: u64, each: &mut dyn FnMut(ItemCopy) -> Result<()>) -> Result<()> {
            (0..30).try_for_each(|position| each(item(position)))
        }

        fn run(&mut self, _epoch: u64, budget: Budget) -> Result<RemoteRun> {
            let samples = vec![10; budget.batches as usize];
            let mut ran = RemoteRun {
                elements: 2 * budget.batches,
                bytes: 16 * budget.batches,
                wall: samples.iter().sum(),
                samples,
                first: Some(99),
                restarts: vec![5, 7],
                warmup: budget.warmup,
                passes: 1,
                usage: ResourceUse {
                    cpu: Some(200),
                    wait: Some(3),
                    minor_faults: 1,
                    ..ResourceUse::default()
                },
                processes: Some(3),
                checked: (0..4).map(|at| checked(Some(0), at)).collect(),
                ledger: Ledger { begin: 12, measured: 200, ..Ledger::default() },
                passed: 10 * SECOND,
                ..RemoteRun::default()
            };
            (self.change)(&mut ran);
            Ok(ran)
        }

        fn time_epoch(&mut self, _epoch: u64, asked: UnstoppedRequest) -> Result<RemoteEpoch> {
            assert_eq!(
                (asked.batches, asked.least),
                (23, 23),
                "as many as an epoch has, where that is known"
            );
            let wall = Duration::from_secs(1);
            Ok(RemoteEpoch {
                wall,
                elements: 60,
                batches: 30,
                checked: vec![checked(None, 7)],
                ..RemoteEpoch::default()
            })
        }

        fn budget(&self, asked: Budget) -> Budget {
            self.pass.map_or(asked, |batches| Budget { warmup: 0, batches, ..asked })
        }

        fn expected(&self) -> Option<ExpectedEpoch> {
            None
        }

        fn files(&self) -> Option<FileUse> {
            Some(FileUse { written: 512, worker: true, ..FileUse::default() })
        }

        fn grown(&self) -> Option<u64> {
            Some(4096)
        }

        fn costs(&self) -> Costs {
            Costs { import: Some(SECOND), set_up: Some(0), ..Costs::default() }
        }
    }

    fn stream(purpose: Purpose, change: fn(&mut RemoteRun)) -> Result<RepeatResult> {
        stream_within(BUDGET, purpose, change)
    }

    fn stream_within(budget: Budget, purpose: Purpose, change: fn(&mut RemoteRun)) -> Result<RepeatResult> {
        let bencher = Bencher::new(Settings::new(purpose, budget));
        bencher.work(WorkReport::default());
        bencher.stream_remote(&mut Elsewhere { change, pass: None }, 0)?;
        bencher.finish()
    }

    fn refused(change: fn(&mut RemoteRun)) -> (ErrorKind, String) {
        let error = stream(Purpose::Measure, change).unwrap_err();
        (error.kind().clone(), error.to_string())
    }

    #[test]
    fn what_was_measured_elsewhere_becomes_an_observation_like_any_other() {
        let result = stream(Purpose::Measure, |ran| {
            ran.threads = Some(4);
            ran.stopped = StoppedClock { wall: Some(1), cpu: Some(1), others: Some(1) };
        })
        .unwrap();
        let seen = result.seen;
        assert_eq!((seen.samples.len(), seen.wall, seen.elements, seen.bytes), (20, 200, 40, 320));
        assert_eq!((seen.first_item, seen.warmup, seen.taken), (Some(99), 3, Some(SampleKind::Items)));
        assert_eq!(seen.usage.cpu, Duration::from_nanos(200));
        assert_eq!((seen.around.ran, seen.around.waited, seen.around.helpers), (Some(200), Some(3), None));
        let told = |name: &str| -> Vec<f64> {
            seen.custom.iter().filter(|one| one.name == name).map(|one| one.value).collect()
        };
        assert_eq!(told("import"), [1.0]);
        assert_eq!(told("set_up"), [0.0], "nothing is not the same as no such step");
        assert!(told("convert").is_empty() && told("compile").is_empty());
        assert_eq!(told("restart"), [5.0 * 1e-9, 7.0 * 1e-9]);
        assert_eq!(told("worker_processes"), [3.0]);
        let is_snake_case =
            |name: &str| name.bytes().all(|letter| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'/'));
        assert!(seen.custom.iter().all(|one| is_snake_case(&one.name)), "{:?}", seen.custom);
        assert!(seen.peak_memory.unwrap().why().is_some(), "this process's peak is not the subject's");
        assert_eq!(result.spots.len(), 4);
        assert_eq!(result.evidence.spots.passes, 1);
        let account = result.evidence.account.unwrap();
        assert_eq!((account.passed, account.claimed, account.samples), (10 * SECOND, 212, 200));
        assert_eq!((result.evidence.claimed, result.evidence.grown), (Some(40), Some(4096)));
    }

    #[test]
    fn an_epoch_without_a_stop_comes_first_and_its_copies_are_verified_as_well() {
        let budget = Budget { min_time: Duration::from_nanos(200), ..BUDGET };
        let result = stream_within(budget, Purpose::Measure, |_| {}).unwrap();
        let unstopped = result.evidence.unstopped.unwrap();
        assert_eq!((unstopped.wall, unstopped.elements), (SECOND, 60));
        assert_eq!(result.spots.len(), 5);
        assert_eq!(result.spots[0].at, Some(7));
    }

    #[test]
    fn what_makes_many_batches_at_a_time_is_measured_over_more_of_them_and_the_record_says_so() {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, BUDGET));
        bencher.work(WorkReport::default());
        bencher.stream_remote(&mut Elsewhere { change: |_| {}, pass: Some(29) }, 0).unwrap();
        let seen = bencher.finish().unwrap().seen;
        assert_eq!((seen.samples.len(), seen.elements, seen.warmup), (29, 58, 0));
        assert!(seen.notes.contains(&Note::Chunks(29)));
    }

    #[test]
    fn processor_time_that_cannot_be_told_is_absent_and_never_0() {
        let seen = stream(Purpose::Measure, |ran| ran.usage.cpu = None).unwrap().seen;
        for name in ["cpu_time", "throughput_cpu"] {
            let metric = crate::metric::METRICS.iter().find(|metric| metric.name == name).unwrap();
            assert!((metric.read)(&seen).why().is_some(), "{name}");
        }
    }

    #[test]
    fn a_planted_slowdown_is_a_skip_as_in_any_stream() {
        let bencher = Bencher::new(Settings { inject: 0.02, ..Settings::new(Purpose::Measure, BUDGET) });
        let refused = bencher.stream_remote(&mut Elsewhere { change: |_| {}, pass: None }, 0).unwrap_err();
        assert!(refused.is_skip(), "{refused}");
    }

    #[test]
    fn a_whole_epoch_is_hashed_batch_by_batch() {
        let whole = stream(Purpose::Verify, |_| {}).unwrap();
        assert_eq!(whole.work.unwrap().content.elements, 60);
        assert_eq!(
            whole.spots.iter().map(|spot| spot.at.unwrap()).collect::<Vec<_>>(),
            (0..30).collect::<Vec<_>>()
        );
    }

    #[test]
    fn numbers_that_there_cannot_be_are_evidence_and_end_nothing() {
        type Change = fn(&mut RemoteRun);
        let absurd: [Change; 9] = [
            |ran| ran.wall = u64::MAX,
            |ran| ran.samples.fill(1 << 63),
            |ran| ran.first = Some(u64::MAX),
            |ran| ran.restarts = vec![u64::MAX; 2],
            |ran| ran.stopped.wall = Some(u64::MAX),
            |ran| ran.ledger.begin = u64::MAX,
            |ran| ran.compile = Some(u64::MAX),
            |ran| {
                ran.usage =
                    ResourceUse { cpu: Some(u64::MAX), minor_faults: u64::MAX, ..ResourceUse::default() }
            },
            |ran| ran.cpu = Some(u64::MAX),
        ];
        for change in absurd {
            let (told, honest) = (stream(Purpose::Measure, change), stream(Purpose::Measure, |_| {}));
            let (told, honest) = (told.unwrap(), honest.unwrap());
            let kept = |of: &RepeatResult| (of.evidence.account.clone(), of.seen.first_item, of.seen.usage);
            assert_ne!(kept(&told), kept(&honest));
        }
        let account = stream(Purpose::Measure, absurd[3]).unwrap().evidence.account.unwrap();
        assert_eq!((account.begins, account.passed), (Some(u64::MAX), 10 * SECOND));
        assert!(account.processors.is_some());
    }

    #[test]
    fn samples_and_copies_are_as_many_as_asked_for() {
        let (kind, said) = refused(|ran| ran.passes = 2);
        assert!(kind == ErrorKind::Protocol && said.contains("20 samples in 2 passes of 20"), "{said}");
        let (_, said) = refused(|ran| ran.passes = u64::MAX);
        assert!(said.contains("20 samples in 18446744073709551615 passes"), "{said}");
        let (_, said) = refused(|ran| drop(ran.checked.pop()));
        assert!(said.contains("3 copies of its first pass"), "{said}");
        let (_, said) = refused(|ran| {
            (ran.passes, ran.samples) = (2, vec![10; 40]);
        });
        assert!(said.contains("0 of 1 later ones"), "{said}");
        let (kind, said) = refused(|ran| ran.checked[1].kept.elements = 3);
        let copy = WorkFault::Copy { elements: 3, first: 0, of: 2 };
        assert_eq!(kind, ErrorKind::Work(Box::new(copy)));
        assert!(said.contains("3 elements from 0 on of a batch of 2"), "{said}");
        let (_, said) = refused(|ran| ran.checked[1].kept = ItemCopy::default());
        assert!(said.contains("0 elements from 0 on"), "{said}");
        let (_, said) = refused(|ran| ran.checked[1].kept = ItemCopy { elements: 1, ..item(3) });
        assert!(said.contains("not those of 1 elements"), "{said}");
        let (_, said) = refused(|ran| ran.checked[1].first = u64::MAX);
        assert!(said.contains("of a batch of 2"), "{said}");
        stream(Purpose::Measure, |ran| {
            ran.whole_pass = true;
            ran.samples = vec![200];
        })
        .unwrap();
    }

    #[test]
    fn who_takes_long_to_begin_is_measured_for_less() {
        const STANDS: u64 = 20 * SECOND;
        let run = |change: fn(&mut RemoteRun)| {
            stream_within(Budget { min_time: Duration::from_secs(1), ..BUDGET }, Purpose::Measure, change)
        };
        let seen = run(|ran| {
            (ran.stopped.wall, ran.passed) = (Some(STANDS), STANDS + SECOND);
        });
        let seen = seen.unwrap().seen;
        assert_eq!(seen.wall, 200);
        let told = seen.notes.iter().map(ToString::to_string).collect::<String>();
        assert!(told.contains("stood for 20s, and 200ns were measured instead of 1s"), "{told}");
        let said = run(|ran| (ran.stopped.wall, ran.passed) = (Some(STANDS - 1), STANDS)).unwrap_err();
        assert!(said.to_string().contains("measured 200ns and was asked for 1s"), "{said}");
    }

    #[test]
    fn the_parts_that_a_worker_tells_take_the_place_of_what_was_charged_here() {
        let result = stream(Purpose::Measure, |ran| ran.ledger.warm_up = 1_000).unwrap();
        let ledger = result.seen.ledger;
        assert_eq!((ledger.begin, ledger.measured), (12, 200), "as far as so much passed: {ledger:?}");
        assert!(ledger.warm_up >= 1_000, "beside what was done before it was asked: {ledger:?}");
    }
}
