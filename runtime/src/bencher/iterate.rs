//! Timing one body: calibrated blocks of iterations. The timed regions here are sacred.

use std::hint::black_box;
use std::time::Duration;

use super::bench::OuterPace;
use super::calibrate::Calibrator;
use super::fit::{Fit, fit, is_misjudged, most_iterations, time};
use super::inject::Inject;
use super::watch::SampleWatch;
use super::window::Windows;
use super::yardstick::Yard;
use super::{Bencher, Budget, PerIteration, Phase, Purpose};
use crate::device::thread_time;
use crate::metric::{Block, Note, SampleKind};

/// About how long one sample (a block of iterations) should take: short enough that a quarter of the blocks
/// at most is hit by a preemption, long enough that two clock readings are a ten-thousandth of it.
pub(crate) const BLOCK: Duration = Duration::from_millis(1);

/// A sample is at least this many steps of the clock.
const RESOLUTIONS: u32 = 200;

/// After one sample in so many a block of nothing is timed.
const EMPTY_EVERY: usize = 4;

impl Bencher {
    /// Times `body`: the time to make and drop its result is in it.
    #[expect(clippy::iter_not_returning_iterator, reason = "what every harness calls it")]
    pub fn iter<T>(&self, mut body: impl FnMut() -> T) {
        let mut plan = self.begin(u64::MAX);
        while let Some(iterations) = plan.next(self) {
            let took = self.timed(&mut plan.windows, &plan.clock, || {
                for _ in 0..iterations {
                    black_box(body());
                }
            });
            plan.took(took);
            plan.run_empty();
        }
        self.end(plan);
    }

    /// Times `body` on inputs that `setup` makes; neither making inputs nor dropping results is timed. More
    /// can be said of the inputs with [`Bencher::batched`].
    pub fn iter_batched<I, T>(&self, setup: impl FnMut() -> I, body: impl FnMut(I) -> T) {
        self.batched(setup).iter(body);
    }

    /// Times `body` on inputs that `setup` makes and that it changes in place; neither making nor dropping
    /// inputs is timed, nor dropping results.
    pub fn iter_batched_ref<I, T>(&self, setup: impl FnMut() -> I, body: impl FnMut(&mut I) -> T) {
        self.batched(setup).iter_ref(body);
    }

    /// Lets the author do the timing: `body` runs that many iterations and says how long they took.
    pub fn iter_custom(&self, mut body: impl FnMut(u64) -> Duration) {
        self.run_body(u64::MAX, |windows, _, iterations| {
            windows.open();
            let took = body(iterations);
            windows.close();
            self.believable(took, Duration::from_nanos(windows.last.wall))
        });
    }

    /// Takes the time that a loop says, whatever passed meanwhile: it may be scaled, modelled, or no time. A
    /// sample has as many iterations as fill it by the longer of both.
    #[doc(hidden)] // for benches in criterion's style
    pub fn iter_stated(&self, mut body: impl FnMut(u64) -> Duration) {
        let mut plan = self.begin(MOST_STATED);
        while let Some(iterations) = plan.next(self) {
            plan.windows.open();
            let took = body(iterations);
            plan.windows.close();
            plan.took(took);
        }
        self.end(plan);
        self.state.borrow_mut().evidence.stated = true;
    }

    /// Returns the time that a loop of the author's own claims. Where that is more than all processors had,
    /// it is noted, and the time that passed is returned.
    fn believable(&self, took: Duration, passed: Duration) -> Duration {
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        if took <= passed * processors + Duration::from_millis(1) {
            return took;
        }
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let noted = &mut self.state.borrow_mut().evidence.overclaimed;
        noted.get_or_insert((nanoseconds(took), nanoseconds(passed)));
        passed
    }

    /// Times bodies on `threads` threads at once, one body per thread made by `make(thread)`. A sample runs
    /// from the common start to the end of the last thread; its iterations are those of one thread. Neither
    /// starting threads nor making bodies is timed, and the CPU time is that of the bodies alone. The time to
    /// make and drop a body's result is in it. What is stated with [`Bencher::elements`] and the like is of
    /// one iteration of one thread: a throughput is of all threads.
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use weighbridge::prelude::*;
    ///
    /// /// Push to a list that threads share.
    /// #[scenario(id = "PUSH-1")]
    /// fn push(bencher: &mut Bencher, #[sweep(1, 2, 4)] threads: usize) {
    ///     let list = Mutex::new(Vec::new());
    ///     bencher.elements(1).iter_threads(threads, |thread| {
    ///         let list = &list;
    ///         move || {
    ///             let mut list = list.lock().unwrap();
    ///             list.clear();
    ///             list.push(thread);
    ///         }
    ///     });
    /// }
    /// ```
    ///
    /// # Panics
    /// If `threads` is 0, and if a body panics.
    pub fn iter_threads<T, F: FnMut() -> T + Send>(&self, threads: usize, make: impl Fn(usize) -> F + Sync) {
        assert!(threads > 0, "iter_threads needs at least one thread");
        self.state_per_iteration(|stated| *stated = stated.times(threads as u64));
        self.run_body(u64::MAX, |windows, clock, iterations| {
            let (took, _) = super::threads::run(threads, windows, clock, |thread, lane| {
                let mut body = make(thread);
                lane.timed(|| {
                    for _ in 0..iterations {
                        black_box(body());
                    }
                });
            });
            took
        });
    }

    /// Times an asynchronous body on the runtime that the scenario runs on (feature `tokio`).
    #[cfg(feature = "tokio")]
    pub async fn iter_async<T>(&self, mut body: impl AsyncFnMut() -> T) {
        let mut plan = self.begin(u64::MAX);
        while let Some(iterations) = plan.next(self) {
            plan.windows.open();
            let collecting = self.collecting.get();
            let start = plan.clock.now();
            for _ in 0..iterations {
                black_box(body().await);
            }
            let end = plan.clock.now();
            plan.windows.close();
            plan.took((end - start).saturating_sub(self.collecting.get() - collecting));
        }
        self.end(plan);
    }

    /// Runs `sample` as often as the budget asks. `sample` runs that many iterations, opens and closes a
    /// window around them, and says how long they took.
    fn run_body(
        &self,
        most: u64,
        mut sample: impl FnMut(&mut Windows, &crate::device::Clock, u64) -> Duration,
    ) {
        let mut plan = self.begin(most);
        while let Some(iterations) = plan.next(self) {
            let took = sample(&mut plan.windows, &plan.clock, iterations);
            plan.took(took);
        }
        self.end(plan);
    }

    /// The same for samples that count what they handle: `sample` says that as well.
    pub(super) fn run_counted(
        &self,
        most: u64,
        mut sample: impl FnMut(&mut Windows, &crate::device::Clock, u64) -> (Duration, PerIteration),
    ) {
        let mut plan = self.begin(most);
        while let Some(iterations) = plan.next(self) {
            let is_measured = plan.step == SamplingStep::Measure;
            let (took, handled) = sample(&mut plan.windows, &plan.clock, iterations);
            plan.took(took);
            if is_measured {
                plan.handled = plan.handled.plus(handled);
            }
        }
        self.end(plan);
    }

    /// The timed region of a block of iterations: the work between two readings of the clock, less what the
    /// collectors of `measure` blocks in it cost.
    #[inline]
    pub(super) fn timed(
        &self,
        windows: &mut Windows,
        clock: &crate::device::Clock,
        block: impl FnOnce(),
    ) -> Duration {
        let collecting = self.collecting.get();
        windows.open();
        let start = clock.now();
        block();
        let end = clock.now();
        windows.close();
        (end - start).saturating_sub(self.collecting.get() - collecting)
    }

    fn begin(&self, most: u64) -> HostSampling {
        let first = self.begin_body();
        self.enter(Phase::WarmUp);
        self.mute_regions(true);
        let clock = self.settings.clock.clone();
        let block = BLOCK.max(clock.resolution() * RESOLUTIONS);
        let once = self.settings.purpose == Purpose::Verify;
        let pace = self.pace.borrow_mut().take().filter(|_| first && !once);
        let inject = if once { Inject::default() } else { Inject::new(self.settings.inject) };
        let bounds = match self.iterations_of_a_sample.get() {
            Some(stated) => (stated.min(most), stated.min(most)),
            None => (inject.least().min(most), most),
        };
        HostSampling {
            budget: self.budget(),
            step: if first { SamplingStep::First } else { SamplingStep::Done },
            once,
            pace,
            ready: false,
            calibration: Calibrator::new(block, bounds),
            inject,
            most,
            asked: None,
            notes: Vec::new(),
            least: Duration::MAX,
            repeated: (0, 0),
            iterations: 1,
            windows: Windows::new(clock.clone()),
            clock,
            first: None,
            warmup: 0,
            samples: Vec::new(),
            cpu: Vec::new(),
            delayed: Vec::new(),
            empty: Vec::new(),
            empty_cpu: Vec::new(),
            watch: None,
            yard: None,
            handled: PerIteration::default(),
            measured: Duration::ZERO,
            spent: Duration::ZERO,
            asked_at: self.settings.clock.now(),
            whole: Duration::ZERO,
            lived: Duration::ZERO,
        }
    }

    /// Drops results outside the clock, and keeps how long that takes.
    pub(super) fn drop_results<T>(&self, results: &mut Vec<T>) {
        if !std::mem::needs_drop::<T>() {
            return results.clear();
        }
        let begun = self.settings.clock.now();
        results.clear();
        self.dropping.set(self.dropping.get() + (self.settings.clock.now() - begun));
    }

    fn end(&self, mut plan: HostSampling) {
        plan.note_what_is_in_no_figure(self.dropping.take());
        self.mute_regions(false);
        self.enter(Phase::TearDown);
        let PerIteration { elements, bytes, flops } = self.per_iteration.get();
        let seen = &mut self.state.borrow_mut().seen;
        if plan.inject.is_on() {
            let (more, of) = plan.repeated;
            seen.notes.push(Note::PlantedSlowdown { twice: more, of });
        }
        seen.notes.extend(plan.notes);
        seen.taken = Some(SampleKind::Iterations);
        seen.iterations_per_sample = plan.iterations;
        seen.passes = plan.samples.len() as u64 / plan.budget.batches.max(1);
        seen.warmup = plan.warmup;
        seen.first_item = plan.first.map(|first| first.as_nanos() as u64);
        seen.wall = plan.measured.as_nanos() as u64;
        seen.usage = plan.windows.usage;
        seen.own_cpu = plan.windows.own_cpu();
        seen.hardware = plan.windows.hardware();
        seen.samples = plan.samples;
        seen.cpu = plan.cpu;
        seen.delayed = plan.delayed;
        (seen.empty, seen.empty_cpu) = (plan.empty, plan.empty_cpu);
        if let Some(watch) = plan.watch {
            watch.end(seen);
            let (ran, waited) = plan.windows.ended_threads();
            seen.around.ran = seen.around.ran.map(|time| time + ran);
            seen.around.waited = seen.around.waited.map(|time| time + waited);
        }
        if let Some(yard) = plan.yard {
            yard.end(plan.spent, seen);
        }
        let iterations = seen.iterations();
        let PerIteration { elements, bytes, flops } =
            PerIteration { elements, bytes, flops }.times(iterations).plus(plan.handled);
        (seen.elements, seen.bytes, seen.flops) = (elements, bytes, flops);
    }
}

/// A first call so long, and so many times a measured one, is noted: something was made in it that no other
/// call makes.
const LONG_FIRST: Duration = Duration::from_millis(10);
const MANY_TIMES: f64 = 100.0;

/// Dropping results so many times as long as making them is noted.
const LONG_DROPPING: u32 = 3;

/// The share of the time that passed below which what a loop of the author's own states is noted.
const LITTLE: f64 = 0.1;

/// The most iterations of a sample whose time is what its loop says: it may say none, and take none.
const MOST_STATED: u64 = 1 << 24;

/// Decides what the next sample is for: the first iteration, calibration, warm-up, measuring.
struct HostSampling {
    budget: Budget,
    step: SamplingStep,
    /// Verifying repeats run the body once and measure nothing.
    once: bool,
    pace: Option<OuterPace>,
    /// True if the pace has been told that blocks can start.
    ready: bool,
    calibration: Calibrator,
    /// The budget that was asked for, where it does not fit.
    asked: Option<Budget>,
    /// The reason why there are fewer samples than were asked for; what else is to be known of them.
    notes: Vec<Note>,
    /// The least of the samples of warm-up.
    least: Duration,
    inject: Inject,
    /// Iterations that the planted slowdown repeated, and of how many.
    repeated: (u64, u64),
    most: u64,
    /// Iterations that the next sample counts for.
    iterations: u64,
    windows: Windows,
    clock: crate::device::Clock,
    first: Option<Duration>,
    warmup: u64,
    samples: Vec<u64>,
    /// CPU time of each sample.
    cpu: Vec<u64>,
    /// Time of each in which its thread waited for a processor.
    delayed: Vec<u64>,
    /// Blocks of nothing, interleaved with the samples.
    empty: Vec<u64>,
    /// CPU time of each.
    empty_cpu: Vec<u64>,
    watch: Option<SampleWatch>,
    yard: Option<Yard>,
    /// The work of the measured samples, where they count it.
    handled: PerIteration,
    measured: Duration,
    spent: Duration,
    /// The moment at which the next sample was asked for, and the time of the last one with all that was done
    /// for it beside the clock.
    asked_at: Duration,
    whole: Duration,
    /// The same of all measured samples.
    lived: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SamplingStep {
    First,
    Calibrate,
    WarmUp,
    Measure,
    /// Blocks as somebody outside asks for them.
    Paced,
    Done,
}

impl HostSampling {
    /// The number of iterations of the next sample; `None` when enough has been measured.
    fn next(&mut self, bencher: &Bencher) -> Option<u64> {
        let asked = match bencher.is_in_lockstep() {
            true => self.in_lockstep(bencher),
            false => self.decide(bencher),
        };
        self.asked_at = self.clock.now();
        asked
    }

    /// The same where other ranks go through the same body: rank 0 decides, and all begin each sample
    /// together. A body that waits for its like on the other ranks would wait for ever otherwise.
    fn in_lockstep(&mut self, bencher: &Bencher) -> Option<u64> {
        let before = self.step;
        let is_first = bencher.rank() == 0;
        let own = if is_first { self.decide(bencher) } else { None };
        let word = LockstepWord { step: self.step, iterations: self.iterations, asked: own };
        let told = bencher.meet_with(is_first.then(|| word.written()));
        let Some(word) = told.and_then(|told| LockstepWord::read(&told.word?)) else {
            self.step = SamplingStep::Done;
            return None;
        };
        if !is_first {
            self.obey(bencher, word);
        }
        if self.step == SamplingStep::Measure && before != SamplingStep::Measure {
            bencher.meet(); // what is set up for measuring takes its time
        }
        word.asked
    }

    /// Takes rank 0's decision for its own.
    fn obey(&mut self, bencher: &Bencher, word: LockstepWord) {
        match (self.step, word.step) {
            (SamplingStep::Measure, SamplingStep::First | SamplingStep::Calibrate | SamplingStep::WarmUp) => {
                self.forget(bencher);
            }
            (SamplingStep::Measure, _) => {}
            (_, SamplingStep::Measure) => self.begin_measuring(bencher),
            (_, SamplingStep::Done) if self.samples.is_empty() && !self.once => self.take_first(),
            _ => {}
        }
        (self.step, self.iterations) = (word.step, word.iterations);
        if let Some(asked) = word.asked {
            self.repeated.0 += asked - self.iterations.min(asked);
            self.repeated.1 += self.iterations;
        }
    }

    fn decide(&mut self, bencher: &Bencher) -> Option<u64> {
        if let (SamplingStep::Measure, Some(_)) = (self.step, self.asked) {
            self.reconsider(bencher);
        }
        if self.step == SamplingStep::First && self.first.is_some() {
            let passed = self.clock.now() - bencher.begun;
            self.after_first(passed, bencher.settings.run.timeout);
        }
        if self.step == SamplingStep::WarmUp && self.warmup >= self.budget.warmup && self.is_calibrated() {
            self.begin_measuring(bencher);
            if !bencher.is_in_lockstep() {
                bencher.meet();
            }
        }
        if bencher.has_waited_in_vain() {
            self.step = SamplingStep::Done;
        }
        let whole_passes = (self.samples.len() as u64).is_multiple_of(self.budget.batches.max(1));
        if self.step == SamplingStep::Measure
            && !self.samples.is_empty()
            && whole_passes
            && (self.spent >= self.budget.min_time || self.lived >= time(self.budget))
        {
            self.step = SamplingStep::Done;
        }
        if let (SamplingStep::Measure, Some(yard)) = (self.step, &mut self.yard) {
            yard.between(self.spent, self.watch.as_mut());
        }
        if let (SamplingStep::Paced, Some(OuterPace(pace))) = (self.step, &mut self.pace) {
            if !std::mem::replace(&mut self.ready, true) {
                bencher.enter(Phase::Timed);
                pace.ready(bencher.per_iteration.get());
            }
            match pace.next() {
                Some(iterations) => self.iterations = iterations.clamp(1, self.most),
                None => self.step = SamplingStep::Done,
            }
        }
        match self.step {
            SamplingStep::Done => None,
            SamplingStep::First => Some(1),
            _ => {
                let more = self.inject.more(self.iterations);
                self.repeated = (self.repeated.0 + more, self.repeated.1 + self.iterations);
                Some(self.iterations + more)
            }
        }
    }

    fn begin_measuring(&mut self, bencher: &Bencher) {
        self.step = SamplingStep::Measure;
        self.windows = Windows::measured(self.clock.clone());
        bencher.mute_regions(false);
        bencher.dropping.take();
        bencher.enter(Phase::Timed);
        self.yard = Yard::begin(&bencher.settings, self.budget);
        self.watch = Some(SampleWatch::begin(&self.clock));
    }

    /// Takes in how long the sample took. Its window was open for longer where collectors of `measure` blocks
    /// ran in it: that is no part of the sample, but it is time that the run takes.
    fn took(&mut self, time: Duration) {
        let spent = time.max(Duration::from_nanos(self.windows.last.wall));
        self.whole = spent.max(self.clock.now() - self.asked_at);
        match self.step {
            SamplingStep::First => {
                self.first = Some(time);
            }
            SamplingStep::Calibrate => self.calibrate(spent),
            SamplingStep::WarmUp => {
                self.warmup += 1;
                self.least = self.least.min(spent);
            }
            SamplingStep::Measure => {
                self.samples.push(time.as_nanos() as u64);
                self.cpu.push(self.windows.last.cpu);
                self.delayed.extend(self.windows.last.delayed);
                if let Some(watch) = &mut self.watch {
                    watch.window(&self.windows.last, 1);
                }
                self.measured += time;
                self.spent += spent;
                self.lived += self.whole;
            }
            SamplingStep::Paced => {
                let block =
                    Block { iterations: self.iterations, wall: time.as_nanos() as u64, ..self.windows.last };
                if let Some(OuterPace(pace)) = &mut self.pace {
                    pace.took(block);
                }
            }
            SamplingStep::Done => {}
        }
    }

    /// Chooses the step after the first iteration, and fits the budget to the time.
    fn after_first(&mut self, passed: Duration, deadline: Option<Duration>) {
        // A smoke run asks for no time: it needs no blocks either.
        let blocks = self.budget.min_time > Duration::ZERO;
        self.step = match (self.once, blocks) {
            (true, _) => SamplingStep::Done,
            _ if self.pace.is_some() => SamplingStep::Paced,
            (false, true) => SamplingStep::Calibrate,
            (false, false) => SamplingStep::WarmUp,
        };
        if matches!(self.step, SamplingStep::Calibrate | SamplingStep::WarmUp) {
            self.fit(passed, deadline);
        }
    }

    /// Tells whether the samples of warm-up came out as long as they should; else the number of iterations is
    /// found again.
    fn is_calibrated(&mut self) -> bool {
        let least = std::mem::replace(&mut self.least, Duration::MAX);
        let has_blocks = self.budget.min_time > Duration::ZERO && self.asked.is_none();
        if !has_blocks || least == Duration::MAX || self.calibration.holds(least) {
            return true;
        }
        (self.step, self.warmup) = (SamplingStep::Calibrate, 0);
        self.iterations = self.calibration.iterations();
        false
    }

    /// Notes work that may have been done where no clock ran.
    fn note_what_is_in_no_figure(&mut self, dropping: Duration) {
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        let (called, passed) = (nanoseconds(self.measured), nanoseconds(self.spent));
        let each = called as f64 / (self.samples.len() as u64 * self.iterations).max(1) as f64;
        let first = self.first.filter(|first| *first >= LONG_FIRST).map_or(0, nanoseconds);
        if each > 0.0 && first as f64 >= each * MANY_TIMES {
            self.notes.push(Note::FirstCall { first, each });
        }
        if called > 0 && dropping > self.measured * LONG_DROPPING {
            self.notes.push(Note::Dropping { dropped: nanoseconds(dropping), called });
        }
        if (called as f64) < passed as f64 * LITTLE {
            self.notes.push(Note::LittleStated { stated: called, passed });
        }
    }

    /// After one sample in so many, a block of nothing: the loop alone, of as many iterations. A single
    /// iteration has no loop.
    fn run_empty(&mut self) {
        let due = self.step == SamplingStep::Measure && self.samples.len() % EMPTY_EVERY == 1;
        if due && self.iterations > 1 {
            let before = thread_time();
            self.empty.push(empty_block(&self.clock, self.iterations).as_nanos() as u64);
            self.empty_cpu.push(thread_time().saturating_sub(before).as_nanos() as u64);
        }
    }

    fn calibrate(&mut self, time: Duration) {
        if let Some(most) = most_iterations(self.budget, self.iterations, self.whole) {
            self.calibration.at_most(most);
        }
        if self.calibration.took(time) {
            self.step = SamplingStep::WarmUp;
        }
        self.iterations = self.calibration.iterations();
    }

    /// Looks at what the first iteration took: a slow body is measured as often as its time allows.
    fn fit(&mut self, passed: Duration, deadline: Option<Duration>) {
        match fit(self.budget, self.whole, passed, deadline) {
            Fit::All => {}
            Fit::Less(budget, why) => {
                self.asked = Some(std::mem::replace(&mut self.budget, budget));
                self.notes = vec![why];
                self.step = SamplingStep::WarmUp;
            }
            Fit::First(why) => {
                self.notes = vec![why];
                self.take_first();
            }
        }
    }

    /// Has the first iteration stand for all: there is no time for more.
    fn take_first(&mut self) {
        let first = self.first.unwrap_or_default();
        self.samples.push(first.as_nanos() as u64);
        self.cpu.push(self.windows.last.cpu);
        self.delayed.extend(self.windows.last.delayed);
        (self.measured, self.step) = (first, SamplingStep::Done);
    }

    /// Goes back to where all that was asked for is still to come, if only the first iteration was slow.
    fn reconsider(&mut self, bencher: &Bencher) {
        if self.samples.len() != 1 {
            return;
        }
        let whole = self.whole;
        let misjudged = |asked: &mut Budget| is_misjudged(*asked, whole);
        if let Some(asked) = self.asked.take_if(misjudged) {
            (self.budget, self.step) = (asked, SamplingStep::Calibrate);
            self.notes.clear();
            self.forget(bencher);
        }
    }

    /// Forgets what has been measured: all of it is still to come.
    fn forget(&mut self, bencher: &Bencher) {
        (self.measured, self.spent, self.lived) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        self.warmup = 0;
        self.samples.clear();
        self.cpu.clear();
        self.delayed.clear();
        self.handled = PerIteration::default();
        bencher.mute_regions(true);
        bencher.regions.borrow_mut().forget();
        bencher.enter(Phase::WarmUp);
    }
}

/// Rank 0's decision on the next sample, for all ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LockstepWord {
    step: SamplingStep,
    iterations: u64,
    /// With those that a planted slowdown adds; `None` when enough has been measured.
    asked: Option<u64>,
}

impl LockstepWord {
    const STEPS: [(SamplingStep, &'static str); 5] = [
        (SamplingStep::First, "first"),
        (SamplingStep::Calibrate, "calibrate"),
        (SamplingStep::WarmUp, "warm-up"),
        (SamplingStep::Measure, "measure"),
        (SamplingStep::Done, "done"),
    ];

    fn written(self) -> String {
        let step = Self::STEPS.iter().find(|(step, _)| *step == self.step).map_or("done", |(_, name)| name);
        format!("{step} {} {}", self.iterations, self.asked.unwrap_or(0))
    }

    fn read(word: &str) -> Option<Self> {
        let mut parts = word.split(' ');
        let step = parts.next()?;
        let (step, _) = Self::STEPS.into_iter().find(|(_, name)| *name == step)?;
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (iterations, asked) = (number()?, number()?);
        Some(Self { step, iterations, asked: (asked > 0).then_some(asked) })
    }
}

/// A block of nothing, of the same shape as the timed region of [`Bencher::iter`].
fn empty_block(clock: &crate::device::Clock, iterations: u64) -> Duration {
    let start = clock.now();
    weighbridge_yardsticks::nothing(iterations);
    let end = clock.now();
    end - start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::{RepeatResult, RunSettings, Settings};
    use crate::device::{ManualClock, thread_time};

    const BUDGET: Budget =
        Budget { warmup: 3, batches: 20, min_time: Duration::from_millis(50), max_time: None };

    /// Runs a body that takes `cost` by the clock, and counts its calls.
    fn measure(budget: Budget, cost: Duration) -> (RepeatResult, u64) {
        let hand = ManualClock::default();
        let bencher =
            Bencher::new(Settings { clock: hand.clock(), ..Settings::new(Purpose::Measure, budget) });
        let mut calls = 0;
        bencher.elements(7).iter(|| {
            calls += 1;
            hand.advance(cost);
        });
        (bencher.finish().unwrap(), calls)
    }

    #[test]
    fn a_short_body_is_timed_in_blocks_of_about_a_millisecond() {
        let (result, _) = measure(BUDGET, Duration::from_nanos(5));
        assert_eq!(result.seen.iterations_per_sample, 200_000);
        assert!(result.seen.samples.iter().all(|sample| *sample == 1_000_000));
        assert_eq!(result.seen.samples.len(), 60, "passes of 20 until 50 ms are measured");
        assert_eq!(result.seen.passes, 3);
    }

    #[test]
    fn a_long_body_is_timed_one_iteration_a_sample_and_one_pass_is_the_least() {
        let (result, calls) = measure(BUDGET, Duration::from_millis(30));
        assert_eq!(result.seen.iterations_per_sample, 1);
        assert_eq!(result.seen.samples.len(), 20);
        assert_eq!(calls, 20 + 3 + 4, "twenty samples, three of warm-up, the first, three of calibration");
    }

    #[test]
    fn what_one_iteration_does_is_scaled_by_the_iterations() {
        let (result, _) = measure(BUDGET, Duration::from_millis(1));
        assert_eq!(result.seen.elements, 7 * result.seen.iterations());
    }

    /// The notes of a body that is measured by a clock of the test.
    fn noted(body: impl FnOnce(&Bencher, &ManualClock)) -> Vec<Note> {
        let hand = ManualClock::default();
        let bencher =
            Bencher::new(Settings { clock: hand.clock(), ..Settings::new(Purpose::Measure, BUDGET) });
        body(&bencher, &hand);
        bencher.finish().unwrap().seen.notes
    }

    #[test]
    fn a_first_call_that_is_far_longer_than_the_others_is_noted() {
        let with_first = |first: u64, each: u64| {
            noted(|bencher, hand| {
                let mut first = Some(Duration::from_micros(first));
                bencher.iter(|| hand.advance(first.take().unwrap_or(Duration::from_micros(each))));
            })
        };
        assert_eq!(with_first(20_000, 100), [Note::FirstCall { first: 20_000_000, each: 100_000.0 }]);
        assert_eq!(with_first(9_000, 1), [], "a few milliseconds are cold memory");
        assert_eq!(with_first(20_000, 1_000), [], "twenty times as long");
    }

    #[test]
    fn results_whose_dropping_takes_longer_than_the_calls_are_noted() {
        struct Late(ManualClock, u64);
        impl Drop for Late {
            fn drop(&mut self) {
                self.0.advance(Duration::from_micros(self.1));
            }
        }
        let dropping = |late: u64| {
            noted(|bencher, hand| {
                let body = |()| {
                    hand.advance(Duration::from_micros(50));
                    Late(hand.clone(), late)
                };
                bencher.iter_batched(|| (), body);
            })
        };
        let found = dropping(500);
        assert!(
            matches!(found[..], [Note::Dropping { dropped, called }] if dropped == 10 * called),
            "{found:?}"
        );
        assert_eq!(dropping(100), []);
    }

    #[test]
    fn a_loop_that_states_a_small_part_of_the_time_that_it_took_is_noted() {
        let stating = |share: u32| {
            noted(|bencher, hand| {
                bencher.iter_custom(|iterations| {
                    let whole = Duration::from_micros(100) * iterations as u32;
                    hand.advance(whole);
                    whole / share
                });
            })
        };
        let found = stating(50);
        assert!(
            matches!(found[..], [Note::LittleStated { stated, passed }] if stated * 50 == passed),
            "{found:?}"
        );
        assert_eq!(stating(5), []);
    }

    #[test]
    fn a_smoke_run_takes_two_samples_of_one_iteration() {
        let (result, calls) = measure(Budget::SMOKE, Duration::from_nanos(5));
        assert_eq!((result.seen.samples.len(), calls), (2, 3));
    }

    #[test]
    fn the_processor_time_of_the_measuring_thread_is_told_apart_from_that_of_others() {
        let work = || {
            let began = thread_time();
            while thread_time() - began < Duration::from_millis(5) {
                std::hint::spin_loop();
            }
        };
        let own = |body: &dyn Fn()| {
            let bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
            bencher.iter(body);
            let seen = bencher.finish().unwrap().seen;
            Duration::from_nanos(seen.own_cpu.unwrap()) / seen.iterations() as u32
        };
        assert!(own(&work) >= Duration::from_millis(5));
        let elsewhere = || std::thread::scope(|scope| drop(scope.spawn(work)));
        assert!(own(&elsewhere) < Duration::from_millis(5));
    }

    #[test]
    fn a_verifying_repeat_runs_the_body_once() {
        let bencher = Bencher::new(Settings::new(Purpose::Verify, BUDGET));
        let mut calls = 0;
        bencher.iter(|| calls += 1);
        drop(bencher.finish().unwrap());
        assert_eq!(calls, 1);
    }

    #[test]
    fn inputs_are_made_and_results_dropped_outside_the_clock() {
        struct Slow(ManualClock);
        impl Drop for Slow {
            fn drop(&mut self) {
                self.0.advance(Duration::from_millis(1));
            }
        }
        let hand = ManualClock::default();
        let bencher =
            Bencher::new(Settings { clock: hand.clock(), ..Settings::new(Purpose::Measure, BUDGET) });
        bencher.iter_batched(
            || hand.advance(Duration::from_millis(1)),
            |()| {
                hand.advance(Duration::from_micros(100));
                Slow(hand.clone())
            },
        );
        let seen = bencher.finish().unwrap().seen;
        assert_eq!(seen.iterations_per_sample, 10);
        assert!(seen.samples.iter().all(|sample| *sample == 1_000_000), "{:?}", seen.samples);
    }

    #[test]
    fn inputs_that_take_long_to_make_do_not_stretch_the_run() {
        let hand = ManualClock::default();
        let settings = Settings::new(Purpose::Measure, BUDGET);
        let bencher = Bencher::new(Settings { clock: hand.clock(), ..settings });
        bencher.iter_batched(
            || hand.advance(Duration::from_millis(10)),
            |()| hand.advance(Duration::from_micros(8)),
        );
        let seen = bencher.finish().unwrap().seen;
        assert_eq!(
            (seen.iterations_per_sample, seen.samples.len()),
            (20, 40),
            "twice: not before 5 s are over"
        );
        assert!(seen.samples.iter().all(|sample| *sample == 160_000), "{:?}", seen.samples);
        assert!(hand.clock().now() < Duration::from_secs(12), "{:?}", hand.clock().now());
    }

    #[test]
    fn the_authors_own_time_is_taken_as_it_is() {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, BUDGET));
        bencher.iter_custom(|iterations| Duration::from_micros(10) * iterations as u32);
        let seen = bencher.finish().unwrap().seen;
        assert_eq!(seen.samples[0] / seen.iterations_per_sample, 10_000);
    }

    #[test]
    fn a_stated_number_of_iterations_is_that_of_every_sample_whatever_the_body_takes() {
        for cost in [5, 50_000] {
            let hand = ManualClock::default();
            let settings = Settings::new(Purpose::Measure, BUDGET);
            let bencher = Bencher::new(Settings { clock: hand.clock(), ..settings });
            bencher.state_iterations_of_a_sample(70).iter(|| hand.advance(Duration::from_nanos(cost)));
            let seen = bencher.finish().unwrap().seen;
            assert_eq!(seen.iterations_per_sample, 70);
            assert!(seen.samples.iter().all(|sample| *sample == 70 * cost), "{:?}", seen.samples);
        }
    }

    #[test]
    fn threads_run_their_bodies_at_once() {
        let bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
        let together = std::sync::Barrier::new(3); // would hang if one ran after the other
        bencher.iter_threads(3, |_| {
            || {
                together.wait();
            }
        });
        assert_eq!(bencher.finish().unwrap().seen.samples.len(), 2);
    }

    #[test]
    fn threads_are_calibrated_on_their_bodies_and_what_starting_them_takes_is_in_no_sample() {
        let hand = ManualClock::default();
        let settings = Settings::new(Purpose::Measure, BUDGET);
        let bencher = Bencher::new(Settings { clock: hand.clock(), ..settings });
        bencher.iter_threads(1, |_| {
            hand.advance(Duration::from_millis(20)); // to start a thread and make its body
            || {
                hand.advance(Duration::from_nanos(50));
                17 // bodies may return values
            }
        });
        let seen = bencher.finish().unwrap().seen;
        assert_eq!(seen.iterations_per_sample, 20_000);
        assert!(seen.samples.iter().all(|sample| *sample == 1_000_000), "{:?}", seen.samples);
        assert_eq!(seen.usage.cpu.as_nanos() as u64, seen.cpu.iter().sum::<u64>());
    }

    #[test]
    fn a_body_that_panics_on_a_thread_is_a_panic_and_no_hang() {
        let panics = |of: fn(bool)| {
            let bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
            let ran = std::panic::AssertUnwindSafe(|| {
                bencher.iter_threads(2, |thread| {
                    of(false);
                    move || of(thread == 1)
                });
            });
            std::panic::catch_unwind(ran).is_err()
        };
        assert!(panics(|in_body| assert!(!in_body, "planted")));
        assert!(panics(|in_body| assert!(in_body, "planted")));
    }

    #[test]
    fn one_disturbed_sample_does_not_decide_how_many_iterations_a_sample_has() {
        let hand = ManualClock::default();
        let settings = Settings::new(Purpose::Measure, BUDGET);
        let bencher = Bencher::new(Settings { clock: hand.clock(), ..settings });
        let mut calls = 0;
        bencher.iter(|| {
            calls += 1;
            // The second call is the first sample of calibration.
            hand.advance(if calls == 2 { Duration::from_millis(7) } else { Duration::from_nanos(100) });
        });
        assert_eq!(bencher.finish().unwrap().seen.iterations_per_sample, 10_000);
    }

    #[test]
    fn blocks_of_warm_up_that_come_out_ten_times_too_short_are_calibrated_again() {
        let hand = ManualClock::default();
        let settings = Settings::new(Purpose::Measure, BUDGET);
        let bencher = Bencher::new(Settings { clock: hand.clock(), ..settings });
        let mut calls = 0;
        bencher.iter(|| {
            calls += 1;
            // Slow while it is calibrated, and settled by then: 1, 3 of 1, of 10, of 100.
            hand.advance(Duration::from_nanos(if calls < 100 { 10_000 } else { 500 }));
        });
        let seen = bencher.finish().unwrap().seen;
        assert_eq!(seen.iterations_per_sample, 2_000);
        assert!(seen.samples.iter().all(|sample| *sample == 1_000_000), "{:?}", seen.samples);
    }

    #[test]
    fn a_slow_body_is_measured_as_often_as_its_time_allows_and_says_so() {
        let (result, calls) = measure(BUDGET, Duration::from_secs(3));
        assert_eq!((result.seen.samples.len(), calls), (1, 2), "the first, and one sample");
        assert_eq!((result.seen.passes, result.seen.iterations_per_sample), (1, 1));
        assert!(
            matches!(result.seen.notes[0], Note::FewSamples { asked: 20, .. }),
            "{:?}",
            result.seen.notes
        );
        let (result, calls) = measure(BUDGET, Duration::from_secs(1));
        assert_eq!((result.seen.samples.len(), calls), (4, 5));
    }

    #[test]
    fn a_body_that_is_slow_only_at_first_gets_all_its_samples() {
        let hand = ManualClock::default();
        let settings = Settings::new(Purpose::Measure, BUDGET);
        let bencher = Bencher::new(Settings { clock: hand.clock(), ..settings });
        let mut calls = 0;
        bencher.iter(|| {
            calls += 1;
            bencher.measure_with("inner", &[], || ());
            hand.advance(if calls == 1 { Duration::from_secs(3) } else { Duration::from_millis(1) });
        });
        let seen = bencher.finish().unwrap().seen;
        let first = Note::FirstCall { first: 3_000_000_000, each: 1_000_000.0 };
        assert_eq!((seen.samples.len(), &seen.notes[..]), (60, &[first][..]));
        assert_eq!(
            seen.regions.len() as u64,
            seen.iterations(),
            "of the sample that did not count there is none"
        );
    }

    #[test]
    fn where_a_second_iteration_runs_into_the_deadline_the_first_is_kept() {
        let hand = ManualClock::default();
        let settings = Settings::new(Purpose::Measure, BUDGET);
        let timeout = Some(Duration::from_mins(5));
        let run = RunSettings { timeout, ..RunSettings::DEFAULT };
        let bencher = Bencher::new(Settings { clock: hand.clock(), run, ..settings });
        bencher.iter(|| hand.advance(Duration::from_secs(200)));
        let seen = bencher.finish().unwrap().seen;
        assert_eq!((&seen.samples[..], seen.wall), (&[200_000_000_000][..], 200_000_000_000));
        assert!(matches!(seen.notes[0], Note::OneSample(_)), "{:?}", seen.notes);
    }

    /// Asks for these blocks, one after the other, and keeps what it is told.
    #[derive(Default)]
    struct Script {
        asks: Vec<u64>,
        work: std::rc::Rc<std::cell::Cell<PerIteration>>,
        blocks: std::rc::Rc<std::cell::RefCell<Vec<Block>>>,
    }

    impl crate::bencher::Pace for Script {
        fn ready(&mut self, work: PerIteration) {
            self.work.set(work);
        }

        fn next(&mut self) -> Option<u64> {
            self.asks.pop()
        }

        fn took(&mut self, block: Block) {
            self.blocks.borrow_mut().push(block);
        }
    }

    #[test]
    fn a_paced_body_runs_the_blocks_that_are_asked_for_and_no_others() {
        let hand = ManualClock::default();
        let script = Script { asks: vec![1, 400, 7], ..Script::default() };
        let (work, blocks) = (script.work.clone(), script.blocks.clone());
        let settings = Settings::new(Purpose::Measure, BUDGET);
        let bencher =
            Bencher::new(Settings { clock: hand.clock(), pace: Some(Box::new(script)), ..settings });
        let mut calls = 0;
        bencher.elements(3).iter(|| {
            calls += 1;
            hand.advance(Duration::from_micros(2));
        });
        assert!(bencher.finish().is_ok());
        assert_eq!(calls, 1 + 7 + 400 + 1, "the first iteration, then the blocks");
        assert_eq!(work.get().elements, 3);
        let told: Vec<(u64, u64)> = blocks.borrow().iter().map(|b| (b.iterations, b.wall)).collect();
        assert_eq!(told, [(7, 14_000), (400, 800_000), (1, 2_000)]);
    }

    #[test]
    fn yardsticks_lie_between_the_samples_and_in_no_sample() {
        let (measured, _) = measure(BUDGET, Duration::from_micros(10));
        let rounds = measured.seen.yardsticks.chain.len();
        assert_eq!(rounds, 2, "at the start, after 40 of 60 ms; then none is due");
        assert!(measured.seen.samples.iter().all(|sample| *sample == 1_000_000));
        let (smoke, _) = measure(Budget::SMOKE, Duration::from_micros(10));
        assert!(smoke.seen.yardsticks.chain.is_empty());
    }

    #[test]
    fn a_planted_slowdown_repeats_iterations_and_says_how_many() {
        let hand = ManualClock::default();
        let settings = Settings::new(Purpose::Measure, BUDGET);
        let bencher = Bencher::new(Settings { clock: hand.clock(), inject: 0.02, ..settings });
        bencher.iter(|| hand.advance(Duration::from_micros(100)));
        let seen = bencher.finish().unwrap().seen;
        assert_eq!(seen.iterations_per_sample, 50, "so that every block holds a repeated one");
        assert!(seen.samples.iter().all(|sample| *sample == 5_100_000), "{:?}", seen.samples);
        assert!(seen.notes[0].to_string().ends_with("iterations ran twice, 2.00 %"), "{:?}", seen.notes);
    }

    #[test]
    fn measuring_nothing_or_two_bodies_is_an_error_that_says_so() {
        let nothing = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE)).finish().unwrap_err();
        assert!(nothing.to_string().contains("measured nothing"), "{nothing}");
        let twice = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
        twice.iter(|| ());
        twice.iter(|| ());
        assert!(twice.finish().unwrap_err().to_string().contains("more than one body"));
    }

    #[test]
    fn collectors_that_cost_more_than_the_body_do_not_stretch_the_run() {
        let budget = Budget { warmup: 0, batches: 2, min_time: Duration::from_millis(2), max_time: None };
        let bencher = Bencher::new(Settings::new(Purpose::Measure, budget));
        bencher.iter(|| bencher.measure("save", || bencher.measure("encode", || 17)));
        let seen = bencher.finish().unwrap().seen;
        // A block is about a millisecond of all that happens in it; reading counters twice takes
        // microseconds.
        assert!(seen.iterations_per_sample < 2000, "{}", seen.iterations_per_sample);
    }

    #[test]
    fn blocks_are_recorded_in_measured_samples_only() {
        let bencher = Bencher::new(Settings::new(
            Purpose::Measure,
            Budget { warmup: 3, batches: 4, min_time: Duration::from_nanos(1), max_time: None },
        ));
        bencher.iter(|| bencher.measure_with("inner", &[], || std::hint::black_box(vec![0u8; 1 << 20])));
        let seen = bencher.finish().unwrap().seen;
        assert_eq!(seen.regions.len() as u64, seen.iterations());
    }
}
