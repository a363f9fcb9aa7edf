//! One sample of a body on a device. These are timed regions: between the first and the last reading of a
//! clock there is the body and what its timing needs, and nothing else.

use std::cell::Cell;

use super::Stream;
use super::stream::StreamPhases;
use crate::bencher::Error;
use crate::device::{Backend, CycleStamp, Device, DeviceError, Hold, Queue, QueueMark};
use crate::metric::{DeviceSample, Mode};

/// The most bodies that a held queue takes.
const HELD: u64 = 2;

/// The most looks while a held queue settles: a clock that stands must not be waited for.
const MOST_LOOKS: u32 = 10_000;

/// A body as the author hands it in.
pub(super) type BodyRun<'a> = dyn FnMut(&Stream<'_>) -> Result<(), Error> + 'a;

/// A body, and the queues that it has beside the measured one.
pub(super) struct DeviceBody<'a> {
    run: &'a mut BodyRun<'a>,
    pub(super) beside: usize,
    /// Handed to the body as the number of the call, so that it may rotate its inputs.
    calls: u64,
    phases: StreamPhases,
    /// Nanoseconds that collectors of `measure` blocks have cost so far.
    collecting: Option<&'a Cell<u64>>,
}

impl<'a> DeviceBody<'a> {
    pub(super) fn new(run: &'a mut BodyRun<'a>) -> Self {
        Self { run, beside: 0, calls: 0, phases: StreamPhases::default(), collecting: None }
    }

    /// The same, with the count of what collectors of `measure` blocks in it cost.
    pub(super) fn collecting(self, nanoseconds: &'a Cell<u64>) -> Self {
        Self { collecting: Some(nanoseconds), ..self }
    }

    fn collected(&self) -> u64 {
        self.collecting.map_or(0, Cell::get)
    }

    /// Runs it once.
    pub(super) fn run(&mut self, device: &dyn Device) -> Result<(), Error> {
        let call = self.calls;
        self.calls += 1;
        (self.run)(&Stream::new(device, self.beside, call, &self.phases))
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls
    }
}

/// Observations about the parts of a sample, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct SampleSides {
    /// True if the queue was held, be it while a part of the bodies was enqueued.
    pub(super) held: bool,
    /// The time of each queue, the measured one first, from the beginning of the bodies until it had done
    /// what they enqueued there. Empty where the measured queue is the only one.
    pub(super) busy: Vec<f64>,
    /// Time of each phase, in the order in which they began, that before the first one first.
    pub(super) phases: Vec<(&'static str, f64)>,
    /// The cost of collectors of `measure` blocks that the sample contains: it cannot be told from what the
    /// device did meanwhile.
    pub(super) collected: u64,
}

/// Takes one sample of so many bodies. The device is drained before and after. With `hold` the queue stands
/// still while they are enqueued, and for so many nanoseconds more.
///
/// # Errors
/// When the body or the device failed. A queue that was held has been let go.
pub(super) fn sample(
    device: &dyn Device,
    mode: Mode,
    hold: Option<u64>,
    bodies: u64,
    body: &mut DeviceBody<'_>,
) -> Result<(DeviceSample, SampleSides), Error> {
    match mode {
        Mode::Sync => by_host(device, bodies, body),
        _ => by_device(device, mode == Mode::Cold, hold, bodies, body),
    }
}

/// From a drained device to a drained device, by the host's clock. The whole device: streams that nobody
/// declared count.
fn by_host(
    device: &dyn Device,
    bodies: u64,
    body: &mut DeviceBody<'_>,
) -> Result<(DeviceSample, SampleSides), Error> {
    device.stamp(CycleStamp::Before)?;
    device.sync()?; // what was enqueued before is no part of the sample
    let collected = body.collected();
    let start = device.host_ns();
    for _ in 0..bodies {
        body.run(device)?;
    }
    let returned = device.host_ns();
    device.sync()?; // the sample ends when the work has, not when the body returns
    let end = device.host_ns();
    device.stamp(CycleStamp::After)?;
    device.sync()?;
    let (out, collected) = collected_alone(device, false, body.collected() - collected);
    let sample = DeviceSample {
        wall: (end - start).saturating_sub(out),
        enqueue: (returned - start).saturating_sub(out),
        device: None,
        clock: device.clock_mhz(),
        held: false,
    };
    Ok((sample, SampleSides { collected, ..SampleSides::default() }))
}

/// Splits the cost of collectors into what is to be taken out of a sample and what stays in it. It is out
/// where nothing else went on: on the host, and while the queue stood still. Where the device worked
/// meanwhile, a body would be given less time than its work took.
fn collected_alone(device: &dyn Device, held: bool, collected: u64) -> (u64, u64) {
    if held || device.info().backend == Backend::Cpu { (collected, 0) } else { (0, collected) }
}

/// From a stamp before the first body to a stamp after the last, by the device's clock; the host's beside it.
fn by_device(
    device: &dyn Device,
    cold: bool,
    hold: Option<u64>,
    bodies: u64,
    body: &mut DeviceBody<'_>,
) -> Result<(DeviceSample, SampleSides), Error> {
    device.recycle();
    body.phases.set(false);
    if cold {
        device.flush_cache()?;
    }
    device.stamp(CycleStamp::Before)?;
    device.sync()?; // flush and stamp have ended, write-back included, before the window opens
    // A queue that stands still while the body enqueues has no gaps between its kernels: the host's part is
    // not in it.
    let mut held = if hold.is_some() { device.hold()? } else { None };
    let was_held = held.is_some();
    let collected = body.collected();
    let start = device.host_ns();
    let first = device.mark(Queue::MEASURED)?;
    let begun = fork(device, body.beside, first)?;
    body.phases.set(bodies <= HELD); // a long batch would need a stamp for each of its bodies
    for number in 0..bodies {
        if number == HELD {
            // More would fill the queue of launches, and a launch would wait for ever.
            let_go(device, held.take(), hold)?;
        }
        body.run(device)?;
    }
    // The measured queue's own end first, before it waits for the others.
    let ended = join(device, body.beside)?;
    let last = device.mark(Queue::MEASURED)?;
    let returned = device.host_ns();
    let_go(device, held, hold)?;
    device.sync()?; // the whole device, so that the host's clock sees what the measured queue did not
    let end = device.host_ns();
    device.stamp(CycleStamp::After)?;
    device.sync()?;
    let mut busy = Vec::with_capacity(ended.len());
    for (begin, end) in std::iter::once(first).chain(begun).zip(ended) {
        busy.push(device.elapsed_ns(begin, end)?);
    }
    let held = was_held && bodies <= HELD;
    let (out, collected) = collected_alone(device, held, body.collected() - collected);
    // A queue that was held began when the collectors had ended; the host's has no clock but the host's.
    let out_of_device = if held { 0 } else { out };
    let sample = DeviceSample {
        wall: (end - start).saturating_sub(out),
        enqueue: (returned - start).saturating_sub(out),
        device: Some((device.elapsed_ns(first, last)? - out_of_device as f64).max(0.0)),
        clock: device.clock_mhz(),
        held,
    };
    let phases = phases(device, first, last, &body.phases.begun())?;
    body.phases.set(false);
    Ok((sample, SampleSides { held: was_held, busy, phases, collected }))
}

/// From each stamp to the next one: all of them together are the time from the first to the last.
fn phases(
    device: &dyn Device,
    first: QueueMark,
    last: QueueMark,
    begun: &[(&'static str, QueueMark)],
) -> Result<Vec<(&'static str, f64)>, DeviceError> {
    if begun.is_empty() {
        return Ok(Vec::new());
    }
    let starts = std::iter::once(("begin", first)).chain(begun.iter().copied());
    let ends = begun.iter().map(|(_, mark)| *mark).chain(std::iter::once(last));
    starts.zip(ends).map(|((name, start), end)| Ok((name, device.elapsed_ns(start, end)?))).collect()
}

/// Lets a held queue go once what was enqueued last has come to the device: the way there takes time too, and
/// would lie between two kernels.
pub(super) fn let_go(
    device: &dyn Device,
    held: Option<Hold<'_>>,
    wait: Option<u64>,
) -> Result<(), DeviceError> {
    if let (Some(held), Some(wait)) = (held, wait) {
        let start = device.host_ns();
        for _ in 0..MOST_LOOKS {
            if device.host_ns() - start >= wait {
                break;
            }
            device.is_idle()?; // something to do, which also moves a clock that moves with calls alone
        }
        drop(held);
    }
    Ok(())
}

/// Makes the queues beside the measured one begin after `first`.
fn fork(device: &dyn Device, beside: usize, first: QueueMark) -> Result<Vec<QueueMark>, DeviceError> {
    let mut begun = Vec::with_capacity(beside);
    for number in 0..beside {
        device.wait(Queue::beside(number), first)?;
        begun.push(device.mark(Queue::beside(number))?);
    }
    Ok(begun)
}

/// Makes the measured queue go on only when those beside it have come so far. Gives where each was, the
/// measured one first; nothing where there is no other.
fn join(device: &dyn Device, beside: usize) -> Result<Vec<QueueMark>, DeviceError> {
    let mut ended = Vec::with_capacity(beside + 1);
    if beside > 0 {
        ended.push(device.mark(Queue::MEASURED)?);
    }
    for number in 0..beside {
        let mark = device.mark(Queue::beside(number))?;
        device.wait(Queue::MEASURED, mark)?;
        ended.push(mark);
    }
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::super::double::{Double, LAUNCH, RELEASE, STAMP, SYNC};
    use super::*;

    fn take(
        device: &Double,
        mode: Mode,
        hold: Option<u64>,
        bodies: u64,
        run: &mut BodyRun<'_>,
    ) -> DeviceSample {
        let mut run = |stream: &Stream<'_>| run(stream);
        sample(device, mode, hold, bodies, &mut DeviceBody::new(&mut run)).unwrap().0
    }

    #[test]
    fn mode_sync_waits_for_the_work_and_counts_all_bodies() {
        let device = Double::new();
        let of = device.clone();
        let seen = take(&device, Mode::Sync, None, 3, &mut |_| {
            of.kernel(Queue::MEASURED, 100_000);
            Ok(())
        });
        // The first launch, three kernels in a row, the synchronisation.
        assert_eq!((seen.wall, seen.enqueue), (LAUNCH + 300_000 + SYNC, 3 * LAUNCH));
        assert_eq!(seen.device, None);
    }

    #[test]
    fn mode_sync_sees_a_stream_that_nobody_declared() {
        let device = Double::new();
        let of = device.clone();
        let seen = take(&device, Mode::Sync, None, 1, &mut |_| {
            of.hidden(700_000);
            Ok(())
        });
        assert_eq!(seen.wall, LAUNCH + 700_000 + SYNC);
    }

    #[test]
    fn events_have_the_gaps_of_the_host_unless_the_queue_is_held() {
        let device = Double::new();
        let of = device.clone();
        let mut five = |_: &Stream<'_>| {
            of.kernel(Queue::MEASURED, 5_000);
            Ok(())
        };
        let loose = take(&device, Mode::Event, None, 1, &mut five);
        let held = take(&device, Mode::Event, Some(0), 1, &mut five);
        assert_eq!(held.device, Some((5_000 + STAMP) as f64));
        assert!(loose.device > held.device, "{loose:?} {held:?}");
        assert!(held.held && !loose.held);
        // The release, and not the enqueueing, begins the work.
        assert!(held.wall >= LAUNCH + RELEASE + 5_000 + SYNC, "{held:?}");
    }

    #[test]
    fn the_flush_of_mode_cold_is_in_no_window() {
        let device = Double::new();
        let of = device.clone();
        let mut body = |_: &Stream<'_>| {
            of.kernel(Queue::MEASURED, 5_000);
            Ok(())
        };
        let warm = take(&device, Mode::Event, Some(0), 1, &mut body);
        let cold = take(&device, Mode::Cold, Some(0), 1, &mut body);
        assert_eq!(device.flushes.get(), 1);
        assert_eq!((warm.device, warm.wall), (cold.device, cold.wall));
    }

    #[test]
    fn streams_that_were_declared_are_joined_and_the_makespan_is_one_time() {
        let device = Double::new();
        device.open_queues(2).unwrap();
        let of = device.clone();
        let mut run = |_: &Stream<'_>| {
            of.kernel(Queue::beside(0), 300_000);
            of.kernel(Queue::beside(1), 300_000);
            Ok(())
        };
        let mut body = DeviceBody { beside: 2, ..DeviceBody::new(&mut run) };
        let (seen, sides) = sample(&*device, Mode::Event, None, 1, &mut body).unwrap();
        let makespan = seen.device.unwrap();
        assert!((300_000.0..320_000.0).contains(&makespan), "{makespan}");
        let [own, beside @ ..] = &sides.busy[..] else { panic!("{sides:?}") };
        assert!(*own < 10_000.0, "nothing was enqueued there: {sides:?}");
        assert_eq!(beside.len(), 2);
        assert!(beside.iter().all(|busy| (300_000.0..310_000.0).contains(busy)), "{sides:?}");
    }

    #[test]
    fn the_measured_stream_is_one_of_those_that_overlap() {
        let device = Double::new();
        device.open_queues(1).unwrap();
        let of = device.clone();
        let mut run = |_: &Stream<'_>| {
            of.kernel(Queue::MEASURED, 200_000);
            of.kernel(Queue::beside(0), 300_000);
            Ok(())
        };
        let mut body = DeviceBody { beside: 1, ..DeviceBody::new(&mut run) };
        let (_, sides) = sample(&*device, Mode::Event, None, 1, &mut body).unwrap();
        let [own, beside] = sides.busy[..] else { panic!("{sides:?}") };
        assert!((200_000.0..210_000.0).contains(&own), "not until it had waited for the other: {own}");
        assert!((300_000.0..310_000.0).contains(&beside), "{beside}");
    }

    #[test]
    fn a_batch_of_which_two_bodies_were_held_was_not_held() {
        let device = Double::new();
        let of = device.clone();
        let mut run = |_: &Stream<'_>| {
            of.kernel(Queue::MEASURED, 5_000);
            Ok(())
        };
        let mut body = DeviceBody::new(&mut run);
        for (bodies, held) in [(HELD, true), (HELD + 1, false)] {
            let (seen, sides) = sample(&*device, Mode::Hot, Some(0), bodies, &mut body).unwrap();
            assert_eq!((seen.held, sides.held), (held, true), "{bodies}");
        }
    }

    #[test]
    fn a_body_that_fails_lets_a_held_queue_go() {
        let device = Double::new();
        let mut run = |_: &Stream<'_>| Err(Error::new("no memory"));
        let failed = sample(&*device, Mode::Event, Some(0), 1, &mut DeviceBody::new(&mut run)).unwrap_err();
        assert_eq!(failed.to_string(), "no memory");
        device.sync().unwrap(); // asserts that nothing is held
    }
}
