//! The stages of a repeat on a device: calibrate, warm up, audit, find the number of bodies, sample, look
//! back.

use std::time::Duration;

use super::audit::audit;
use super::calibrate::calibrate;
use super::energy::energy;
use super::graph::replay;
use super::roofline;
use super::sample::{DeviceBody, SampleSides, sample};
use super::stop::{LEAST, StoppingRule};
use super::warm::{WarmUpResult, warm_up};
use crate::bencher::bench::OuterPace;
use crate::bencher::calibrate::Calibrator;
use crate::bencher::inject::Inject;
use crate::bencher::iterate::BLOCK;
use crate::bencher::watch::SampleWatch;
use crate::bencher::window::Windows;
use crate::bencher::{Bencher, Error, INJECT, PerIteration, Phase, Purpose, skip};
use crate::device::{Backend, Device, DeviceMemory, Numbers, throttle_reasons};
use crate::metric::{
    Block, DeviceCaveat, DevicePhase, DeviceSample, Mode, Note, OnDevice, Returns, SampleKind, TimedBy,
    device_caveats, fatal,
};
use crate::stats;

/// A sample in mode sync is at least so many round trips: its own is then a hundredth of it.
const ROUND_TRIPS: f64 = 100.0;

/// A body that takes longer than this is not held: there are no gaps worth it.
const HOLD_BELOW: u64 = 1_000_000;

/// A batch in mode hot takes about this long, and there are at least so many.
const BATCH: Duration = Duration::from_millis(25);
const BATCHES: u64 = 20;

/// Telemetry is read when so much has been sampled since the last time.
const LOOK: u64 = 20_000_000;

/// And at least so often in the least time of a repeat, so that the stationarity of short ones can be told
/// too.
const LOOKS: u64 = 8;

/// The number of times that memory is looked at between samples, at most; and once more when all have been
/// taken.
const MEMORY_LOOKS: usize = 64;

/// Caveats of a duel's samples are looked for from so many on: by the middle of three no single one that was
/// disturbed is blamed.
const FEWEST_JUDGED: usize = 3;

/// A sample whose clock is below this share of the 95th percentile is left out.
const LOW_CLOCK: f64 = 0.9;

/// A request to sample a body on a device.
#[derive(Debug)]
pub(super) struct DeviceRequest {
    pub(super) mode: Mode,
    pub(super) returns: Returns,
    pub(super) numbers: Option<Numbers>,
    pub(super) allowed: Vec<String>,
}

/// One repeat of a body on a device.
pub(super) struct DeviceSampling<'a> {
    bencher: &'a Bencher,
    device: &'a dyn Device,
    seen: OnDevice,
    /// The queue stands still while a body enqueues, and for so many nanoseconds more.
    hold: Option<u64>,
    /// Samples of all: the walls that the observation keeps.
    walls: Vec<u64>,
    cpu: Vec<u64>,
    /// Sums over all samples, phase by phase, in nanoseconds.
    phases: Vec<(&'static str, f64)>,
    /// Ratios of busy time to makespan, sample by sample.
    overlaps: Vec<f64>,
    sampled: u64,
    looked: u64,
    /// The cost of collectors of `measure` blocks that the samples contain, in nanoseconds.
    collected: u64,
}

impl<'a> DeviceSampling<'a> {
    /// Refuses a mode that the device has not.
    pub(super) fn new(
        bencher: &'a Bencher,
        device: &'a dyn Device,
        asked: DeviceRequest,
    ) -> Result<Self, Error> {
        let info = device.info();
        let DeviceRequest { mode, returns, numbers, allowed } = asked;
        let refused =
            |why: &str| Err(Error::new(format!("mode {mode} cannot be had: {why}; use --mode sync")));
        if mode.is_by_device_clock() && !info.has_clock {
            return refused("the device has no clock of its own");
        }
        if mode.is_by_device_clock() && info.launches_block {
            return refused("CUDA_LAUNCH_BLOCKING=1 makes every launch wait; unset it");
        }
        let PerIteration { elements, bytes, flops } = bencher.per_iteration.get();
        let clock = match (mode, info.backend) {
            (Mode::Sync, _) | (_, Backend::Cpu) => "the host's clock",
            (_, Backend::Cuda) => "CUDA events",
        };
        let seen = OnDevice {
            info: info.clone(),
            mode,
            returns,
            clock: clock.to_owned(),
            stated: [elements, bytes, flops],
            numbers,
            allowed,
            bodies: 1,
            ..OnDevice::default()
        };
        let (walls, cpu, phases, overlaps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self {
            bencher,
            device,
            seen,
            hold: None,
            walls,
            cpu,
            phases,
            overlaps,
            sampled: 0,
            looked: 0,
            collected: 0,
        })
    }

    /// Runs it.
    ///
    /// # Errors
    /// What the body or the device failed with; in a duel and in a smoke run caveats that fail the case.
    pub(super) fn run(mut self, body: &mut DeviceBody<'_>) -> Result<(), Error> {
        let (device, budget) = (self.device, self.bencher.budget());
        let measures = self.bencher.settings.purpose == Purpose::Measure && !budget.min_time.is_zero();
        let pace = self.bencher.pace.borrow_mut().take().filter(|_| measures);
        if self.bencher.settings.inject > 0.0 && pace.is_none() {
            return Err(skip(format!(
                "{INJECT} repeats bodies of a block, and on a device a body has blocks in a duel alone: a \
                 slowdown cannot be planted here; add --versus or --versus-adapter"
            )));
        }
        // What is measured beside the samples is of no use to a duel, which has its blocks alone.
        let looks_around = measures && pace.is_none();
        self.seen.calibration = calibrate(device)?;

        device.sync()?;
        let start = device.host_ns();
        body.run(device)?;
        device.sync()?;
        let first = device.host_ns() - start;

        let warmed = warm_up(device, budget, body)?;
        self.seen.audits = audit(device, body)?;
        self.hold = self.may_hold(&warmed, body).then_some(self.seen.calibration.round_trip as u64);
        if looks_around {
            roofline::measure(device, &mut self.seen.rooflines, self.seen.stated[2] > 0)?;
        }
        if pace.is_none() {
            self.find_bodies(&warmed, body)?;
        }
        let warm_up_bodies = body.calls();

        self.seen.telemetry[0] = device.telemetry();
        device.reset_memory_peak();
        self.bencher.device_peak.set(None);
        let windows = match pace {
            Some(pace) => self.paced(pace, body)?,
            None => self.sample_all(body)?,
        };
        self.seen.telemetry[1] = device.telemetry();
        self.look_at_memory()?;
        if looks_around {
            roofline::measure(device, &mut self.seen.rooflines, self.seen.stated[2] > 0)?;
        }
        if looks_around && self.seen.mode == Mode::Hot {
            self.seen.replayed = Some(replay(device, self.seen.calibration.round_trip, body)?);
        }
        if looks_around && device.info().backend != Backend::Cpu {
            let each = if self.seen.samples.is_empty() { 0.0 } else { stats::median(&self.seen.times()) };
            let budget = (budget.min_time * 2).as_nanos() as u64;
            self.seen.energy = Some(energy(device, each, budget, body)?);
        }
        self.seen.warm_up = (warmed.took, warmed.bodies);
        self.seen.warm_clock = warmed.clock;
        device.sync()?; // errors that are still to come are this body's
        self.finish(windows, first, warm_up_bodies)
    }

    /// Tells whether the queue may stand still while the body enqueues: it must not wait for it, and it must
    /// be worth it. A body with streams of its own forks and joins them, which needs no hold.
    fn may_hold(&self, warmed: &WarmUpResult, body: &DeviceBody<'_>) -> bool {
        let never_waits = self.seen.audits.iter().all(|audit| audit.waited == Some(false));
        self.seen.mode.is_by_device_clock()
            && self.seen.returns == Returns::Enqueued
            && body.beside == 0
            && never_waits
            && warmed.each < HOLD_BELOW
    }

    /// Finds how many bodies a sample has.
    fn find_bodies(&mut self, warmed: &WarmUpResult, body: &mut DeviceBody<'_>) -> Result<(), Error> {
        let smoke = self.bencher.budget().min_time.is_zero();
        let wanted = match self.seen.mode {
            _ if smoke => return Ok(()),
            Mode::Event | Mode::Cold => return Ok(()), // one body, so that each has its own time
            Mode::Sync => {
                Duration::from_nanos((ROUND_TRIPS * self.seen.calibration.round_trip) as u64).max(BLOCK)
            }
            Mode::Hot => BATCH,
        };
        let mut calibration = Calibrator::new(wanted, (1, u64::MAX));
        if warmed.each < wanted.as_nanos() as u64 {
            loop {
                let bodies = calibration.iterations();
                let (took, sides) = sample(self.device, self.seen.mode, self.hold, bodies, body)?;
                if self.expired(&sides) {
                    continue;
                }
                let took = took.device.map_or(took.wall, |device| device as u64);
                if calibration.took(Duration::from_nanos(took)) {
                    break;
                }
            }
        }
        self.seen.bodies = calibration.iterations();
        Ok(())
    }

    fn sample_all(&mut self, body: &mut DeviceBody<'_>) -> Result<Windows, Error> {
        let budget = self.bencher.budget();
        let least = match self.seen.mode {
            _ if budget.min_time.is_zero() => budget.batches.max(1),
            Mode::Hot => BATCHES.max(budget.batches),
            _ => LEAST.max(budget.batches),
        };
        let clock = self.bencher.settings.clock.clone();
        let (mut windows, mut watch) = (Windows::measured(clock.clone()), SampleWatch::begin(&clock));
        let mut stop = StoppingRule::new(least, budget.min_time);
        let mut times = Vec::new();
        self.bencher.enter(Phase::Timed);
        self.bencher.meet();
        loop {
            let (sample, sides) = self.one(self.seen.bodies, body, &mut windows)?;
            watch.window(&windows.last, 1);
            times.push(sample.device.unwrap_or(sample.wall as f64));
            self.take(sample, &sides, windows.last.cpu)?;
            if let Some(enough) = stop.enough(&times, Duration::from_nanos(self.sampled)) {
                self.seen.enough = enough;
                break;
            }
        }
        watch.end(&mut self.bencher.state.borrow_mut().seen);
        Ok(windows)
    }

    /// Blocks as somebody outside asks for them: a duel. Nobody there sees the end of the repeat, so that
    /// what fails a case is looked for before each block is told.
    fn paced(&mut self, pace: OuterPace, body: &mut DeviceBody<'_>) -> Result<Windows, Error> {
        let OuterPace(mut pace) = pace;
        let mut windows = Windows::measured(self.bencher.settings.clock.clone());
        let mut inject = Inject::new(self.bencher.settings.inject);
        let recorded = self.bencher.recorded_regions();
        self.refuse(&fatal(&self.seen))?;
        self.bencher.enter(Phase::Timed);
        pace.ready(self.bencher.per_iteration.get());
        let (mut before, mut due) = (0, FEWEST_JUDGED);
        while let Some(bodies) = pace.next() {
            let bodies = bodies.max(1);
            let all = bodies + inject.more(bodies);
            // In the modes of one body a sample, a block is many: each with a cold cache, or with its own
            // stamps.
            let alone = matches!(self.seen.mode, Mode::Event | Mode::Cold);
            let (samples, each) = if alone { (all, 1) } else { (1, all) };
            if !alone && bodies != before {
                // Those of another number of bodies are no samples of the same.
                windows = Windows::measured(self.bencher.settings.clock.clone());
                self.forget_samples();
                (self.seen.bodies, due) = (bodies, FEWEST_JUDGED);
            }
            before = bodies;
            let mut block = Block { iterations: bodies, by: self.timed_by(), ..Block::default() };
            let mut wall = 0.0;
            for _ in 0..samples {
                let (sample, sides) = self.one(each, body, &mut windows)?;
                wall += sample.device.unwrap_or(sample.wall as f64);
                block = block.counting(&windows.last);
                self.take(sample, &sides, windows.last.cpu)?;
            }
            block.wall = wall.round() as u64;
            self.bencher.forget_regions(recorded); // however long the duel is
            if self.device.info().backend != Backend::Cpu {
                // Its thread waits for the device, also where it never gives its processor up meanwhile: its
                // time on one is not what the work takes.
                block.waits = block.waits.max(1);
            }
            let taken = self.seen.samples.len();
            if taken >= due {
                self.refuse(&fatal(&self.seen))?;
                // Looking at all of them for every block would cost more than the blocks.
                due = taken + taken.div_ceil(4);
            }
            pace.took(block);
        }
        Ok(windows)
    }

    /// Whose clock the times of blocks are by.
    fn timed_by(&self) -> TimedBy {
        match self.device.info() {
            info if info.fake => TimedBy::Fake,
            info if info.backend != Backend::Cpu && self.seen.mode.is_by_device_clock() => TimedBy::Device,
            _ => TimedBy::Host,
        }
    }

    fn forget_samples(&mut self) {
        self.seen.samples.clear();
        self.walls.clear();
        self.cpu.clear();
        self.phases.clear();
        self.overlaps.clear();
        self.collected = 0;
    }

    /// Makes an error of the first of these caveats that fails the case and that the scenario does not know
    /// of.
    fn refuse(&self, caveats: &[DeviceCaveat]) -> Result<(), Error> {
        let unknown = |caveat: &&DeviceCaveat| !self.seen.allowed.iter().any(|known| known == caveat.name());
        match caveats.iter().filter(|caveat| caveat.is_fatal()).find(unknown) {
            None => Ok(()),
            Some(caveat) => Err(Error::new(format!(
                "{caveat}; a scenario that means it says `.allow(\"{}\")`",
                caveat.name()
            ))),
        }
    }

    /// Takes one sample, whose counters and `measure` blocks count. One whose queue was held and went on by
    /// itself is taken again, since its time is that of the hold; nothing of it counts.
    fn one(
        &mut self,
        bodies: u64,
        body: &mut DeviceBody<'_>,
        windows: &mut Windows,
    ) -> Result<(DeviceSample, SampleSides), Error> {
        loop {
            let before = self.hold.is_some().then(|| (windows.so_far(), self.bencher.recorded_regions()));
            self.bencher.mute_regions(false);
            windows.open();
            let taken = sample(self.device, self.seen.mode, self.hold, bodies, body);
            windows.close();
            self.bencher.mute_regions(true);
            let (sample, sides) = taken?;
            match before {
                Some((so_far, recorded)) if self.expired(&sides) => {
                    windows.back_to(&so_far);
                    self.bencher.forget_regions(recorded);
                }
                _ => return Ok((sample, sides)),
            }
        }
    }

    /// Tells whether the sample's queue was held and went on by itself, since the body waited for it: then
    /// none is held again.
    fn expired(&mut self, sides: &SampleSides) -> bool {
        let expired = sides.held && self.device.hold_expired();
        if expired {
            self.seen.hold_expired = true;
            self.hold = None;
        }
        expired
    }

    /// Takes in a sample; looks at the device now and then, outside of every window.
    fn take(&mut self, sample: DeviceSample, sides: &SampleSides, cpu: u64) -> Result<(), Error> {
        let busy = &sides.busy;
        for (name, ns) in &sides.phases {
            match self.phases.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += ns,
                None => self.phases.push((name, *ns)),
            }
        }
        if let (Some(makespan), false) = (sample.device.filter(|device| *device > 0.0), busy.is_empty()) {
            self.overlaps.push(busy.iter().sum::<f64>() / makespan);
        }
        self.walls.push(sample.wall);
        self.cpu.push(cpu);
        self.collected += sides.collected;
        self.sampled += sample.wall;
        self.seen.samples.push(sample);
        let pause = LOOK.min(self.bencher.budget().min_time.as_nanos() as u64 / LOOKS);
        if self.sampled - self.looked >= pause {
            self.looked = self.sampled;
            if let Some(bits) = self.device.telemetry().throttle {
                let told = !throttle_reasons(bits).is_empty();
                self.seen.throttled |= bits;
                self.seen.looks = (self.seen.looks.0 + 1, self.seen.looks.1 + u64::from(told));
            }
            if self.seen.memory.len() < MEMORY_LOOKS {
                self.look_at_memory()?;
            }
        }
        Ok(())
    }

    fn look_at_memory(&mut self) -> Result<(), Error> {
        if let Some(memory) = self.device.memory()? {
            // A `measure` block in the body starts the high-water mark again.
            let pool_peak = memory.pool_peak.max(self.bencher.device_peak.get());
            self.seen.memory.push(DeviceMemory { pool_peak, ..memory });
        }
        Ok(())
    }

    /// Turns what was seen into the observation. A caveat about it fails the case in the stage `verify`, or
    /// stands beside it.
    fn finish(mut self, mut windows: Windows, first: u64, warm_up: u64) -> Result<(), Error> {
        let overlaps = std::mem::take(&mut self.overlaps);
        self.seen.overlap = (!overlaps.is_empty()).then(|| stats::median(&overlaps));
        let bodies = self.seen.bodies as f64 * self.walls.len() as f64;
        let phase =
            |(name, sum): (&'static str, f64)| DevicePhase { name: name.to_owned(), each: sum / bodies };
        self.seen.phases = std::mem::take(&mut self.phases).into_iter().map(phase).collect();
        let kept = leave_out_low_clocks(&mut self.seen);
        self.seen.caveats = device_caveats(&self.seen);
        if self.bencher.settings.purpose == Purpose::Smoke {
            self.refuse(&self.seen.caveats)?; // nobody judges it
        }
        let state = &mut self.bencher.state.borrow_mut();
        let seen = &mut state.seen;
        seen.taken = Some(SampleKind::Iterations);
        seen.iterations_per_sample = self.seen.bodies;
        seen.passes = self.walls.len() as u64 / self.bencher.budget().batches.max(1);
        seen.warmup = warm_up;
        seen.first_item = Some(first);
        seen.wall = self.walls.iter().sum();
        seen.usage = windows.usage;
        seen.hardware = windows.hardware();
        seen.samples = self.walls;
        seen.cpu = self.cpu;
        if self.collected > 0 {
            seen.notes.push(Note::Collectors(self.collected as f64 / bodies));
        }
        // The stationarity is that of the figures: by the clock of the mode, of the samples that count.
        seen.classify_by(&self.seen.times(), |place| kept[place]);
        let iterations = seen.iterations();
        let [elements, bytes, flops] = self.seen.stated;
        (seen.elements, seen.bytes, seen.flops) =
            (elements * iterations, bytes * iterations, flops * iterations);
        seen.device = Some(Box::new(self.seen));
        Ok(())
    }
}

/// Leaves out the samples that the device took at a low clock: for that cause and for no other, and counted.
/// Gives the places of those that are left.
fn leave_out_low_clocks(seen: &mut OnDevice) -> Vec<usize> {
    let clocks = seen.clocks();
    let least = if clocks.is_empty() { 0.0 } else { LOW_CLOCK * stats::quantile(&clocks, 0.95) };
    let counts = |sample: &DeviceSample| sample.clock.is_none_or(|clock| clock >= least);
    let kept: Vec<usize> = (0..seen.samples.len()).filter(|place| counts(&seen.samples[*place])).collect();
    seen.discarded = (seen.samples.len() - kept.len()) as u64;
    seen.samples.retain(counts);
    kept
}
