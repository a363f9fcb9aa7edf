//! What one repeat saw, raw: every metric is derived from this and nothing else.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    Direction, DisturbedSamples, Hardware, Ledger, Note, OnDevice, Reading, Stationarity, Surroundings, Unit,
    Yardsticks,
};
use crate::device::Usage;

/// The raw result of one repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The number of times that the scenario asks to be measured, where its body says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
    /// The way in which the samples were taken; `None` when the scenario measured regions alone.
    pub taken: Option<SampleKind>,
    /// Every sample in order, in nanoseconds: each covers [`Observation::iterations_per_sample`] iterations.
    pub samples: Vec<u64>,
    /// CPU time of all threads of the process over each sample, in nanoseconds. Empty for streamed items:
    /// reading it between two stamps would cost more than many an item does.
    pub cpu: Vec<u64>,
    /// CPU time of the measuring thread over the measured windows, in nanoseconds; `None` where other threads
    /// or processes were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_cpu: Option<u64>,
    /// Time of each sample in which the measuring thread was ready to run and waited for a processor, in
    /// nanoseconds. Of bodies on one thread alone, and where the kernel says so; empty else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delayed: Vec<u64>,
    /// Blocks of nothing, timed between the samples: the loop alone, of as many iterations, in nanoseconds.
    /// Only for `iter`, and only where a sample has more than one iteration.
    pub empty: Vec<u64>,
    /// CPU time of each of them, in nanoseconds.
    pub empty_cpu: Vec<u64>,
    /// Samples that are known to have been disturbed, and by what. Nothing is left out for it.
    pub tags: Vec<DisturbedSamples>,
    /// The course of the samples; `None` where there are too few to say.
    pub stationarity: Option<Stationarity>,
    /// Iterations behind each sample (1 for streamed items).
    pub iterations_per_sample: u64,
    /// The number of times that the profile's batches were gone through.
    pub passes: u64,
    /// Samples that were taken for warm-up and left out.
    pub warmup: u64,
    /// Items of a stream that were left out since they may have been made while the clock stood.
    pub caught_up: u64,
    /// Elements that the measured samples delivered, real ones only. 0 when the scenario stated none.
    pub elements: u64,
    /// Bytes that the measured samples delivered or moved. 0 when the scenario stated none.
    pub bytes: u64,
    /// Floating-point operations of the measured samples. 0 when the scenario stated none.
    pub flops: u64,
    /// Length of the measured windows by the clock, in nanoseconds: the samples must add up to it.
    pub wall: u64,
    /// The very first item or iteration of the process, in nanoseconds.
    pub first_item: Option<u64>,
    /// The time to begin an epoch and to have its first item, in nanoseconds; of streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch_start: Option<u64>,
    /// Counters over the measured windows.
    pub usage: Usage,
    /// The processor's counts over the measured windows.
    pub hardware: Hardware,
    /// The surroundings of the measured windows: waiting, throttling, load.
    pub around: Surroundings,
    /// Fixed work that was measured between the samples.
    pub yardsticks: Yardsticks,
    /// The observation of a body that ran on a device; null where none did.
    pub device: Option<Box<OnDevice>>,
    /// The account of the time of the repeat.
    pub ledger: Ledger,
    /// The most memory resident, in bytes, or why it is not known.
    pub peak_memory: Option<Reading>,
    /// Every occurrence of every `measure` block of the measured windows, in order of their ends.
    pub regions: Vec<Region>,
    /// Values that the author handed in.
    pub custom: Vec<Custom>,
    /// Values that each of several ranks told of itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankMetric>,
    /// The meeting with other ranks right before the measured part; of one of several ranks alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<RankStart>,
    /// The distance between the ranks of it when they began, where they met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew: Option<RankSkew>,
    /// True of a rank that did its share at the orders of rank 0, which measured for all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub led: bool,
    /// The data set, where it was too small for a pass, so that the epoch was begun again inside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_out: Option<RanOut>,
    /// Things worth knowing about how the samples came about.
    pub notes: Vec<Note>,
}

/// The meeting of one rank with the others right before the measured part. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankStart {
    /// The moment at which it went on, by the clock of rank 0's machine.
    pub left: u64,
    /// The amount by which that may be off: half a round trip.
    pub unsure: u64,
    /// The time that it waited for the others.
    pub waited: u64,
}

/// The distance between ranks when they began with the measured part. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSkew {
    /// From the first that went on to the last.
    pub spread: u64,
    /// The amount by which each of their moments may be off.
    pub unsure: u64,
    /// The longest measured part of a rank.
    pub region: u64,
    /// The rank that came last, for which the others waited.
    pub last: usize,
    /// The time by which it came after the first.
    pub waited: u64,
}

/// A data set that was too small for a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RanOut {
    /// Batches that a pass was to have.
    pub batches: u64,
    /// Batches of warm-up before it.
    pub warmup: u64,
}

/// The way in which samples were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleKind {
    /// Blocks of iterations of one body.
    Iterations,
    /// Item by item, each from its request to the moment it was ready.
    Items,
    /// Whole passes in one call: there is no latency of an item.
    Passes,
}

/// One occurrence of a `measure` block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// The names of the open blocks, outermost first, joined by `/`.
    pub path: String,
    /// Wall time in nanoseconds, without the cost of the other collectors.
    pub wall: u64,
    /// Counters over the block, where asked for.
    pub usage: Option<Usage>,
    /// Change of resident memory in bytes, where asked for; or why it is not known.
    pub memory_change: Option<Reading>,
    /// Change of the device's memory in use in bytes, where asked for and where a device is open; or why it
    /// is not known.
    pub device_memory_change: Option<Reading>,
    /// The most of the device's default pool in use at once within the block, in bytes; likewise.
    pub device_peak_memory: Option<Reading>,
    /// Change of the number of live arrays, where asked for and where somebody counts them.
    pub live_arrays_change: Option<i64>,
}

/// A collector of a `measure` block, beside its wall time.
///
/// ```
/// use weighbridge::prelude::*;
/// use weighbridge::Collector;
///
/// /// Sum a vector, and say what allocating it costs of the processor.
/// #[scenario(id = "SUM-2")]
/// fn sum(bencher: &mut Bencher) {
///     bencher.iter(|| {
///         let numbers = bencher.measure_with("allocate", &[Collector::Usage], || vec![1_u64; 1 << 16]);
///         numbers.iter().sum::<u64>()
///     });
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collector {
    /// CPU time, faults, switches, bytes read and written.
    Usage,
    /// Change of resident memory; of the device's, where one is open; and of the arrays that live, where
    /// somebody counts them.
    Memory,
}

impl Collector {
    /// All of them: what a plain `measure` collects.
    pub const ALL: &'static [Self] = &[Self::Usage, Self::Memory];
}

/// A value handed in by the author with `Bencher::metric`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Custom {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// The direction in which it is better.
    pub direction: Direction,
}

/// A metric that every rank of a case told of itself, in one repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankMetric {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// The direction in which it is better.
    pub direction: Direction,
    /// By rank what it told; null of a rank that told nothing, or never came.
    pub values: Vec<Option<f64>>,
}

impl Observation {
    /// Time of the measured windows.
    pub fn wall(&self) -> Duration {
        Duration::from_nanos(self.wall)
    }

    /// Tells whether the samples come from another process, so that what this one counts of itself is nothing
    /// of theirs.
    pub fn ran_elsewhere(&self) -> bool {
        self.peak_memory == Some(Reading::Elsewhere)
    }

    /// The share of the process's processor time that other threads than the measuring one had; `None` where
    /// that is not known.
    pub fn other_threads_share(&self) -> Option<f64> {
        let all = self.usage.cpu.as_nanos() as f64;
        let own = self.own_cpu? as f64;
        (all > 0.0).then(|| (1.0 - own / all).max(0.0))
    }

    /// The same where it is so much that the measuring thread does not tell what the body takes.
    pub fn done_by_others(&self) -> Option<f64> {
        self.other_threads_share().filter(|share| *share > Self::ALONE)
    }

    /// The harness's own threads wake up now and then, and clocks of two kinds differ by some percent where
    /// little time passes.
    const ALONE: f64 = 0.10;

    /// Iterations (or items) that the samples cover.
    pub fn iterations(&self) -> u64 {
        self.samples.len() as u64 * self.iterations_per_sample
    }
}

/// The reason why a metric over samples has no value when there are none.
pub(super) const NO_SAMPLES: &str = "the scenario took no samples";
