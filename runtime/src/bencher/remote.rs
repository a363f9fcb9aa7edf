//! Streams that run and are timed in another process: nothing remote is inside a timed region of ours.

use std::time::Duration;

use super::stream::{draw, empty, miscounted};
use super::watch::Watch;
use super::yardstick::Yard;
use super::{Bencher, Count, Error, ErrorKind, Kept, Limits, Phase, Purpose, Result};
use crate::device::Usage;
use crate::metric::{Block, Direction, Taken, Unit};

/// A stream that another process goes through, and times, with the same loop as [`Bencher::stream`].
pub trait Remote {
    /// Goes through a whole epoch, unmeasured, and hands over each batch.
    ///
    /// # Errors
    /// What the system says; the repeat fails with it. What `each` says is handed on.
    fn verify(&mut self, epoch: u64, each: &mut dyn FnMut(Kept) -> Result<()>) -> Result<()>;

    /// Measures passes of this epoch as `limits` say. The batches at the positions `hold` of the first pass are copied
    /// between two stamps.
    ///
    /// # Errors
    /// What the system says; the repeat fails with it.
    fn run(&mut self, epoch: u64, limits: Limits, hold: &[u64]) -> Result<Ran>;

    /// Goes through a whole epoch without a stop, and keeps nothing of it.
    ///
    /// # Errors
    /// What the system says; that it claims more time than has passed.
    fn time_epoch(&mut self, epoch: u64) -> Result<Whole>;

    /// What it cost to come this far.
    fn costs(&self) -> Costs;

    /// Within which limits it can be measured, where those that were `asked` would not show what its batches cost.
    fn limits(&self, asked: Limits) -> Limits {
        asked
    }
}

/// What was measured elsewhere, by that process's monotonic clock. Times are in nanoseconds; `None` is what it could not
/// tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ran {
    /// Every sample in order.
    pub samples: Vec<u64>,
    /// Whether each sample is a whole pass in one call, and not a batch.
    pub whole_pass: bool,
    /// Elements of the measured batches, real ones only.
    pub elements: u64,
    /// Bytes of the measured batches.
    pub bytes: u64,
    /// How long the clock ran.
    pub wall: u64,
    /// The first batch of the pipeline.
    pub first: Option<u64>,
    /// Every beginning of an epoch.
    pub restarts: Vec<u64>,
    /// Batches that were left out.
    pub warmup: u64,
    /// Batches of the first pass that were left out since they may have been made while the clock stood.
    pub caught_up: u64,
    /// How often the batches were gone through.
    pub passes: u64,
    /// Whether the epoch ended within a pass and was begun again.
    pub ran_out: bool,
    /// What all its processes used while the clock ran.
    pub usage: Used,
    /// What happened between the first stamp and the last while the clock stood.
    pub stopped: Stopped,
    /// The most processes that were seen.
    pub processes: Option<u64>,
    /// The most threads that were seen.
    pub threads: Option<u64>,
    /// What was compiled for this run alone, with the clock stopped.
    pub compile: Option<u64>,
    /// What was pending on a device after the last stamp of some batches; none where there is no device.
    pub audits: Vec<Audit>,
    /// The batches that were held back, in the order of their positions.
    pub held: Vec<Kept>,
}

/// A whole epoch, by the system's own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// From the first request to the end of the last batch.
    pub wall: Duration,
    /// From the first request to the end of the first batch: whatever begins with it.
    pub first: Duration,
    /// Elements of all batches.
    pub elements: u64,
    /// Batches.
    pub batches: u64,
}

/// How long it took, once a batch was handed out and its time was taken, until its device was done with it, in
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Waiting for the device.
    pub waited: u64,
    /// Waiting once more, when there was nothing to wait for: what it costs to ask.
    pub again: u64,
}

/// What processes used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Time on a processor, in nanoseconds.
    pub cpu: Option<u64>,
    /// Time ready to run without one, in nanoseconds.
    pub wait: Option<u64>,
    /// Page faults served without the disk.
    pub minor_faults: u64,
    /// Page faults that read the disk.
    pub major_faults: u64,
    /// Times a thread gave its processor up.
    pub voluntary_switches: u64,
    /// Times a thread was taken off its processor.
    pub involuntary_switches: u64,
}

impl Used {
    /// The sum. What one of both cannot tell, the sum cannot.
    #[must_use]
    pub fn with(self, more: Self) -> Self {
        self.each(more, |one, other| one + other)
    }

    /// What was used from `earlier` on. A counter that a process has taken along counts as if it had stood.
    #[must_use]
    pub(super) fn since(self, earlier: Self) -> Self {
        self.each(earlier, u64::saturating_sub)
    }

    fn each(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        let known = |one: Option<u64>, other: Option<u64>| Some(join(one?, other?));
        Self {
            cpu: known(self.cpu, other.cpu),
            wait: known(self.wait, other.wait),
            minor_faults: join(self.minor_faults, other.minor_faults),
            major_faults: join(self.major_faults, other.major_faults),
            voluntary_switches: join(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: join(self.involuntary_switches, other.involuntary_switches),
        }
    }
}

/// What happened while the clock stood, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stopped {
    /// How long it stood.
    pub wall: Option<u64>,
    /// Time on a processor of all.
    pub cpu: Option<u64>,
    /// Time on a processor of all but the thread of the loop.
    pub others: Option<u64>,
}

/// What it cost to come to a stream, in nanoseconds; `None` where there is no such step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Importing the system.
    pub import: Option<u64>,
    /// Bringing the data into the system's own format.
    pub convert: Option<u64>,
    /// Making the pipeline.
    pub set_up: Option<u64>,
    /// Compiling it.
    pub compile: Option<u64>,
}

/// A worker ends its passes early when the clock has stood for so long, and for so many times the time that it is to run.
const STOOD: Duration = Duration::from_secs(20);
const TIMES: u32 = 20;

/// The samples and the wall time may differ by this share.
const TOLERANCE: f64 = 0.05;

/// Where others than the loop's thread use more than this share of all while the clock stands, a second look is taken: a
/// cheat has nearly all, and a system that starts threads or processes for each epoch may be on either side of it. Whoever
/// stays below it has hidden at most a half of its work.
const OTHERS: f64 = 0.5;

/// The same where a pass is one call: its compiler works between two passes. A choice, that no measurement stands behind.
const OTHERS_OF_PASSES: f64 = 0.6;

/// And so much at least, in nanoseconds: threads that wait for work wake up now and then.
const LEAST_OTHERS: u64 = 20_000_000;

/// The second look: an element of an epoch in which the clock never stands may take so many times what it takes in the
/// passes. A choice: what begins each epoch at a great cost, and has nothing prepared, was below it (Ray Data).
const UNSTOPPED: f64 = 2.0;

/// A device is still at work on a batch if waiting for it takes over so many times what it costs to ask, and over
/// `PENDING` of the time that the batch takes: the bounds that a body on a device is doubted by.
const ROUND_TRIPS: u64 = 3;
const PENDING: f64 = 0.2;

/// And over so much, in nanoseconds: asking costs a few microseconds, now more and now less. A choice.
const LEAST_PENDING: u64 = 20_000;

impl Bencher {
    /// Takes over what a stream in another process measures of itself, as [`Bencher::stream`] measures one here: samples,
    /// counts, counters, and four batches that are held back and hashed here.
    ///
    /// What it cost to come so far is handed in as `import`, `convert`, `set-up`, `compile`; every beginning of an epoch
    /// as `restart`.
    ///
    /// # Errors
    /// What the remote says; that its epoch is empty; that its samples do not add up to its wall time, are not as many as
    /// asked for, or claim more time than passed; that its other threads or processes worked while the clock stood.
    pub fn stream_remote(&self, remote: &mut dyn Remote) -> Result<()> {
        if !self.begin_body() {
            return Ok(()); // refused in `finish`
        }
        self.enter(Phase::WarmUp);
        self.refuse_injection()?;
        self.state.borrow_mut().remote = true;
        if self.settings.purpose == Purpose::Verify {
            return self.verify_remote(remote);
        }
        let limits = remote.limits(self.settings.limits);
        let hold = draw(self.settings.hold_seed, limits.batches);
        let yard = Yard::begin(self.settings.purpose, limits);
        self.enter(Phase::Timed);
        let mut watch = Watch::begin(&self.settings.clock);
        let begun = self.settings.clock.now();
        let ran = remote.run(0, limits, &hold)?;
        let passed = self.settings.clock.now() - begun;
        // Counters of windows there are none; what the machine lost is known of all samples together.
        watch.window(&Block::default(), ran.samples.len());
        self.enter(Phase::TearDown);
        check(&ran, limits, hold.len(), passed)?;
        if let Some(used) = used_meanwhile(&ran) {
            check_unstopped(&ran, &remote.time_epoch(0)?, used)?;
        }
        self.hand_in_costs(remote.costs(), &ran);
        self.hand_in_remote(ran, limits, watch, yard)
    }

    /// One whole epoch, every element hashed.
    fn verify_remote(&self, remote: &mut dyn Remote) -> Result<()> {
        self.enter(Phase::Timed);
        let mut batches = 0;
        remote.verify(0, &mut |item| {
            batches += 1;
            let state = &mut *self.state.borrow_mut();
            state.content.add(&item, &mut |hash| state.hashes.push(hash));
            Ok(())
        })?;
        self.enter(Phase::TearDown);
        if batches == 0 { Err(empty()) } else { Ok(()) }
    }

    fn hand_in_costs(&self, costs: Costs, ran: &Ran) {
        let Costs { import, convert, set_up, compile } = costs;
        let compile = match (compile, ran.compile) {
            (Some(once), Some(run)) => Some(once + run),
            (once, run) => once.or(run),
        };
        let once = [("import", import), ("convert", convert), ("set-up", set_up), ("compile", compile)];
        let times = once.into_iter().filter_map(|(name, time)| Some((name, time?)));
        for (name, time) in times.chain(ran.restarts.iter().map(|time| ("restart", *time))) {
            self.metric(name, time as f64 * 1e-9, Unit::SECONDS, Direction::Lower);
        }
        for (name, count) in [("worker processes", ran.processes), ("worker threads", ran.threads)] {
            if let Some(count) = count {
                self.metric(name, count as f64, Unit::COUNT, Direction::Information);
            }
        }
        let stopped = [
            ("stopped clock", ran.stopped.wall),
            ("cpu while stopped", ran.stopped.cpu),
            ("others while stopped", ran.stopped.others),
        ];
        for (name, time) in stopped {
            if let Some(time) = time {
                self.metric(name, time as f64 * 1e-9, Unit::SECONDS, Direction::Information);
            }
        }
    }

    fn hand_in_remote(&self, ran: Ran, limits: Limits, watch: Watch, yard: Option<Yard>) -> Result<()> {
        let state = &mut *self.state.borrow_mut();
        for item in &ran.held {
            state.content.add(item, &mut |hash| state.hashes.push(hash));
        }
        let seen = &mut state.seen;
        if limits != self.settings.limits {
            seen.notes.push(format!(
                "its batches are made many at a time: each pass has {} of them, from the first of the epoch on",
                limits.batches
            ));
        }
        if ran.ran_out {
            seen.notes.push(super::stream::too_small(limits));
        }
        if is_short(&ran, limits) {
            seen.notes.push(format!(
                "beginning an epoch takes too long for what was asked: the clock stood for {:?}, and {:?} were measured \
                 instead of {:?}",
                stood(&ran),
                Duration::from_nanos(ran.wall),
                limits.min_time
            ));
        }
        let Used { cpu, wait, minor_faults, major_faults, voluntary_switches, involuntary_switches } =
            ran.usage;
        seen.taken = Some(if ran.whole_pass { Taken::Passes } else { Taken::Items });
        seen.iterations_per_sample = if ran.whole_pass { limits.batches } else { 1 };
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
        watch.end(seen);
        // Of the processes that did the work, and not of this one, which waited.
        (seen.around.ran, seen.around.waited, seen.around.helpers) = (cpu, wait, None);
        if let Some(yard) = yard {
            yard.end(seen);
        }
        Ok(())
    }
}

/// What must hold of what was measured elsewhere.
fn check(ran: &Ran, limits: Limits, hold: usize, passed: Duration) -> Result<()> {
    let wall = Duration::from_nanos(ran.wall);
    if wall > passed {
        let what = format!("the worker claims {wall:?} of measured time, but {passed:?} passed");
        return Err(Error::of(ErrorKind::Clock, what));
    }
    let sum = Duration::from_nanos(ran.samples.iter().sum());
    let slack = Duration::from_nanos(500) * ran.samples.len() as u32;
    if sum.abs_diff(wall) > wall.mul_f64(TOLERANCE) + slack {
        let what = format!(
            "the clock does not verify: the worker's samples add up to {sum:?}, but {wall:?} of wall time passed"
        );
        return Err(Error::of(ErrorKind::Clock, what));
    }
    let broke = |what: String| Err(Error::of(ErrorKind::Protocol, what));
    let each = if ran.whole_pass { 1 } else { limits.batches };
    if ran.passes == 0 || Some(ran.samples.len() as u64) != ran.passes.checked_mul(each) {
        let (samples, passes) = (ran.samples.len(), ran.passes);
        return broke(format!("the worker took {samples} samples in {passes} passes of {each}"));
    }
    if is_short(ran, limits) && stood(ran) < STOOD.max(limits.min_time * TIMES) {
        return broke(format!("the worker measured {wall:?} and was asked for {:?}", limits.min_time));
    }
    if ran.held.len() != hold {
        return broke(format!("the worker held {} batches back and was asked for {hold}", ran.held.len()));
    }
    check_held(&ran.held)?;
    check_audits(ran, limits)
}

/// A batch is there when its time is taken. What a device is still to do for it is nobody's time.
fn check_audits(ran: &Ran, limits: Limits) -> Result<()> {
    let mut samples = ran.samples.clone();
    samples.sort_unstable();
    let batches = if ran.whole_pass { limits.batches.max(1) } else { 1 };
    let batch = samples.get(samples.len() / 2).map_or(0, |sample| sample / batches);
    let pending = |audit: &&Audit| {
        let Audit { waited, again } = **audit;
        waited > LEAST_PENDING
            && waited > ROUND_TRIPS * again
            && waited as f64 > (batch + waited) as f64 * PENDING
    };
    let late: Vec<&Audit> = ran.audits.iter().filter(pending).collect();
    if 2 * late.len() <= ran.audits.len() {
        return Ok(());
    }
    let longest = late.iter().map(|audit| audit.waited).max().unwrap_or(0);
    Err(Error::of(
        ErrorKind::Clock,
        format!(
            "it forgets to synchronise: its device was at work for up to {:?} more on {} of {} batches when they were handed \
             out, and a batch takes {:?}",
            Duration::from_nanos(longest),
            late.len(),
            ran.audits.len(),
            Duration::from_nanos(batch)
        ),
    ))
}

/// Whether the clock ran for less than was asked for.
fn is_short(ran: &Ran, limits: Limits) -> bool {
    Duration::from_nanos(ran.wall) < limits.min_time.mul_f64(1.0 - TOLERANCE)
}

/// How long the clock stood.
fn stood(ran: &Ran) -> Duration {
    Duration::from_nanos(ran.stopped.wall.unwrap_or(0))
}

/// A batch says how many elements it has; its bytes must be as many.
fn check_held(held: &[Kept]) -> Result<()> {
    for item in held {
        for field in &item.fields {
            let row = field.shape.iter().product::<usize>() * field.dtype.size();
            if field.bytes.len() != row * item.elements {
                let elements = field.bytes.len().checked_div(row).unwrap_or(0);
                return Err(miscounted(
                    Count { elements: item.elements as u64, bytes: 0 },
                    &Kept { elements, fields: Vec::new() },
                ));
            }
        }
    }
    Ok(())
}

/// What others than the loop's thread used while the clock stood, and what all used; `None` where it is too little to ask
/// about.
fn used_meanwhile(ran: &Ran) -> Option<(Duration, Duration)> {
    let (cpu, stopped, others) = (ran.usage.cpu?, ran.stopped.cpu?, ran.stopped.others?);
    let all = cpu + stopped.max(others);
    let allowed = if ran.whole_pass { OTHERS_OF_PASSES } else { OTHERS };
    let is_much = others >= LEAST_OTHERS && others as f64 > all as f64 * allowed;
    is_much.then(|| (Duration::from_nanos(others), Duration::from_nanos(all)))
}

/// Whoever works on batches while the clock stands has them ready when it runs, and is slower when it never stands. Whoever
/// begins epochs at a great cost is not: the batches after the first one come as fast.
fn check_unstopped(ran: &Ran, whole: &Whole, (others, all): (Duration, Duration)) -> Result<()> {
    if whole.batches < 2 || ran.elements == 0 {
        return Ok(());
    }
    let later = whole.elements as f64 * (whole.batches - 1) as f64 / whole.batches as f64;
    let unstopped = whole.wall.saturating_sub(whole.first).as_nanos() as f64 / later;
    let each = ran.wall as f64 / ran.elements as f64;
    if unstopped <= each * UNSTOPPED {
        return Ok(());
    }
    Err(Error::of(
        ErrorKind::Clock,
        format!(
            "it prepares batches while the clock is stopped, or does not wait until they are ready: its other threads and \
             processes were on a processor for {others:?} of {all:?} while the clock stood, and in an epoch in which it never \
             stands an element takes {:.1} times as long",
            unstopped / each
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::{Dtype, KeptField, Settings, Ticket};

    const LIMITS: Limits = Limits { warmup: 3, batches: 20, min_time: Duration::ZERO };

    /// Another process that says what it is told to say.
    struct Elsewhere {
        change: fn(&mut Ran),
        held: Vec<u64>,
        /// Whether its epoch takes over twice as long when nobody stops it.
        slow: bool,
        /// How many batches a pass of it has, where that is not what is asked for.
        pass: Option<u64>,
    }

    fn item(position: u64) -> Kept {
        let bytes = [position, 1000 + position].iter().flat_map(|row| row.to_le_bytes()).collect();
        let field = KeptField { name: "row".into(), dtype: Dtype::I64, shape: vec![1], bytes };
        Kept { elements: 2, fields: vec![field] }
    }

    impl Remote for Elsewhere {
        fn verify(&mut self, _epoch: u64, each: &mut dyn FnMut(Kept) -> Result<()>) -> Result<()> {
            (0..30).try_for_each(|position| each(item(position)))
        }

        fn run(&mut self, _epoch: u64, limits: Limits, hold: &[u64]) -> Result<Ran> {
            self.held = hold.to_vec();
            let samples = vec![10; limits.batches as usize];
            let mut ran = Ran {
                elements: 2 * limits.batches,
                bytes: 16 * limits.batches,
                wall: samples.iter().sum(),
                samples,
                first: Some(99),
                restarts: vec![5, 7],
                warmup: limits.warmup,
                passes: 1,
                usage: Used { cpu: Some(200), wait: Some(3), minor_faults: 1, ..Used::default() },
                processes: Some(3),
                held: hold.iter().map(|position| item(limits.warmup + position)).collect(),
                ..Ran::default()
            };
            (self.change)(&mut ran);
            Ok(ran)
        }

        fn time_epoch(&mut self, _epoch: u64) -> Result<Whole> {
            let each = Duration::from_nanos(if self.slow { 21 } else { 19 });
            Ok(Whole {
                wall: each * 30 + Duration::from_secs(1),
                first: Duration::from_secs(1) + each,
                elements: 60,
                batches: 30,
            })
        }

        fn limits(&self, asked: Limits) -> Limits {
            self.pass.map_or(asked, |batches| Limits { warmup: 0, batches, ..asked })
        }

        fn costs(&self) -> Costs {
            Costs { import: Some(1_000_000_000), set_up: Some(0), ..Costs::default() }
        }
    }

    fn stream(purpose: Purpose, change: fn(&mut Ran)) -> Result<crate::bencher::Yield> {
        stream_within(LIMITS, purpose, change)
    }

    fn stream_within(
        limits: Limits,
        purpose: Purpose,
        change: fn(&mut Ran),
    ) -> Result<crate::bencher::Yield> {
        let bencher = Bencher::new(Settings::new(purpose, limits));
        bencher.work(Ticket::default());
        bencher.stream_remote(&mut Elsewhere { change, held: Vec::new(), slow: true, pass: None })?;
        bencher.finish()
    }

    fn refused(change: fn(&mut Ran)) -> (ErrorKind, String) {
        let error = stream(Purpose::Measure, change).unwrap_err();
        (error.kind().clone(), error.to_string())
    }

    #[test]
    fn what_was_measured_elsewhere_becomes_an_observation_like_any_other() {
        let yielded = stream(Purpose::Measure, |_| {}).unwrap();
        let seen = yielded.seen;
        assert_eq!((seen.samples.len(), seen.wall, seen.elements, seen.bytes), (20, 200, 40, 320));
        assert_eq!((seen.first_item, seen.warmup, seen.taken), (Some(99), 3, Some(Taken::Items)));
        assert_eq!(seen.usage.cpu, Duration::from_nanos(200));
        assert_eq!((seen.around.ran, seen.around.waited, seen.around.helpers), (Some(200), Some(3), None));
        let told = |name: &str| -> Vec<f64> {
            seen.custom.iter().filter(|one| one.name == name).map(|one| one.value).collect()
        };
        assert_eq!(told("import"), [1.0]);
        assert_eq!(told("set-up"), [0.0], "nothing is not the same as no such step");
        assert!(told("convert").is_empty() && told("compile").is_empty());
        assert_eq!(told("restart"), [5.0 * 1e-9, 7.0 * 1e-9]);
        assert_eq!(told("worker processes"), [3.0]);
        assert!(seen.peak_memory.unwrap().why().is_some(), "this process's peak is not the subject's");
        assert_eq!(yielded.hashes.len(), 8, "four batches of two");
    }

    #[test]
    fn what_makes_many_batches_at_a_time_is_measured_over_more_of_them_and_the_record_says_so() {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, LIMITS));
        bencher.work(Ticket::default());
        let mut lumps = Elsewhere { change: |_| {}, held: Vec::new(), slow: true, pass: Some(29) };
        bencher.stream_remote(&mut lumps).unwrap();
        assert!(
            lumps.held.iter().any(|position| *position >= LIMITS.batches),
            "any batch of the epoch may be held back"
        );
        let seen = bencher.finish().unwrap().seen;
        assert_eq!((seen.samples.len(), seen.elements, seen.warmup), (29, 58, 0));
        assert!(seen.notes.iter().any(|note| note.contains("each pass has 29 of them")));
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
        let bencher = Bencher::new(Settings { inject: 0.02, ..Settings::new(Purpose::Measure, LIMITS) });
        let refused = bencher
            .stream_remote(&mut Elsewhere { change: |_| {}, held: Vec::new(), slow: true, pass: None })
            .unwrap_err();
        assert!(refused.is_skip(), "{refused}");
    }

    #[test]
    fn a_whole_epoch_is_hashed_and_what_is_held_back_is_a_part_of_it() {
        let whole = stream(Purpose::Verify, |_| {}).unwrap();
        assert_eq!(whole.work.unwrap().content.elements, 60);
        let held = stream(Purpose::Measure, |_| {}).unwrap().hashes;
        assert!(held.iter().all(|hash| whole.hashes.contains(hash)));
    }

    #[test]
    fn times_that_do_not_add_up_or_have_not_passed_are_not_believed() {
        let (kind, said) = refused(|ran| ran.samples.fill(10_000));
        assert!(kind == ErrorKind::Clock && said.contains("add up to 200µs"), "{said}");
        let (kind, said) = refused(|ran| {
            ran.samples.fill(3_600_000_000_000);
            ran.wall = ran.samples.iter().sum();
        });
        assert!(kind == ErrorKind::Clock && said.contains("claims 72000s of measured time"), "{said}");
    }

    #[test]
    fn samples_and_held_back_batches_are_as_many_as_asked_for() {
        let (kind, said) = refused(|ran| ran.passes = 2);
        assert!(kind == ErrorKind::Protocol && said.contains("20 samples in 2 passes of 20"), "{said}");
        let (_, said) = refused(|ran| ran.passes = u64::MAX);
        assert!(said.contains("20 samples in 18446744073709551615 passes"), "{said}");
        let (_, said) = refused(|ran| drop(ran.held.pop()));
        assert!(said.contains("held 3 batches back and was asked for 4"), "{said}");
        let (_, said) = refused(|ran| ran.held[1].elements = 3);
        assert!(said.contains("counted 3 elements in a batch that holds 2"), "{said}");
        stream(Purpose::Measure, |ran| {
            ran.whole_pass = true;
            ran.samples = vec![200];
        })
        .unwrap();
    }

    #[test]
    fn who_takes_long_to_begin_is_measured_for_less_and_who_works_meanwhile_is_told_by_name() {
        const STANDS: u64 = 20_000_000_000;
        let run = |change: fn(&mut Ran)| {
            stream_within(Limits { min_time: Duration::from_secs(1), ..LIMITS }, Purpose::Measure, change)
        };
        let seen = run(|ran| ran.stopped.wall = Some(STANDS)).unwrap().seen;
        assert_eq!(seen.wall, 200);
        assert!(
            seen.notes
                .iter()
                .any(|note| note.contains("stood for 20s, and 200ns were measured instead of 1s"))
        );
        let said = run(|ran| ran.stopped.wall = Some(STANDS - 1)).unwrap_err();
        assert!(said.to_string().contains("measured 200ns and was asked for 1s"), "{said}");
        let others = run(|ran| {
            ran.stopped = Stopped { wall: Some(STANDS), cpu: Some(STANDS), others: Some(STANDS) };
        });
        let said = others.unwrap_err().to_string();
        assert!(said.contains("prepares batches while the clock is stopped"), "{said}");
    }

    #[test]
    fn a_device_that_is_still_at_work_when_batches_are_handed_out_is_told_by_name() {
        let audit = |waited, again| Audit { waited, again };
        let mut ran = Ran { samples: vec![100_000; 20], ..Ran::default() };
        let mut check = |audits: &[Audit]| {
            ran.audits = audits.to_vec();
            check_audits(&ran, LIMITS)
        };
        let late = audit(400_000, 5_000);
        let said = check(&[late, late, audit(6_000, 5_000)]).unwrap_err();
        assert_eq!(said.kind(), &ErrorKind::Clock);
        let said = said.to_string();
        assert!(said.contains("forgets to synchronise"), "{said}");
        assert!(
            said.contains("400µs more on 2 of 3 batches") && said.contains("a batch takes 100µs"),
            "{said}"
        );
        for honest in [
            &[][..],
            &[late, audit(6_000, 5_000)], // once is no habit
            &[audit(14_000, 3_000); 4],   // nothing that could be told from asking
            &[audit(60_000, 25_000); 4],  // asking is dear here
            &[audit(24_000, 2_000); 4],   // a small part of the batch
        ] {
            check(honest).unwrap();
        }
    }

    #[test]
    fn work_of_others_while_the_clock_stands_is_told_by_name_where_it_makes_batches() {
        let change: fn(&mut Ran) = |ran| {
            ran.usage.cpu = Some(40_000_000);
            ran.stopped = Stopped { wall: Some(1), cpu: Some(60_000_000), others: Some(60_000_000) };
        };
        let (kind, said) = refused(change);
        assert!(
            kind == ErrorKind::Clock && said.contains("prepares batches while the clock is stopped"),
            "{said}"
        );
        assert!(said.contains("60ms of 100ms") && said.contains("takes 2.1 times as long"), "{said}");
        let bencher = Bencher::new(Settings::new(Purpose::Measure, LIMITS));
        let dear_to_begin = &mut Elsewhere { change, held: Vec::new(), slow: false, pass: None };
        bencher.stream_remote(dear_to_begin).expect("its batches come as fast when nobody stops it");
        for (cpu, others) in [(40_000, 60_000), (900_000_000, 100_000_000), (170_000_000, 130_000_000)] {
            let usage = Used { cpu: Some(cpu), ..Used::default() };
            let stopped = Stopped { wall: Some(1), cpu: Some(others), others: Some(others) };
            assert_eq!(used_meanwhile(&Ran { usage, stopped, ..Ran::default() }), None);
        }
    }
}
