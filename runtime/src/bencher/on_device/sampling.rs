//! The course of a repeat on a device: calibrate, warm up, audit, find the number of bodies, sample, look back.

use std::time::Duration;

use super::audit::audit;
use super::calibrate::calibrate;
use super::energy::energy;
use super::graph::replay;
use super::roofline;
use super::sample::{Body, Sides, sample};
use super::stop::{LEAST, Stop};
use super::warm::{Warmed, warm_up};
use crate::bencher::bench::Paced;
use crate::bencher::iterate::BLOCK;
use crate::bencher::watch::Watch;
use crate::bencher::window::Windows;
use crate::bencher::{Bencher, Error, PerIteration, Phase, Purpose, grow};
use crate::device::{Backend, Device, Numbers, throttle_reasons};
use crate::metric::{Block, DevicePhase, DeviceSample, Mode, OnDevice, Returns, Taken, doubts};
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

/// And at least so often in the least time of a repeat, so that short ones have a course too.
const LOOKS: u64 = 8;

/// How often memory is looked at, at most.
const MEMORY_LOOKS: usize = 64;

/// A sample whose clock is below this share of the 95th percentile is left out.
const LOW_CLOCK: f64 = 0.9;

/// What is asked of the sampling.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) mode: Mode,
    pub(super) returns: Returns,
    pub(super) numbers: Option<Numbers>,
    pub(super) known: Vec<String>,
}

/// One repeat of a body on a device.
pub(super) struct Sampling<'a> {
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
}

impl<'a> Sampling<'a> {
    /// Refuses a mode that the device has not.
    pub(super) fn new(bencher: &'a Bencher, device: &'a dyn Device, asked: Asked) -> Result<Self, Error> {
        let info = device.info();
        let Asked { mode, returns, numbers, known } = asked;
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
            known,
            bodies: 1,
            ..OnDevice::default()
        };
        let (walls, cpu, phases, overlaps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self { bencher, device, seen, hold: None, walls, cpu, phases, overlaps, sampled: 0, looked: 0 })
    }

    /// Runs it.
    ///
    /// # Errors
    /// What the body or the device failed with; doubts that fail the case.
    pub(super) fn run(mut self, body: &mut Body<'_>) -> Result<(), Error> {
        let (device, limits) = (self.device, self.bencher.settings.limits);
        let measures = self.bencher.settings.purpose == Purpose::Measure && !limits.min_time.is_zero();
        self.seen.calibration = calibrate(device)?;

        device.sync()?;
        let start = device.host_ns();
        body.run(device)?;
        device.sync()?;
        let first = device.host_ns() - start;

        let warmed = warm_up(device, limits, body)?;
        self.seen.audits = audit(device, body)?;
        self.hold = self.may_hold(&warmed, body).then_some(self.seen.calibration.round_trip as u64);
        if measures {
            roofline::measure(device, &mut self.seen.rooflines, self.seen.stated[2] > 0)?;
        }
        self.find_bodies(&warmed, body)?;
        let warm_up_bodies = body.calls();

        self.seen.telemetry[0] = device.telemetry();
        device.reset_memory_peak();
        let windows = match self.bencher.pace.borrow_mut().take() {
            Some(pace) if measures => self.paced(pace, body)?,
            _ => self.sample_all(body)?,
        };
        self.seen.telemetry[1] = device.telemetry();
        self.look_at_memory()?;
        if measures {
            roofline::measure(device, &mut self.seen.rooflines, self.seen.stated[2] > 0)?;
        }
        if measures && self.seen.mode == Mode::Hot {
            self.seen.replayed = Some(replay(device, self.seen.calibration.round_trip, body)?);
        }
        if measures && device.info().backend != Backend::Cpu {
            let each = if self.seen.samples.is_empty() { 0.0 } else { stats::median(&self.seen.times()) };
            let budget = (limits.min_time * 2).as_nanos() as u64;
            self.seen.energy = Some(energy(device, each, budget, body)?);
        }
        self.seen.warm_up = (warmed.took, warmed.bodies);
        self.seen.warm_clock = warmed.clock;
        device.sync()?; // errors that are still to come are this body's
        self.finish(windows, first, warm_up_bodies)
    }

    /// Whether the queue may stand still while the body enqueues: it must not wait for it, and it must be worth it. A
    /// body with streams of its own forks and joins them, which needs no hold.
    fn may_hold(&self, warmed: &Warmed, body: &Body<'_>) -> bool {
        let never_waits = self.seen.audits.iter().all(|audit| audit.waited == Some(false));
        self.seen.mode.is_by_device_clock()
            && self.seen.returns == Returns::Enqueued
            && body.beside == 0
            && never_waits
            && warmed.each < HOLD_BELOW
    }

    /// Finds how many bodies a sample has.
    fn find_bodies(&mut self, warmed: &Warmed, body: &mut Body<'_>) -> Result<(), Error> {
        let smoke = self.bencher.settings.limits.min_time.is_zero();
        let wanted = match self.seen.mode {
            _ if smoke => return Ok(()),
            Mode::Event | Mode::Cold => return Ok(()), // one body, so that each has its own time
            Mode::Sync => {
                Duration::from_nanos((ROUND_TRIPS * self.seen.calibration.round_trip) as u64).max(BLOCK)
            }
            Mode::Hot => BATCH,
        };
        let mut bodies = 1;
        if warmed.each < wanted.as_nanos() as u64 {
            loop {
                let (took, _) = sample(self.device, self.seen.mode, self.hold, bodies, body)?;
                if self.expired(&took) {
                    continue;
                }
                let took = took.device.map_or(took.wall, |device| device as u64);
                let (more, settled) = grow(bodies, Duration::from_nanos(took), wanted);
                bodies = more;
                if settled {
                    break;
                }
            }
        }
        self.seen.bodies = bodies;
        Ok(())
    }

    fn sample_all(&mut self, body: &mut Body<'_>) -> Result<Windows, Error> {
        let limits = self.bencher.settings.limits;
        let least = match self.seen.mode {
            _ if limits.min_time.is_zero() => limits.batches.max(1),
            Mode::Hot => BATCHES.max(limits.batches),
            _ => LEAST.max(limits.batches),
        };
        let clock = self.bencher.settings.clock.clone();
        let (mut windows, mut watch) = (Windows::measured(clock.clone()), Watch::begin(&clock));
        let mut stop = Stop::new(least, limits.min_time);
        let mut times = Vec::new();
        self.bencher.mute_regions(false);
        self.bencher.enter(Phase::Timed);
        loop {
            let (sample, sides) = self.one(self.seen.bodies, body, &mut windows)?;
            if self.expired(&sample) {
                continue; // its time is that of the hold
            }
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

    /// Blocks as somebody outside asks for them: a duel.
    fn paced(&mut self, pace: Paced, body: &mut Body<'_>) -> Result<Windows, Error> {
        let Paced(mut pace) = pace;
        let mut windows = Windows::measured(self.bencher.settings.clock.clone());
        self.bencher.mute_regions(false);
        self.bencher.enter(Phase::Timed);
        pace.ready(self.bencher.per_iteration.get());
        while let Some(bodies) = pace.next() {
            let bodies = bodies.max(1);
            let (mut sample, mut sides) = self.one(bodies, body, &mut windows)?;
            if self.expired(&sample) {
                (sample, sides) = self.one(bodies, body, &mut windows)?;
            }
            let wall = sample.device.unwrap_or(sample.wall as f64).round() as u64;
            pace.took(Block { iterations: bodies, wall, ..windows.last });
            self.seen.bodies = bodies;
            self.take(sample, &sides, windows.last.cpu)?;
        }
        Ok(windows)
    }

    fn one(
        &self,
        bodies: u64,
        body: &mut Body<'_>,
        windows: &mut Windows,
    ) -> Result<(DeviceSample, Sides), Error> {
        windows.open();
        let taken = sample(self.device, self.seen.mode, self.hold, bodies, body);
        windows.close();
        taken
    }

    /// Whether the sample's queue was held and went on by itself, since the body waited for it: then none is held again.
    fn expired(&mut self, sample: &DeviceSample) -> bool {
        let expired = sample.held && self.device.hold_expired();
        if expired {
            self.seen.hold_expired = true;
            self.hold = None;
        }
        expired
    }

    /// Takes in a sample; looks at the device now and then, outside of every window.
    fn take(&mut self, sample: DeviceSample, sides: &Sides, cpu: u64) -> Result<(), Error> {
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
        self.sampled += sample.wall;
        self.seen.samples.push(sample);
        let pause = LOOK.min(self.bencher.settings.limits.min_time.as_nanos() as u64 / LOOKS);
        if self.sampled - self.looked >= pause {
            self.looked = self.sampled;
            if let Some(bits) = self.device.telemetry().throttle {
                let told = !throttle_reasons(bits).is_empty();
                self.seen.throttled |= bits;
                self.seen.looks = (self.seen.looks.0 + 1, self.seen.looks.1 + u64::from(told));
            }
            self.look_at_memory()?;
        }
        Ok(())
    }

    fn look_at_memory(&mut self) -> Result<(), Error> {
        if self.seen.memory.len() < MEMORY_LOOKS {
            self.seen.memory.extend(self.device.memory()?);
        }
        Ok(())
    }

    /// What was seen becomes the observation; doubts that fail the case become its error.
    fn finish(mut self, mut windows: Windows, first: u64, warm_up: u64) -> Result<(), Error> {
        let overlaps = std::mem::take(&mut self.overlaps);
        self.seen.overlap = (!overlaps.is_empty()).then(|| stats::median(&overlaps));
        let bodies = self.seen.bodies as f64 * self.walls.len() as f64;
        let phase =
            |(name, sum): (&'static str, f64)| DevicePhase { name: name.to_owned(), each: sum / bodies };
        self.seen.phases = std::mem::take(&mut self.phases).into_iter().map(phase).collect();
        leave_out_low_clocks(&mut self.seen);
        self.seen.doubts = doubts(&self.seen);
        let failing = self
            .seen
            .doubts
            .iter()
            .find(|doubt| doubt.is_fatal() && !self.seen.known.iter().any(|known| known == doubt.name()));
        if let Some(doubt) = failing {
            return Err(Error::new(format!(
                "{doubt}; a scenario that means it says `.knows_of(\"{}\")`",
                doubt.name()
            )));
        }
        let state = &mut self.bencher.state.borrow_mut();
        let seen = &mut state.seen;
        seen.taken = Some(Taken::Iterations);
        seen.iterations_per_sample = self.seen.bodies;
        seen.passes = self.walls.len() as u64 / self.bencher.settings.limits.batches.max(1);
        seen.warmup = warm_up;
        seen.first_item = Some(first);
        seen.wall = self.walls.iter().sum();
        seen.usage = windows.usage;
        seen.hardware = windows.hardware();
        seen.samples = self.walls;
        seen.cpu = self.cpu;
        seen.classify();
        let iterations = seen.iterations();
        let [elements, bytes, flops] = self.seen.stated;
        (seen.elements, seen.bytes, seen.flops) =
            (elements * iterations, bytes * iterations, flops * iterations);
        seen.device = Some(Box::new(self.seen));
        Ok(())
    }
}

/// Leaves out the samples that the device took at a low clock: for that cause and for no other, and counted.
fn leave_out_low_clocks(seen: &mut OnDevice) {
    let clocks = seen.clocks();
    if clocks.is_empty() {
        return;
    }
    let least = LOW_CLOCK * stats::quantile(&clocks, 0.95);
    let all = seen.samples.len();
    seen.samples.retain(|sample| sample.clock.is_none_or(|clock| clock >= least));
    seen.discarded = (all - seen.samples.len()) as u64;
}
