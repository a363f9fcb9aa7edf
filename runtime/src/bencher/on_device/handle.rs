//! What an author holds of a device: how its bodies are to be timed, and the call that times one.

use std::rc::Rc;

use super::sample::DeviceBody;
use super::sampling::{DeviceRequest, DeviceSampling};
use super::{PLATFORM, Stream};
use crate::bencher::{Bencher, Error, Phase, Purpose, Result, skip};
use crate::device::{Backend, Device, DeviceInfo, Numbers, open_device};
use crate::metric::{DeviceCaveat, Mode, Returns};

/// A device, and how a body is timed on it.
///
/// Without another word the body enqueues its work on the stream that it is handed and returns, and the
/// harness waits for it (mode `sync`). `--mode` goes over the mode that the scenario asks for.
///
/// ```
/// use weighbridge::prelude::*;
/// use weighbridge::{Mode, gpu::Backend};
///
/// /// Adds two vectors on the device.
/// #[scenario(id = "ADD-1")]
/// fn add(bencher: &mut Bencher) -> Result<()> {
///     let len = 1 << 20;
///     bencher.elements(len).bytes(3 * 4 * len);
///     let device = bencher.device()?.on(Backend::Cuda)?; // a skip on the host
///     device.mode(Mode::Event).time(|stream| {
///         let stream = stream.raw()?; // a `CUstream`, as a plain pointer
/// #       fn launch(_: *mut std::ffi::c_void) -> weighbridge::Result<()> { Ok(()) }
///         launch(stream) // enqueues, and does not wait
///     })
/// }
/// # fn main() {}
/// ```
#[derive(Debug)]
pub struct DeviceBencher<'a> {
    bencher: &'a Bencher,
    device: Rc<dyn Device>,
    mode: Option<Mode>,
    returns: Returns,
    beside: usize,
    numbers: Option<Numbers>,
    allowed: Vec<String>,
}

impl Bencher {
    /// The device of the platform that the run was asked for (`--platform gpu`); on the platform `cpu` the
    /// host, which has no streams.
    ///
    /// # Errors
    /// When there is no such device: `no CUDA device (libcuda.so.1 cannot be opened)`.
    pub fn device(&self) -> Result<DeviceBencher<'_>> {
        let mut opened = self.device.borrow_mut();
        let device = match &*opened {
            Some(device) => device.clone(),
            None => {
                let platform = self.settings.run.platform;
                let device = open_device(platform)
                    .map_err(|why| Error::new(format!("platform {platform} was asked for: {why}")))?;
                opened.insert(device).clone()
            }
        };
        let returns = Returns::default();
        let (beside, allowed) = (0, Vec::new());
        Ok(DeviceBencher { bencher: self, device, mode: None, returns, beside, numbers: None, allowed })
    }

    /// Surfaces what the device has not told yet, where one was opened: so that the case that caused it is
    /// blamed.
    pub(crate) fn check_device(&self) -> Result<()> {
        match &*self.device.borrow() {
            Some(device) => Ok(device.sync()?),
            None => Ok(()),
        }
    }
}

impl DeviceBencher<'_> {
    /// The description of the device.
    pub fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    /// The same, on this backend alone: what is loaded for a device must not be loaded without one.
    ///
    /// # Errors
    /// A skip on another backend.
    pub fn on(self, backend: Backend) -> Result<Self> {
        let here = self.info().backend;
        let needs = format!("needs the backend {backend:?}, and this is {}: {PLATFORM}", self.info().name);
        if here == backend { Ok(self) } else { Err(skip(needs)) }
    }

    /// Tells how the body is timed, unless the command line says otherwise.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode: Some(mode), ..self }
    }

    /// Declares that the work of the body is done when it returns: a framework that synchronises by itself.
    /// It is checked, and a body that forgot to synchronise fails the case. Such a body is timed by the
    /// host's clock.
    #[must_use]
    pub fn returns_complete(self) -> Self {
        Self { returns: Returns::Complete, ..self }
    }

    /// Declares that the body enqueues on so many streams beside its own ([`Stream::beside`]): they begin and
    /// end with it, and their time is the one from the first start to the last end.
    #[must_use]
    pub fn streams(self, beside: usize) -> Self {
        Self { beside, ..self }
    }

    /// Says in which numbers the body multiplies, so that its operations ([`Bencher::flops`]) stand beside
    /// the product of matrices of the same. Without it they stand beside none: nothing in them tells, and a
    /// share of another type's product would look like one.
    #[must_use]
    pub fn multiplies(self, numbers: Numbers) -> Self {
        Self { numbers: Some(numbers), ..self }
    }

    /// Allows a caveat: the record has it, but it fails no case. By its name, as `hidden-stream`.
    #[must_use]
    pub fn allow(mut self, caveat: &str) -> Self {
        self.allowed.push(caveat.to_owned());
        self
    }

    /// Times the body.
    ///
    /// # Errors
    /// What the body or the device failed with; a mode that the device has not; in a duel and in a smoke run
    /// the caveats `forgot-to-sync` and `hidden-stream`, unless they are allowed. (The rule `device` fails a
    /// measured case for them.)
    pub fn time(self, mut run: impl FnMut(&Stream<'_>) -> Result<()>) -> Result<()> {
        if !self.bencher.begin_body() {
            return Ok(()); // refused at the end, with what to do about it
        }
        let unknown = self.allowed.iter().find(|name| !DeviceCaveat::NAMES.contains(&name.as_str()));
        if let Some(name) = unknown {
            let names = DeviceCaveat::NAMES.join(", ");
            return Err(Error::new(format!("`{name}` is no caveat that can be allowed: there are {names}")));
        }
        let bencher = self.bencher;
        bencher.enter(Phase::WarmUp);
        bencher.mute_regions(true);
        let ran = self.measure(&mut run);
        bencher.mute_regions(false);
        if ran.is_ok() {
            bencher.enter(Phase::TearDown);
        }
        ran
    }

    fn measure(&self, run: &mut super::sample::BodyRun<'_>) -> Result<()> {
        let device = &*self.device;
        device.open_queues(self.beside)?;
        let mut body = DeviceBody::new(run).collecting(&self.bencher.collecting_by_device);
        body.beside = self.beside;
        if self.bencher.settings.purpose == Purpose::Verify {
            body.run(device)?;
            return Ok(device.sync()?);
        }
        let asked = self.bencher.settings.run.mode.or(self.mode);
        let mode = match (asked, self.returns) {
            (Some(mode), Returns::Enqueued) => mode,
            // A body that synchronises leaves the device's clock nothing to see that the host's does not.
            _ => Mode::Sync,
        };
        let asked = DeviceRequest {
            mode,
            returns: self.returns,
            numbers: self.numbers,
            allowed: self.allowed.clone(),
        };
        DeviceSampling::new(self.bencher, device, asked)?.run(&mut body)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "exact numbers are meant")]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::time::Duration;

    use super::super::double::{ASK, Double, LAUNCH, QUANTUM, STAMP, SYNC};
    use super::*;
    use crate::bencher::{Budget, Pace, PerIteration, RepeatResult, RunSettings, Settings};
    use crate::device::{Queue, Telemetry};
    use crate::metric::{Block, DEVICE_METRICS, Note, OnDevice, Reading, SamplingEnd, Stationarity, TimedBy};

    const BUDGET: Budget =
        Budget { warmup: 3, batches: 20, min_time: Duration::from_millis(50), max_time: None };

    fn bencher(device: &Rc<Double>, mode: Option<Mode>) -> Bencher {
        bencher_within(BUDGET, device, mode)
    }

    fn bencher_within(budget: Budget, device: &Rc<Double>, mode: Option<Mode>) -> Bencher {
        let device: Rc<dyn Device> = device.clone();
        let run = RunSettings { mode, ..RunSettings::DEFAULT };
        Bencher::new(Settings { run, device: Some(device), ..Settings::new(Purpose::Measure, budget) })
    }

    fn seen(bencher: Bencher) -> (RepeatResult, OnDevice) {
        let seen = bencher.finish().unwrap();
        let on = seen.seen.device.clone().expect("a body ran on the device");
        (seen, *on)
    }

    fn names(on: &OnDevice) -> Vec<&'static str> {
        on.caveats.iter().map(DeviceCaveat::name).collect()
    }

    fn value(seen: &RepeatResult, name: &str) -> Reading {
        let metric = DEVICE_METRICS.iter().find(|metric| metric.name == name).unwrap();
        (metric.read)(&seen.seen)
    }

    #[test]
    fn a_kernel_of_two_milliseconds_takes_two_milliseconds_in_every_mode() {
        for mode in Mode::ALL {
            let device = Double::new();
            let bencher = bencher(&device, None);
            let ran = bencher.device().unwrap().mode(mode).time(|_| {
                device.kernel(Queue::MEASURED, 2_000_000);
                Ok(())
            });
            ran.unwrap();
            let (_, on) = seen(bencher);
            assert_eq!((on.mode, on.enough), (mode, SamplingEnd::Narrow));
            let time = crate::stats::median(&on.times());
            let expected = match mode {
                Mode::Sync => (LAUNCH + 2_000_000 + SYNC) as f64,
                // A kernel of over a millisecond is not held: the launch lies between the stamps.
                Mode::Event | Mode::Cold => 2_000_000.0 + STAMP as f64 + LAUNCH as f64 / 2.0,
                Mode::Hot => 2_000_000.0,
            };
            assert!((time - expected).abs() <= QUANTUM as f64 + STAMP as f64, "{mode}: {time} {expected}");
            assert!(names(&on).is_empty(), "{mode}: {:?}", on.caveats);
        }
    }

    #[test]
    fn a_short_kernel_is_held_so_that_its_launch_is_not_in_its_time() {
        let device = Double::new();
        let bencher = bencher(&device, Some(Mode::Event));
        bencher
            .device()
            .unwrap()
            .time(|_| {
                device.kernel(Queue::MEASURED, 50_000);
                Ok(())
            })
            .unwrap();
        let (seen, on) = seen(bencher);
        assert!(
            on.samples.iter().all(|sample| sample.held && sample.device == Some((50_000 + STAMP) as f64))
        );
        assert_eq!(value(&seen, "device_time"), Reading::Value((50_000 + STAMP) as f64 * 1e-9));
        assert_eq!(seen.seen.samples.len(), on.samples.len());
        assert_eq!(seen.seen.wall, seen.seen.samples.iter().sum::<u64>());
    }

    #[test]
    fn a_body_that_says_it_is_complete_and_is_not_has_a_caveat_with_the_evidence_and_the_remedy() {
        let run = |known: bool| {
            let device = Double::new();
            let bencher = bencher(&device, Some(Mode::Event));
            let on = bencher.device().unwrap().returns_complete();
            let on = if known { on.allow("forgot-to-sync") } else { on };
            let ran = on.time(|_| {
                device.kernel(Queue::MEASURED, 2_000_000);
                Ok(())
            });
            (ran, bencher)
        };
        for known in [false, true] {
            let (ran, bencher) = run(known);
            ran.unwrap();
            let (_, on) = seen(bencher);
            assert_eq!((on.mode, names(&on)), (Mode::Sync, vec!["forgot-to-sync"]));
            let why = on.caveats[0].to_string();
            assert!(why.contains("the body returned after 2.0 us, its work was done after 2.01 ms"), "{why}");
            assert!(why.contains("remedy") && on.allowed.len() == usize::from(known), "{why}");
        }
    }

    #[test]
    fn work_on_a_stream_that_nobody_declared_has_a_caveat_by_events_and_is_seen_by_sync() {
        let run = |mode| {
            let device = Double::new();
            let bencher = bencher(&device, Some(mode));
            let ran = bencher.device().unwrap().time(|_| {
                device.kernel(Queue::MEASURED, 10_000);
                device.hidden(2_000_000);
                Ok(())
            });
            (ran, bencher)
        };
        let (ran, bencher) = run(Mode::Event);
        ran.unwrap();
        assert_eq!(names(&seen(bencher).1), ["hidden-stream"]);
        let (ran, bencher) = run(Mode::Sync);
        ran.unwrap();
        let (_, on) = seen(bencher);
        assert!(on.times().iter().all(|time| *time > 2_000_000.0), "{:?}", on.times());
    }

    #[test]
    fn a_body_that_synchronises_is_never_held() {
        let device = Double::new();
        let bencher = bencher(&device, Some(Mode::Event));
        let ran = bencher.device().unwrap().time(|_| {
            device.kernel(Queue::MEASURED, 10_000);
            Ok(device.sync()?)
        });
        ran.unwrap();
        let (_, on) = seen(bencher);
        assert_eq!(names(&on), ["synchronises"]);
        assert!(on.samples.iter().all(|sample| !sample.held));
    }

    #[test]
    fn tiny_kernels_in_a_row_are_bound_by_launches_and_a_replay_is_not() {
        let device = Double::new();
        let bencher = bencher(&device, Some(Mode::Hot));
        let ran = bencher.device().unwrap().time(|_| {
            device.kernel(Queue::MEASURED, 100);
            Ok(())
        });
        ran.unwrap();
        let (_, on) = seen(bencher);
        assert_eq!(names(&on), ["launch-bound"]);
        let replayed = on.replayed.as_ref().unwrap().each.value().unwrap();
        assert!((100.0..200.0).contains(&replayed), "{replayed}");
        let each = crate::stats::median(&on.times());
        assert!((LAUNCH as f64 * 0.9..LAUNCH as f64 * 1.1).contains(&each), "{each}");
        assert!(on.bodies > 1_000 && on.samples.len() >= 20, "{} {}", on.bodies, on.samples.len());
    }

    #[test]
    fn a_lower_clock_is_left_out_for_its_cause_and_counted() {
        let device = Double::new();
        // Warm-up looks at no clock here: the samples alone have one.
        let bencher = bencher(&device, Some(Mode::Event));
        let mut call = 0;
        let ran = bencher.device().unwrap().time(|_| {
            call += 1;
            let clock = if call % 10 == 0 { 1_000.0 } else { 2_000.0 };
            device.clocks.borrow_mut().push_back(clock);
            device.kernel(Queue::MEASURED, 400_000);
            Ok(())
        });
        ran.unwrap();
        let (seen, on) = seen(bencher);
        assert!(on.discarded > 0 && on.clocks().iter().all(|clock| *clock == 2_000.0), "{}", on.discarded);
        assert_eq!(seen.seen.samples.len() as u64, on.samples.len() as u64 + on.discarded);
    }

    #[test]
    fn the_course_of_samples_is_by_the_clock_that_times_them() {
        let device = Double::new();
        let bencher = bencher(&device, Some(Mode::Event));
        let mut call = 0;
        let ran = bencher.device().unwrap().time(|_| {
            call += 1;
            // Enqueueing takes longer and longer, and the queue stands still meanwhile.
            device.host(call * 100);
            device.kernel(Queue::MEASURED, 50_000);
            Ok(())
        });
        ran.unwrap();
        let (seen, on) = seen(bencher);
        let walls: Vec<f64> = seen.seen.samples.iter().map(|wall| *wall as f64).collect();
        let by_host = crate::stats::steady_state(&walls).unwrap().stationarity;
        assert_ne!(by_host, crate::stats::Stationarity::Flat, "{}", on.samples.len());
        assert_eq!(seen.seen.stationarity, Some(Stationarity::Flat));
    }

    #[test]
    fn throttling_is_looked_for_between_samples() {
        let device = Double::new();
        *device.telemetry.borrow_mut() = Telemetry { throttle: Some(0x48), ..Telemetry::default() };
        let bencher = bencher(&device, Some(Mode::Event));
        let ran = bencher.device().unwrap().time(|_| {
            device.kernel(Queue::MEASURED, 2_000_000);
            Ok(())
        });
        ran.unwrap();
        let (_, on) = seen(bencher);
        assert_eq!((names(&on), on.throttled), (vec!["throttled"], 0x48));
        assert!(on.looks.0 >= 2 && on.looks.0 == on.looks.1, "{:?}", on.looks);
    }

    #[test]
    fn memory_that_grows_with_the_samples_is_told() {
        let device = Double::new();
        let bencher = bencher(&device, Some(Mode::Event));
        let ran = bencher.device().unwrap().time(|_| {
            device.used.set(device.used.get() + 512);
            device.kernel(Queue::MEASURED, 2_000_000);
            Ok(())
        });
        ran.unwrap();
        let (seen, on) = seen(bencher);
        assert_eq!(names(&on), ["memory-growth"]);
        assert_eq!(value(&seen, "device_memory_used").value(), on.memory.last().map(|last| last.used as f64));
    }

    #[test]
    fn a_device_that_was_lost_ends_the_body_and_says_so() {
        let device = Double::new();
        device.fails_in.set(Some(500));
        let bencher = bencher(&device, Some(Mode::Event));
        let ran = bencher.device().unwrap().time(|_| {
            device.kernel(Queue::MEASURED, 10_000);
            Ok(())
        });
        let error = ran.unwrap_err();
        assert!(error.is_lost(), "{error}");
        assert!(error.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS (code 700)"), "{error}");
    }

    #[test]
    fn blocks_are_recorded_in_measured_samples_only() {
        for mode in Mode::ALL {
            let device = Double::new();
            device.watts.set(500.0); // bodies in a row for the energy of one, after the samples
            let budget = Budget { min_time: Duration::from_millis(500), ..BUDGET };
            let bencher = bencher_within(budget, &device, Some(mode));
            let ran = bencher.device().unwrap().time(|_| {
                bencher.measure_with("launch", &[], || device.kernel(Queue::MEASURED, 1_000_000));
                Ok(())
            });
            ran.unwrap();
            let (seen, on) = seen(bencher);
            assert!(on.energy.is_some_and(|energy| energy.value().is_some()), "{mode}");
            assert_eq!(seen.seen.regions.len() as u64, seen.seen.iterations(), "{mode}");
        }
    }

    #[test]
    fn collectors_are_in_no_sample_that_was_held_and_are_told_where_the_device_worked_meanwhile() {
        let run = |ns: u64, blocks: bool| {
            let device = Double::new();
            let bencher = bencher(&device, Some(Mode::Event));
            let ran = bencher.device().unwrap().time(|_| {
                if blocks {
                    bencher.measure("before", || ());
                }
                device.kernel(Queue::MEASURED, ns);
                Ok(())
            });
            ran.unwrap();
            let (seen, on) = seen(bencher);
            (on.samples[0], seen.seen.notes)
        };
        let (plain, _) = run(50_000, false);
        let (held, notes) = run(50_000, true);
        let parts = |sample: &crate::metric::DeviceSample| (sample.wall, sample.enqueue, sample.device);
        assert_eq!(parts(&held), parts(&plain));
        assert!(notes.is_empty(), "{notes:?}");

        let (plain, _) = run(2_000_000, false);
        let (loose, notes) = run(2_000_000, true);
        assert_eq!(loose.enqueue, plain.enqueue + 2 * ASK);
        assert_eq!(notes, [Note::Collectors(20_000.0)]);
    }

    #[test]
    fn on_the_host_collectors_are_in_no_sample() {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, BUDGET));
        let ran = bencher.device().unwrap().time(|_| {
            bencher.measure("outer", || (0..10).for_each(|_| bencher.measure("inner", || ())));
            Ok(())
        });
        ran.unwrap();
        let collecting = bencher.collecting_by_device.get();
        let (seen, _) = seen(bencher);
        // Nothing but collectors: what is left of a body is a small part of what they took of it.
        let each = seen.seen.wall / seen.seen.iterations();
        let of_body = collecting / (seen.seen.iterations() + seen.seen.warmup);
        assert!(each < of_body / 2, "{each} of {of_body}");
    }

    #[test]
    fn the_peak_of_memory_is_that_of_all_samples_whatever_blocks_start_it_again() {
        let device = Double::new();
        let budget = Budget { batches: 100, ..BUDGET }; // more samples than looks
        let bencher = bencher_within(budget, &device, Some(Mode::Event));
        let mut calls = 0;
        let ran = bencher.device().unwrap().time(|_| {
            calls += 1;
            device.peak.set(device.peak.get().max(calls));
            device.kernel(Queue::MEASURED, 10_000_000);
            Ok(())
        });
        ran.unwrap();
        let (seen_at_last, on) = seen(bencher);
        assert!(on.samples.len() > 64 && on.memory.len() == 65, "{}", on.memory.len());
        assert_eq!(value(&seen_at_last, "device_peak_memory"), Reading::Value(calls as f64));

        let device = Double::new();
        let bencher = bencher_within(BUDGET, &device, Some(Mode::Event));
        let ran = bencher.device().unwrap().time(|_| {
            device.peak.set(4096);
            bencher.measure("block", || device.peak.set(512));
            device.kernel(Queue::MEASURED, 2_000_000);
            Ok(())
        });
        ran.unwrap();
        let (seen, _) = seen(bencher);
        assert_eq!(value(&seen, "device_peak_memory"), Reading::Value(4096.0));
        assert_eq!(seen.seen.regions[0].device_peak_memory, Some(Reading::Value(512.0)));
    }

    #[test]
    fn nothing_counts_of_a_sample_whose_hold_went_on_by_itself() {
        use std::io::Write;

        let device = Double::new();
        let bencher = bencher(&device, Some(Mode::Event));
        let mut expired = false;
        let mut nowhere = std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap();
        let ran = bencher.device().unwrap().time(|_| {
            bencher.measure_with("launch", &[], || device.kernel(Queue::MEASURED, 50_000));
            if bencher.recorded_regions() == 5 && !std::mem::replace(&mut expired, true) {
                device.expired.set(true);
                nowhere.write_all(&vec![0; 1 << 20]).unwrap();
            }
            Ok(())
        });
        ran.unwrap();
        assert!(expired);
        let (seen, on) = seen(bencher);
        assert_eq!(names(&on), ["deadlock-under-hold"]);
        assert_eq!(on.samples.iter().filter(|sample| sample.held).count(), 4);
        assert_eq!(seen.seen.regions.len(), on.samples.len());
        // Where the system does not tell, there is nothing to see.
        let written = seen.seen.usage.moved.map_or(0, |moved| moved.written);
        assert!(written < 1 << 20, "{written}");
    }

    /// Blocks that were told of, and whether it was told that they can start.
    #[derive(Clone, Default)]
    struct ToldOnce {
        ready: Rc<Cell<bool>>,
        blocks: Rc<RefCell<Vec<Block>>>,
    }

    /// Asks for these blocks, the last first, and keeps what it is told.
    struct Script(Vec<u64>, ToldOnce);

    impl Pace for Script {
        fn ready(&mut self, _: PerIteration) {
            self.1.ready.set(true);
        }

        fn next(&mut self) -> Option<u64> {
            self.0.pop()
        }

        fn took(&mut self, block: Block) {
            self.1.blocks.borrow_mut().push(block);
        }
    }

    /// A bencher that is asked for these blocks, and what it tells of them.
    fn paced(device: &Rc<Double>, mode: Mode, inject: f64, asks: Vec<u64>) -> (Bencher, ToldOnce) {
        let told = ToldOnce::default();
        let device: Rc<dyn Device> = device.clone();
        let settings = Settings {
            run: RunSettings { mode: Some(mode), ..RunSettings::DEFAULT },
            device: Some(device),
            pace: Some(Box::new(Script(asks, told.clone()))),
            inject,
            ..Settings::new(Purpose::Measure, BUDGET)
        };
        (Bencher::new(settings), told)
    }

    #[test]
    fn a_block_of_a_duel_is_of_bodies_alone_each_with_a_cold_cache() {
        for (mode, flushes) in [(Mode::Event, 0), (Mode::Cold, 1 + 4 + 7)] {
            let device = Double::new();
            let (bencher, told) = paced(&device, mode, 0.0, vec![7, 4, 1]);
            let body = |_: &Stream<'_>| {
                device.kernel(Queue::MEASURED, 50_000);
                Ok(())
            };
            bencher.device().unwrap().time(body).unwrap();
            let each = 50_000 + STAMP;
            let blocks: Vec<_> =
                told.blocks.borrow().iter().map(|block| (block.iterations, block.wall, block.by)).collect();
            assert_eq!(blocks, [1, 4, 7].map(|bodies| (bodies, bodies * each, TimedBy::Device)), "{mode}");
            assert_eq!(device.flushes.get(), flushes, "{mode}");
            let (_, on) = seen(bencher);
            assert_eq!((on.bodies, on.samples.len()), (1, 12), "{mode}");
        }
    }

    #[test]
    fn a_duel_measures_nothing_beside_its_blocks() {
        let device = Double::new();
        device.watts.set(500.0);
        let (bencher, told) = paced(&device, Mode::Hot, 0.0, vec![20, 20, 10]);
        let body = |_: &Stream<'_>| {
            bencher.measure_with("launch", &[], || device.kernel(Queue::MEASURED, 50_000));
            Ok(())
        };
        bencher.device().unwrap().time(body).unwrap();
        assert_eq!(told.blocks.borrow().len(), 3);
        let (seen, on) = seen(bencher);
        assert!(on.rooflines.is_empty() && on.replayed.is_none() && on.energy.is_none(), "{on:?}");
        assert!(seen.seen.regions.is_empty());
        assert_eq!((on.bodies, on.samples.len()), (20, 2), "those of 10 are no samples of 20");
    }

    #[test]
    fn a_duel_ends_with_the_caveats_that_fail_a_case() {
        let device = Double::new();
        let (bencher, told) = paced(&device, Mode::Event, 0.0, vec![1; 9]);
        let body = |_: &Stream<'_>| {
            device.kernel(Queue::MEASURED, 2_000_000);
            Ok(())
        };
        let why = bencher.device().unwrap().returns_complete().time(body).unwrap_err().to_string();
        assert!(why.contains("forgot to synchronise"), "{why}");
        assert!(!told.ready.get() && told.blocks.borrow().is_empty());

        let hides = |known: &str| {
            let device = Double::new();
            let (bencher, told) = paced(&device, Mode::Event, 0.0, vec![1; 9]);
            let ran = bencher.device().unwrap().allow(known).time(|_| {
                device.kernel(Queue::MEASURED, 10_000);
                device.hidden(2_000_000);
                Ok(())
            });
            let told = told.blocks.borrow().len();
            (ran, told)
        };
        let (ran, told) = hides("throttled");
        let why = ran.unwrap_err().to_string();
        assert!(why.contains("hidden stream") && told == 2, "{told}: {why}");
        let (ran, told) = hides("hidden-stream");
        assert_eq!((ran.is_ok(), told), (true, 9));
    }

    #[test]
    fn a_slowdown_is_planted_in_the_blocks_of_a_duel_and_refused_elsewhere() {
        for mode in Mode::ALL {
            let walls = |inject| {
                let device = Double::new();
                let (bencher, told) = paced(&device, mode, inject, vec![50]);
                let body = |_: &Stream<'_>| {
                    device.kernel(Queue::MEASURED, 50_000);
                    Ok(())
                };
                bencher.device().unwrap().time(body).unwrap();
                let block = told.blocks.borrow()[0];
                assert_eq!(block.iterations, 50, "{mode}");
                block.wall as f64
            };
            let slower = walls(0.02) / walls(0.0);
            assert!((1.019..1.021).contains(&slower), "{mode}: {slower}");
        }
        let device: Rc<dyn Device> = Double::new();
        let settings = Settings::new(Purpose::Measure, BUDGET);
        let bencher = Bencher::new(Settings { device: Some(device), inject: 0.02, ..settings });
        let skipped = bencher.device().unwrap().time(|_| Ok(())).unwrap_err();
        assert!(skipped.is_skip() && skipped.to_string().contains("--versus"), "{skipped}");
    }

    #[test]
    fn a_thread_that_waits_for_a_device_is_never_taken_for_one_that_works() {
        let device = Double::new();
        let (bencher, told) = paced(&device, Mode::Sync, 0.0, vec![5]);
        let body = |_: &Stream<'_>| {
            device.kernel(Queue::MEASURED, 50_000);
            Ok(())
        };
        bencher.device().unwrap().time(body).unwrap();
        let block = told.blocks.borrow()[0];
        assert!(block.by == TimedBy::Host && block.waits > 0, "{block:?}");
    }

    #[test]
    fn a_caveat_that_does_not_exist_cannot_be_allowed() {
        let device = Double::new();
        let bencher = bencher(&device, None);
        let why = bencher.device().unwrap().allow("nonsense").time(|_| Ok(())).unwrap_err().to_string();
        assert!(why.contains("`nonsense`") && why.contains("hidden-stream"), "{why}");
    }

    #[test]
    fn a_body_for_another_backend_is_skipped() {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, BUDGET));
        let skipped = bencher.device().unwrap().on(Backend::Cuda).unwrap_err();
        assert!(skipped.is_skip() && skipped.to_string().contains("--platform gpu"), "{skipped}");
        assert!(bencher.device().unwrap().on(Backend::Cpu).is_ok());
    }

    #[test]
    fn the_host_has_no_streams_and_cannot_flush() {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, BUDGET));
        let skipped = bencher.device().unwrap().time(|stream| stream.raw().map(drop)).unwrap_err();
        assert!(skipped.is_skip() && skipped.to_string().contains("--platform gpu"), "{skipped}");
        let bencher = Bencher::new(Settings::new(Purpose::Measure, BUDGET));
        let cold = bencher.device().unwrap().mode(Mode::Cold).time(|_| Ok(())).unwrap_err().to_string();
        assert!(cold.contains("flush the cache"), "{cold}");
    }

    #[test]
    fn on_the_host_a_body_is_timed_like_any_other() {
        let bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
        bencher.elements(3);
        bencher.device().unwrap().time(|_| Ok(())).unwrap();
        let (seen, on) = seen(bencher);
        assert_eq!((on.samples.len(), seen.seen.samples.len()), (2, 2));
        assert_eq!(seen.seen.elements, 6 * on.bodies);
    }

    #[test]
    fn a_verifying_repeat_runs_the_body_once() {
        let device = Double::new();
        let given: Rc<dyn Device> = device.clone();
        let bencher =
            Bencher::new(Settings { device: Some(given), ..Settings::new(Purpose::Verify, BUDGET) });
        let mut calls = 0;
        bencher
            .device()
            .unwrap()
            .time(|_| {
                calls += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(calls, 1);
    }
}
