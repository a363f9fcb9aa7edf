//! Ground: what the machine offers for measuring. Clocks, resource counters, memory of a process tree,
//! devices.
//!
//! `seam.rs` is what a device must do to be timed; `host.rs` and `cuda` (feature `cuda`) do it.
//!
//! Nothing here knows what a scenario is. Everything reads the operating system and hands back plain
//! values; what could not be read is an error with its reason, never a zero.

mod alloc;
mod clock;
#[cfg(feature = "cuda")]
mod cuda;
mod device_info;
mod host;
mod load;
mod machine_counters;
mod mappings;
mod memory;
mod monitor;
mod noise;
mod open;
mod page_fault;
mod perf;
mod platform;
mod process_stat;
mod processors;
mod rapl;
mod seam;
mod terminal;
mod usage;

pub use alloc::{Counting, CountingOf, HeapUse};
pub use clock::Clock;
#[cfg(test)]
pub use clock::ManualClock;
pub use device_info::{Backend, DeviceInfo, DeviceMemory, Telemetry, throttle_reasons};
pub use load::load_average;
pub use machine_counters::{CountersReader, MachineCounters};
pub use mappings::{file_mappings, has_gpu_open};
pub use memory::{
    ProcessTree, available_memory, keep_freed_memory, own_priority, peak_memory, resident_memory,
};
pub use monitor::DeviceMonitor;
pub use noise::{Delays, Noise, NoiseReader, ProcessorLoss, ThreadSchedule, frequency, own_schedule};
pub use open::{add_libraries, find_device, open_device};
pub use page_fault::page_fault_cost;
pub use perf::HardwareCounters;
pub use platform::{NoDevice, Platform};
pub use processors::on_all_processors;
pub use seam::{
    Copies, CopyKind, CycleStamp, Device, DeviceError, Hold, Numbers, Product, Queue, QueueMark, Release,
    Replay,
};
pub use terminal::terminal_columns;
pub use usage::{IoBytes, Usage, family_time, thread_time, thread_waits, time_asleep};
