//! Ground: what is measured. A metric has a name, a unit, a direction, and reads one repeat.
//!
//! The order of [`METRICS`] is the order in which people see them. To add one: a file, its `mod` line,
//! its place in the list.

mod allocations;
mod block;
mod counters;
mod cpu_time;
mod definition;
mod device;
mod device_caveat;
mod device_rules;
mod epoch_start;
mod first_item;
mod hardware;
mod io;
mod latency;
mod ledger;
mod memory;
pub mod names;
mod note;
mod observation;
mod on_device;
mod other_threads;
mod overhead;
mod page_faults;
mod quantity;
mod stationarity;
mod surroundings;
mod switches;
mod throughput;
mod undelayed_time;
mod waiting;
mod wall_time;
mod yardstick;

pub use block::{Block, TimedBy};
pub use counters::Hardware;
pub use definition::Metric;
pub use device_caveat::DeviceCaveat;
pub use device_rules::{device_caveats, fatal};
pub use ledger::{Entry, Ledger};
pub use note::Note;
pub use observation::{
    Collector, Custom, Observation, RanOut, RankMetric, RankSkew, RankStart, Region, SampleKind,
};
pub use on_device::{
    Calibration, DeviceAudit, DevicePhase, DeviceSample, Mode, OnDevice, ReplayCosts, Returns, Roofline,
    SamplingEnd,
};
pub(crate) use overhead::own_share;
pub use quantity::{Direction, Quantity, Reading, Unit};
pub use stationarity::Stationarity;
pub use surroundings::{Cause, DisturbedSamples, ExcludedTime, Surroundings};
pub use yardstick::Yardsticks;

/// Every metric of a repeat, in the order in which people see them.
pub const METRICS: &[Metric] = &[
    wall_time::METRIC,
    throughput::ELEMENTS,
    throughput::BYTES,
    throughput::FLOPS,
    throughput::ITEMS,
    throughput::CPU,
    latency::P50,
    latency::P95,
    latency::P99,
    latency::MAX,
    epoch_start::METRIC,
    first_item::METRIC,
    undelayed_time::METRIC,
    cpu_time::METRIC,
    other_threads::SHARE,
    memory::PEAK,
    page_faults::MINOR,
    page_faults::MAJOR,
    switches::VOLUNTARY,
    switches::INVOLUNTARY,
    io::READ,
    io::WRITTEN,
    overhead::METRIC,
    allocations::CALLS,
    allocations::BYTES,
    hardware::INSTRUCTIONS,
    hardware::CYCLES,
    hardware::CACHE_MISSES,
    waiting::WAIT,
    waiting::SHARE,
    waiting::STOLEN,
];

/// Every metric of a repeat that ran on a device, after those of `METRICS`.
pub const DEVICE_METRICS: &[Metric] = &[
    device::TIME,
    device::CYCLES,
    device::IDLE,
    device::BANDWIDTH,
    device::OF_MEASURED,
    device::OF_NOMINAL,
    device::FLOPS,
    device::FLOPS_OF_MEASURED,
    device::FLOPS_OF_NOMINAL,
    device::MEMORY,
    device::MEMORY_USED,
    device::CLOCK,
    device::POWER,
    device::ENERGY,
    device::PERFORMANCE_PER_WATT,
    device::TEMPERATURE,
    device::UTILISATION,
    device::THROTTLED,
    device::OVERLAP,
];
