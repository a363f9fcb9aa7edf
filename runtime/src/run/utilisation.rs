//! Use of the machine over a repeat, as its parent saw it: ten looks a second, each of which costs the parent
//! some dozens of microseconds and the child nothing.

use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::bencher::Phase;
use crate::device::{CountersReader, DeviceMonitor, MachineCounters, Platform, thread_time};

/// The interval between two looks.
const EVERY: Duration = Duration::from_millis(100);

/// The most points of a repeat: neighbours become one beyond that.
const MOST_POINTS: usize = 600;

/// The most shares of processors, over all points: a machine of many processors has fewer points.
const MOST_SHARES: usize = 40_000;

/// Use of the machine over a repeat. All but the memory is of the whole machine, whoever used it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    /// The number of looks at the machine.
    pub looks: u64,
    /// The processor time that they took, in nanoseconds: of the parent, which measures nothing.
    pub cost: u64,
    /// The beginning and the end of the measured part, in nanoseconds since the repeat began.
    pub measured: Option<[u64; 2]>,
    /// The reason why there are no watts of the processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_watts: Option<String>,
    /// The points, in order.
    pub points: Vec<UtilisationPoint>,
}

/// Use of the machine from the point before to this one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UtilisationPoint {
    /// The end of it, in nanoseconds since the repeat began.
    pub at: u64,
    /// Percent of the time in which each processor worked.
    pub processors: Vec<u8>,
    /// The resident memory of the measured process and those below it, in bytes; the most of what was seen.
    pub memory: Option<u64>,
    /// Bytes that disks read and wrote.
    pub disk: Option<[u64; 2]>,
    /// Bytes that network cards received and sent.
    pub network: Option<[u64; 2]>,
    /// Mean power of the processors' packages and their memory.
    pub watts: Option<f64>,
    /// The device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DevicePoint>,
}

/// A device at a moment. `None` where it does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DevicePoint {
    /// Share of the driver's last interval in which some kernel ran, from 0 to 1.
    pub utilisation: Option<f64>,
    /// Memory in use, in bytes.
    pub memory: Option<u64>,
    /// Clock of its processors, in megahertz.
    pub clock_mhz: Option<f64>,
    /// Power.
    pub watts: Option<f64>,
    /// Temperature, in degrees Celsius.
    pub temperature: Option<f64>,
}

impl Utilisation {
    /// The share of one processor that looking took, over the repeat.
    pub fn share(&self) -> Option<f64> {
        let last = self.points.last()?.at;
        (last > 0).then(|| self.cost as f64 / last as f64)
    }

    /// The mean over the measured part of what points tell, each by its time in that part; `None` where one
    /// of them does not tell.
    pub fn mean(&self, of: impl Fn(&UtilisationPoint) -> Option<f64>) -> Option<f64> {
        let [begin, end] = self.measured?;
        let (mut sum, mut time, mut before) = (0.0, 0.0, 0);
        for point in &self.points {
            let within = point.at.min(end).saturating_sub(before.max(begin)) as f64;
            if within > 0.0 {
                sum += of(point)? * within;
                time += within;
            }
            before = point.at;
        }
        (time > 0.0).then(|| sum / time)
    }
}

impl UtilisationPoint {
    /// One point of two neighbours, the earlier of which began at `begun`.
    fn paired(&self, later: &Self, begun: u64) -> Self {
        let (first, second) = ((self.at - begun) as f64, (later.at - self.at) as f64);
        let mean = |a: f64, b: f64| (a * first + b * second) / (first + second).max(1.0);
        let sum = |a: Option<[u64; 2]>, b: Option<[u64; 2]>| {
            a.zip(b).map(|(a, b)| [a[0].saturating_add(b[0]), a[1].saturating_add(b[1])])
        };
        let share = |(a, b): (&u8, &u8)| mean(f64::from(*a), f64::from(*b)).round() as u8;
        Self {
            at: later.at,
            processors: self.processors.iter().zip(&later.processors).map(share).collect(),
            memory: self.memory.max(later.memory),
            disk: sum(self.disk, later.disk),
            network: sum(self.network, later.network),
            watts: self.watts.zip(later.watts).map(|(a, b)| mean(a, b)),
            device: self.device.zip(later.device).map(|(a, b)| a.paired(&b, mean)),
        }
    }
}

impl DevicePoint {
    fn paired(&self, later: &Self, mean: impl Fn(f64, f64) -> f64) -> Self {
        let mean = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| mean(a, b));
        Self {
            utilisation: mean(self.utilisation, later.utilisation),
            memory: self.memory.max(later.memory),
            clock_mhz: mean(self.clock_mhz, later.clock_mhz),
            watts: mean(self.watts, later.watts),
            temperature: mean(self.temperature, later.temperature),
        }
    }
}

/// The machine whose use is looked at: opened once, for all repeats.
#[derive(Clone, Debug)]
pub(super) struct SampledMachine {
    device: Option<Rc<DeviceMonitor>>,
}

impl SampledMachine {
    /// This machine, with the device that serves the platform.
    pub(super) fn of(platform: Platform) -> Self {
        Self { device: DeviceMonitor::of(platform).map(Rc::new) }
    }
}

/// Takes the looks, when they are due.
#[derive(Debug)]
pub(super) struct Sampler {
    reader: CountersReader,
    machine: SampledMachine,
    begun: Instant,
    /// The moment of the last look, in nanoseconds since the beginning.
    last: u64,
    /// The interval of a point: doubled each time that neighbours become one.
    every: Duration,
    counters: MachineCounters,
    memory: Option<u64>,
    seen: Utilisation,
}

impl Sampler {
    /// A sampler of a repeat that began then.
    pub(super) fn new(begun: Instant, machine: SampledMachine) -> Self {
        let before = thread_time();
        let mut reader = CountersReader::below(Path::new("/"));
        let counters = reader.read();
        let no_watts = reader.no_energy().map(str::to_owned);
        let cost = (thread_time() - before).as_nanos() as u64;
        let last = begun.elapsed().as_nanos() as u64;
        let seen = Utilisation { cost, no_watts, ..Utilisation::default() };
        Self { reader, machine, begun, last, every: EVERY, counters, memory: None, seen }
    }

    /// Notes the memory of the processes, which is watched anyway.
    pub(super) fn note_memory(&mut self, bytes: u64) {
        self.memory = self.memory.max(Some(bytes));
    }

    /// Notes that the repeat has come to this phase.
    pub(super) fn note_phase(&mut self, phase: Phase) {
        let now = self.begun.elapsed().as_nanos() as u64;
        match (phase, &mut self.seen.measured) {
            (Phase::Timed, measured @ None) => *measured = Some([now, now]),
            (Phase::TearDown, Some(measured)) => measured[1] = now,
            _ => {}
        }
    }

    /// Looks, if a look is due.
    pub(super) fn look(&mut self) {
        let now = self.begun.elapsed().as_nanos() as u64;
        if now.saturating_sub(self.last) >= self.every.as_nanos() as u64 {
            self.take(now);
        }
    }

    /// All that was seen, with a last look.
    pub(super) fn end(mut self) -> Utilisation {
        let now = self.begun.elapsed().as_nanos() as u64;
        if now > self.last {
            self.take(now);
        }
        if let Some(measured) = &mut self.seen.measured
            && measured[1] <= measured[0]
        {
            measured[1] = now;
        }
        self.seen
    }

    fn take(&mut self, now: u64) {
        let before = thread_time();
        let counters = self.reader.read();
        let device = self.machine.device.as_ref().map(|device| device.look());
        let point = UtilisationPoint {
            device: device.map(|(telemetry, memory)| DevicePoint {
                utilisation: telemetry.utilisation,
                memory,
                clock_mhz: telemetry.sm_clock_mhz,
                watts: telemetry.power_watts,
                temperature: telemetry.temperature,
            }),
            memory: self.memory,
            ..between(&self.counters, &counters, self.last, now)
        };
        (self.counters, self.last, self.memory) = (counters, now, None);
        self.seen.points.push(point);
        if self.seen.points.len() > most_points(self.counters.processors.len()) {
            self.pair();
        }
        self.seen.looks += 1;
        self.seen.cost += (thread_time() - before).as_nanos() as u64;
    }

    /// Makes one point of each two, and half as many looks from now on.
    fn pair(&mut self) {
        let mut begun = 0;
        let points = std::mem::take(&mut self.seen.points);
        self.seen.points = points
            .chunks(2)
            .map(|pair| {
                let point = match pair {
                    [first, second] => first.paired(second, begun),
                    _ => pair[0].clone(),
                };
                begun = point.at;
                point
            })
            .collect();
        self.every *= 2;
    }
}

fn most_points(processors: usize) -> usize {
    MOST_POINTS.min(MOST_SHARES / processors.max(1)).max(2)
}

fn between(before: &MachineCounters, now: &MachineCounters, begun: u64, at: u64) -> UtilisationPoint {
    let share = |(then, now): (&[u64; 2], &[u64; 2])| {
        let [worked, all] = [now[0].saturating_sub(then[0]), now[1].saturating_sub(then[1])];
        (worked * 100).checked_div(all).unwrap_or(0).min(100) as u8
    };
    let passed = |then: Option<[u64; 2]>, now: Option<[u64; 2]>| {
        then.zip(now).map(|(then, now)| [now[0].saturating_sub(then[0]), now[1].saturating_sub(then[1])])
    };
    let seconds = (at - begun) as f64 * 1e-9;
    UtilisationPoint {
        at,
        processors: before.processors.iter().zip(&now.processors).map(share).collect(),
        disk: passed(before.disk, now.disk),
        network: passed(before.network, now.network),
        watts: before.joules.zip(now.joules).map(|(then, now)| (now - then) / seconds),
        ..UtilisationPoint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_has_what_passed_since_the_one_before() {
        let counters = |worked, bytes, joules| MachineCounters {
            processors: vec![[worked, 2 * bytes], [0, 2 * bytes]],
            disk: Some([bytes, 0]),
            network: None,
            joules: Some(joules),
        };
        let point = between(&counters(5, 10, 1.0), &counters(10, 20, 4.0), 0, 100_000_000);
        assert_eq!(point.processors, [25, 0]);
        assert_eq!((point.disk, point.network), (Some([10, 0]), None));
        assert!((point.watts.unwrap() - 30.0).abs() < 1e-9);
    }

    #[test]
    fn a_long_repeat_has_no_more_points_than_it_may_and_loses_no_byte_and_no_joule() {
        let mut sampler = Sampler::new(Instant::now(), SampledMachine::of(Platform::Cpu));
        sampler.counters.processors = vec![[0, 0]; 2];
        sampler.seen.points.clear();
        for at in 1..=5 * MOST_POINTS as u64 {
            let (disk, watts) = (Some([3, 1]), Some(at as f64));
            let point = UtilisationPoint { at, disk, watts, ..UtilisationPoint::default() };
            sampler.seen.points.push(point);
            if sampler.seen.points.len() > most_points(2) {
                sampler.pair();
            }
        }
        let seen = Utilisation { measured: Some([0, 3000]), ..sampler.seen };
        assert!(seen.points.len() <= MOST_POINTS);
        assert_eq!(seen.points.last().unwrap().at, 3000);
        assert_eq!(seen.points.iter().map(|point| point.disk.unwrap()[0]).sum::<u64>(), 9000);
        let mean = seen.mean(|point| point.watts).unwrap();
        assert!((mean - 1500.5).abs() < 1.0, "{mean}");
        assert_eq!(most_points(256), 156);
    }

    #[test]
    fn a_mean_is_of_the_measured_part_alone() {
        let point = |at, watts| UtilisationPoint { at, watts, ..UtilisationPoint::default() };
        let points = vec![point(100, Some(1.0)), point(200, Some(10.0)), point(300, Some(30.0))];
        let seen = Utilisation { measured: Some([150, 250]), points, ..Utilisation::default() };
        assert_eq!(seen.mean(|point| point.watts), Some(20.0));
        assert_eq!(Utilisation { measured: None, ..seen }.mean(|point| point.watts), None);
    }
}
