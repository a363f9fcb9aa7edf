//! What a device is, and what it says of itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The backend that runs the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The host's own processors.
    #[default]
    Cpu,
    /// An NVIDIA device through the CUDA driver.
    Cuda,
}

impl Backend {
    /// The platform that it serves.
    pub fn platform(self) -> super::Platform {
        match self {
            Self::Cpu => super::Platform::Cpu,
            Self::Cuda => super::Platform::Gpu,
        }
    }
}

/// The facts of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// The backend that runs the work.
    pub backend: Backend,
    /// Its name: `NVIDIA H200`.
    pub name: String,
    /// Its unique id, where it has one.
    pub uuid: Option<String>,
    /// The version of its driver's interface: `13.0`.
    pub driver: Option<String>,
    /// Its architecture: `sm_90`.
    pub architecture: Option<String>,
    /// The number of processors it has.
    pub processors: Option<u32>,
    /// Its memory, in bytes.
    pub memory: Option<u64>,
    /// Its last cache, in bytes.
    pub cache: Option<u64>,
    /// The highest clock of its processors, in megahertz.
    pub max_clock_mhz: Option<f64>,
    /// The bandwidth of its memory on paper, in bytes a second.
    pub nominal_bandwidth: Option<f64>,
    /// True if it has a clock of its own: without one there is no time but the host's.
    pub has_clock: bool,
    /// True if it is a fake that computes nothing: figures of it are of no device.
    pub fake: bool,
    /// True if the driver waits for each launch (`CUDA_LAUNCH_BLOCKING=1`).
    pub launches_block: bool,
    /// True if it is a part of a device (MIG), where that is known.
    pub partitioned: Option<bool>,
    /// True if processes share it through a server (MPS).
    pub served: bool,
    /// Other facts that explain figures: `ecc`, `power limit`, `module loading`.
    pub facts: BTreeMap<String, String>,
}

/// The readings of a device at one moment. `None` where it does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Telemetry {
    /// Clock of the processors, in megahertz.
    pub sm_clock_mhz: Option<f64>,
    /// Clock of the memory, in megahertz.
    pub memory_clock_mhz: Option<f64>,
    /// Power, in watts. A mean over up to a second: nothing to multiply a short kernel's time with.
    pub power_watts: Option<f64>,
    /// Energy since the driver was loaded, in joules.
    pub energy_joules: Option<f64>,
    /// Temperature, in degrees Celsius.
    pub temperature: Option<f64>,
    /// The reason why the clock is below its highest, as the driver's bits.
    pub throttle: Option<u64>,
    /// Share of the time in which some kernel ran, from 0 to 1, over the driver's last interval.
    pub utilisation: Option<f64>,
    /// Other processes that compute on it.
    pub other_processes: Option<u32>,
}

/// The reason why a clock is below its highest: NVML's clocks-event reasons that slow work down. That nothing
/// runs (0x1), or that a user asked for a clock (0x2), does not.
const THROTTLING: &[(u64, &str)] = &[
    (0x4, "software power cap"),
    (0x8, "hardware slowdown"),
    (0x20, "software thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "hardware power brake"),
];

/// The reasons in these bits that slow work down, in words.
pub fn throttle_reasons(bits: u64) -> Vec<&'static str> {
    THROTTLING.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect()
}

/// Memory of a device, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceMemory {
    /// In use on the whole device, by others too. What a pool keeps counts as in use.
    pub used: u64,
    /// All there is.
    pub total: u64,
    /// The most that this process had from the default pool at once; `None` where there is no pool. What is
    /// allocated past the pool is not in it.
    pub pool_peak: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idleness_and_a_chosen_clock_are_no_throttling() {
        assert!(throttle_reasons(0x1 | 0x2 | 0x10 | 0x100).is_empty());
        assert_eq!(throttle_reasons(0x48), ["hardware slowdown", "hardware thermal slowdown"]);
        assert_eq!(throttle_reasons(0x5), ["software power cap"]);
    }
}
