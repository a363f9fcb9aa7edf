//! What was seen of a body that ran on a device: which mode, which clock, what it was calibrated by, every
//! sample.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DeviceCaveat, Reading};
use crate::device::{DeviceInfo, DeviceMemory, Numbers, Telemetry};

/// The way in which a body is timed on a device.
///
/// ```
/// use weighbridge::Mode;
///
/// assert_eq!(Mode::named("hot"), Some(Mode::Hot));
/// assert_eq!(Mode::default().name(), "sync");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By the host's clock, from a drained device to a drained device: true on every backend.
    #[default]
    Sync,
    /// By the device's clock, from a stamp before the body to one after it.
    Event,
    /// As `event`, with nothing of the body's left in the device's cache.
    Cold,
    /// By the device's clock over many bodies in a row: what a body costs once the pipeline is full.
    Hot,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sync, Self::Event, Self::Cold, Self::Hot];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Event => "event",
            Self::Cold => "cold",
            Self::Hot => "hot",
        }
    }

    /// The mode of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Tells whether the device's clock says how long a body took.
    pub fn is_by_device_clock(self) -> bool {
        self != Self::Sync
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A body's own statement of what is done when it returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Returns {
    /// Its work is enqueued; whoever measures waits for it.
    #[default]
    Enqueued,
    /// Its work is done: the body has synchronised.
    Complete,
}

/// The cost of measuring itself on this device, measured at the start of the repeat: everything later is
/// judged by these and not by constants. All in nanoseconds; `None` where the device has no such thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Between two stamps with nothing in between, the queue held: the floor of every device time.
    pub floor: Option<f64>,
    /// The smallest step between two readings of the device's clock.
    pub quantum: Option<f64>,
    /// To enqueue a kernel that does nothing.
    pub launch: Option<f64>,
    /// To enqueue a stamp and wait for it.
    pub round_trip: f64,
    /// From letting a held queue go to a drained device; less the round trip it is what the hold adds.
    pub release: Option<f64>,
}

/// One run of the body that was looked at for when its work was done. All in nanoseconds by the host's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceAudit {
    /// The moment when it returned.
    pub returned: u64,
    /// The moment when the whole device was drained.
    pub complete: u64,
    /// True if the measured queue was idle when it returned.
    pub idle: bool,
    /// True if it waited for work that had been enqueued before it; `None` where that could not be tried.
    pub waited: Option<bool>,
}

/// One sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceSample {
    /// From the start to the drained device by the host's clock, in nanoseconds.
    pub wall: u64,
    /// Of that, until the body had returned.
    pub enqueue: u64,
    /// By the device's clock, in nanoseconds; `None` in mode `sync`.
    pub device: Option<f64>,
    /// The clock of the device's processors over the sample, in megahertz.
    pub clock: Option<f64>,
    /// True if the queue stood still while the bodies enqueued their work: all of them.
    pub held: bool,
}

/// The reason why sampling ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SamplingEnd {
    /// The interval of the median is narrow.
    Narrow,
    /// The spread is as good as it gets.
    Stable,
    /// The time was spent.
    Budget,
    /// Somebody outside said so (a duel), or as many were taken as were asked for.
    #[default]
    Asked,
}

/// A limit of the device, measured in the same repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Roofline {
    /// Of what: `device copy`.
    pub name: String,
    /// Before the samples, in bytes (or operations) a second; or why it is not known.
    pub before: Option<Reading>,
    /// After them.
    pub after: Option<Reading>,
    /// On paper, where the device says enough of itself.
    pub nominal: Option<f64>,
}

/// The cost of bodies that were recorded together and replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayCosts {
    /// Of one body, in nanoseconds by the device's clock; or why they cannot be recorded.
    pub each: Reading,
    /// Bodies that were recorded together.
    pub bodies: u64,
}

/// One phase of a body.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DevicePhase {
    /// Its name; `begin` is what comes before the first.
    pub name: String,
    /// Its mean time in one body by the device's clock, in nanoseconds, over all samples.
    pub each: f64,
}

/// The observation of a body that ran on a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OnDevice {
    /// The device.
    pub info: DeviceInfo,
    /// The way in which the body was timed.
    pub mode: Mode,
    /// The body's promise of what is done when it returns.
    pub returns: Returns,
    /// The clock of the samples: `CUDA events`, `the host's clock`.
    pub clock: String,
    /// The cost of the measuring itself.
    pub calibration: Calibration,
    /// Runs of the body that were looked at for when its work was done.
    pub audits: Vec<DeviceAudit>,
    /// Bodies in each sample.
    pub bodies: u64,
    /// Every sample that counts, in order.
    pub samples: Vec<DeviceSample>,
    /// The number of samples that were left out of `samples` because the device's clock was low. Those of the
    /// observation still have them.
    pub discarded: u64,
    /// True if a held queue once went on by itself: from then on none was held.
    pub hold_expired: bool,
    /// The reason why sampling ended.
    pub enough: SamplingEnd,
    /// The time that the warm-up took, in nanoseconds, and how many bodies it ran.
    pub warm_up: (u64, u64),
    /// Clock of the processors when the warm-up ended, in megahertz.
    pub warm_clock: Option<f64>,
    /// The sum over all queues, the measured one among them, of the time from the beginning of a body until
    /// the queue had done what the body enqueued there, by the time until all had. Where there are queues
    /// beside the measured one: 1 where one queue has all the work, their number where all of them have it to
    /// the end. Waiting in between is not told from work.
    pub overlap: Option<f64>,
    /// The same body recorded and replayed, in mode `hot`.
    pub replayed: Option<ReplayCosts>,
    /// The telemetry of the device, before and after the samples.
    pub telemetry: [Telemetry; 2],
    /// The phases of one body, in the order in which they began; none where the body told of none. Together
    /// they are the mean time of a body.
    pub phases: Vec<DevicePhase>,
    /// Throttling reasons that were up between samples, all together.
    pub throttled: u64,
    /// The number of times that telemetry was read between samples, and how often it told of throttling.
    pub looks: (u64, u64),
    /// Memory, now and then, in order.
    pub memory: Vec<DeviceMemory>,
    /// Energy of one body in joules, or why it is not known.
    pub energy: Option<Reading>,
    /// Limits of the device.
    pub rooflines: Vec<Roofline>,
    /// Elements, bytes, operations of one body, as stated; 0 where not.
    pub stated: [u64; 3],
    /// In which numbers the body multiplies, as stated.
    pub numbers: Option<Numbers>,
    /// Caveats that the scenario allows.
    pub allowed: Vec<String>,
    /// Caveats about the figures.
    pub caveats: Vec<DeviceCaveat>,
}

impl OnDevice {
    /// Time of one body by the clock of the mode, in nanoseconds, sample by sample.
    pub fn times(&self) -> Vec<f64> {
        let bodies = self.bodies.max(1) as f64;
        let time = |sample: &DeviceSample| sample.device.unwrap_or(sample.wall as f64) / bodies;
        self.samples.iter().map(time).collect()
    }

    /// Time of one body by the device's clock, in nanoseconds, sample by sample.
    pub fn device_times(&self) -> Vec<f64> {
        let bodies = self.bodies.max(1) as f64;
        self.samples.iter().filter_map(|sample| Some(sample.device? / bodies)).collect()
    }

    /// The clock of the processors, sample by sample, in megahertz.
    pub fn clocks(&self) -> Vec<f64> {
        self.samples.iter().filter_map(|sample| sample.clock).collect()
    }

    /// Cycles of one body: its time by the clock that the processors had meanwhile, sample by sample. A
    /// change of clock changes the time and not the cycles.
    pub fn cycles(&self) -> Vec<f64> {
        let bodies = self.bodies.max(1) as f64;
        let of = |sample: &DeviceSample| {
            let time = sample.device.unwrap_or(sample.wall as f64);
            Some(time * sample.clock? * 1e-3 / bodies) // nanoseconds times megahertz
        };
        self.samples.iter().filter_map(of).collect()
    }

    /// Each phase with its share of the body, from 0 to 1: the shares add up to 1.
    pub fn phase_shares(&self) -> Vec<(&str, f64)> {
        let whole: f64 = self.phases.iter().map(|phase| phase.each).sum();
        let share = |each: f64| if whole > 0.0 { each / whole } else { 0.0 };
        self.phases.iter().map(|phase| (phase.name.as_str(), share(phase.each))).collect()
    }

    /// The product of matrices that bounds the body: the one of its numbers, or the fastest where it does not
    /// say which they are.
    pub fn product(&self) -> Option<&Roofline> {
        match self.numbers {
            Some(numbers) => self.roofline(numbers.product()),
            None => self.fastest_product(),
        }
    }

    /// The product of matrices that was the fastest, whatever its numbers.
    fn fastest_product(&self) -> Option<&Roofline> {
        let products = Numbers::ALL.into_iter().filter_map(|numbers| self.roofline(numbers.product()));
        let measured = products.filter_map(|roofline| Some((roofline.limit()?, roofline)));
        measured.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, roofline)| roofline)
    }

    /// The roofline of that name.
    pub fn roofline(&self, name: &str) -> Option<&Roofline> {
        self.rooflines.iter().find(|roofline| roofline.name == name)
    }
}

impl Roofline {
    /// The better of the two measurements: a limit is what the device can do.
    pub fn limit(&self) -> Option<f64> {
        let read = |reading: &Option<Reading>| reading.as_ref().and_then(Reading::value);
        match (read(&self.before), read(&self.after)) {
            (Some(before), Some(after)) => Some(before.max(after)),
            (one, other) => one.or(other),
        }
    }

    /// By what share it changed over the repeat; `None` where it was not measured twice.
    pub fn drift(&self) -> Option<f64> {
        let before = self.before.as_ref()?.value()?;
        let after = self.after.as_ref()?.value()?;
        (before > 0.0).then(|| (after - before) / before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_clock_changes_the_time_and_not_the_cycles() {
        let sample = |device, clock| DeviceSample {
            device: Some(device),
            clock: Some(clock),
            ..DeviceSample::default()
        };
        let seen = OnDevice {
            bodies: 2,
            samples: vec![sample(2_000.0, 2_000.0), sample(4_000.0, 1_000.0)],
            ..OnDevice::default()
        };
        assert_eq!(seen.times(), [1_000.0, 2_000.0]);
        assert_eq!(seen.cycles(), [2_000.0, 2_000.0]);
    }

    #[test]
    fn a_mode_has_one_name() {
        for mode in Mode::ALL {
            assert_eq!(Mode::named(mode.name()), Some(mode));
        }
        assert_eq!(Mode::named("warm"), None);
    }

    #[test]
    fn a_roofline_is_the_better_of_two_measurements_and_drifts_between_them() {
        let value = |value| Some(Reading::Value(value));
        let roofline = Roofline { before: value(100.0), after: value(90.0), ..Roofline::default() };
        assert_eq!((roofline.limit(), roofline.drift()), (Some(100.0), Some(-0.1)));
        let once = Roofline { before: value(100.0), ..Roofline::default() };
        assert_eq!((once.limit(), once.drift()), (Some(100.0), None));
    }
}
